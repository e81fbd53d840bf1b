//! Retention periods, as points in time.

use chrono::{DateTime, Duration, NaiveDate, Utc};

use crate::config::Retention;
use crate::contacts::suppressions::import::LONGEST_UPLOAD;
use crate::webhooks::sending::pauses::TIMEOUT;

/// Retention of expired verifications, to distinguish them from unknown ones.
const EXPIRED_VERIFICATIONS: Duration = Duration::days(30);
/// Codes are counted per minute and per UTC day; older counts are irrelevant.
const CODE_REQUESTS: Duration = Duration::days(2);
/// Retention of the results of imports.
const IMPORTS: Duration = Duration::days(30);
/// Retention of the audit log.
const EVENTS: Duration = Duration::days(400);
/// Retention of the proof that requests for erasure were answered.
const ERASURE_REQUESTS: Duration = Duration::days(400);

/// Retention of the notices that a contact was withdrawn.
const WITHDRAWN_ENTRIES: Duration = Duration::days(400);

/// Retention of unattempted webhook deliveries.
const UNTRIED: Duration = TIMEOUT;
/// The last attempt of the day may come somewhat over an hour late, when the server is next contacted.
const UNDELIVERED: Duration = Duration::hours(26);

/// Data from before these times are deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoffs {
    /// Impressions before this day.
    pub shown: NaiveDate,
    /// Accounts opened by this time with an unconfirmed address.
    pub unconfirmed: DateTime<Utc>,
    /// Receipts recorded before; `None` keeps them permanently.
    pub receipts: Option<DateTime<Utc>>,
    /// Signup tokens, links and codes that expired before.
    pub verifications: DateTime<Utc>,
    /// Single-purpose codes that expired before.
    pub account_codes: DateTime<Utc>,
    /// Addresses that last requested a code before.
    pub code_requests: DateTime<Utc>,
    /// Requests for erasure that were closed before.
    pub erasure_requests: DateTime<Utc>,
    /// Audit events before.
    pub events: DateTime<Utc>,
    /// Imports of suppressions finished before.
    pub imports: DateTime<Utc>,
    /// Unfinished uploads of lists that began before.
    pub uploads: DateTime<Utc>,
    /// Events before, for which no delivery was attempted.
    pub untried: DateTime<Utc>,
    /// Deliveries that have been failing since before, for a paused webhook.
    pub undelivered: DateTime<Utc>,
    /// Contacts whose consent had ended by then.
    pub withdrawn: DateTime<Utc>,
    /// Contacts that are erased and were withdrawn before.
    pub withdrawn_entries: DateTime<Utc>,
}

impl Cutoffs {
    pub fn at(now: DateTime<Utc>, kept: Retention) -> Self {
        let before = |days: u32| now - Duration::days(days.into());
        Self {
            shown: before(kept.shown).date_naive(),
            unconfirmed: before(kept.unconfirmed),
            receipts: kept.receipts.map(before),
            verifications: now - EXPIRED_VERIFICATIONS,
            account_codes: now,
            code_requests: now - CODE_REQUESTS,
            erasure_requests: now - ERASURE_REQUESTS,
            events: now - EVENTS,
            imports: now - IMPORTS,
            uploads: now - LONGEST_UPLOAD,
            untried: now - UNTRIED,
            undelivered: now - UNDELIVERED,
            withdrawn: before(kept.withdrawn),
            withdrawn_entries: now - WITHDRAWN_ENTRIES,
        }
    }
}
