use crate::accounts::mails::{key_expiry, trial_ending};
use crate::contacts::allowance::{allowance_mails, end_mails};
use crate::error::Result;
use crate::infra::Infra;

pub async fn notify_owners(infra: &Infra) -> Result<()> {
    key_expiry::record_expired(&infra.pool, &infra.clock).await?;
    trial_ending::notify_owners(infra).await?;
    key_expiry::notify_owners(infra).await?;
    end_mails::notify_owners(infra).await?;
    allowance_mails::notify_owners(infra).await
}
