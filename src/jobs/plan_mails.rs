use crate::accounts::mails::trial_ending;
use crate::contacts::allowance::{allowance_mails, end_mails};
use crate::error::Result;
use crate::infra::Infra;

pub async fn tell_owners(infra: &Infra) -> Result<()> {
    trial_ending::tell_owners(infra).await?;
    end_mails::tell_owners(infra).await?;
    allowance_mails::tell_owners(infra).await
}
