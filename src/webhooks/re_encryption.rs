use uuid::Uuid;

use super::store::encrypted;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::encryption::Encryptor;

const BATCH: i64 = 1_000;

/// Re-encrypts signing secrets that another receipt secret encrypted, and logs how many cannot be decrypted.
pub async fn re_encrypt_all(infra: &Infra) -> Result<()> {
    let (mut re_encrypted, mut lost, mut last) = (0, 0, Uuid::nil());
    while !infra.shutdown.has_begun() {
        let mut connection = infra.pool.acquire().await?;
        let endpoints = encrypted::list_encrypted(&mut connection, last, BATCH).await?;
        let Some(end) = endpoints.last() else { break };
        last = end.endpoint_id;
        for endpoint in &endpoints {
            let secret = checked(&infra.webhook_encryptor, endpoint.endpoint_id, &endpoint.secret)?;
            lost += u64::from(matches!(secret, Checked::Lost));
            let previous = endpoint.previous_secret.as_deref();
            let previous = previous
                .map(|encrypted| checked(&infra.webhook_encryptor, endpoint.endpoint_id, encrypted))
                .transpose()?;
            let (secret, previous) = (secret.renewed(), previous.and_then(Checked::renewed));
            if secret.is_some() || previous.is_some() {
                encrypted::update_encrypted(&mut connection, endpoint, secret, previous).await?;
                re_encrypted += 1;
            }
        }
    }
    log_result(re_encrypted, lost);
    Ok(())
}

fn log_result(re_encrypted: u64, lost: u64) {
    if re_encrypted > 0 {
        tracing::info!(
            webhooks = re_encrypted,
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

enum Checked {
    Current,
    /// Encrypted with another receipt secret; contains the re-encrypted signing secret.
    Renewed(Vec<u8>),
    Lost,
}

impl Checked {
    fn renewed(self) -> Option<Vec<u8>> {
        if let Self::Renewed(encrypted) = self { Some(encrypted) } else { None }
    }
}

fn checked(encryptor: &Encryptor, endpoint_id: Uuid, encrypted: &[u8]) -> Result<Checked> {
    if encryptor.is_current(endpoint_id, encrypted) {
        return Ok(Checked::Current);
    }
    match encryptor.decrypt(endpoint_id, encrypted) {
        Some(secret) => Ok(Checked::Renewed(encryptor.encrypt(endpoint_id, &secret)?)),
        None => Ok(Checked::Lost),
    }
}
