//! The list of tools. Their descriptions are those of the capabilities.

mod accounts;
mod arguments;
mod contacts;
pub mod declared;
mod receipts;
mod schema;

use self::arguments::*;
use self::declared::{Declared, adapted, tool, with_arguments};
use crate::account_deletion::deletion::DeleteAccount;
use crate::accounts::activity_log::ReadAccountEvents;
use crate::accounts::capability::Capability;
use crate::accounts::codes::account_code_order::OrderCode;
use crate::accounts::keys::key_issuing::IssueApiKey;
use crate::accounts::keys::{ListApiKeys, RevokeApiKey};
use crate::accounts::mails::preferences::{ChangeMailPreferences, ReadMailPreferences};
use crate::accounts::members::inviting::InviteMember;
use crate::accounts::members::member_list::{ChangeMember, ListMembers, RemoveMember};
use crate::accounts::plans::ListPlans;
use crate::accounts::profile::{AccountChange, ChangeAccount, Profile};
use crate::accounts::signup::CreateAccount;
use crate::accounts::signup::account_view::ShowAccount;
use crate::accounts::signup::code_requests::ResendCode;
use crate::accounts::signup::confirmation::{ConfirmByCode, ConfirmByLink};
use crate::accounts::signup::resending::ResendConfirmation;
use crate::accounts::signup::signup_rejection::DisownAccount;
use crate::accounts::signup::token_renewal::RenewSignupToken;
use crate::billing::checkout::OpenCheckout;
use crate::billing::portal::OpenBillingPortal;
use crate::billing::quote::ShowQuote;
use crate::billing::whoami::ShowCaller;
use crate::contacts::counts::CountContacts;
use crate::contacts::intake::StoreContacts;
use crate::contacts::reading::finding::FindContact;
use crate::contacts::suppressions::import::ShowSuppressionImport;
use crate::contacts::suppressions::list::ListSuppressions;
use crate::contacts::suppressions::suppress::{SuppressPerson, UnsuppressPerson};
use crate::contacts::withdrawn::ListWithdrawnContacts;
use crate::erasure::contact::EraseContact;
use crate::erasure::mailed::AddErasureRequest;
use crate::erasure::owner::{CompleteErasureRequest, ListErasureRequests, RefuseErasureRequest};
use crate::erasure::visitor::EraseVisitor;
use crate::pixels::change::{DeletePixel, RenamePixel};
use crate::pixels::claims::claim::VerifyClaim;
use crate::pixels::claims::opening::ClaimHost;
use crate::pixels::install_check::{CheckInstall, ShowInstall};
use crate::pixels::moves::{EndMove, ShowMove};
use crate::pixels::setup::{CreatePixel, ListPixels, ShowPixel, ShowSetup};
use crate::pixels::snippets::commerce_snippet::GetCommerceSnippet;
use crate::pixels::snippets::snippet_mail::EmailSnippet;
use crate::policies::configuration::ConfigureConsent;
use crate::policies::history::ReadConsentConfiguration;
use crate::policies::moving::{CancelMove, MovePixel};
use crate::policies::screenshots::reading::ListScreenshots;
use crate::policies::turning_off::TurnOffConsent;
use crate::receipts::check::check_request::OfVisitor;
use crate::receipts::check::{CheckConsent, ReadReceipt};
use crate::receipts::consent_log::ReadConsentLog;
use crate::receipts::daily_counts::stats::ReadConsentStats;
use crate::receipts::history::ReadConsentHistory;
use crate::receipts::proofs::get_proof::GetProof;
use crate::receipts::proofs::verify::VerifyReceipt;
use crate::receipts::proofs::verify_proof::VerifyProof;
use crate::sharing::links::{CreateSharedLink, ListSharedLinks, RevokeSharedLink};
use crate::silence::reading::{ListWatchReports, OfReport, ReadWatchReport};
use crate::silence::settings::{ChangeWatch, ShowWatch};
use crate::silence::view::WatchReportSummary;
use crate::tool_calls::toolset::Subject;
use crate::webhooks::delivery::ListDeliveries;
use crate::webhooks::endpoints::{
    ChangeWebhook, CreateWebhook, DeleteWebhook, RotateWebhookSecret,
};
use crate::webhooks::listing::ListWebhooks;
use crate::webhooks::replay::{ReplayDelivery, ReplayWebhook};
use crate::webhooks::trial::TestWebhook;

/// The tools of the usual list: from signing up to a verified install, the log and the check.
pub const USUAL: [&str; 16] = [
    CreateAccount::NAME,
    ConfirmByCode::NAME,
    ConfirmByLink::NAME,
    ResendCode::NAME,
    RenewSignupToken::NAME,
    IssueApiKey::NAME,
    ShowCaller::NAME,
    CreatePixel::NAME,
    ListPixels::NAME,
    ShowPixel::NAME,
    ConfigureConsent::NAME,
    CheckInstall::NAME,
    ReadConsentLog::NAME,
    ReadConsentStats::NAME,
    CheckConsent::NAME,
    OpenCheckout::NAME,
];

pub fn all() -> [(Subject, Vec<Declared>); 5] {
    [
        (Subject::Account, [of_account(), of_people_and_keys()].into_iter().flatten().collect()),
        (Subject::Pixels, of_pixels()),
        (Subject::Privacy, of_privacy()),
        (Subject::Contacts, of_contacts()),
        (Subject::Webhooks, of_webhooks()),
    ]
}

fn of_account() -> Vec<Declared> {
    vec![
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
        tool::<DeleteAccount>(),
        tool::<ShowCaller>(),
        tool::<ShowQuote>(),
        tool::<OpenCheckout>(),
        tool::<OpenBillingPortal>(),
    ]
}

fn of_people_and_keys() -> Vec<Declared> {
    vec![
        tool::<ListMembers>(),
        tool::<InviteMember>(),
        tool::<ChangeMember>(),
        tool::<RemoveMember>(),
        accounts::issue_api_key(),
        tool::<ListApiKeys>(),
        tool::<RevokeApiKey>(),
    ]
}

fn of_pixels() -> Vec<Declared> {
    vec![
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
        tool::<MovePixel>(),
        tool::<ShowMove>(),
        tool::<EndMove>(),
        tool::<CancelMove>(),
        tool::<GetCommerceSnippet>(),
        with_arguments::<EmailSnippet, SnippetMailArguments>(),
        tool::<ConfigureConsent>(),
        tool::<ReadConsentConfiguration>(),
        tool::<TurnOffConsent>(),
        tool::<CreateSharedLink>(),
        tool::<ListSharedLinks>(),
        tool::<RevokeSharedLink>(),
    ]
}

fn of_privacy() -> Vec<Declared> {
    vec![
        receipts::read_consent_log(),
        receipts::read_consent_stats(),
        with_arguments::<CheckConsent, CheckArguments>(),
        with_arguments::<ReadReceipt, OfVisitor>(),
        tool::<ReadConsentHistory>(),
        tool::<VerifyReceipt>(),
        tool::<GetProof>(),
        tool::<VerifyProof>(),
        tool::<EraseVisitor>(),
        with_arguments::<ListErasureRequests, ErasureRequestArguments>(),
        tool::<AddErasureRequest>(),
        tool::<CompleteErasureRequest>(),
        tool::<RefuseErasureRequest>(),
        tool::<ShowWatch>(),
        tool::<ChangeWatch>(),
        with_arguments::<ListWatchReports, WatchReportArguments>(),
        adapted::<ReadWatchReport, OfReport, WatchReportSummary>(),
        with_arguments::<ListScreenshots, ScreenshotArguments>(),
    ]
}

fn of_contacts() -> Vec<Declared> {
    vec![
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
    ]
}

fn of_webhooks() -> Vec<Declared> {
    vec![
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
