//! The clock of the program. Every expiry, day boundary and timestamp comes from here, never from
//! `now()` in SQL and never from the standard library's clocks elsewhere (`clippy.toml` bans them),
//! so that moving this clock moves the whole service.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use chrono::{DateTime, Duration, DurationRound, Utc};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

/// The machine's clock, or a clock that a test sets.
#[derive(Clone, Debug, Default)]
pub enum Clock {
    #[default]
    System,
    /// Microseconds since 1970-01-01 UTC, shared by all clones.
    Manual(Arc<AtomicI64>),
}

impl Clock {
    /// A clock that stays at `start` until [`Clock::advance`] moves it.
    pub fn manual(start: DateTime<Utc>) -> Self {
        Self::Manual(Arc::new(AtomicI64::new(start.timestamp_micros())))
    }

    /// Returns the time in UTC, truncated to microseconds as in PostgreSQL.
    #[allow(clippy::disallowed_methods, reason = "the only function that asks the machine")]
    pub fn now(&self) -> DateTime<Utc> {
        let now = match self {
            Self::System => Utc::now(),
            Self::Manual(micros) => {
                DateTime::from_timestamp_micros(micros.load(Ordering::SeqCst)).unwrap_or_default()
            }
        };
        now.duration_trunc(Duration::microseconds(1)).unwrap_or(now)
    }

    /// Moves a manual clock; has no effect on the machine's.
    pub fn advance(&self, by: Duration) {
        if let Self::Manual(micros) = self {
            let by = by.num_microseconds().unwrap_or(i64::MAX);
            micros.fetch_add(by, Ordering::SeqCst);
        }
    }

    pub fn set(&self, time: DateTime<Utc>) {
        if let Self::Manual(micros) = self {
            micros.store(time.timestamp_micros(), Ordering::SeqCst);
        }
    }
}

/// A moment as answers show it: RFC 3339 in UTC with milliseconds and `Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, JsonSchema, ToSchema)]
#[schema(example = "2026-01-31T23:59:59.123Z")]
pub struct Timestamp(pub DateTime<Utc>);

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&rfc3339(self.0))
    }
}

/// RFC 3339 in UTC with milliseconds and `Z`, for example `2026-01-31T23:59:59.123Z`.
pub fn rfc3339(time: DateTime<Utc>) -> String {
    time.to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}
