//! OAuth 2.1 for the tool server: an app needs only the server's address to connect, and a member allows
//! the access, which is stored as a grant (`accounts::grants`). This module contains apps, authorization
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

/// A code is kept for this duration after its expiry, so that a second use is noticed.
const USED_CODES: Duration = Duration::days(1);

/// Deletes expired codes, tokens and grants, and unused apps. Returns the largest count.
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
    // The caller runs another round if any of the four batches was full.
    Ok([codes, tokens, grants, clients].into_iter().max().unwrap_or_default())
}
