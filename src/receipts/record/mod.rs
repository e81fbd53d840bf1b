pub mod choice;
pub mod new_receipt;
pub mod recorder;
pub mod script_builds;
pub mod shown;
pub mod writing;

use std::time::Instant;

use chrono::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;
use uuid::Uuid;

use self::choice::{RecordRequest, choice_of};
use self::new_receipt::NewReceipt;
use super::service::Receipts;
use super::store::test_receipts::TestReceipt;
use super::test_choices;
use crate::consent_receipt::leaf::Leaf;
use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::{Choice, ReceiptEnvelope, SignedReceipt, issue_receipt};
use crate::consent_receipt::user_action::UserAction;
use crate::error::Result;
use crate::infra::events::{EventKind, EventRow, NewEvent};
use crate::infra::limits::account_rate::OperationKind;
use crate::infra::limits::per_pixel::VisitorWrite;
use crate::policies::policy::Policy;
use crate::policies::sites::{NamedSite, Site};
use crate::types::consent::{ConsentState, Granted, Purpose};
use crate::types::host::{PageUrl, SiteHost};
use crate::types::locales;

/// The circumstances of a choice's request.
pub struct Provenance {
    /// The time at which the first bytes arrived. The choice is stored shortly after that or not at all.
    pub arrived_at: Instant,
    /// Whether the browser sent `Sec-GPC: 1`: an acceptance is then ignored, but not a decline or a
    /// withdrawal.
    pub sec_gpc: bool,
    /// Whether the client declares itself a bot.
    pub is_bot: bool,
    /// The `Origin` header, which browsers send and pages cannot forge. Other programs may omit it.
    pub origin: Option<String>,
}

pub enum Recorded {
    Saved(Box<SignedReceipt>),
    /// Not a valid choice; nothing was stored.
    Ignored,
    /// Made on a page of another site than the pixel's.
    SiteMismatch(SiteMismatch),
}

impl Recorded {
    fn kind(&self) -> &'static str {
        match self {
            Self::Saved(signed) => signed.receipt.consent_state.as_str(),
            Self::Ignored => "ignored",
            Self::SiteMismatch(_) => "site_mismatch",
        }
    }
}

/// A choice that was stored.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct Saved {
    /// Always true.
    pub recorded: bool,
    pub receipt_id: Uuid,
    /// The policy that the receipt names.
    pub policy_version_hash: String,
    /// Sorted by name; empty for a decline or withdrawal.
    #[schema(value_type = Vec<Purpose>)]
    #[schemars(with = "Vec<Purpose>")]
    pub purposes: Vec<Granted>,
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

impl SiteMismatch {
    fn on(domain: &SiteHost) -> Self {
        Self { recorded: false, reason: "site_mismatch", domain: domain.clone() }
    }
}

impl Receipts {
    /// Records a choice. Returns only after the receipt is durable.
    pub async fn record(
        &self,
        request: RecordRequest,
        provenance: &Provenance,
    ) -> Result<Recorded> {
        let recorded = self.evaluate_and_store(request, provenance).await?;
        if !matches!(&recorded, Recorded::Saved(signed) if signed.receipt.is_test()) {
            self.infra.metrics.choices.count(recorded.kind());
        }
        Ok(recorded)
    }

    async fn evaluate_and_store(
        &self,
        request: RecordRequest,
        provenance: &Provenance,
    ) -> Result<Recorded> {
        let Some((state, visitor_id)) = request.identified() else { return Ok(Recorded::Ignored) };
        // `gpc` in the body drops any choice, the header only an acceptance, as documented in the reference.
        if request.gpc == Some(true) || (provenance.sec_gpc && state == ConsentState::Accepted) {
            return Ok(Recorded::Ignored);
        }
        let name = request.pixel_id.as_deref().unwrap_or_default();
        let Some(named) = self.sites.find_named(name).await? else {
            return Ok(Recorded::Ignored);
        };
        let site = &named.site;
        let Some(policy) = site.policy_in_force() else { return Ok(Recorded::Ignored) };
        let elsewhere = || Recorded::SiteMismatch(SiteMismatch::on(&site.pixel.domain));
        let page = request.url.as_deref().and_then(PageUrl::parse);
        let (clock, base_url) = (&self.infra.clock, self.infra.base_url());
        let Some(page) = page.filter(|page| named.admits(page, clock, base_url)) else {
            return Ok(elsewhere());
        };
        let Some(purposes) = request.granted(state, policy) else { return Ok(Recorded::Ignored) };
        let action = request.shown.as_ref().map(|claim| claim.action(state)).transpose()?;
        if !self.may_come_from(provenance.origin.as_deref(), &named, &page, state) {
            return Ok(elsewhere());
        }
        self.admit(state, &named).await?;
        let repeats = request.choice_id.map(|id| choice_of(id, &visitor_id, state));
        let choice = Choice {
            pixel_id: named.pixel_id(),
            visitor_id,
            origin: page.origin,
            state,
            policy_hash: policy.hash.clone(),
            purposes,
        };
        let (signed, canonical) = issue_receipt(&self.signer, self.infra.clock.now(), choice)?;
        let lasts = Duration::days(policy.text.consent_days.into());
        let is_acceptance = state == ConsentState::Accepted;
        let expires_at = is_acceptance.then(|| signed.receipt.recorded_at + lasts);
        if named.is_test() {
            let test = TestReceipt { signed, choice: repeats, expires_at };
            let stored = test_choices::record(&self.infra.pool, &site.pixel.pixel_id, test).await?;
            return Ok(stored.map_or(Recorded::Ignored, |stored| Recorded::Saved(Box::new(stored))));
        }
        let shown = self.shown(&request, site, policy, action.unwrap_or_default()).await;
        let stored = self.recorder.record(NewReceipt {
            events: self.events(site, &signed).await?,
            expires_at,
            leaf: self.log.is_kept().then(|| Leaf::of(&canonical, shown.as_ref())),
            shown,
            choice: repeats,
            arrived_at: provenance.arrived_at,
            signed,
        });
        let stored = stored.await?;
        Ok(Recorded::Saved(Box::new(stored)))
    }

    /// The events for subscribed endpoints, which are read from the cache.
    async fn events(&self, site: &Site, signed: &SignedReceipt) -> Result<Vec<EventRow>> {
        let subscribers = self.infra.events.subscribers(&site.pixel.account_id).await?;
        Ok(subscribers.rows_of(&NewEvent {
            kind: EventKind::ChoiceRecorded,
            pixel_id: Some(&site.pixel.pixel_id),
            // Set when the receipt is stored.
            subject: Value::Null,
            occurred_at: signed.receipt.recorded_at,
        }))
    }

    /// The data shown to the visitor, without hashes that the service cannot confirm.
    async fn shown(
        &self,
        request: &RecordRequest,
        site: &Site,
        policy: &Policy,
        action: UserAction,
    ) -> Option<Shown> {
        let claim = request.shown.as_ref()?;
        let locale = locales::named(&claim.language)?;
        let is_current = request.policy_version_hash.as_deref() == Some(policy.hash.as_str());
        let notice = match is_current {
            true => Some(self.notices.find(&site.pixel.pixel_id, policy, locale).await),
            false => None,
        };
        let script = match claim.script.as_deref() {
            Some(build) => self.builds.find(build).await,
            None => None,
        };
        Some(Shown { language: locale.lang.clone(), notice, script, action })
    }

    /// Whether a page of this origin may record the choice: a page of the pixel's site, or the service's own
    /// page on which visitors withdraw.
    fn may_come_from(
        &self,
        origin: Option<&str>,
        site: &NamedSite,
        page: &PageUrl,
        state: ConsentState,
    ) -> bool {
        let Some(origin) = origin.filter(|origin| *origin != page.origin) else { return true };
        PageUrl::parse(origin).is_some_and(|origin| {
            site.admits(&origin, &self.infra.clock, self.infra.base_url())
                || state == ConsentState::Withdrawn && origin.host() == self.infra.base_host()
        })
    }

    /// Waits for the rate limit of choices. A refusal is accepted even if too many requests are waiting.
    async fn admit(&self, state: ConsentState, named: &NamedSite) -> Result<()> {
        let turn =
            self.infra.account_rates.wait(OperationKind::Write, &named.site.pixel.account_id).await;
        let (turn, write) = match state {
            ConsentState::Accepted => (turn, VisitorWrite::Acceptance),
            ConsentState::Declined | ConsentState::Withdrawn => (Ok(()), VisitorWrite::Refusal),
        };
        turn.and_then(|()| self.limits.admit(write, &named.pixel_id()))
            .inspect_err(|_| self.infra.metrics.choices.count("limited"))
    }
}
