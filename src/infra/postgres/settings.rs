//! Settings of every connection, overriding those of the role and the database (`ALTER ROLE … SET`).
//! Settings for speed or storage (`work_mem`, `enable_*`, `default_tablespace`) stay the operator's choice.
//! `default_transaction_read_only` is not set: operators turn it on to stop writes to a server, and that
//! counts as an outage ([`super::server_watch`]).

use std::time::Duration;

use sqlx::{PgConnection, raw_sql};

/// Settings that any session may change.
///
/// - The locks and constraints of this program assume `read committed`.
/// - `synchronous_commit`: an acknowledged choice is durable.
/// - Waiting for locks is normal, and `statement_timeout` bounds it. Idle connections are kept on
///   purpose.
/// - JIT compilation costs more time than it saves: a third of a second when counting a million choices of
///   30 days.
/// - With the keepalives, PostgreSQL detects a dead node early and releases its locks.
const FIXED: &str = "
    SET default_transaction_deferrable = off;
    SET synchronous_commit = on;
    SET lock_timeout = 0;
    SET idle_in_transaction_session_timeout = 0;
    SET idle_session_timeout = 0;
    SET standard_conforming_strings = on;
    SET transform_null_equals = off;
    SET array_nulls = on;
    SET row_security = on;
    SET client_encoding = 'UTF8';
    SET client_min_messages = warning;
    SET TimeZone = 'UTC';
    SET DateStyle = 'ISO, MDY';
    SET IntervalStyle = 'postgres';
    SET bytea_output = 'hex';
    SET extra_float_digits = 1;
    SET jit = off;
    SET tcp_keepalives_idle = 10;
    SET tcp_keepalives_interval = 5;
    SET tcp_keepalives_count = 3;
    SET tcp_user_timeout = 25000";

/// Settings that are changed only where they differ.
///
/// - `transaction_timeout` exists since PostgreSQL 17.
/// - Any `session_replication_role` other than `origin` disables the triggers that keep contacts and
///   counts consistent. Only a superuser may change it; for other roles the change fails, and with it
///   the connection.
/// - `search_path` may name another schema than `public`. The schema that contains the migrations table
///   is put first, so that no other schema shadows its tables or receives new ones.
const CONDITIONAL: &str = "
    SELECT set_config('transaction_timeout', '0', false)
        WHERE current_setting('transaction_timeout', true) <> '0';
    SELECT set_config('session_replication_role', 'origin', false)
        WHERE current_setting('session_replication_role') <> 'origin';
    SELECT set_config('search_path', 'public', false) WHERE current_schema() IS NULL;
    SELECT set_config('search_path',
            quote_ident(nspname) || ', ' || current_setting('search_path'), false)
        FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
        WHERE pg_class.oid =
                COALESCE(to_regclass('_sqlx_migrations'), to_regclass('public._sqlx_migrations'))
            AND nspname IS DISTINCT FROM current_schema()";

/// Sets the statement timeout, and an isolation level that a standby accepts, before the first `SELECT`.
pub async fn make_readable(
    connection: &mut PgConnection,
    statement_timeout: Duration,
) -> sqlx::Result<()> {
    let limit = format!("SET statement_timeout = {}", statement_timeout.as_millis());
    raw_sql(sqlx::AssertSqlSafe(limit)).execute(&mut *connection).await?;
    raw_sql("SET default_transaction_isolation = 'read committed'").execute(connection).await?;
    Ok(())
}

/// Applies all settings with statements, because poolers reject them as start-up parameters, and in
/// several queries, because a setting takes effect only for the next query.
pub async fn set_up(
    connection: &mut PgConnection,
    statement_timeout: Duration,
) -> sqlx::Result<()> {
    make_readable(connection, statement_timeout).await?;
    raw_sql(FIXED).execute(&mut *connection).await?;
    raw_sql(CONDITIONAL).execute(connection).await?;
    Ok(())
}
