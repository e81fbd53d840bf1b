use super::store;
use crate::accounts::credentials::secret_hash;
use crate::error::Result;
use crate::infra::Infra;

/// The address that was typed when a sign-in began, for the browser that holds its secret; `None` once it has ended.
/// It says nothing about whether an account has the address.
pub async fn find_address(infra: &Infra, secret: &str) -> Result<Option<String>> {
    let mut connection = infra.pool.acquire().await?;
    store::find_address(&mut connection, &secret_hash(secret), infra.clock.now()).await
}
