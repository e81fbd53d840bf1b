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
use crate::account_deletion::deletion::DeleteAccount;
use crate::accounts::activity_log::ReadAccountEvents;
use crate::accounts::codes::account_code_order::OrderCode;
use crate::accounts::keys::{ListApiKeys, RevokeApiKey};
use crate::accounts::mails::preferences::{ChangeMailPreferences, ReadMailPreferences};
use crate::accounts::members::member_list::{
    ChangeMember, InviteMember, ListMembers, RemoveMember,
};
use crate::accounts::plans::ListPlans;
use crate::accounts::profile::{AccountChange, ChangeAccount, Profile};
use crate::accounts::signup::CreateAccount;
use crate::accounts::signup::account_view::ShowAccount;
use crate::accounts::signup::code_requests::ResendCode;
use crate::accounts::signup::confirmation::ConfirmByLink;
use crate::accounts::signup::resending::ResendConfirmation;
use crate::accounts::signup::signup_rejection::DisownAccount;
use crate::accounts::signup::token_renewal::RenewSignupToken;
use crate::billing::checkout::OpenCheckout;
use crate::billing::portal::OpenBillingPortal;
use crate::billing::quote::ShowQuote;
use crate::billing::whoami::ShowCaller;
use crate::contacts::counts::CountContacts;
use crate::contacts::erasure::EraseContact;
use crate::contacts::intake::StoreContacts;
use crate::contacts::reading::finding::FindContact;
use crate::contacts::suppressions::import::ShowSuppressionImport;
use crate::contacts::suppressions::list::ListSuppressions;
use crate::contacts::suppressions::suppress::{SuppressPerson, UnsuppressPerson};
use crate::contacts::withdrawn::ListWithdrawnContacts;
use crate::erasure::owner::{CompleteErasureRequest, ListErasureRequests, RefuseErasureRequest};
use crate::erasure::visitor::EraseVisitor;
use crate::pixels::change::{DeletePixel, RenamePixel};
use crate::pixels::claims::claim::VerifyClaim;
use crate::pixels::claims::opening::ClaimHost;
use crate::pixels::install_check::{CheckInstall, ShowInstall};
use crate::pixels::setup::{CreatePixel, ListPixels, ShowPixel, ShowSetup};
use crate::pixels::snippets::commerce_snippet::GetCommerceSnippet;
use crate::pixels::snippets::snippet_mail::EmailSnippet;
use crate::policies::configuration::{ConfigureConsent, TurnOffConsent};
use crate::policies::history::ReadConsentConfiguration;
use crate::receipts::capabilities::*;
use crate::receipts::check::check_request::OfVisitor;
use crate::webhooks::delivery::ListDeliveries;
use crate::webhooks::endpoints::{
    ChangeWebhook, CreateWebhook, DeleteWebhook, ListWebhooks, RotateWebhookSecret,
};
use crate::webhooks::replay::{ReplayDelivery, ReplayWebhook};
use crate::webhooks::trial::TestWebhook;

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
