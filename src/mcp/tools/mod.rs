//! The list of tools. Their descriptions are those of the capabilities.

mod accounts;
mod arguments;
mod contacts;
mod declared;
mod schema;

use rmcp::handler::server::router::tool::{ToolRoute, ToolRouter};

use self::arguments::*;
use self::declared::{adapted, tool, with_arguments};
use super::tool_server::ToolServer;
use crate::account_deletion::capabilities::DeleteAccount;
use crate::accounts::capabilities::account::*;
use crate::accounts::capabilities::accounts::*;
use crate::accounts::capabilities::confirmation::*;
use crate::accounts::capabilities::keys::*;
use crate::accounts::capabilities::members::*;
use crate::accounts::profile::{AccountChange, Profile};
use crate::billing::capabilities::*;
use crate::contacts::capabilities::*;
use crate::contacts::suppressions::capabilities::*;
use crate::erasure::capabilities::*;
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
