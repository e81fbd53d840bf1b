use super::store;
pub use super::store::SharedSite;
use super::token::Token;
use crate::error::Result;
use crate::infra::Infra;

/// The site that a link shows; `None` if the token is unknown, expired or revoked, or the account is not active.
pub async fn open(infra: &Infra, token: &str) -> Result<Option<SharedSite>> {
    let Some(token) = Token::parse(token) else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    store::find_site(&mut connection, &token.hash(), infra.clock.now()).await
}
