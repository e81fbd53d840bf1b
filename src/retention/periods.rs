//! How long things are kept, as points in time.

use chrono::{DateTime, Duration, NaiveDate, Utc};

use crate::config::Retention;

/// How long a proof that has expired can still be told from one that never was.
const EXPIRED_PROOFS: Duration = Duration::days(30);
/// Codes are counted per minute and per UTC day; after that a count means nothing.
const CODE_REQUESTS: Duration = Duration::days(2);

/// What lies before these ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Popups shown before this day.
    pub shown: NaiveDate,
    /// Accounts opened until then whose address nobody confirmed.
    pub unconfirmed: DateTime<Utc>,
    /// Receipts recorded before; `None` keeps them for good.
    pub receipts: Option<DateTime<Utc>>,
    /// Signup tokens, links and codes that expired before.
    pub proofs: DateTime<Utc>,
    /// Addresses that asked for a code before, and not since.
    pub code_requests: DateTime<Utc>,
}

impl Ends {
    pub fn at(now: DateTime<Utc>, kept: Retention) -> Self {
        let before = |days: u32| now - Duration::days(days.into());
        Self {
            shown: before(kept.shown).date_naive(),
            unconfirmed: before(kept.unconfirmed),
            receipts: kept.receipts.map(before),
            proofs: now - EXPIRED_PROOFS,
            code_requests: now - CODE_REQUESTS,
        }
    }
}
