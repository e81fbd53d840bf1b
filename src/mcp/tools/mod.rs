//! The list of tools. Their descriptions are those of the capabilities.

mod accounts;
mod arguments;
mod contacts;
mod schema;

use futures_util::future::BoxFuture;
use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use self::arguments::*;
use self::schema::{of_arguments, of_output};
use super::call::ToolCall;
use super::outcome::{answer, refusal};
use super::tool_server::ToolServer;
use crate::account_deletion::capabilities::DeleteAccount;
use crate::accounts::capabilities::account::*;
use crate::accounts::capabilities::accounts::*;
use crate::accounts::capabilities::confirmation::*;
use crate::accounts::capabilities::keys::*;
use crate::accounts::capabilities::members::*;
use crate::accounts::capability::Capability;
use crate::accounts::profile::{AccountChange, Profile};
use crate::app::App;
use crate::billing::capabilities::*;
use crate::contacts::capabilities::*;
use crate::contacts::suppressions::capabilities::*;
use crate::erasure::capabilities::*;
use crate::error::Result;
use crate::pixels::capabilities::claims::*;
use crate::pixels::capabilities::install::*;
use crate::pixels::capabilities::pixels::*;
use crate::policies::capabilities::*;
use crate::receipts::capabilities::*;
use crate::receipts::check::check_request::OfVisitor;
use crate::webhooks::capabilities::*;

/// All tools.
pub fn router() -> ToolRouter<ToolServer> {
    let mut router = ToolRouter::new();
    for tool in tools() {
        router.add_route(tool);
    }
    router
}

fn tools() -> [ToolRoute<ToolServer>; 72] {
    [
        tool::<ListPlans>(),
        tool::<CreateAccount>(),
        tool::<ResendConfirmation>(),
        tool::<ResendCode>(),
        accounts::confirm_by_code(),
        tool::<ConfirmByLink>(),
        tool::<DisownAccount>(),
        tool::<RenewSignupToken>(),
        tool::<ShowAccount>(),
        tool::<OrderCode>(),
        adapted::<ChangeAccount, AccountChange, Profile>(),
        with_arguments::<ReadAccountEvents, EventArguments>(),
        tool::<ReadMailPreferences>(),
        tool::<ChangeMailPreferences>(),
        tool::<ListMembers>(),
        tool::<InviteMember>(),
        tool::<ChangeMember>(),
        tool::<RemoveMember>(),
        tool::<DeleteAccount>(),
        accounts::issue_api_key(),
        tool::<ListApiKeys>(),
        tool::<RevokeApiKey>(),
        tool::<ShowCaller>(),
        tool::<ShowQuote>(),
        tool::<OpenCheckout>(),
        tool::<OpenBillingPortal>(),
        tool::<ShowSetup>(),
        tool::<ListPixels>(),
        tool::<ShowPixel>(),
        tool::<CreatePixel>(),
        tool::<RenamePixel>(),
        tool::<DeletePixel>(),
        tool::<CheckInstall>(),
        tool::<ShowInstall>(),
        tool::<ClaimHost>(),
        tool::<VerifyClaim>(),
        tool::<GetCommerceSnippet>(),
        with_arguments::<EmailSnippet, SnippetMailArguments>(),
        tool::<ConfigureConsent>(),
        tool::<ReadConsentConfiguration>(),
        tool::<TurnOffConsent>(),
        with_arguments::<ReadConsentLog, LogArguments>(),
        tool::<ReadConsentStats>(),
        with_arguments::<CheckConsent, CheckArguments>(),
        with_arguments::<ReadReceipt, OfVisitor>(),
        tool::<ReadConsentHistory>(),
        tool::<VerifyReceipt>(),
        tool::<GetProof>(),
        tool::<VerifyProof>(),
        contacts::read_contacts(),
        tool::<CountContacts>(),
        tool::<FindContact>(),
        with_arguments::<ListWithdrawnContacts, WithdrawnArguments>(),
        tool::<StoreContacts>(),
        tool::<EraseContact>(),
        tool::<SuppressPerson>(),
        tool::<UnsuppressPerson>(),
        with_arguments::<ListSuppressions, SuppressionArguments>(),
        tool::<ShowSuppressionImport>(),
        tool::<EraseVisitor>(),
        with_arguments::<ListErasureRequests, ErasureRequestArguments>(),
        tool::<CompleteErasureRequest>(),
        tool::<RefuseErasureRequest>(),
        tool::<CreateWebhook>(),
        tool::<ListWebhooks>(),
        tool::<ChangeWebhook>(),
        tool::<DeleteWebhook>(),
        tool::<RotateWebhookSecret>(),
        tool::<TestWebhook>(),
        tool::<ListDeliveries>(),
        tool::<ReplayDelivery>(),
        tool::<ReplayWebhook>(),
    ]
}

/// A capability as a tool.
fn tool<C>() -> ToolRoute<ToolServer>
where
    C: Capability + 'static,
    C::Input: DeserializeOwned + JsonSchema + 'static,
    C::Output: Serialize + JsonSchema + 'static,
    App: AsRef<C::Part>,
{
    adapted::<C, C::Input, C::Output>()
}

/// A capability as a tool with other arguments than its input.
fn with_arguments<C, T>() -> ToolRoute<ToolServer>
where
    C: Capability + 'static,
    C::Input: From<T>,
    C::Output: Serialize + JsonSchema + 'static,
    T: DeserializeOwned + JsonSchema + 'static,
    App: AsRef<C::Part>,
{
    adapted::<C, T, C::Output>()
}

/// A capability as a tool with other arguments than its input and another answer than its output.
fn adapted<C, T, O>() -> ToolRoute<ToolServer>
where
    C: Capability + 'static,
    C::Input: From<T>,
    C::Output: Into<O>,
    T: DeserializeOwned + JsonSchema + 'static,
    O: Serialize + JsonSchema + 'static,
    App: AsRef<C::Part>,
{
    handled::<C, T, O>(|server, call| {
        Box::pin(async move { server.ask::<C, T>(call, Into::into).await.map(Into::into) })
    })
}

/// Calls a capability, and returns the answer of its tool.
type Handler<O> = for<'a> fn(&'a ToolServer, &'a ToolCall) -> BoxFuture<'a, Result<O>>;

/// The tool of a capability with arguments of the type `T`.
fn handled<C, T, O>(handler: Handler<O>) -> ToolRoute<ToolServer>
where
    C: Capability,
    T: JsonSchema + 'static,
    O: Serialize + JsonSchema + 'static,
{
    let declared = C::TOOL.expect("the capability has a tool");
    // Hints that have the default value are left out.
    let hints = ToolAnnotations::from_raw(
        None,
        declared.is_read_only.then_some(true),
        (!declared.is_read_only && !declared.is_destructive).then_some(false),
        declared.is_idempotent.then_some(true),
        (!declared.is_open_world).then_some(false),
    );
    let arguments = of_arguments::<T>(C::ACCEPTS);
    let tool = Tool::new_with_raw(C::NAME, Some(declared.description.into()), arguments)
        .with_raw_output_schema(of_output::<O>())
        .with_annotations(hints);
    ToolRoute::new_dyn(tool, move |context: ToolCallContext<'_, ToolServer>| {
        Box::pin(async move {
            let call = ToolCall::of(&context)?;
            match handler(context.service, &call).await {
                Ok(output) => answer(&output),
                Err(error) => refusal(error),
            }
        })
    })
}
