use chrono::{DateTime, Duration, DurationRound, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::signing::{ReceiptSigner, SIGNATURE_ALG};
use crate::clock::{Timestamp, rfc3339};
use crate::error::{Error, Result};
use crate::types::consent::{ConsentState, Granted, Purpose};
use crate::types::ids::{PixelId, VisitorId, uuid_v7};

/// Sufficient for most receipts, to avoid reallocation during writing.
const USUAL: usize = 512;

/// What was answered to what, where and when. These fields, as canonical JSON (RFC 8785), are
/// what is signed.
// Their names and forms must never change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct Receipt {
    /// Canonical, never an alias.
    pub pixel_id: PixelId,
    /// UUIDv7.
    pub receipt_id: Uuid,
    pub visitor_id: VisitorId,
    /// Scheme, host and port of the page.
    #[schema(example = "https://shop.example")]
    pub origin: String,
    pub consent_state: ConsentState,
    /// SHA-256 of the policy that was shown, 64 lowercase hex digits.
    pub policy_hash: String,
    /// Sorted by name; empty for a decline or withdrawal.
    #[schema(value_type = Vec<Purpose>)]
    #[schemars(with = "Vec<Purpose>")]
    pub purposes: Vec<Granted>,
    /// RFC 3339, UTC, milliseconds, `Z`. To be kept as text: written in another form it is another
    /// receipt, which nobody has signed.
    // Not described as a date-time: generated clients would parse it and write it in another form.
    #[serde(serialize_with = "as_rfc3339")]
    #[schema(value_type = String, pattern = "Z$", example = "2026-03-10T12:02:02.000Z")]
    #[schemars(with = "Timestamp")]
    pub recorded_at: DateTime<Utc>,
}

fn as_rfc3339<S: serde::Serializer>(
    time: &DateTime<Utc>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&rfc3339(*time))
}

impl Receipt {
    pub fn is_test(&self) -> bool {
        self.pixel_id.tested().is_some()
    }

    /// Whether it may revoke an earlier permission of the visitor for `resolution`. Such a receipt notifies
    /// `contacts::withdrawal` early; the trigger `consent_receipts_recorded` selects the visitors to evaluate.
    pub fn refuses_resolution(&self) -> bool {
        let grants = self.purposes.contains(&Granted::Known(Purpose::Resolution));
        self.consent_state != ConsentState::Accepted || !grants
    }

    /// The receipt as canonical JSON (RFC 8785). Its field names are plain ASCII and no field is a number, so
    /// serialising it in the order of names is canonical.
    pub fn canonical(&self) -> Result<Vec<u8>> {
        #[derive(Serialize)]
        struct Canonical<'a> {
            consent_state: ConsentState,
            origin: &'a str,
            pixel_id: &'a PixelId,
            policy_hash: &'a str,
            purposes: &'a [Granted],
            receipt_id: Uuid,
            #[serde(serialize_with = "as_rfc3339")]
            recorded_at: DateTime<Utc>,
            visitor_id: &'a VisitorId,
        }
        let canonical = Canonical {
            consent_state: self.consent_state,
            origin: &self.origin,
            pixel_id: &self.pixel_id,
            policy_hash: &self.policy_hash,
            purposes: &self.purposes,
            receipt_id: self.receipt_id,
            recorded_at: self.recorded_at,
            visitor_id: &self.visitor_id,
        };
        let mut text = Vec::with_capacity(USUAL);
        serde_json::to_writer(&mut text, &canonical).map_err(Error::internal)?;
        Ok(text)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedReceipt {
    pub receipt: Receipt,
    /// 32 bytes.
    pub signature: Vec<u8>,
}

/// A visitor's choice, validated against the pixel's policy.
#[derive(Clone, Debug)]
pub struct Choice {
    pub pixel_id: PixelId,
    pub visitor_id: VisitorId,
    pub origin: String,
    pub state: ConsentState,
    pub policy_hash: String,
    pub purposes: Vec<Purpose>,
}

/// Builds and signs the receipt of a choice; also returns its canonical JSON.
pub fn issue_receipt(
    signer: &ReceiptSigner,
    now: DateTime<Utc>,
    choice: Choice,
) -> Result<(SignedReceipt, Vec<u8>)> {
    let receipt = Receipt {
        receipt_id: uuid_v7(now),
        recorded_at: now.duration_trunc(Duration::milliseconds(1)).unwrap_or(now),
        pixel_id: choice.pixel_id,
        visitor_id: choice.visitor_id,
        origin: choice.origin,
        consent_state: choice.state,
        policy_hash: choice.policy_hash,
        purposes: choice.purposes.into_iter().map(Granted::Known).collect(),
    };
    let canonical = receipt.canonical()?;
    let signature = signer.sign(&canonical);
    Ok((SignedReceipt { receipt, signature }, canonical))
}

/// The three fields with which a receipt travels.
#[derive(Clone, Debug, Serialize, JsonSchema, ToSchema)]
pub struct ReceiptEnvelope {
    pub receipt: Receipt,
    /// HMAC-SHA256 of the receipt's canonical JSON, 64 lowercase hex digits.
    pub signature: String,
    /// Always `hmac-sha256`.
    pub signature_alg: &'static str,
}

impl From<SignedReceipt> for ReceiptEnvelope {
    fn from(signed: SignedReceipt) -> Self {
        Self {
            receipt: signed.receipt,
            signature: hex::encode(signed.signature),
            signature_alg: SIGNATURE_ALG,
        }
    }
}

impl ReceiptEnvelope {
    pub fn is_signed_by(&self, signer: &ReceiptSigner) -> bool {
        let canonical = self.receipt.canonical();
        canonical.is_ok_and(|message| signer.has_signed(&message, &self.signature))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_signed_is_the_canonical_form_that_anyone_can_compute() {
        let odd = "\u{0}\u{8}\u{9}\u{a}\u{c}\u{d}\u{1f}\"\\/\u{7f}\u{2028}\u{fb33}\u{1f600}é<>&";
        let all = Purpose::ALL.iter().map(|&purpose| Granted::Known(purpose));
        let all = all.chain([Granted::Newer(odd.to_owned())]).collect();
        for (origin, purposes) in [("https://shop.example", vec![]), (odd, all)] {
            let receipt = Receipt {
                pixel_id: PixelId::from("pixel".to_owned()),
                receipt_id: Uuid::from_u128(7),
                visitor_id: VisitorId::from(odd.to_owned()),
                origin: origin.to_owned(),
                consent_state: ConsentState::Accepted,
                policy_hash: odd.to_owned(),
                purposes,
                recorded_at: DateTime::from_timestamp_millis(1_800_000_000_007).unwrap(),
            };
            let canonical = String::from_utf8(receipt.canonical().unwrap()).unwrap();
            assert_eq!(canonical, serde_json_canonicalizer::to_string(&receipt).unwrap());
        }
    }
}
