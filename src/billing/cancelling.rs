use sqlx::PgPool;

use super::settlement;
use super::store;
use super::stripe::Stripe;
use super::stripe::provider_reference::ProviderId;
use crate::clock::Clock;
use crate::error::Result;
use crate::types::ids::AccountId;

/// Cancels the account's subscriptions immediately. Fails when the provider refuses to cancel one.
pub async fn end_subscriptions(
    pool: &PgPool,
    clock: &Clock,
    stripe: &Stripe,
    account_id: &AccountId,
) -> Result<()> {
    let known = {
        let mut connection = pool.acquire().await?;
        store::list_subscriptions(&mut connection, account_id).await?
    };
    for known in known.into_iter().filter(|known| !known.ended) {
        let Some(id) = ProviderId::parse(&known.subscription_id) else { continue };
        stripe.cancel_subscription(&id).await?;
        settlement::end_subscription(pool, clock, &id).await?;
    }
    Ok(())
}
