use crate::browser::tag_service::{is_wanted, pixel_of};
use crate::visit::{Observation, Visit};

use super::case::Case;
use super::identifiers::Profiles;
use super::leaks::{Leak, Listed};
use super::{requests, stored};

#[derive(Debug)]
pub struct VisitVerdict {
    pub visit: Visit,
    /// The reason why the visit does not count as observed.
    pub unobserved: Option<String>,
    pub leaks: Vec<Leak>,
    pub allowed: Vec<Leak>,
    pub kept: Vec<Listed>,
    pub listed: Vec<Listed>,
}

impl VisitVerdict {
    /// `None` if the visit was not observed.
    pub fn silent(&self) -> Option<bool> {
        self.unobserved.is_none().then_some(self.leaks.is_empty())
    }
}

pub fn evaluate(case: &Case<'_>, observation: &Observation, profiles: &Profiles) -> VisitVerdict {
    let (mut leaks, mut allowed) = requests::leaking(case, observation);
    let (identifiers, kept, listed) = stored::evaluate(case.url, observation, profiles);
    for leak in identifiers {
        if case.allows(&leak.host) { allowed.push(leak) } else { leaks.push(leak) }
    }
    let unobserved = observation.unobserved.clone().or_else(|| other_tag(case, observation));
    let unobserved = unobserved.or_else(|| stored::uncompared(observation));
    let unobserved = unobserved.or_else(|| stored::unread(observation, profiles));
    VisitVerdict { visit: observation.visit, unobserved, leaks, allowed, kept, listed }
}

/// Returns a sentence if the page has the tag of another pixel or lacks the wanted one, which the visit `blocked`
/// cannot load. Scripts of hosts other than the service's are not tags.
fn other_tag(case: &Case<'_>, observation: &Observation) -> Option<String> {
    let wanted = case.pixels.first()?;
    let is_of_service = |url: &str| case.service.is_some_and(|service| service.has(url));
    let tags = observation.seen.tags.iter().filter(|tag| is_of_service(&tag.url));
    let tags = tags.filter_map(|tag| pixel_of(&tag.url)).collect::<Vec<_>>();
    match tags.iter().find(|tag| !is_wanted(tag, case.pixels)) {
        Some(other) => Some(format!("the page has the tag of {other}, not of {wanted}")),
        None if tags.is_empty() && observation.visit != Visit::Blocked => {
            Some(format!("the page has no tag of {wanted}"))
        }
        None => None,
    }
}

pub fn add_profile(profiles: &mut Profiles, observation: &Observation) {
    let has_chosen = observation.has_chosen;
    let suspects = stored::suspects(observation);
    profiles.add(observation.visit, has_chosen, stored::values(observation), suspects);
}
