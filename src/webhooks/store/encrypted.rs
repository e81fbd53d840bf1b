use sqlx::{PgConnection, query, query_as};
use uuid::Uuid;

use crate::error::Result;

/// The encrypted secrets that sign now.
pub struct EncryptedSecrets {
    pub present: Vec<u8>,
    /// The previous one, while it is valid.
    pub previous: Option<Vec<u8>>,
    /// Whether they sign with Ed25519 too.
    pub are_public: bool,
}

pub struct EncryptedEndpoint {
    pub endpoint_id: Uuid,
    pub secret: Vec<u8>,
    /// The previous one, even if it no longer signs.
    pub previous_secret: Option<Vec<u8>>,
}

pub async fn list_encrypted(
    connection: &mut PgConnection,
    after: Uuid,
    limit: i64,
) -> Result<Vec<EncryptedEndpoint>> {
    let endpoints = query_as!(
        EncryptedEndpoint,
        "SELECT endpoint_id, secret, previous_secret FROM webhook_endpoints
         WHERE endpoint_id > $1 ORDER BY endpoint_id LIMIT $2",
        after,
        limit,
    )
    .fetch_all(connection)
    .await?;
    Ok(endpoints)
}

/// Stores re-encrypted secrets, unless the endpoint was given a new secret in the meantime.
pub async fn update_encrypted(
    connection: &mut PgConnection,
    before: &EncryptedEndpoint,
    secret: Option<Vec<u8>>,
    previous_secret: Option<Vec<u8>>,
) -> Result<()> {
    query!(
        "UPDATE webhook_endpoints
         SET secret = COALESCE($4, secret), previous_secret = COALESCE($5, previous_secret)
         WHERE endpoint_id = $1 AND secret = $2 AND previous_secret IS NOT DISTINCT FROM $3",
        before.endpoint_id,
        before.secret,
        before.previous_secret,
        secret,
        previous_secret,
    )
    .execute(connection)
    .await?;
    Ok(())
}
