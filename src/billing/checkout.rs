use std::time::Duration as Pause;

use chrono::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use sha2::{Digest, Sha256};
use sqlx::PgPool;
use url::form_urlencoded::Serializer;
use utoipa::ToSchema;

use super::payer::{self, PayerRequest, identify_payer};
use super::service::Billing;
use super::settlement::{self, Settlement};
use super::store::{self, CheckoutAttempt, KnownSubscription};
use super::stripe::provider_reference::ProviderId;
use super::stripe::session::Session;
use super::stripe::subscription::Subscription;
use super::stripe::{ProviderError, Stripe};
use crate::accounts::access::{Credentials, UncheckedCredentials};
use crate::accounts::account::{CONTACT_CENTS, MONTHLY_CENTS, Plan, SETUP_CENTS};
use crate::accounts::capability::Capability;
use crate::accounts::credentials::Accepts;
use crate::accounts::find_account;
use crate::accounts::scope::{Governs, Needs, Scope};
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::types::ids::{AccountId, random_text};

/// The provider keeps an idempotency key for at least 24 hours.
const KEY_LIFE: Duration = Duration::hours(23);
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
pub struct OpenCheckout;

impl Capability for OpenCheckout {
    const NAME: &'static str = "open_checkout";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Open the checkout",
        "Opens the hosted checkout for 1 USD a month and returns its address, which a person \
         opens to pay. The call itself charges nothing. Once paid, `whoami` says `paid` with a \
         future `paid_until`.",
    ));
    const ACCEPTS: Accepts = Accepts::SignupTokenOrKey;
    const SCOPES: &'static [Scope] = Governs::SCOPES;
    const LIMIT: Option<Limit> = Some(Limit::Checkouts);
    type Service = Billing;
    type Access = UncheckedCredentials;
    type Input = PayerRequest;
    type Output = OpenedCheckout;

    fn refusals() -> Vec<Error> {
        let own = [Error::AlreadySubscribed].into_iter().chain(Stripe::refusals());
        payer::refusals().into_iter().chain(own).collect()
    }

    async fn run(
        billing: &Billing,
        credentials: Credentials,
        PayerRequest { account_id }: PayerRequest,
    ) -> Result<OpenedCheckout> {
        let account = identify_payer(&billing.accounts, &credentials, account_id).await?;
        let stripe = &billing.stripe;
        let url = open_session(&billing.infra, stripe, &account.account_id).await?;
        Ok(OpenedCheckout {
            url,
            monthly_cents: MONTHLY_CENTS,
            setup_fee_cents: SETUP_CENTS,
            resolved_contact_cents: CONTACT_CENTS,
        })
    }
}

async fn open_session(infra: &Infra, stripe: &Stripe, account_id: &AccountId) -> Result<String> {
    if !stripe.is_configured() {
        return Err(ProviderError::NotConfigured.into());
    }
    refuse_second_subscription(&infra.pool, &infra.clock, stripe, account_id).await?;
    let mut attempt = present_attempt(&infra.pool, &infra.clock, account_id).await?;
    if let Some(session_id) = attempt.session_id.as_deref().and_then(ProviderId::parse) {
        if let Some(url) = still_open(infra, stripe, account_id, &session_id).await? {
            return Ok(url);
        }
        attempt = next_attempt(&infra.pool, &infra.clock, account_id, &attempt).await?;
    } else if attempt.started_at + KEY_LIFE < infra.clock.now() {
        attempt = next_attempt(&infra.pool, &infra.clock, account_id, &attempt).await?;
    }
    create_session(infra, stripe, account_id, &attempt).await
}

/// Refuses an account with a running subscription, so that nobody pays twice. Asks the provider,
/// because the event of a subscription's end may have been lost.
async fn refuse_second_subscription(
    pool: &PgPool,
    clock: &Clock,
    stripe: &Stripe,
    account_id: &AccountId,
) -> Result<()> {
    let (subscriptions, is_paid) = {
        let mut connection = pool.acquire().await?;
        let account =
            find_account(&mut connection, account_id).await?.ok_or(Error::AccountNotFound)?;
        let paid_until = account.paid_until.filter(|_| account.plan == Plan::Paid);
        let subscriptions = store::list_subscriptions(&mut connection, account_id).await?;
        (subscriptions, paid_until.is_some_and(|end| end > clock.now()))
    };
    if subscriptions.is_empty() && is_paid {
        return Err(Error::AlreadySubscribed);
    }
    for known in subscriptions.iter().filter(|known| !known.ended) {
        if runs(pool, clock, stripe, known).await?.unwrap_or(is_paid) {
            return Err(Error::AlreadySubscribed);
        }
    }
    Ok(())
}

/// Whether the provider reports that the subscription has not ended; `None` when it has no such subscription.
async fn runs(
    pool: &PgPool,
    clock: &Clock,
    stripe: &Stripe,
    known: &KnownSubscription,
) -> Result<Option<bool>> {
    let Some(id) = ProviderId::parse(&known.subscription_id) else { return Ok(None) };
    let found = stripe.find_subscription(&id).await?;
    let ended = found.as_ref().map(Subscription::has_ended);
    if ended == Some(true) {
        settlement::end_subscription(pool, clock, &id).await?;
    }
    Ok(ended.map(|ended| !ended))
}

/// The page of a session that can still be paid. Settles a completed session, whose event may have been lost.
async fn still_open(
    infra: &Infra,
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
            settlement.record(infra).await?;
        }
        refuse_second_subscription(&infra.pool, &infra.clock, stripe, account_id).await?;
    }
    Ok(None)
}

async fn present_attempt(
    pool: &PgPool,
    clock: &Clock,
    account_id: &AccountId,
) -> Result<CheckoutAttempt> {
    let mut connection = pool.acquire().await?;
    let now = clock.now();
    store::find_or_insert_attempt(&mut connection, account_id, &random_text(32), now).await
}

async fn next_attempt(
    pool: &PgPool,
    clock: &Clock,
    account_id: &AccountId,
    spent: &CheckoutAttempt,
) -> Result<CheckoutAttempt> {
    give_up(pool, account_id, spent).await?;
    present_attempt(pool, clock, account_id).await
}

async fn give_up(pool: &PgPool, account_id: &AccountId, attempt: &CheckoutAttempt) -> Result<()> {
    let mut connection = pool.acquire().await?;
    store::delete_attempt(&mut connection, account_id, &attempt.idempotency_key).await
}

async fn create_session(
    infra: &Infra,
    stripe: &Stripe,
    account_id: &AccountId,
    attempt: &CheckoutAttempt,
) -> Result<String> {
    let price_id = infra.config.stripe.price_id.as_deref();
    let form = session_form(infra.base_url(), account_id, price_id);
    match create_session_with_retry(stripe, &form, &attempt.idempotency_key).await {
        Ok(Session { id, url: Some(url), .. }) => {
            let key = &attempt.idempotency_key;
            let mut connection = infra.pool.acquire().await?;
            store::update_attempt_session(&mut connection, account_id, key, &id).await?;
            Ok(url)
        }
        Ok(_) => Err(ProviderError::Unreadable.into()),
        // The provider repeats its answer for an idempotency key, so a refused key cannot be used again.
        Err(error @ (ProviderError::Refused | ProviderError::Failed)) => {
            give_up(&infra.pool, account_id, attempt).await?;
            Err(error.into())
        }
        Err(error) => Err(error.into()),
    }
}

/// Retries while the provider is busy: concurrent calls of an account use the same key, and only one is served.
async fn create_session_with_retry(
    stripe: &Stripe,
    form: &str,
    attempt_key: &str,
) -> std::result::Result<Session, ProviderError> {
    // The provider refuses a key that is reused with other parameters, for example after a change of settings.
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
