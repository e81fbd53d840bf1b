//! May something be done with a visitor? The latest receipt and the current policy decide.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::schema::{AnyOfBuilder, ObjectBuilder, Ref, Schema, Type};

use super::receipt::ReceiptEnvelope;
use super::signing::Signer;
use super::standings::Standings;
use super::store::Standing;
use super::terms::{ConsentState, Purpose};
use crate::clock::Timestamp;
use crate::error::{Error, FieldError, Result};
use crate::http::body::present;
use crate::ids::{PixelRef, VisitorId};
use crate::platform::Platform;
use crate::text_enum::text_enum;

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

/// The fields of a [`LatestReceipt`], or none of them.
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
    pub purposes: Vec<Purpose>,
    pub recorded_at: Timestamp,
    #[serde(flatten)]
    pub envelope: ReceiptEnvelope,
}

/// Whom to check, and for what.
pub struct CheckRequest {
    pixel: Option<PixelRef>,
    visitor_id: Option<VisitorId>,
    required: Option<Purpose>,
}

impl CheckRequest {
    /// Both ids must be given; ids that do not exist are an answer, not an error.
    pub fn parse(
        pixel_id: Option<&str>,
        visitor_id: Option<&str>,
        required_purpose: Option<&str>,
    ) -> Result<Self> {
        let (pixel_id, visitor_id) = (present(pixel_id), present(visitor_id));
        let missing = [("pixel_id", pixel_id), ("visitor_id", visitor_id)]
            .into_iter()
            .filter(|(_, value)| value.is_none())
            .map(|(name, _)| FieldError::new(&["query", name], "field required", "missing"))
            .collect::<Vec<_>>();
        if !missing.is_empty() {
            return Err(Error::Validation(missing));
        }
        let required = required_purpose
            .map(|name| Purpose::parse(name).ok_or(Error::InvalidRequiredPurpose))
            .transpose()?;
        Ok(Self {
            pixel: pixel_id.and_then(PixelRef::parse),
            visitor_id: visitor_id.and_then(VisitorId::parse),
            required,
        })
    }
}

/// Looks the visitor's latest receipt up and judges it.
pub async fn check(
    platform: &Platform,
    standings: &Standings,
    request: CheckRequest,
) -> Result<Check> {
    let check = find_and_judge(standings, request).await?;
    platform.metrics.checks.count(check.reason.as_str());
    Ok(check)
}

async fn find_and_judge(standings: &Standings, request: CheckRequest) -> Result<Check> {
    let standing = match (request.pixel, request.visitor_id) {
        (Some(pixel), Some(visitor_id)) => standings.find(pixel, visitor_id).await?,
        _ => None,
    };
    let Some(standing) = standing else {
        return Ok(Check { permitted: false, reason: Reason::NoConsentRecord, latest: None });
    };
    let reason = judge(&standing, request.required);
    Ok(Check { permitted: reason == Reason::Ok, reason, latest: Some(latest(standing)) })
}

/// The latest receipt, judged as by a check.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct ReceiptAnswer {
    #[serde(flatten)]
    pub check: Check,
    /// Whether the signature is the service's own.
    pub valid: bool,
}

/// The visitor's latest receipt, verified; without one `no consent record`.
pub async fn receipt(
    platform: &Platform,
    standings: &Standings,
    signer: &Signer,
    request: CheckRequest,
) -> Result<ReceiptAnswer> {
    let check = check(platform, standings, request).await?;
    let latest = check.latest.as_ref().ok_or(Error::NoConsentRecord)?;
    let valid = signer.verifies_envelope(&latest.envelope);
    Ok(ReceiptAnswer { check, valid })
}

fn judge(standing: &Standing, required: Option<Purpose>) -> Reason {
    let receipt = &standing.signed.receipt;
    if !standing.consent_in_force {
        Reason::ConsentOff
    } else if receipt.consent_state != ConsentState::Accepted {
        Reason::DeclinedOrWithdrawn
    } else if standing.current_policy_hash.as_ref() != Some(&receipt.policy_hash) {
        Reason::PolicyVersionStale
    } else if required.is_some_and(|purpose| !receipt.purposes.contains(&purpose)) {
        Reason::PurposeNotGranted
    } else {
        Reason::Ok
    }
}

fn latest(standing: Standing) -> LatestReceipt {
    let receipt = &standing.signed.receipt;
    LatestReceipt {
        receipt_id: receipt.receipt_id,
        policy_version_hash: receipt.policy_hash.clone(),
        current_policy_hash: standing.current_policy_hash,
        purposes: receipt.purposes.clone(),
        recorded_at: Timestamp(receipt.recorded_at),
        envelope: standing.signed.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::metrics::CHECK_REASONS;

    #[test]
    fn every_reason_has_a_counter_of_its_own() {
        let reasons = Reason::ALL.iter().map(|reason| reason.as_str());
        assert_eq!(reasons.collect::<Vec<_>>(), CHECK_REASONS);
    }
}
