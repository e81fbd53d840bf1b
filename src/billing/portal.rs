use schemars::JsonSchema;
use serde::Serialize;
use url::form_urlencoded::Serializer;
use utoipa::ToSchema;

use super::payer::{PayerRequest, identify_payer};
use super::service::Billing;
use super::stripe::Stripe;
use super::{payer, store};
use crate::accounts::access::{Credentials, UncheckedCredentials};
use crate::accounts::capability::Capability;
use crate::accounts::credentials::Accepts;
use crate::accounts::scope::{Governs, Needs, Scope};
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::limits::per_client::Limit;
use crate::types::ids::random_text;

/// The provider's page where a subscription is changed or cancelled.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct OpenedPortal {
    /// Give it to a person.
    pub url: String,
}

/// The address of the portal for the customer of the account's newest subscription.
pub struct OpenBillingPortal;

impl Capability for OpenBillingPortal {
    const NAME: &'static str = "open_billing_portal";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Open the billing portal",
        "Opens the payment provider's portal, where a person changes the card or cancels the \
         subscription, and returns its address.",
    ));
    const ACCEPTS: Accepts = Accepts::SignupTokenOrKey;
    const SCOPES: &'static [Scope] = Governs::SCOPES;
    const LIMIT: Option<Limit> = Some(Limit::Checkouts);
    type Service = Billing;
    type Access = UncheckedCredentials;
    type Input = PayerRequest;
    type Output = OpenedPortal;

    fn refusals() -> Vec<Error> {
        let own = [Error::NoSubscriptionYet].into_iter().chain(Stripe::refusals());
        payer::refusals().into_iter().chain(own).collect()
    }

    async fn run(
        billing: &Billing,
        credentials: Credentials,
        PayerRequest { account_id }: PayerRequest,
    ) -> Result<OpenedPortal> {
        let account = identify_payer(&billing.accounts, &credentials, account_id).await?;
        let infra = &billing.infra;
        let subscriptions = {
            let mut connection = infra.pool.acquire().await?;
            store::list_subscriptions(&mut connection, &account.account_id).await?
        };
        let customer_id = subscriptions
            .into_iter()
            .find_map(|subscription| subscription.customer_id)
            .ok_or(Error::NoSubscriptionYet)?;
        let form = Serializer::new(String::new())
            .append_pair("customer", &customer_id)
            .append_pair("return_url", &format!("{}/console/account", infra.base_url()))
            .finish();
        let url = billing.stripe.create_portal_session(form, &random_text(32)).await?;
        Ok(OpenedPortal { url })
    }
}
