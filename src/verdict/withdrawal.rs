//! Finds requests and entries that a withdrawal caused. Requests that were already in progress are still permitted.

use crate::browser::devtools::Cause;
use crate::browser::net_log::Request;
use crate::browser::site::host_of;
use crate::visit::{Observation, StoredValue};

use super::case::Case;

/// Whether a request that started at the withdrawal was not in progress before: its address is new, and it was not
/// caused by a redirect, or by a script or frame of another site that was loaded while permitted.
pub fn is_request_of_withdrawal(
    case: &Case<'_>,
    observation: &Observation,
    request: &Request,
    cause: Option<&Cause>,
) -> bool {
    let (Some(begun_ms), Some(cause)) = (observation.withdrawn_ms, cause) else { return false };
    // The browser does not report which script created an image.
    let by = cause.initiator.as_ref().and_then(|initiator| host_of(&initiator.url));
    let is_own = by.is_none_or(|host| !case.is_other_site(&host));
    let address = |url: &str| url.split(['?', '#']).next().unwrap_or_default().to_owned();
    let own = address(&request.url);
    let mut earlier = observation.log.requests.iter().filter(|other| other.at_ms < begun_ms);
    is_during(observation, request.at_ms)
        && is_own
        && !cause.is_redirect
        && !earlier.any(|other| address(&other.url) == own)
}

/// Whether an entry with writes at these times was first written at the withdrawal, so that no permission covers it.
pub fn is_entry_of_withdrawal(
    observation: &Observation,
    value: &StoredValue,
    mut writes: impl Iterator<Item = f64>,
) -> bool {
    let was_there = || observation.stored_before.iter().any(|it| it.is_same_entry(value));
    writes.next().is_some_and(|first_ms| is_during(observation, first_ms)) && !was_there()
}

/// Whether a time is at the withdrawal, when requests in progress are still permitted.
fn is_during(observation: &Observation, at_ms: f64) -> bool {
    let end = observation.permitted.map_or(0.0, |(_, end)| end);
    observation.withdrawn_ms.is_some_and(|begun_ms| (begun_ms..=end).contains(&at_ms))
}
