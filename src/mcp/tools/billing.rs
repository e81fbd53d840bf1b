//! What it costs, and paying for it.

use rmcp::{tool, tool_router};

use crate::accounts::capability::NoInput;
use crate::billing::capabilities::*;
use crate::billing::checkout::OpenedCheckout;
use crate::billing::portal::OpenedPortal;
use crate::billing::quote::Quote;
use crate::billing::whoami::WhoAmI;
use crate::mcp::call::{Keyed, Parameters, TokenedOrKeyed};
use crate::mcp::outcome::{Json, Refusal};
use crate::mcp::tool_server::ToolServer;

#[tool_router(router = billing_tools, vis = "pub(super)")]
impl ToolServer {
    /// Tells whose key it is: account, plan, status, how long it is paid for, and what is left of
    /// the month's allowance.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn whoami(&self, call: Parameters<Keyed<NoInput>>) -> Result<Json<WhoAmI>, Refusal> {
        self.run::<ShowCaller>(&call).await
    }

    /// Tells what the account costs this month, and its allowance. Charges nothing.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn show_quote(&self, call: Parameters<Keyed<NoInput>>) -> Result<Json<Quote>, Refusal> {
        self.run::<ShowQuote>(&call).await
    }

    /// Opens the hosted checkout for 1 USD a month and returns its address, which a person opens to
    /// pay. The call itself charges nothing. Once paid, `whoami` says `paid` with a future
    /// `paid_until`.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn open_checkout(
        &self,
        call: Parameters<TokenedOrKeyed<PayerRequest>>,
    ) -> Result<Json<OpenedCheckout>, Refusal> {
        self.run::<OpenCheckout>(&call).await
    }

    /// Opens the payment provider's portal, where a person changes the card or cancels the
    /// subscription, and returns its address.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = false,
        idempotent_hint = false,
        open_world_hint = true
    ))]
    async fn open_billing_portal(
        &self,
        call: Parameters<TokenedOrKeyed<PayerRequest>>,
    ) -> Result<Json<OpenedPortal>, Refusal> {
        self.run::<OpenBillingPortal>(&call).await
    }
}
