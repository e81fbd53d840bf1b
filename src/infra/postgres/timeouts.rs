//! How long the database is waited for.

use std::time::Duration;

/// For a connection of the pool.
pub const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that were used a moment ago are not asked first whether they still live: that is a
/// round trip for every statement.
pub const TRUSTED: Duration = Duration::from_secs(1);
/// A connection that does not answer by then is taken for dead. Its network may have lost it
/// without a word, and the operating system would wait for a quarter of an hour.
pub const PING_TIMEOUT: Duration = Duration::from_secs(2);
/// After so long PostgreSQL ends a statement, whoever waits for it. What may take longer asks for
/// it by [`without_time_limit`](super::without_time_limit).
pub const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);
