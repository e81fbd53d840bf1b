//! Timeouts of the database.

use std::time::Duration;

/// For a connection of the pool.
pub const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections used more recently than this are not tested before use, because that costs a round trip
/// per statement.
pub const TRUSTED: Duration = Duration::from_secs(1);
/// A connection that does not answer within this time counts as dead. The network may have dropped it
/// silently, and the operating system would wait for a quarter of an hour.
pub const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// PostgreSQL cancels a statement after this time. Longer statements use
/// [`without_time_limit`](super::without_time_limit).
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);
