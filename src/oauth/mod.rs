//! OAuth 2.1 for the tool server: an app connects by its address alone, and a member allows it. What
//! is allowed is a grant (`accounts::grants`). Here are the protocol's parts: apps, authorization
//! requests, codes and tokens. Tokens are opaque and only valid at `/mcp`.

pub mod authorization;
pub mod client;
pub mod client_metadata;
mod codes;
mod documents;
pub mod exchange;
pub mod metadata;
pub mod parameters;
mod redirect_uri;
pub mod refusal;
pub mod registration;
pub mod service;
mod store;
pub mod tokens;

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;

use crate::accounts::grants;
use crate::error::Result;

/// A used code is kept for this duration, so that a second use is noticed.
const USED_CODES: Duration = Duration::days(1);

/// Deletes what has expired: codes, tokens, grants, and apps that nobody uses.
pub async fn delete_expired(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    limit: i64,
) -> Result<u64> {
    let codes = store::delete_expired_codes(connection, now - USED_CODES, limit).await?;
    let tokens = store::delete_expired_tokens(connection, now, limit).await?;
    let grants = grants::delete_expired_grants(connection, now, limit).await?;
    let unused = now - registration::UNUSED_LIFE;
    let forgotten = now - registration::FORGOTTEN_LIFE;
    let clients = store::delete_unused_clients(connection, unused, forgotten, limit).await?;
    // A full batch of any of them asks for another round.
    Ok([codes, tokens, grants, clients].into_iter().max().unwrap_or_default())
}
