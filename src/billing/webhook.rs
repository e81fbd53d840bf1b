//! What is done about the payment provider's events.
//!
//! An event is a reason to look, not a fact to store: events come late, twice and in any order,
//! so the object is read again from the provider.

use super::provider_objects::{Invoice, Named, Session};
use super::settlement::Settlement;
use super::store;
use super::stripe::{ProviderError, Stripe};
use super::webhook_events::Event;
use crate::error::{Error, Result};
use crate::platform::Platform;

/// Acts on an event whose signature is genuine. Types that mean nothing here are ignored.
pub async fn take_event(platform: &Platform, stripe: &Stripe, event: Event) -> Result<()> {
    match event.kind.as_str() {
        "checkout.session.completed" => checkout_completed(platform, stripe, event.object()?).await,
        "invoice.paid" => invoice_paid(platform, stripe, event.object()?).await,
        "customer.subscription.deleted" => subscription_deleted(platform, event.object()?).await,
        _ => Ok(()),
    }
}

/// A person went through with checkout. Where the money is still on its way, only the
/// subscription is noted; its first `invoice.paid` follows.
async fn checkout_completed(platform: &Platform, stripe: &Stripe, event: Session) -> Result<()> {
    let account_id = event.account().ok_or(Error::EventMissingAccount)?;
    let found = stripe.find_session(&event.id).await?.ok_or(ProviderError::Refused)?;
    let settlement = Settlement::of_session(stripe, found, Some(account_id)).await?;
    let Some(settlement) = settlement else { return Ok(()) };
    match settlement.record(platform).await? {
        true => Ok(()),
        false => Err(Error::EventMissingAccount),
    }
}

/// A period was paid, the first or a later one. Invoices of subscriptions that are not ours are
/// ignored without asking the provider.
async fn invoice_paid(platform: &Platform, stripe: &Stripe, invoice: Invoice) -> Result<()> {
    let Some(subscription_id) = invoice.subscription().cloned() else { return Ok(()) };
    let subscriber = {
        let mut connection = platform.pool.acquire().await?;
        store::find_subscriber(&mut connection, &subscription_id).await?
    };
    let Some(account_id) = subscriber.or_else(|| invoice.account()) else { return Ok(()) };
    let paid_until = invoice.paid_until();
    let settlement =
        Settlement::of_subscription(stripe, account_id, subscription_id, paid_until).await?;
    settlement.record(platform).await?;
    Ok(())
}

/// A subscription is over. What was paid stays paid.
async fn subscription_deleted(platform: &Platform, subscription: Named) -> Result<()> {
    let mut connection = platform.pool.acquire().await?;
    store::update_subscription_ended(&mut connection, &subscription.id).await
}
