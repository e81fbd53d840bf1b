use std::io::ErrorKind;
use std::time::{Duration, Instant};

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection, PgConnection, Row, query, query_scalar, raw_sql};
use tokio::time::{sleep, timeout};

use super::server_watch::ask;
use super::settings::{make_readable, set_up};
use super::timeouts::{ACQUIRE_TIMEOUT, PING_TIMEOUT, STATEMENT_TIMEOUT};
use super::{Database, options};

const OLDEST: i32 = 140_000;
const RETRY_PAUSE: Duration = Duration::from_millis(200);
const ROUNDS: usize = 3;

/// The reason why a database cannot be used. Every `Display` is one sentence for the operator.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Address(sqlx::Error),
    #[error("{0}")]
    Unreachable(sqlx::Error),
    #[error("the server is PostgreSQL {found}, and version 14 or later is needed")]
    TooOld { found: String },
    #[error(
        "its encoding is {found}, and UTF8 is needed: create the database with ENCODING 'UTF8' TEMPLATE template0"
    )]
    WrongEncoding { found: String },
    #[error("the server is a standby (in recovery), and the primary is needed")]
    Standby,
    #[error(
        "it only accepts read-only transactions (default_transaction_read_only), and the service has to write"
    )]
    ReadOnly,
    #[error(
        "the connection pooler shares server connections between clients (PgBouncer: pool_mode = transaction or statement), and the service needs pool_mode = session"
    )]
    SharedByPooler,
    #[error(
        "it belongs to another database system than DATABASE_URL: it must be a replica of that one"
    )]
    OtherSystem,
    #[error("a connection cannot be set up: {0}")]
    Settings(sqlx::Error),
}

/// Checks that the database is reachable, recent enough, encoded as UTF8, a primary, writable, and
/// gives every client its own session.
pub async fn check_primary(url: &str) -> Result<(), StartError> {
    let options = options(url).map_err(StartError::Address)?;
    let mut connection = reach(&options, ACQUIRE_TIMEOUT).await?;
    require_session(&options, &mut connection).await?;
    require_version_and_encoding(&mut connection).await?;
    let report = ask(&mut connection).await.map_err(StartError::Unreachable)?;
    if report.in_recovery {
        return Err(StartError::Standby);
    }
    if report.read_only {
        return Err(StartError::ReadOnly);
    }
    set_up(&mut connection, STATEMENT_TIMEOUT).await.map_err(StartError::Settings)?;
    close(connection).await;
    Ok(())
}

/// Like [`check_primary`], for a read replica, possibly a standby, of the same database system.
pub async fn check_replica(url: &str, primary: &Database) -> Result<(), StartError> {
    let options = options(url).map_err(StartError::Address)?;
    let mut connection = reach(&options, PING_TIMEOUT).await?;
    require_session(&options, &mut connection).await?;
    require_version_and_encoding(&mut connection).await?;
    let mut acquired = primary.pool.acquire().await.map_err(StartError::Unreachable)?;
    let systems = [system_of(&mut connection).await, system_of(&mut acquired).await];
    if let [Some(replica), Some(primary)] = systems
        && replica != primary
    {
        return Err(StartError::OtherSystem);
    }
    set_up(&mut connection, STATEMENT_TIMEOUT).await.map_err(StartError::Settings)?;
    close(connection).await;
    Ok(())
}

async fn reach(
    options: &PgConnectOptions,
    time_limit: Duration,
) -> Result<PgConnection, StartError> {
    let begun = Instant::now();
    loop {
        let left = time_limit.saturating_sub(begun.elapsed());
        let connected = timeout(left, options.connect()).await;
        match connected.unwrap_or(Err(sqlx::Error::PoolTimedOut)) {
            Ok(mut connection) => {
                let readable = make_readable(&mut connection, STATEMENT_TIMEOUT).await;
                return readable.map(|()| connection).map_err(StartError::Settings);
            }
            Err(error) if is_starting(&error) && left > RETRY_PAUSE => sleep(RETRY_PAUSE).await,
            Err(error) => return Err(StartError::Unreachable(error)),
        }
    }
}

fn is_starting(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => error.kind() == ErrorKind::ConnectionRefused,
        sqlx::Error::Database(error) => error.code().as_deref() == Some("57P03"),
        _ => false,
    }
}

async fn require_version_and_encoding(connection: &mut PgConnection) -> Result<(), StartError> {
    let found = query!(
        "SELECT current_setting('server_version_num')::integer AS \"number!\",
             current_setting('server_version') AS \"version!\",
             current_setting('server_encoding') AS \"encoding!\""
    );
    let found = found.fetch_one(connection).await.map_err(StartError::Unreachable)?;
    if found.number < OLDEST {
        return Err(StartError::TooOld { found: found.version });
    }
    match found.encoding.as_str() {
        "UTF8" => Ok(()),
        _ => Err(StartError::WrongEncoding { found: found.encoding }),
    }
}

/// Fails with a pooler in transaction or statement mode, where settings, prepared statements, `LISTEN`
/// and session locks would leak to other clients. With such a pooler, two clients see the same session,
/// or one client sees several. If no second connection can be opened, sessions count as not shared.
async fn require_session(
    options: &PgConnectOptions,
    first: &mut PgConnection,
) -> Result<(), StartError> {
    let mut mine = Vec::new();
    for _ in 0..ROUNDS {
        mine.push(session_of(first).await.map_err(StartError::Unreachable)?);
    }
    let telling_apart = async {
        let mut second = options.connect().await.ok()?;
        make_readable(&mut second, PING_TIMEOUT).await.ok()?;
        let other = session_of(&mut second).await.ok()?;
        mine.push(session_of(first).await.ok()?);
        close(second).await;
        Some(other)
    };
    let other = timeout(PING_TIMEOUT, telling_apart).await.ok().flatten();
    let is_shared = mine.windows(2).any(|pair| pair[0] != pair[1])
        || other.is_some_and(|other| mine.contains(&other));
    if is_shared { Err(StartError::SharedByPooler) } else { Ok(()) }
}

/// The session's process id and the server's start time. Not prepared, because poolers mix up prepared statements.
async fn session_of(connection: &mut PgConnection) -> sqlx::Result<(i32, String)> {
    let statement = "SELECT pg_backend_pid(), pg_postmaster_start_time()::text";
    let row = raw_sql(statement).fetch_one(connection).await?;
    Ok((row.try_get(0)?, row.try_get(1)?))
}

/// The identifier of the database system; `None` if the role may not read it.
async fn system_of(connection: &mut PgConnection) -> Option<i64> {
    let statement = query_scalar!("SELECT system_identifier AS \"id!\" FROM pg_control_system()");
    statement.fetch_one(connection).await.ok()
}

async fn close(connection: PgConnection) {
    let _ = timeout(PING_TIMEOUT, connection.close()).await;
}
