//! Consent checks, decided by the latest receipt and the current policy.

pub mod check_request;
pub mod latest_consent;
pub mod lookup;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Ref, Schema, Type};

use self::check_request::{CheckRequest, Subject, no_visitor};
use super::service::Receipts;
use super::store::latest::LatestConsent;
use super::test_choices;
use crate::accounts::access::Anybody;
use crate::accounts::capability::Capability;
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::consent_receipt::receipt::ReceiptEnvelope;
use crate::error::{Error, Result};
use crate::infra::limits::account_rate::OperationKind;
use crate::types::consent::{ConsentState, Granted, Purpose};
use crate::types::text_enum::text_enum;

text_enum! {
    /// Why something is permitted or not; the first that applies, in this order.
    pub enum Reason {
        NoConsentRecord = "no_consent_record",
        ConsentOff = "consent_off",
        DeclinedOrWithdrawn = "declined_or_withdrawn",
        PolicyVersionStale = "policy_version_stale",
        PurposeNotGranted = "purpose_not_granted",
        Ok = "ok",
    }
}

/// The answer to a check.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Check {
    /// True only when `reason` is `ok`.
    pub permitted: bool,
    pub reason: Reason,
    #[serde(flatten)]
    #[schema(schema_with = receipt_if_any)]
    pub latest: Option<LatestReceipt>,
}

/// The fields of a [`LatestReceipt`], or none.
fn receipt_if_any() -> Schema {
    AnyOfBuilder::new()
        .item(Ref::from_schema_name("LatestReceipt"))
        .item(ObjectBuilder::new().schema_type(Type::Object))
        .into()
}

/// The latest receipt of the visitor, with the policy that is current now.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct LatestReceipt {
    pub receipt_id: uuid::Uuid,
    /// The policy that the visitor answered.
    pub policy_version_hash: String,
    /// The policy that is published now; null when there is none.
    #[schema(required = true)]
    pub current_policy_hash: Option<String>,
    #[schema(value_type = Vec<Purpose>)]
    #[schemars(with = "Vec<Purpose>")]
    pub purposes: Vec<Granted>,
    pub recorded_at: Timestamp,
    /// From when on the acceptance permits nothing; null for a decline or withdrawal.
    #[schema(required = true)]
    pub expires_at: Option<Timestamp>,
    /// Whether that time is over.
    pub expired: bool,
    #[serde(flatten)]
    pub envelope: ReceiptEnvelope,
}

/// Checks whether an action is permitted for a visitor.
pub struct CheckConsent;

impl Capability for CheckConsent {
    const NAME: &'static str = "check_consent";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Check consent",
        "Tells whether something is permitted with a visitor: the latest receipt decides, \
         against the current policy. `permitted` is true only when `reason` is `ok`. Needs no \
         key.",
    ));
    type Service = Receipts;
    type Access = Anybody;
    type Input = CheckRequest;
    type Output = Check;

    fn refusals() -> Vec<Error> {
        vec![Error::InvalidRequiredPurpose, no_visitor(), Error::TooManyRequests { retry_after: 1 }]
    }

    async fn run(receipts: &Receipts, (): (), request: CheckRequest) -> Result<Check> {
        check(receipts, &request).await
    }
}

async fn check(receipts: &Receipts, request: &CheckRequest) -> Result<Check> {
    let subject = request.parse()?;
    if let Some(pixel) = &subject.pixel
        && let Some(site) =
            receipts.sites.find_known(&pixel.tested().unwrap_or_else(|| pixel.clone())).await
    {
        receipts.infra.account_rates.wait(OperationKind::Read, &site.pixel.account_id).await?;
    }
    let check = find_and_evaluate(receipts, subject).await?;
    receipts.infra.metrics.checks.count(check.reason.as_str());
    Ok(check)
}

/// Like [`check`], but not counted in the metrics.
pub(super) async fn find_and_evaluate(receipts: &Receipts, subject: Subject) -> Result<Check> {
    let latest = match (subject.pixel, subject.visitor_id) {
        (Some(pixel), Some(visitor_id)) => match receipts.sites.find_tested(&pixel).await? {
            Some(site) => {
                test_choices::find_latest(&receipts.infra.pool, &site, &visitor_id).await?
            }
            None => receipts.reader.find(pixel, visitor_id).await?,
        },
        _ => None,
    };
    let Some(latest) = latest else {
        return Ok(Check { permitted: false, reason: Reason::NoConsentRecord, latest: None });
    };
    let now = receipts.infra.clock.now();
    let reason = evaluate(&latest, subject.required, now);
    let latest = Some(LatestReceipt::new(latest, now));
    Ok(Check { permitted: reason == Reason::Ok, reason, latest })
}

/// The latest receipt, judged as by a check.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct ReceiptAnswer {
    #[serde(flatten)]
    pub check: Check,
    /// Whether the signature is the service's own.
    pub valid: bool,
}

/// Reads and verifies a visitor's latest receipt; fails with `no consent record` if there is none.
pub struct ReadReceipt;

impl Capability for ReadReceipt {
    const NAME: &'static str = "read_receipt";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read a receipt",
        "Fetches the visitor's latest receipt with its signature. Needs no key.",
    ));
    type Service = Receipts;
    type Access = Anybody;
    type Input = CheckRequest;
    type Output = ReceiptAnswer;

    fn refusals() -> Vec<Error> {
        let too_many = Error::TooManyRequests { retry_after: 1 };
        vec![Error::InvalidRequiredPurpose, Error::NoConsentRecord, no_visitor(), too_many]
    }

    async fn run(receipts: &Receipts, (): (), request: CheckRequest) -> Result<ReceiptAnswer> {
        let check = check(receipts, &request).await?;
        let latest = check.latest.as_ref().ok_or(Error::NoConsentRecord)?;
        let valid = latest.envelope.is_signed_by(&receipts.signer);
        Ok(ReceiptAnswer { check, valid })
    }
}

pub(crate) fn evaluate(
    latest: &LatestConsent,
    required: Option<Purpose>,
    now: DateTime<Utc>,
) -> Reason {
    let receipt = &latest.signed.receipt;
    if !latest.consent_in_force {
        Reason::ConsentOff
    } else if receipt.consent_state != ConsentState::Accepted {
        Reason::DeclinedOrWithdrawn
    } else if latest.current_policy_hash.as_ref() != Some(&receipt.policy_hash)
        || latest.is_expired(now)
    {
        Reason::PolicyVersionStale
    } else if required.is_some_and(|purpose| !receipt.purposes.contains(&Granted::Known(purpose))) {
        Reason::PurposeNotGranted
    } else {
        Reason::Ok
    }
}

impl LatestReceipt {
    fn new(latest: LatestConsent, now: DateTime<Utc>) -> Self {
        let expired = latest.is_expired(now);
        let receipt = &latest.signed.receipt;
        Self {
            receipt_id: receipt.receipt_id,
            policy_version_hash: receipt.policy_hash.clone(),
            current_policy_hash: latest.current_policy_hash,
            purposes: receipt.purposes.clone(),
            recorded_at: Timestamp(receipt.recorded_at),
            expires_at: latest.expires_at.map(Timestamp),
            expired,
            envelope: latest.signed.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::metrics::CHECK_REASONS;

    #[test]
    fn every_reason_has_a_counter_of_its_own() {
        let reasons = Reason::ALL.iter().map(|reason| reason.as_str());
        assert_eq!(reasons.collect::<Vec<_>>(), CHECK_REASONS);
    }
}
