//! Payloads of events: ids, the object as the API shows it, and its URL.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::clock::Timestamp;
use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::ReceiptEnvelope;
use crate::contacts::allowance::Allowance;
use crate::contacts::contact::{Contact, WithdrawnContact};
use crate::erasure::view::ErasureRequestView;
use crate::pixels::install_check::InstallView;
use crate::pixels::install_check::install_state::InstallChange;
use crate::policies::history::PolicyVersionView;
use crate::silence::view::WatchReportView;
use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId};

#[derive(Serialize)]
#[serde(untagged)]
pub enum EventPayload {
    Contact(ContactNews),
    Withdrawn(WithdrawnNews),
    Choice(ChoiceNews),
    Policy(PolicyNews),
    Install(Box<InstallNews>),
    Allowance(AllowanceNews),
    Erasure(ErasureNews),
    Silence(SilenceNews),
}

/// A person who was stored.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct ContactNews {
    pub pixel_id: PixelId,
    /// The pixel's host.
    pub domain: SiteHost,
    /// As the cursor reads it now.
    pub contact: Contact,
    /// Where the contact is read.
    pub url: String,
}

/// A person whose consent has ended: copies of the contact have to be deleted.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct WithdrawnNews {
    pub pixel_id: PixelId,
    /// The pixel's host.
    pub domain: SiteHost,
    pub contact: WithdrawnContact,
    /// Where the list of such contacts is read, from this one on.
    pub url: String,
}

/// A choice that a visitor made.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct ChoiceNews {
    pub pixel_id: PixelId,
    /// The pixel's host.
    pub domain: SiteHost,
    #[serde(flatten)]
    pub envelope: ReceiptEnvelope,
    /// What the visitor saw, as the consent tag said it; null when nothing did.
    #[schema(required = true)]
    pub shown: Option<Shown>,
    /// Where the choice is read in the log.
    pub url: String,
}

/// A version of a policy that visitors are asked to accept from now on.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct PolicyNews {
    pub pixel_id: PixelId,
    /// The pixel's host.
    pub domain: SiteHost,
    pub policy: PolicyVersionView,
    /// Where all versions are read.
    pub url: String,
}

/// A tag that came or went.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct InstallNews {
    pub pixel_id: PixelId,
    /// The pixel's host.
    pub domain: SiteHost,
    pub change: InstallChange,
    /// The install as it is now.
    pub install: InstallView,
    /// Where the install is read.
    pub url: String,
}

/// Much or all of a month's new contacts are used.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct AllowanceNews {
    pub account_id: AccountId,
    /// 80 or 100.
    pub percent: i64,
    /// When that was reached.
    pub reached_at: Timestamp,
    /// The allowance as it is now.
    pub allowance: Allowance,
    /// Where the allowance is read.
    pub url: String,
}

/// A visitor who asks to be erased.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct ErasureNews {
    pub pixel_id: PixelId,
    /// The pixel's host.
    pub domain: SiteHost,
    pub request: ErasureRequestView,
    /// Where the pixel's requests are read.
    pub url: String,
}

/// A report that found that a site has broken or recovered.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct SilenceNews {
    pub pixel_id: PixelId,
    /// The pixel's host.
    pub domain: SiteHost,
    pub report: WatchReportView,
    /// Where the report is read, with its leaks.
    pub url: String,
}
