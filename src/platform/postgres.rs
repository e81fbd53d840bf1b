//! The connection pool and the migrations.

use std::time::Duration;

use sqlx::migrate::MigrateError;
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgPool};

/// Connections per node; PostgreSQL's default of 100 leaves room for several nodes.
const MAX_CONNECTIONS: u32 = 20;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that were used a moment ago are not asked first whether they still live: that is a
/// round trip for every statement.
pub const TRUSTED: Duration = Duration::from_secs(1);

/// Opens a pool on a `postgres://` address.
///
/// Connections are made when needed, so a database that is away for a while is found again
/// without a restart.
pub fn connect(url: &str) -> Result<PgPool, sqlx::Error> {
    let options = url.parse::<PgConnectOptions>()?.application_name("assent");
    Ok(PgPoolOptions::new()
        .max_connections(MAX_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > TRUSTED {
                    connection.ping().await?;
                }
                Ok(true)
            })
        })
        .connect_lazy_with(options))
}

/// Brings the schema up to date, under an advisory lock, so that many nodes may start at once.
///
/// A schema that is ahead is taken as it is: while nodes are upgraded one by one, one of the old
/// version may have to start again. Migrations leave it what it needs.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    sqlx::migrate!().set_ignore_missing(true).run(pool).await
}

/// Whether the database answers.
pub async fn is_alive(pool: &PgPool) -> bool {
    let question = sqlx::query_scalar!("SELECT 1 AS \"one!\"").fetch_one(pool);
    matches!(tokio::time::timeout(Duration::from_secs(2), question).await, Ok(Ok(1)))
}
