use sqlx::PgPool;

use super::store;
pub use super::store::SharedSite;
use super::token::Token;
use crate::clock::Clock;
use crate::error::Result;

/// The site that a link shows; `None` if the token is unknown, expired or revoked, or the account is not active.
pub async fn open(pool: &PgPool, clock: &Clock, token: &str) -> Result<Option<SharedSite>> {
    let Some(token) = Token::parse(token) else { return Ok(None) };
    let mut connection = pool.acquire().await?;
    store::find_site(&mut connection, &token.hash(), clock.now()).await
}
