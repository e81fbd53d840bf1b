//! Quotes, checkout, and events of the payment provider.

mod checkout;
mod checkout_return;
mod failed_payments;
mod provider_events;
mod quote_and_portal;
mod single_checkout;
mod subscription_events;
