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
use crate::accounts::credentials::Accepts;
use crate::accounts::scope::{Oversees, Reads};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;

/// Who calls, and what the plan leaves.
pub struct ShowCaller;

impl Capability for ShowCaller {
    const NAME: &'static str = "whoami";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Tells whose key it is: account, plan, status, how long it is paid for, and what is \
         left of the month's allowance.",
    ));
    type Part = Infra;
    type Access = AnyKey<Reads>;
    type Input = NoInput;
    type Output = WhoAmI;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<WhoAmI> {
        whoami::who_am_i(infra, caller).await
    }
}

/// What the present month costs.
pub struct ShowQuote;

impl Capability for ShowQuote {
    const NAME: &'static str = "show_quote";
    const TOOL: Option<Tool> =
        Some(Tool::READ_ONLY.described(
            "Tells what the account costs this month, and its allowance. Charges nothing.",
        ));
    type Part = Infra;
    type Access = GoodStanding<Oversees>;
    type Input = NoInput;
    type Output = Quote;

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
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Opens the hosted checkout for 1 USD a month and returns its address, which a person \
         opens to pay. The call itself charges nothing. Once paid, `whoami` says `paid` with a \
         future `paid_until`.",
    ));
    const ACCEPTS: Accepts = Accepts::SignupTokenOrKey;
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
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Opens the payment provider's portal, where a person changes the card or cancels the \
         subscription, and returns its address.",
    ));
    const ACCEPTS: Accepts = Accepts::SignupTokenOrKey;
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
