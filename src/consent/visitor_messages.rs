//! What visitors' pages send about consent, and what they are answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::receipt::{ReceiptEnvelope, SignedReceipt};
use super::terms::Purpose;
use crate::ids::{PixelRef, VisitorId};
use crate::pixels::SiteHost;

/// A choice that was stored.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Saved {
    /// Always true.
    pub recorded: bool,
    pub receipt_id: Uuid,
    /// The policy that the receipt names.
    pub policy_version_hash: String,
    /// Sorted by name; empty for a decline or withdrawal.
    pub purposes: Vec<Purpose>,
    #[serde(flatten)]
    pub envelope: ReceiptEnvelope,
}

impl From<SignedReceipt> for Saved {
    fn from(signed: SignedReceipt) -> Self {
        Self {
            recorded: true,
            receipt_id: signed.receipt.receipt_id,
            policy_version_hash: signed.receipt.policy_hash.clone(),
            purposes: signed.receipt.purposes.clone(),
            envelope: signed.into(),
        }
    }
}

/// A choice that was made on a page of another site.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct SiteMismatch {
    /// Always false.
    pub recorded: bool,
    /// Always `site_mismatch`.
    pub reason: &'static str,
    /// The pixel's host.
    pub domain: SiteHost,
}

/// The popup opened for a visitor.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ShownRequest {
    /// Canonical id or alias.
    #[schemars(with = "PixelRef")]
    #[schema(value_type = PixelRef)]
    pub pixel_id: Option<String>,
    #[schemars(with = "VisitorId")]
    #[schema(value_type = VisitorId)]
    pub visitor_id: Option<String>,
    /// The page, of the pixel's host or a subdomain of it.
    #[schemars(with = "String")]
    #[schema(value_type = String, example = "https://shop.example/cart")]
    pub url: Option<String>,
}
