//! Handling of the payment provider's events. They arrive late, repeatedly and in any order, so an
//! event only triggers a query of the object's current state.

use sqlx::PgPool;

use super::payment_failed;
use super::service::Billing;
use super::settlement::{self, Settlement};
use super::store;
use super::stripe::invoice::Invoice;
use super::stripe::provider_reference::Named;
use super::stripe::session::Session;
use super::stripe::signature::is_genuine;
use super::stripe::webhook_events::{Event, EventType};
use super::stripe::{ProviderError, Stripe};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::infra::Infra;

/// Refuses a delivery without a valid signature; without a configured secret, all deliveries.
pub fn check_signature(
    clock: &Clock,
    config: &Config,
    signature: Option<&str>,
    body: &[u8],
) -> Result<()> {
    let secret = config.stripe.webhook_secret.as_ref();
    let genuine = signature
        .zip(secret)
        .filter(|(signature, secret)| is_genuine(signature, body, secret, clock.now()));
    genuine.map(|_| ()).ok_or(Error::InvalidSignature)
}

pub async fn handle_webhook(billing: &Billing, event: Event) -> Result<()> {
    let Billing { infra, stripe, .. } = billing;
    let Some(kind) = EventType::parse(&event.kind) else { return Ok(()) };
    match kind {
        EventType::CheckoutCompleted => checkout_completed(infra, stripe, event.object()?).await,
        EventType::InvoicePaid => invoice_paid(infra, stripe, event.object()?).await,
        EventType::InvoicePaymentFailed => {
            payment_failed::report(infra, stripe, event.object()?).await
        }
        EventType::SubscriptionDeleted => {
            subscription_deleted(&infra.pool, &infra.clock, event.object()?).await
        }
    }
}

/// While the payment is pending, only the subscription is stored; `invoice.paid` follows later.
async fn checkout_completed(infra: &Infra, stripe: &Stripe, event: Session) -> Result<()> {
    let account_id = event.account().ok_or(Error::EventMissingAccount)?;
    let found = stripe.find_session(&event.id).await?.ok_or(ProviderError::Refused)?;
    let settlement = Settlement::of_session(stripe, found, Some(account_id)).await?;
    let Some(settlement) = settlement else { return Ok(()) };
    match settlement.record(infra).await? {
        true => Ok(()),
        false => Err(Error::EventMissingAccount),
    }
}

/// Stores a paid period. Invoices of other products' subscriptions are ignored without querying the provider.
async fn invoice_paid(infra: &Infra, stripe: &Stripe, invoice: Invoice) -> Result<()> {
    let Some(subscription_id) = invoice.subscription().cloned() else { return Ok(()) };
    let subscriber = {
        let mut connection = infra.pool.acquire().await?;
        if let Some(invoice_id) = invoice.id() {
            let now = infra.clock.now();
            store::update_failed_invoice_paid(&mut connection, invoice_id, now).await?;
        }
        store::find_subscriber(&mut connection, &subscription_id).await?
    };
    let Some(account_id) = subscriber.or_else(|| invoice.account()) else { return Ok(()) };
    let paid_until = invoice.paid_until();
    let settlement =
        Settlement::of_subscription(stripe, account_id, subscription_id, paid_until).await?;
    settlement.record(infra).await?;
    Ok(())
}

/// Stores the end of a subscription. The account stays paid until the end of the paid period.
async fn subscription_deleted(pool: &PgPool, clock: &Clock, subscription: Named) -> Result<()> {
    settlement::end_subscription(pool, clock, &subscription.id).await
}
