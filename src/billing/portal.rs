use schemars::JsonSchema;
use serde::Serialize;
use url::form_urlencoded::Serializer;
use utoipa::ToSchema;

use super::store;
use super::stripe::Stripe;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::ids::{AccountId, random_text};

/// The provider's page where a subscription is changed or cancelled.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct OpenedPortal {
    /// Give it to a person.
    pub url: String,
}

pub async fn open_portal(
    infra: &Infra,
    stripe: &Stripe,
    account_id: &AccountId,
) -> Result<OpenedPortal> {
    let subscriptions = {
        let mut connection = infra.pool.acquire().await?;
        store::list_subscriptions(&mut connection, account_id).await?
    };
    let customer_id = subscriptions
        .into_iter()
        .find_map(|subscription| subscription.customer_id)
        .ok_or(Error::NoSubscriptionYet)?;
    let form = Serializer::new(String::new())
        .append_pair("customer", &customer_id)
        .append_pair("return_url", &format!("{}/console/account", infra.base_url()))
        .finish();
    let url = stripe.create_portal_session(form, &random_text(32)).await?;
    Ok(OpenedPortal { url })
}
