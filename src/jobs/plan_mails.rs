//! Mails to owners about their plan, sent by the first node to notice.

use crate::accounts::mails::trial_ending;
use crate::contacts::allowance::allowance_mails;
use crate::error::Result;
use crate::infra::Infra;

/// Mails owners whose trial is ending or whose allowance is reached.
pub async fn tell_owners(infra: &Infra) -> Result<()> {
    trial_ending::tell_owners(infra).await?;
    allowance_mails::tell_owners(infra).await
}
