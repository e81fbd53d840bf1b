//! How long things are kept, as points in time.

use chrono::{DateTime, Duration, NaiveDate, Utc};

use crate::config::Retention;
use crate::contacts::suppressions::import::LONGEST_UPLOAD;
use crate::webhooks::sending::pauses::PATIENCE;

/// How long a proof that has expired can still be told from one that never was.
const EXPIRED_VERIFICATIONS: Duration = Duration::days(30);
/// Codes are counted per minute and per UTC day; after that a count means nothing.
const CODE_REQUESTS: Duration = Duration::days(2);
/// How long it can be looked up what an import has done.
const IMPORTS: Duration = Duration::days(30);
/// How long it is told who did what in an account.
const EVENTS: Duration = Duration::days(400);
/// How long an owner can prove that requests for erasure were answered.
const ERASURE_REQUESTS: Duration = Duration::days(400);

/// How long it is told that a contact was withdrawn.
const WITHDRAWN_ENTRIES: Duration = Duration::days(400);

/// How long it is kept for a webhook what was not tried yet.
const UNTRIED: Duration = PATIENCE;
/// The last attempt of the day comes when the server is asked again: somewhat over an hour later at the
/// latest.
const UNDELIVERED: Duration = Duration::hours(26);

/// What lies before these is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoffs {
    /// Popups shown before this day.
    pub shown: NaiveDate,
    /// Accounts opened until then whose address nobody confirmed.
    pub unconfirmed: DateTime<Utc>,
    /// Receipts recorded before; `None` keeps them for good.
    pub receipts: Option<DateTime<Utc>>,
    /// Signup tokens, links and codes that expired before.
    pub verifications: DateTime<Utc>,
    /// Codes for one purpose that expired before.
    pub account_codes: DateTime<Utc>,
    /// Addresses that asked for a code before, and not since.
    pub code_requests: DateTime<Utc>,
    /// Requests for erasure that were closed before.
    pub erasure_requests: DateTime<Utc>,
    /// What was done in accounts before.
    pub events: DateTime<Utc>,
    /// Imports of suppressions that were done before.
    pub imports: DateTime<Utc>,
    /// Uploads of lists that began before and have not come to their end.
    pub uploads: DateTime<Utc>,
    /// What happened before and no webhook was told.
    pub untried: DateTime<Utc>,
    /// What was tried in vain since before, for a webhook that is paused.
    pub undelivered: DateTime<Utc>,
    /// Contacts whose consent had ended by then.
    pub withdrawn: DateTime<Utc>,
    /// Contacts that are erased, and were withdrawn before.
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
