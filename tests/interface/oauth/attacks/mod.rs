//! Attacks on the authorization server, in tables: each row is one attack, and what becomes of it.

mod apps;
mod people;
mod requests;
mod tokens;

use crate::support::App;

/// Parameters of a request that are replaced, or left out.
type Changes<'a> = Vec<(&'a str, Option<&'a str>)>;

async fn count(app: &App, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(count)).fetch_one(&app.pool).await.unwrap()
}
