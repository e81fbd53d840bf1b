use super::service::Billing;
use super::settlement::Settlement;
use super::stripe::provider_reference::ProviderId;
use crate::error::{Error, Result};
use crate::types::text::present;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Return {
    Paid,
    NotPaid,
    /// The provider does not know the session, or it belongs to another product.
    Unknown,
    Unanswered,
}

/// Settles the session from which a person returns; only reads its state when `settle` is false.
pub async fn complete_checkout(
    billing: &Billing,
    session_id: Option<&str>,
    settle: bool,
) -> Result<Return> {
    let session_id = present(session_id).ok_or(Error::SessionIdRequired)?;
    if !billing.stripe.is_configured() {
        return Err(Error::CheckoutNotConfigured);
    }
    match settled(billing, session_id, settle).await {
        Err(Error::PaymentProvider { .. }) => Ok(Return::Unanswered),
        other => other,
    }
}

async fn settled(billing: &Billing, session_id: &str, settle: bool) -> Result<Return> {
    let Some(session_id) = ProviderId::parse(session_id) else { return Ok(Return::Unknown) };
    let Some(session) = billing.stripe.find_session(&session_id).await? else {
        return Ok(Return::Unknown);
    };
    let Some(settlement) = Settlement::of_session(&billing.stripe, session, None).await? else {
        return Ok(Return::Unknown);
    };
    if settle && !settlement.record(&billing.infra).await? {
        return Ok(Return::Unknown);
    }
    Ok(if settlement.is_paid() { Return::Paid } else { Return::NotPaid })
}
