use uuid::Uuid;

use super::endpoint::PausedBecause;
use super::paused_mail;
use super::store::endpoints::update_paused;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::outbox::ClaimedMail;
use crate::types::ids::AccountId;

/// Pauses the endpoint until its owner resumes it; events are kept meanwhile.
pub async fn pause(
    infra: &Infra,
    account_id: &AccountId,
    endpoint_id: Uuid,
    because: PausedBecause,
) -> Result<()> {
    let (_guard, now) = (infra.shutdown.delay(), infra.clock.now());
    let mut transaction = infra.pool.begin().await?;
    if !update_paused(&mut transaction, endpoint_id, because, now).await? {
        return Ok(());
    }
    let mail = paused_mail::put(&mut transaction, &infra.outbox, account_id, endpoint_id).await?;
    transaction.commit().await?;
    let because = because.as_str();
    tracing::warn!(%account_id, %endpoint_id, because, "a webhook was paused");
    if let Some(mail) = mail {
        infra.spawn(|infra| send(infra, mail));
    }
    Ok(())
}

async fn send(infra: Infra, mail: ClaimedMail) {
    let rendered = paused_mail::rendered(&infra, &mail).await;
    if let Err(error) = infra.outbox.deliver(&mail, rendered).await {
        tracing::error!(?error, "a rejected mail could not be removed from the outbox");
    }
}
