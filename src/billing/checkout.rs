//! Hosted checkout: opening it, and coming back from it.

use std::time::Duration as Pause;

use chrono::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use url::form_urlencoded::Serializer;
use utoipa::ToSchema;

use super::provider_objects::{ProviderId, Session, Subscription};
use super::quote::{CONTACT_CENTS, MONTHLY_CENTS, SETUP_CENTS};
use super::settlement::Settlement;
use super::store::{self, CheckoutAttempt, KnownSubscription};
use super::stripe::{ProviderError, Stripe};
use crate::accounts::Plan;
use crate::accounts::store::find_account;
use crate::error::{Error, Result};
use crate::ids::{AccountId, random_text};
use crate::platform::Platform;

/// The provider forgets an idempotency key after 24 hours or later.
const KEY_LIFE: Duration = Duration::hours(23);
/// Waits before asking again while the same request is under way elsewhere.
const BUSY_PAUSES: [Pause; 3] =
    [Pause::from_millis(200), Pause::from_millis(500), Pause::from_millis(1000)];

/// A page to pay on. Opening it charges nothing. Amounts in US cents.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct OpenedCheckout {
    /// Of the payment provider; give it to a person.
    pub url: String,
    /// Per account and month.
    pub monthly_cents: i64,
    pub setup_fee_cents: i64,
    /// Per contact.
    pub resolved_contact_cents: i64,
}

/// A page where a person can pay for the account. Charges nothing by itself; as
/// long as nobody has paid there, it is the same page again.
pub async fn open_checkout(
    platform: &Platform,
    stripe: &Stripe,
    account_id: &AccountId,
) -> Result<OpenedCheckout> {
    let url = open_session(platform, stripe, account_id).await?;
    Ok(OpenedCheckout {
        url,
        monthly_cents: MONTHLY_CENTS,
        setup_fee_cents: SETUP_CENTS,
        resolved_contact_cents: CONTACT_CENTS,
    })
}

/// The address of the page.
async fn open_session(
    platform: &Platform,
    stripe: &Stripe,
    account_id: &AccountId,
) -> Result<String> {
    if !stripe.is_configured() {
        return Err(ProviderError::NotConfigured.into());
    }
    refuse_second_subscription(platform, stripe, account_id).await?;
    let mut attempt = present_attempt(platform, account_id).await?;
    if let Some(session_id) = attempt.session_id.as_deref().and_then(ProviderId::parse) {
        if let Some(url) = still_open(platform, stripe, account_id, &session_id).await? {
            return Ok(url);
        }
        attempt = next_attempt(platform, account_id, &attempt).await?;
    } else if attempt.started_at + KEY_LIFE < platform.clock.now() {
        attempt = next_attempt(platform, account_id, &attempt).await?;
    }
    create_session(platform, stripe, account_id, &attempt).await
}

/// Refuses an account whose subscription runs, so that nobody pays twice. The provider is asked:
/// the news that a subscription has ended may have been lost.
async fn refuse_second_subscription(
    platform: &Platform,
    stripe: &Stripe,
    account_id: &AccountId,
) -> Result<()> {
    let (subscriptions, is_paid) = {
        let mut connection = platform.pool.acquire().await?;
        let account =
            find_account(&mut connection, account_id).await?.ok_or(Error::AccountNotFound)?;
        let paid_until = account.paid_until.filter(|_| account.plan == Plan::Paid);
        let subscriptions = store::list_subscriptions(&mut connection, account_id).await?;
        (subscriptions, paid_until.is_some_and(|end| end > platform.clock.now()))
    };
    if subscriptions.is_empty() && is_paid {
        return Err(Error::AlreadySubscribed);
    }
    for known in subscriptions.iter().filter(|known| !known.ended) {
        if runs(platform, stripe, known).await?.unwrap_or(is_paid) {
            return Err(Error::AlreadySubscribed);
        }
    }
    Ok(())
}

/// `None` when the provider has no such subscription.
async fn runs(
    platform: &Platform,
    stripe: &Stripe,
    known: &KnownSubscription,
) -> Result<Option<bool>> {
    let Some(id) = ProviderId::parse(&known.subscription_id) else { return Ok(None) };
    let found = stripe.find_subscription(&id).await?;
    let ended = found.as_ref().map(Subscription::has_ended);
    if ended == Some(true) {
        let mut connection = platform.pool.acquire().await?;
        store::update_subscription_ended(&mut connection, &id).await?;
    }
    Ok(ended.map(|ended| !ended))
}

/// The address of the session's page while it can still be paid there. One that was paid without
/// our hearing of it is settled now.
async fn still_open(
    platform: &Platform,
    stripe: &Stripe,
    account_id: &AccountId,
    session_id: &ProviderId,
) -> Result<Option<String>> {
    let Some(session) = stripe.find_session(session_id).await? else { return Ok(None) };
    if session.is_open() {
        return Ok(session.url);
    }
    if session.is_complete() {
        if let Some(settlement) = Settlement::of_session(stripe, session, None).await? {
            settlement.record(platform).await?;
        }
        refuse_second_subscription(platform, stripe, account_id).await?;
    }
    Ok(None)
}

async fn present_attempt(platform: &Platform, account_id: &AccountId) -> Result<CheckoutAttempt> {
    let mut connection = platform.pool.acquire().await?;
    let now = platform.clock.now();
    store::find_or_insert_attempt(&mut connection, account_id, &random_text(32), now).await
}

/// The attempt after one that leads nowhere any more.
async fn next_attempt(
    platform: &Platform,
    account_id: &AccountId,
    spent: &CheckoutAttempt,
) -> Result<CheckoutAttempt> {
    give_up(platform, account_id, spent).await?;
    present_attempt(platform, account_id).await
}

async fn give_up(
    platform: &Platform,
    account_id: &AccountId,
    attempt: &CheckoutAttempt,
) -> Result<()> {
    let mut connection = platform.pool.acquire().await?;
    store::delete_attempt(&mut connection, account_id, &attempt.idempotency_key).await
}

async fn create_session(
    platform: &Platform,
    stripe: &Stripe,
    account_id: &AccountId,
    attempt: &CheckoutAttempt,
) -> Result<String> {
    let price_id = platform.config.stripe.price_id.as_deref();
    let form = session_form(platform.base_url(), account_id, price_id);
    match send_patiently(stripe, &form, &attempt.idempotency_key).await {
        Ok(Session { id, url: Some(url), .. }) => {
            let key = &attempt.idempotency_key;
            let mut connection = platform.pool.acquire().await?;
            store::update_attempt_session(&mut connection, account_id, key, &id).await?;
            Ok(url)
        }
        Ok(_) => Err(ProviderError::Unreadable.into()),
        // The provider repeats the answer it gave to a key, so a refused key is of no more use.
        Err(error @ (ProviderError::Refused | ProviderError::Failed)) => {
            give_up(platform, account_id, attempt).await?;
            Err(error.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Two calls of one account at once use the same key; the provider lets one of them wait.
async fn send_patiently(
    stripe: &Stripe,
    form: &str,
    attempt_key: &str,
) -> std::result::Result<Session, ProviderError> {
    // With other parameters, as after a change of settings, a key would be refused.
    let key = format!("{attempt_key}-{}", &hex::encode(Sha256::digest(form))[..16]);
    for pause in BUSY_PAUSES {
        match stripe.create_session(form.to_owned(), &key).await {
            Err(ProviderError::Busy) => tokio::time::sleep(pause).await,
            other => return other,
        }
    }
    stripe.create_session(form.to_owned(), &key).await
}

fn session_form(base_url: &str, account_id: &AccountId, price_id: Option<&str>) -> String {
    let account_id = account_id.as_str();
    let mut form = Serializer::new(String::new());
    form.append_pair("mode", "subscription")
        .append_pair("client_reference_id", account_id)
        .append_pair("metadata[account_id]", account_id)
        .append_pair("subscription_data[metadata][account_id]", account_id)
        .append_pair(
            "success_url",
            &format!("{base_url}/v1/checkout/success?session_id={{CHECKOUT_SESSION_ID}}"),
        )
        .append_pair("cancel_url", &format!("{base_url}/v1/checkout/cancelled"))
        .append_pair("line_items[0][quantity]", "1");
    match price_id {
        Some(price_id) => form.append_pair("line_items[0][price]", price_id),
        None => form
            .append_pair("line_items[0][price_data][currency]", "usd")
            .append_pair("line_items[0][price_data][unit_amount]", &MONTHLY_CENTS.to_string())
            .append_pair("line_items[0][price_data][recurring][interval]", "month")
            .append_pair("line_items[0][price_data][product_data][name]", "Assent subscription"),
    };
    form.finish()
}

/// What a person who comes back from checkout is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    Paid,
    NotPaid,
    /// A session that the provider does not know, or that is none of ours.
    Unknown,
}

/// Settles the session that a person comes back with; only looks when `settle` is false.
pub async fn come_back(
    platform: &Platform,
    stripe: &Stripe,
    session_id: &str,
    settle: bool,
) -> Result<Return> {
    let Some(session_id) = ProviderId::parse(session_id) else { return Ok(Return::Unknown) };
    let Some(session) = stripe.find_session(&session_id).await? else {
        return Ok(Return::Unknown);
    };
    let Some(settlement) = Settlement::of_session(stripe, session, None).await? else {
        return Ok(Return::Unknown);
    };
    if settle && !settlement.record(platform).await? {
        return Ok(Return::Unknown);
    }
    Ok(if settlement.is_paid() { Return::Paid } else { Return::NotPaid })
}
