//! The connection pool, what every connection is set to, and the migrations.

pub mod embedded;
pub mod kept_connection;

use std::time::Duration;

use sqlx::migrate::{MigrateError, Migration, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{Connection, PgConnection, PgPool, SqlSafeStr, raw_sql};
use tokio::time::timeout;

/// Connections of the pool. With those that are kept beside it a node has 20; PostgreSQL's default
/// of 100 leaves room for several nodes.
const MAX_CONNECTIONS: u32 = 17;
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(5);
/// Connections that were used a moment ago are not asked first whether they still live: that is a
/// round trip for every statement.
pub const TRUSTED: Duration = Duration::from_secs(1);
/// A connection that does not answer by then is taken for dead. Its network may have lost it
/// without a word, and the operating system would wait for a quarter of an hour.
pub const PING_TIMEOUT: Duration = Duration::from_secs(2);

/// After so long PostgreSQL ends a statement, whoever waits for it. What may take longer asks for
/// it by [`without_time_limit`].
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);

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
        .after_connect(|connection, _| Box::pin(set_up(connection, STATEMENT_TIMEOUT)))
        .before_acquire(|connection, meta| {
            Box::pin(async move {
                if meta.idle_for > TRUSTED {
                    ping(connection).await?;
                }
                Ok(true)
            })
        })
        // The pool asks as well when a connection comes back, but would wait for ever.
        .after_release(|connection, _| {
            Box::pin(async move { ping(connection).await.map(|()| true) })
        })
        .connect_lazy_with(options))
}

/// Whether the other end answers, and soon.
async fn ping(connection: &mut PgConnection) -> sqlx::Result<()> {
    timeout(PING_TIMEOUT, connection.ping()).await.map_err(|_| sqlx::Error::PoolTimedOut)?
}

/// What a new connection is set to: how long a statement may take, and how soon PostgreSQL finds
/// out that this node is gone, so that what it had locked is free again. To compile a statement
/// takes longer than it saves: a third of a second to count a million choices of 30 days.
///
/// `SET` and not the parameters of the connection's start, which poolers refuse.
pub async fn set_up(
    connection: &mut PgConnection,
    statement_timeout: Duration,
) -> sqlx::Result<()> {
    let settings = format!(
        "SET statement_timeout = {};
         SET jit = off;
         SET tcp_keepalives_idle = 10;
         SET tcp_keepalives_interval = 5;
         SET tcp_keepalives_count = 3;
         SET tcp_user_timeout = 25000",
        statement_timeout.as_millis()
    );
    raw_sql(sqlx::AssertSqlSafe(settings)).execute(connection).await?;
    Ok(())
}

/// Lets the statements of the transaction under way take as long as they need.
pub async fn without_time_limit(transaction: &mut PgConnection) -> sqlx::Result<()> {
    raw_sql("SET LOCAL statement_timeout = 0").execute(transaction).await?;
    Ok(())
}

/// Brings the schema up to date, under an advisory lock, so that many nodes may start at once.
///
/// A schema that is ahead is taken as it is: while nodes are upgraded one by one, one of the old
/// version may have to start again. Migrations leave it what it needs.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    migrate_by(pool, sqlx::migrate!()).await
}

/// As [`migrate`], by these migrations.
pub async fn migrate_by(pool: &PgPool, migrations: Migrator) -> Result<(), MigrateError> {
    let mut connection = pool.acquire().await?;
    // An index takes as long as it takes, and so may the node that migrates before this one.
    raw_sql("SET statement_timeout = 0").execute(&mut *connection).await?;
    let is_spread =
        sqlx::query_scalar!("SELECT to_regclass('pg_dist_partition') IS NOT NULL AS \"is!\"")
            .fetch_one(&mut *connection)
            .await?;
    let mut migrations = match is_spread {
        true => Migrator::with_migrations(migrations.iter().map(in_one_statement).collect()),
        false => migrations,
    };
    let migrated = migrations.set_ignore_missing(true).run(&mut *connection).await;
    // Not given back: the limit is gone from it.
    connection.close().await?;
    migrated
}

/// The migration for a database whose tables may be spread over several machines (docs/scaling.md).
///
/// There the text of a query that changes such a table is sent to every machine as it came, and one of
/// several statements is refused; as the body of a block each is a query of its own. One after the other,
/// because what follows a change of several parts at once is refused as well.
fn in_one_statement(migration: &Migration) -> Migration {
    let sql = format!(
        "SET LOCAL citus.multi_shard_modify_mode TO 'sequential';
         DO $whole_migration$ BEGIN
         {}
         END $whole_migration$",
        migration.sql.as_str()
    );
    Migration { sql: sqlx::AssertSqlSafe(sql).into_sql_str(), ..migration.clone() }
}

/// Whether the database answers.
pub async fn is_alive(pool: &PgPool) -> bool {
    let question = sqlx::query_scalar!("SELECT 1 AS \"one!\"").fetch_one(pool);
    matches!(timeout(PING_TIMEOUT, question).await, Ok(Ok(1)))
}
