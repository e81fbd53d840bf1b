use std::time::Duration;

pub const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections used more recently are not tested before use, because that costs a round trip.
pub const TRUSTED: Duration = Duration::from_secs(1);
/// Without this timeout, the operating system would wait for a dead connection for a quarter of an hour.
pub const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of statements, unless [`without_time_limit`](super::without_time_limit) is used.
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);
