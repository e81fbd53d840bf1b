use chrono::{DateTime, Duration, Utc};

/// Whole seconds, rounded up, for `Retry-After`.
pub fn seconds(duration: Duration) -> u64 {
    u64::try_from((duration.num_milliseconds() + 999) / 1000).unwrap_or(0).max(1)
}

/// Fails before `time`; the refusal contains the whole seconds until then.
pub fn not_before<E>(
    time: DateTime<Utc>,
    now: DateTime<Utc>,
    refusal: impl FnOnce(u64) -> E,
) -> Result<(), E> {
    if time > now { Err(refusal(seconds(time - now))) } else { Ok(()) }
}
