use chrono::{DateTime, Duration, NaiveDate, Utc};

use crate::config::Retention;
use crate::contacts::suppressions::import::LONGEST_UPLOAD;
use crate::webhooks::sending::pauses::RETRY_PERIOD;

const EXPIRED_VERIFICATIONS: Duration = Duration::days(30);
/// Requests for codes are counted per minute and per UTC day; older counts are not needed.
const CODE_REQUESTS: Duration = Duration::days(2);
const IMPORTS: Duration = Duration::days(30);
const EVENTS: Duration = Duration::days(400);
const ERASURE_REQUESTS: Duration = Duration::days(400);
const WATCH_REPORTS: Duration = Duration::days(400);

const TEST_RECEIPTS: Duration = Duration::days(7);
const WITHDRAWN_ENTRIES: Duration = Duration::days(400);

const UNTRIED: Duration = RETRY_PERIOD;
/// A day, plus the delay of the last attempt, which may be made somewhat over an hour later.
const UNDELIVERED: Duration = Duration::hours(26);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cutoffs {
    pub shown: NaiveDate,
    pub unconfirmed: DateTime<Utc>,
    /// Receipts that were recorded before this time; `None` keeps receipts permanently.
    pub receipts: Option<DateTime<Utc>>,
    pub test_receipts: DateTime<Utc>,
    pub verifications: DateTime<Utc>,
    pub account_codes: DateTime<Utc>,
    pub code_requests: DateTime<Utc>,
    pub erasure_requests: DateTime<Utc>,
    pub watch_reports: DateTime<Utc>,
    pub events: DateTime<Utc>,
    pub imports: DateTime<Utc>,
    pub uploads: DateTime<Utc>,
    pub untried: DateTime<Utc>,
    /// Deliveries of paused webhooks that have been failing since before this time.
    pub undelivered: DateTime<Utc>,
    pub withdrawn: DateTime<Utc>,
    pub withdrawn_entries: DateTime<Utc>,
}

impl Cutoffs {
    pub fn at(now: DateTime<Utc>, kept: Retention) -> Self {
        let before = |days: u32| now - Duration::days(days.into());
        Self {
            shown: before(kept.shown).date_naive(),
            unconfirmed: before(kept.unconfirmed),
            receipts: kept.receipts.map(before),
            test_receipts: now - TEST_RECEIPTS,
            verifications: now - EXPIRED_VERIFICATIONS,
            account_codes: now,
            code_requests: now - CODE_REQUESTS,
            erasure_requests: now - ERASURE_REQUESTS,
            watch_reports: now - WATCH_REPORTS,
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
