//! Recording a visitor's choice: which choices count, and which are ignored.

use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::directory::Directory;
use super::policy::Policy;
use super::receipt::{Choice, SignedReceipt, issue_receipt};
use super::recorder::Recorder;
use super::signing::Signer;
use super::terms::{ConsentState, Purpose};
use crate::error::Result;
use crate::ids::{PixelRef, VisitorId};
use crate::pixels::SiteHost;
use crate::pixels::host::PageUrl;
use crate::platform::Platform;

/// A visitor's choice. One that does not count is ignored, not refused.
#[derive(Debug, Deserialize, JsonSchema, ToSchema)]
pub struct RecordRequest {
    /// Canonical id or alias.
    #[schemars(with = "PixelRef")]
    #[schema(value_type = PixelRef)]
    pub pixel_id: Option<String>,
    #[schemars(with = "VisitorId")]
    #[schema(value_type = VisitorId)]
    pub visitor_id: Option<String>,
    /// The page on which the choice was made: of the pixel's host or a subdomain of it.
    #[schemars(with = "String")]
    #[schema(value_type = String, example = "https://shop.example/cart")]
    pub url: Option<String>,
    #[schemars(with = "ConsentState")]
    #[schema(value_type = ConsentState)]
    pub consent: Option<String>,
    /// Must be true for `accepted`: the visitor did something to say yes.
    pub affirmative: Option<bool>,
    /// Must be the current policy's hash for `accepted`.
    pub policy_version_hash: Option<String>,
    /// For `accepted` a non-empty subset of the configured purposes.
    #[schemars(with = "Option<Vec<Purpose>>")]
    #[schema(value_type = Option<Vec<Purpose>>)]
    pub purposes: Option<Vec<String>>,
    /// Global Privacy Control: when true nothing is stored.
    pub gpc: Option<bool>,
    /// Made per choice, so that a repeated request never makes a second receipt.
    pub choice_id: Option<Uuid>,
}

/// What became of a choice.
pub enum Recorded {
    Saved(Box<SignedReceipt>),
    /// Not a choice that counts; nothing was stored.
    Ignored,
    /// Made on a page of another site than the pixel's.
    SiteMismatch {
        domain: SiteHost,
    },
}

impl Recorded {
    fn kind(&self) -> &'static str {
        match self {
            Self::Saved(signed) => signed.receipt.consent_state.as_str(),
            Self::Ignored => "ignored",
            Self::SiteMismatch { .. } => "site_mismatch",
        }
    }
}

/// What recording needs besides the choice.
pub struct Desk<'a> {
    pub platform: &'a Platform,
    pub directory: &'a Directory,
    pub signer: &'a Signer,
    pub recorder: &'a Recorder,
}

impl Desk<'_> {
    /// Records a choice. Returns only after the receipt is durable.
    ///
    /// `sec_gpc` tells whether the browser sent `Sec-GPC: 1`: it stops an acceptance, never a
    /// decline or a withdrawal.
    pub async fn record(&self, request: RecordRequest, sec_gpc: bool) -> Result<Recorded> {
        let recorded = self.judge_and_store(request, sec_gpc).await?;
        self.platform.metrics.choices.count(recorded.kind());
        Ok(recorded)
    }

    async fn judge_and_store(&self, request: RecordRequest, sec_gpc: bool) -> Result<Recorded> {
        let Some((state, visitor_id)) = identified(&request) else { return Ok(Recorded::Ignored) };
        if request.gpc == Some(true) || (sec_gpc && state == ConsentState::Accepted) {
            return Ok(Recorded::Ignored);
        }
        let name = request.pixel_id.as_deref().unwrap_or_default();
        let Some(site) = self.directory.find_text(name).await? else {
            return Ok(Recorded::Ignored);
        };
        let Some(policy) = site.policy_in_force() else { return Ok(Recorded::Ignored) };
        let page = request.url.as_deref().and_then(PageUrl::parse);
        let Some(page) = page.filter(|page| site.admits(page, self.platform)) else {
            return Ok(Recorded::SiteMismatch { domain: site.pixel.domain.clone() });
        };
        let Some(purposes) = granted(&request, state, policy) else { return Ok(Recorded::Ignored) };
        let choice = Choice {
            pixel_id: site.pixel.pixel_id.clone(),
            visitor_id,
            origin: page.origin,
            state,
            policy_hash: policy.hash.clone(),
            purposes,
        };
        let signed = issue_receipt(self.signer, self.platform.clock.now(), choice)?;
        let stored = self.recorder.record(signed, request.choice_id).await?;
        Ok(Recorded::Saved(Box::new(stored)))
    }
}

fn identified(request: &RecordRequest) -> Option<(ConsentState, VisitorId)> {
    let state = ConsentState::parse(request.consent.as_deref()?)?;
    let visitor_id = VisitorId::parse(request.visitor_id.as_deref()?)?;
    Some((state, visitor_id))
}

/// The purposes that the choice grants, sorted; `None` when it does not count.
///
/// An acceptance must be affirmative, of the current policy, and of purposes that it asks for.
fn granted(request: &RecordRequest, state: ConsentState, policy: &Policy) -> Option<Vec<Purpose>> {
    if state != ConsentState::Accepted {
        return Some(Vec::new());
    }
    let is_current = request.policy_version_hash.as_deref() == Some(policy.hash.as_str());
    if request.affirmative != Some(true) || !is_current {
        return None;
    }
    let names = request.purposes.as_deref().unwrap_or_default();
    let mut purposes = names
        .iter()
        .map(|name| Purpose::parse(name).filter(|&purpose| policy.covers(purpose)))
        .collect::<Option<Vec<_>>>()?;
    purposes.sort_by_key(|purpose| purpose.as_str());
    purposes.dedup();
    (!purposes.is_empty()).then_some(purposes)
}
