//! What owners are told by mail about their plan, by whichever node comes first.

use crate::accounts::mails::trial_ending;
use crate::contacts::allowance_mails;
use crate::error::Result;
use crate::infra::Infra;

/// Tells owners whose trial ends, and whose allowance is reached.
pub async fn tell_owners(infra: &Infra) -> Result<()> {
    trial_ending::tell_owners(infra).await?;
    allowance_mails::tell_owners(infra).await
}
