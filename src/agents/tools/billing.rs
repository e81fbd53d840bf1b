//! What it costs, and paying for it.

use rmcp::handler::server::wrapper::Json;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{KeyOnly, Parameters, TokenOrKey, ToolServer};
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
    _credentials: TokenOrKey,
}

#[tool_router(router = billing_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells whose key it is: account, plan, status, how long it is paid for, and what is left of
    /// the month's allowance.
    #[tool(annotations(title = "Who am I", read_only_hint = true, open_world_hint = false))]
    async fn whoami(&self, call: Parameters<KeyOnly>) -> Result<Json<WhoAmI>, Refusal> {
        let caller = self.anyone(&call).await?;
        Ok(Json(whoami::who_am_i(&self.platform, caller).await?))
    }

    /// Tells what the account costs this month, and its allowance. Charges nothing.
    #[tool(annotations(title = "Billing quote", read_only_hint = true, open_world_hint = false))]
    async fn billing_quote(&self, call: Parameters<KeyOnly>) -> Result<Json<Quote>, Refusal> {
        let caller = self.in_good_standing(&call).await?;
        Ok(Json(quote::quote(&self.platform, &caller.account).await?))
    }

    /// Opens the hosted checkout for 1 USD a month and returns its address, which a person opens to
    /// pay. The call itself charges nothing. Once paid, `whoami` says `paid` with a future
    /// `paid_until`.
    #[tool(annotations(
        title = "Open checkout",
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn open_checkout(
        &self,
        call: Parameters<PayerArguments>,
    ) -> Result<Json<OpenedCheckout>, Refusal> {
        let account = self.payer(&call).await?;
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
        call: Parameters<PayerArguments>,
    ) -> Result<Json<OpenedPortal>, Refusal> {
        let account = self.payer(&call).await?;
        Ok(Json(portal::open_portal(&self.platform, &self.stripe, &account.account_id).await?))
    }
}

impl ToolServer {
    async fn payer(&self, call: &Parameters<PayerArguments>) -> Result<Account, Error> {
        self.admit::<Checkouts>(call)?;
        let account_id = call.validated()?.account_id;
        let (token, key) = (call.signup_token(), call.api_key());
        let payer = identify_payer(&self.platform, &account_id, token, key);
        self.attempts(call).watch(key, payer).await
    }
}
