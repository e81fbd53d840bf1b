//! May something be done with a visitor? The latest receipt and the current policy decide.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::receipt::ReceiptEnvelope;
use super::store::{self, Standing};
use super::terms::{ConsentState, Purpose};
use crate::clock::Timestamp;
use crate::error::Result;
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
    pub latest: Option<LatestReceipt>,
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

/// Looks the visitor's latest receipt up and judges it.
pub async fn check(
    platform: &Platform,
    pixel: Option<&PixelRef>,
    visitor_id: Option<&VisitorId>,
    required: Option<Purpose>,
) -> Result<Check> {
    let check = find_and_judge(platform, pixel, visitor_id, required).await?;
    platform.metrics.checks.count(check.reason.as_str());
    Ok(check)
}

async fn find_and_judge(
    platform: &Platform,
    pixel: Option<&PixelRef>,
    visitor_id: Option<&VisitorId>,
    required: Option<Purpose>,
) -> Result<Check> {
    let standing = match (pixel, visitor_id) {
        (Some(pixel), Some(visitor_id)) => {
            let mut connection = platform.pool.acquire().await?;
            store::find_standing(&mut connection, pixel, visitor_id).await?
        }
        _ => None,
    };
    let Some(standing) = standing else {
        return Ok(Check { permitted: false, reason: Reason::NoConsentRecord, latest: None });
    };
    let reason = judge(&standing, required);
    Ok(Check { permitted: reason == Reason::Ok, reason, latest: Some(latest(standing)) })
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
