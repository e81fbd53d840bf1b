use sqlx::PgPool;

use super::store;
use crate::clock::Clock;
use crate::error::Result;
use crate::infra::secret_hash::secret_hash;

/// The address that was typed when a sign-in began, for the browser that holds its secret; `None` once it has ended.
/// It does not depend on whether an account has the address.
pub async fn find_address(pool: &PgPool, clock: &Clock, secret: &str) -> Result<Option<String>> {
    let mut connection = pool.acquire().await?;
    store::find_address(&mut connection, &secret_hash(secret), clock.now()).await
}
