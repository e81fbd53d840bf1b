use std::fmt;

use sqlx::PgPool;

use super::store;
use crate::error::Result;
use crate::types::ids::AccountId;

/// A subscription that would continue to charge after the account is erased.
pub struct RunningSubscription {
    subscription_id: String,
    customer_id: Option<String>,
}

impl fmt::Display for RunningSubscription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { subscription_id, customer_id } = self;
        write!(formatter, "subscription {subscription_id}")?;
        if let Some(customer_id) = customer_id {
            write!(formatter, " of customer {customer_id}")?;
        }
        write!(formatter, " still runs at the payment provider: cancel it there")
    }
}

pub async fn running_subscriptions(
    pool: &PgPool,
    account_id: &AccountId,
) -> Result<Vec<RunningSubscription>> {
    let mut connection = pool.acquire().await?;
    let known = store::list_subscriptions(&mut connection, account_id).await?;
    let running = known.into_iter().filter(|subscription| !subscription.ended);
    Ok(running
        .map(|subscription| RunningSubscription {
            subscription_id: subscription.subscription_id,
            customer_id: subscription.customer_id,
        })
        .collect())
}
