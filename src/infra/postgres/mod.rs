pub mod dedicated_connection;
pub mod embedded;
pub mod server_watch;
mod settings;
mod sockets;
pub mod start_check;
pub mod timeouts;
mod write_probe;

use std::sync::Arc;

use sqlx::migrate::{MigrateError, Migration, Migrator};
use sqlx::postgres::{PgConnectOptions, PgPoolOptions};
use sqlx::{PgConnection, PgPool, SqlSafeStr, raw_sql};

use crate::clock::Clock;
use server_watch::{Role, ServerWatch};
use settings::set_up;
use timeouts::{ACQUIRE_TIMEOUT, STATEMENT_TIMEOUT, TRUSTED};
use write_probe::WriteProbe;

/// With those outside the pool, a node has 20 connections, and briefly 21. PostgreSQL permits 100 by default.
const MAX_CONNECTIONS: u32 = 17;

#[derive(Clone)]
pub struct Database {
    pub pool: PgPool,
    pub server: Arc<ServerWatch>,
    write_probe: Arc<WriteProbe>,
}

impl Database {
    /// The database of a `postgres://` address. Connections are opened on demand, so the node
    /// recovers from an outage without a restart.
    pub fn connect(url: &str) -> Result<Self, sqlx::Error> {
        Self::connect_to(url, Role::Primary)
    }

    /// Like [`Database::connect`], for reads that tolerate stale data: the server may be a standby.
    pub fn connect_replica(url: &str) -> Result<Self, sqlx::Error> {
        Self::connect_to(url, Role::Replica)
    }

    fn connect_to(url: &str, role: Role) -> Result<Self, sqlx::Error> {
        let server = Arc::new(ServerWatch::new(options(url)?, role));
        Ok(Self { pool: pool(&server), server, write_probe: Arc::default() })
    }

    /// Watches the address until the pool is closed, so that a change of server is detected early.
    pub async fn watch(self) {
        self.server.run(self.pool).await;
    }

    pub async fn takes_writes(&self, clock: &Clock) -> bool {
        self.write_probe.succeeds(&self.pool, clock).await
    }
}

/// PgBouncer refuses `extra_float_digits` as a start-up parameter, so [`settings`] sets it.
fn options(url: &str) -> sqlx::Result<PgConnectOptions> {
    let options = url.parse::<PgConnectOptions>()?;
    Ok(options.application_name("assent").extra_float_digits(None))
}

fn pool(server: &Arc<ServerWatch>) -> PgPool {
    let [opened, taken, returned] = [(); 3].map(|()| Arc::clone(server));
    PgPoolOptions::new()
        .max_connections(MAX_CONNECTIONS)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        .test_before_acquire(false)
        .after_connect(move |connection, _| {
            let server = Arc::clone(&opened);
            Box::pin(async move {
                set_up(connection, STATEMENT_TIMEOUT).await?;
                server.admit(connection).await.map(drop)
            })
        })
        .before_acquire(move |connection, meta| {
            let server = Arc::clone(&taken);
            Box::pin(async move {
                if server.is_outdated(meta.age) {
                    return Ok(false);
                }
                if meta.idle_for > TRUSTED || server.is_uncertain() {
                    server.admit(connection).await?;
                }
                Ok(true)
            })
        })
        // The pool pings a returned connection itself, but without a time limit.
        .after_release(move |connection, meta| {
            let server = Arc::clone(&returned);
            Box::pin(async move {
                Ok(!server.is_outdated(meta.age) && server.admit(connection).await.map(|_| true)?)
            })
        })
        .connect_lazy_with(server.options().clone())
}

pub async fn without_time_limit(transaction: &mut PgConnection) -> sqlx::Result<()> {
    raw_sql("SET LOCAL statement_timeout = 0").execute(transaction).await?;
    Ok(())
}

/// Migrates the schema under an advisory lock, so that several nodes may start at once. A newer schema
/// is accepted, because a node of the old version may restart during a rolling upgrade.
pub async fn migrate(pool: &PgPool) -> Result<(), MigrateError> {
    migrate_by(pool, sqlx::migrate!()).await
}

pub async fn migrate_by(pool: &PgPool, migrations: Migrator) -> Result<(), MigrateError> {
    let mut connection = pool.acquire().await?;
    // Building an index, or waiting for another node that migrates first, may take any time.
    raw_sql("SET statement_timeout = 0").execute(&mut *connection).await?;
    let is_distributed =
        sqlx::query_scalar!("SELECT to_regclass('pg_dist_partition') IS NOT NULL AS \"is!\"")
            .fetch_one(&mut *connection)
            .await?;
    let mut migrations = match is_distributed {
        true => Migrator::with_migrations(migrations.iter().map(in_one_statement).collect()),
        false => migrations,
    };
    let migrated = migrations.set_ignore_missing(true).run(&mut *connection).await;
    // The connection is not returned to the pool, because its statement timeout was removed.
    connection.close().await?;
    migrated
}

/// The form of a migration for distributed tables (docs/cluster.md). Citus sends a query that changes
/// such a table to every machine unchanged, and refuses a query of several statements; in a `DO` block
/// each statement is a separate query. Shards are changed sequentially, because Citus refuses any
/// statement after a parallel change of several shards.
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
