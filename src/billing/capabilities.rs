//! What can be asked for about what an account costs, and about paying for it.

use schemars::JsonSchema;
use serde::Deserialize;

use super::checkout::{self, OpenedCheckout};
use super::payer::{self, identify_payer};
use super::portal::{self, OpenedPortal};
use super::quote::{self, Quote};
use super::service::Billing;
use super::stripe::Stripe;
use super::whoami::{self, WhoAmI};
use crate::accounts::access::{AnyKey, Caller, Credentials, GoodStanding, Presented};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::{Oversees, Reads};
use crate::error::Error::*;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;

/// Who calls, and what the plan leaves.
pub struct ShowCaller;

impl Capability for ShowCaller {
    const NAME: &'static str = "whoami";
    type Part = Infra;
    type Access = AnyKey<Reads>;
    type Input = NoInput;
    type Output = WhoAmI;

    fn refusals() -> Vec<Error> {
        Vec::new()
    }

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<WhoAmI> {
        whoami::who_am_i(infra, caller).await
    }
}

/// What the present month costs.
pub struct ShowQuote;

impl Capability for ShowQuote {
    const NAME: &'static str = "show_quote";
    type Part = Infra;
    type Access = GoodStanding<Oversees>;
    type Input = NoInput;
    type Output = Quote;

    fn refusals() -> Vec<Error> {
        Vec::new()
    }

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Quote> {
        quote::quote(infra, &caller.account).await
    }
}

/// The account to pay for.
#[derive(Deserialize, JsonSchema)]
pub struct PayerRequest {
    pub account_id: String,
}

/// The page where a person pays.
pub struct OpenCheckout;

impl Capability for OpenCheckout {
    const NAME: &'static str = "open_checkout";
    const LIMIT: Option<Limit> = Some(Limit::Checkouts);
    type Part = Billing;
    type Access = Presented;
    type Input = PayerRequest;
    type Output = OpenedCheckout;

    fn refusals() -> Vec<Error> {
        let own = [AlreadySubscribed].into_iter().chain(Stripe::refusals());
        payer::refusals().into_iter().chain(own).collect()
    }

    async fn run(
        billing: &Billing,
        credentials: Credentials,
        PayerRequest { account_id }: PayerRequest,
    ) -> Result<OpenedCheckout> {
        let account = identify_payer(&billing.accounts, &credentials, &account_id).await?;
        checkout::open_checkout(&billing.infra, &billing.stripe, &account.account_id).await
    }
}

/// The page where a subscription is changed or cancelled.
pub struct OpenBillingPortal;

impl Capability for OpenBillingPortal {
    const NAME: &'static str = "open_billing_portal";
    const LIMIT: Option<Limit> = Some(Limit::Checkouts);
    type Part = Billing;
    type Access = Presented;
    type Input = PayerRequest;
    type Output = OpenedPortal;

    fn refusals() -> Vec<Error> {
        let own = [NoSubscriptionYet].into_iter().chain(Stripe::refusals());
        payer::refusals().into_iter().chain(own).collect()
    }

    async fn run(
        billing: &Billing,
        credentials: Credentials,
        PayerRequest { account_id }: PayerRequest,
    ) -> Result<OpenedPortal> {
        let account = identify_payer(&billing.accounts, &credentials, &account_id).await?;
        portal::open_portal(&billing.infra, &billing.stripe, &account.account_id).await
    }
}
