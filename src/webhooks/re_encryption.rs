use uuid::Uuid;

use super::store::sealed;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::encryption::Encryptor;

const BATCH: i64 = 1_000;

/// Re-encrypts what another receipt secret encrypted, and logs endpoints whose secret cannot be decrypted.
pub async fn re_encrypt_all(infra: &Infra) -> Result<()> {
    let (mut resealed, mut lost, mut last) = (0, 0, Uuid::nil());
    while !infra.shutdown.has_begun() {
        let mut connection = infra.pool.acquire().await?;
        let endpoints = sealed::list_sealed(&mut connection, last, BATCH).await?;
        let Some(end) = endpoints.last() else { break };
        last = end.endpoint_id;
        for endpoint in &endpoints {
            let secret =
                looked_at(&infra.webhook_encryptor, endpoint.endpoint_id, &endpoint.secret)?;
            lost += u64::from(matches!(secret, Sealed::Lost));
            let previous = endpoint.previous_secret.as_deref();
            let previous = previous
                .map(|sealed| looked_at(&infra.webhook_encryptor, endpoint.endpoint_id, sealed))
                .transpose()?;
            let (secret, previous) = (secret.anew(), previous.and_then(Sealed::anew));
            if secret.is_some() || previous.is_some() {
                sealed::update_sealed(&mut connection, endpoint, secret, previous).await?;
                resealed += 1;
            }
        }
    }
    tell(resealed, lost);
    Ok(())
}

fn tell(resealed: u64, lost: u64) {
    if resealed > 0 {
        tracing::info!(
            webhooks = resealed,
            "the first receipt secret seals the secrets of these webhooks now"
        );
    }
    if lost > 0 {
        tracing::error!(
            webhooks = lost,
            "no receipt secret opens the secrets of these webhooks: put the one that was removed at the \
             end of RECEIPT_SECRETS until the log says that they are sealed anew, or have their owners \
             make new ones"
        );
    }
}

enum Sealed {
    Well,
    /// Encrypted with another one; contains the re-encrypted secret.
    Anew(Vec<u8>),
    Lost,
}

impl Sealed {
    fn anew(self) -> Option<Vec<u8>> {
        if let Self::Anew(sealed) = self { Some(sealed) } else { None }
    }
}

fn looked_at(encryptor: &Encryptor, endpoint_id: Uuid, sealed: &[u8]) -> Result<Sealed> {
    if encryptor.is_current(endpoint_id, sealed) {
        return Ok(Sealed::Well);
    }
    match encryptor.open(endpoint_id, sealed) {
        Some(secret) => Ok(Sealed::Anew(encryptor.seal(endpoint_id, &secret)?)),
        None => Ok(Sealed::Lost),
    }
}
