//! Signing secrets of endpoints, which are stored encrypted.

use sqlx::PgConnection;
use uuid::Uuid;

use super::signing::SigningSecret;
use super::store::encrypted::EncryptedSecrets;
use super::store::endpoints::find_secrets;
use crate::clock::Clock;
use crate::error::Result;
use crate::infra::encryption::Encryptor;

/// The current signing secrets; empty if the present secret cannot be decrypted.
pub async fn open_secrets(
    clock: &Clock,
    encryptor: &Encryptor,
    connection: &mut PgConnection,
    endpoint_id: Uuid,
) -> Result<Vec<SigningSecret>> {
    let found = find_secrets(connection, endpoint_id, clock.now()).await?;
    Ok(found.map(|found| decrypted(encryptor, endpoint_id, &found)).unwrap_or_default())
}

/// Like [`open_secrets`], for secrets that were read with their endpoint.
pub fn decrypted(
    encryptor: &Encryptor,
    endpoint_id: Uuid,
    found: &EncryptedSecrets,
) -> Vec<SigningSecret> {
    let open = |encrypted: &Vec<u8>| encryptor.decrypt(endpoint_id, encrypted);
    let Some(present) = open(&found.present) else { return Vec::new() };
    let secrets = [present].into_iter().chain(found.previous.as_ref().and_then(open));
    secrets.map(|bytes| SigningSecret::new(bytes, found.are_public)).collect()
}
