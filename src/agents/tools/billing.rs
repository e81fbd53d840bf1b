//! What it costs, and paying for it.

use rmcp::handler::server::wrapper::{Json, Parameters};
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Key, KeyOnly, Sender, Token, ToolServer};
use crate::accounts::Account;
use crate::agents::outcome::Refusal;
use crate::billing::checkout::{self, OpenedCheckout};
use crate::billing::payer::identify_payer;
use crate::billing::portal::{self, OpenedPortal};
use crate::billing::quote::{self, Quote};
use crate::billing::whoami::{self, WhoAmI};
use crate::error::Error;
use crate::http::rate_limit::Checkouts;

#[derive(Deserialize, JsonSchema)]
struct PayerArguments {
    /// As `create_account` gave it.
    account_id: String,
    #[serde(flatten)]
    token: Token,
    #[serde(flatten)]
    key: Key,
}

#[tool_router(router = billing_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells whose key it is: account, plan, status, how long it is paid for, and what is left of
    /// the month's allowance.
    #[tool(annotations(title = "Who am I", read_only_hint = true, open_world_hint = false))]
    async fn whoami(
        &self,
        sender: Sender,
        Parameters(arguments): Parameters<KeyOnly>,
    ) -> Result<Json<WhoAmI>, Refusal> {
        let caller = self.anyone(&sender, &arguments.key).await?;
        Ok(Json(whoami::who_am_i(&self.platform, caller).await?))
    }

    /// Tells what the account costs this month, and its allowance. Charges nothing.
    #[tool(annotations(title = "Billing quote", read_only_hint = true, open_world_hint = false))]
    async fn billing_quote(
        &self,
        sender: Sender,
        Parameters(arguments): Parameters<KeyOnly>,
    ) -> Result<Json<Quote>, Refusal> {
        let caller = self.in_good_standing(&sender, &arguments.key).await?;
        Ok(Json(quote::quote(&self.platform, &caller.account).await?))
    }

    /// Opens the hosted checkout for 1 USD a month and returns its address, which a person opens to
    /// pay. The call itself charges nothing. Once paid, `whoami` says `paid` with a future
    /// `paid_until`.
    #[tool(annotations(
        title = "Open checkout",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = true,
        open_world_hint = true
    ))]
    async fn open_checkout(
        &self,
        sender: Sender,
        Parameters(arguments): Parameters<PayerArguments>,
    ) -> Result<Json<OpenedCheckout>, Refusal> {
        let account = self.payer(&sender, &arguments).await?;
        Ok(Json(checkout::open_checkout(&self.platform, &self.stripe, &account.account_id).await?))
    }

    /// Opens the payment provider's portal, where a person changes the card or cancels the
    /// subscription, and returns its address.
    #[tool(annotations(
        title = "Open the billing portal",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn open_billing_portal(
        &self,
        sender: Sender,
        Parameters(arguments): Parameters<PayerArguments>,
    ) -> Result<Json<OpenedPortal>, Refusal> {
        let account = self.payer(&sender, &arguments).await?;
        Ok(Json(portal::open_portal(&self.platform, &self.stripe, &account.account_id).await?))
    }
}

impl ToolServer {
    async fn payer(&self, sender: &Sender, arguments: &PayerArguments) -> Result<Account, Error> {
        self.admit::<Checkouts>(sender)?;
        let token = arguments.token.or_header(sender);
        let key = arguments.key.or_header(sender);
        let payer = identify_payer(&self.platform, &arguments.account_id, token, key);
        self.attempts(sender).watch(key, payer).await
    }
}
