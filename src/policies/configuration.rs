use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use super::configured::Configured;
use super::consent_request::{ConsentRequest, ConsentSettings};
use super::policy::Policy;
use super::publication_limit::count_publication;
use super::revision::{self, Revision};
use super::screenshots::due;
use super::sharing::{NOT_SHARED, check_sharing};
use super::{notice, popup_changes, store};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::Operates;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result, wrong_field};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::infra::events::{self, NewEvent};
use crate::pixels;
use crate::pixels::pixel::Pixel;
use crate::pixels::snippets::snippet;
use crate::pixels::test_hosts;
use crate::types::host::SiteHost;
use crate::types::ids::{PixelId, PixelParam};
use crate::types::locales;

pub async fn configure(
    infra: &Infra,
    caller: &Caller,
    pixel_id: &PixelParam,
    settings: ConsentSettings,
) -> Result<Revised> {
    let pixel = pixels::setup::find_for(&infra.pool, caller, pixel_id).await?;
    turn_on(infra, Some(caller), &pixel, settings, Naming::Anew).await
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Naming {
    Anew,
    Once,
}

pub struct Revised {
    pub configured: Configured,
    pub revision: Revision,
}

impl Revised {
    fn new(
        base_url: &str,
        pixel: Pixel,
        enabled: bool,
        (revision, test_hosts): (Revision, Vec<SiteHost>),
        dropped_purposes: Vec<String>,
    ) -> Self {
        let Pixel { pixel_id, contacts_need_consent, contacts_need_act, share_subdomains, .. } =
            pixel;
        let policy = &revision.policy;
        let configured = Configured {
            consent_enabled: enabled,
            policy_version: policy.version,
            policy_hash: policy.hash.clone(),
            policy_url: policy_url(base_url, &pixel_id),
            snippet: snippet::consent_tag(&pixel_id, base_url),
            purposes: policy.text.purposes.clone(),
            dropped_purposes,
            consent_days: policy.text.consent_days,
            contacts_need_consent,
            contacts_need_act,
            test_hosts,
            share_subdomains,
            pixel_id,
        };
        Self { configured, revision }
    }
}

/// Publishes the policy and turns the popup on. The caller must have checked the access.
pub async fn turn_on(
    infra: &Infra,
    caller: Option<&Caller>,
    pixel: &Pixel,
    mut settings: ConsentSettings,
    naming: Naming,
) -> Result<Revised> {
    let subscribers = infra.events.subscribers(&pixel.account_id).await?;
    let now = infra.clock.now();
    let mut transaction = infra.pool.begin().await?;
    let pixel = pixels::lock_pixel(&mut transaction, &pixel.pixel_id).await?;
    let mut pixel = pixel.ok_or(Error::PixelNotFound)?;
    let before = popup_changes::find_settings(&mut transaction, &pixel).await?;
    let pixel_id = &pixel.pixel_id;
    if naming == Naming::Once
        && let Some(current) = store::find_current_policy(&mut transaction, pixel_id).await?
    {
        settings.text.controller = current.text.controller;
    }
    let mut revision =
        revision::publish(&mut transaction, now, pixel_id, &pixel.domain, settings.text).await?;
    let mut is_changed = revision.is_new();
    if let Some(caller) = caller.filter(|_| is_changed) {
        let (kind, hash) = (ActivityKind::PolicyPublished, Some(revision.policy.hash.as_str()));
        caller.record(&mut transaction, now, &pixel.account_id, kind, hash).await?;
    }
    let published = NewEvent {
        kind: events::EventKind::PolicyPublished,
        pixel_id: Some(pixel_id),
        subject: json!({"version": revision.policy.version}),
        occurred_at: now,
    };
    let is_wanted = revision.is_new() && subscribers.want(published.kind, published.pixel_id);
    if is_wanted {
        events::put(&mut transaction, &subscribers, &[published]).await?;
    }
    if let Some(appearance) = &settings.appearance {
        let value = serde_json::to_value(appearance).map_err(Error::internal)?;
        let is_new = store::upsert_appearance(&mut transaction, pixel_id, &value).await?;
        if let Some(caller) = caller.filter(|_| is_new && !before.looks_like(appearance)) {
            let (kind, subject) = (ActivityKind::AppearanceChanged, Some(pixel_id.as_str()));
            caller.record(&mut transaction, now, &pixel.account_id, kind, subject).await?;
        }
        is_changed |= is_new;
    }
    if let Some(need) = settings.contacts_need_consent {
        pixels::update_contacts_need_consent(&mut transaction, pixel_id, need).await?;
        pixel.contacts_need_consent = need;
    }
    if let Some(need) = settings.contacts_need_act {
        pixels::update_contacts_need_act(&mut transaction, pixel_id, need).await?;
        pixel.contacts_need_act = need;
    }
    let has_new_hosts = match &settings.test_hosts {
        Some(hosts) => test_hosts::replace(&mut transaction, pixel_id, hosts).await?,
        None => false,
    };
    let hosts = test_hosts::list(&mut transaction, pixel_id).await?;
    if let Some(share) = settings.share_subdomains {
        check_sharing(&pixel.domain, share)?;
        is_changed |=
            pixels::update_share_subdomains(&mut transaction, pixel_id, share, now).await?;
        pixel.share_subdomains = share;
    }
    revision.policy.shares_subdomains = pixel.share_subdomains;
    if caller.is_some() {
        let (version, looks) = (revision.policy.version, settings.appearance);
        popup_changes::record(&mut transaction, now, &pixel, version, before, looks).await?;
    }
    // Demo tags, which have no caller, get no screenshots, because their choices are not proved.
    if is_changed && caller.is_some() {
        due::record(&mut transaction, pixel_id, now).await?;
    }
    is_changed |= pixels::update_consent_enabled(&mut transaction, pixel_id, true).await?;
    if is_changed && caller.is_some() {
        count_publication(&mut transaction, &infra.clock, &infra.config, &pixel.account_id).await?;
    }
    let invalidation = match is_changed || has_new_hosts {
        true => Invalidation::of_pixel(pixel_id),
        false => Invalidation::none(),
    };
    infra.changes.commit(transaction, &invalidation).await?;
    if is_wanted {
        infra.events.wake();
    }
    tracing::info!(%pixel_id, version = revision.policy.version, "consent policy in force");
    Ok(Revised::new(infra.base_url(), pixel, true, (revision, hosts), settings.dropped_purposes))
}

/// The answer that [`configure`] would give; nothing is stored.
pub async fn preview(
    infra: &Infra,
    caller: &Caller,
    pixel_id: &PixelParam,
    settings: ConsentSettings,
) -> Result<Revised> {
    let mut pixel = pixels::setup::find_for(&infra.pool, caller, pixel_id).await?;
    let Pixel { pixel_id, domain, consent_enabled, .. } = &pixel;
    let (now, enabled) = (infra.clock.now(), *consent_enabled);
    let mut connection = infra.pool.acquire().await?;
    let mut revision =
        revision::revise(&mut connection, now, pixel_id, domain, settings.text).await?;
    if let Some(need) = settings.contacts_need_consent {
        pixel.contacts_need_consent = need;
    }
    if let Some(need) = settings.contacts_need_act {
        pixel.contacts_need_act = need;
    }
    if let Some(share) = settings.share_subdomains {
        check_sharing(&pixel.domain, share)?;
        pixel.share_subdomains = share;
    }
    revision.policy.shares_subdomains = pixel.share_subdomains;
    let hosts = match settings.test_hosts {
        Some(hosts) => {
            test_hosts::require_own(&mut connection, &pixel.pixel_id, &hosts).await?;
            hosts
        }
        None => test_hosts::list(&mut connection, &pixel.pixel_id).await?,
    };
    Ok(Revised::new(infra.base_url(), pixel, enabled, (revision, hosts), settings.dropped_purposes))
}

pub fn policy_url(base_url: &str, pixel_id: &PixelId) -> String {
    format!("{base_url}/v1/policy/{pixel_id}")
}

/// What a pixel's visitors are to be asked and told.
#[derive(Deserialize, JsonSchema)]
pub struct ConfigureRequest {
    pub pixel_id: PixelParam,
    /// Stores nothing.
    pub dry_run: Option<bool>,
    #[serde(flatten)]
    pub settings: ConsentRequest,
}

/// What configuring did, or with `dry_run` what it would do.
#[derive(Serialize, JsonSchema)]
pub struct ConsentOutcome {
    dry_run: bool,
    /// Whether visitors who have chosen already are asked again, because what they are told has
    /// changed.
    pub visitors_asked_again: bool,
    /// The privacy notice that visitors read, in English.
    pub notice: String,
    /// Of which the console shows the notice in other languages.
    #[serde(skip)]
    #[schemars(skip)]
    pub policy: Policy,
    #[serde(flatten)]
    pub configured: Configured,
}

/// A policy is published, and the popup turned on.
pub struct ConfigureConsent;

impl Capability for ConfigureConsent {
    const NAME: &'static str = "configure_consent";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Configure consent",
        "Publishes the pixel's privacy notice and turns the consent popup on. Put the returned \
         `snippet` into the `<head>` of every page. Identification needs the purpose \
         `resolution`. With `dry_run` nothing is stored: the answer shows a draft of the \
         notice, and whether visitors would be asked again.",
    ));
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Service = Infra;
    type Access = ActiveAccount<Operates>;
    type Input = ConfigureRequest;
    type Output = ConsentOutcome;

    fn refusals() -> Vec<Error> {
        vec![
            wrong_field("data_sharing", "must be true or false"),
            wrong_field("consent_days", "must be from 1 to 365"),
            wrong_field("test_hosts", "must have at most 20 hosts"),
            wrong_field("share_subdomains", NOT_SHARED),
            Error::ControllerNameRequired,
            Error::PurposeRequired,
            Error::ControllerTypeUnknown,
            Error::SitePolicyUrlNotHttps,
            Error::ContrastTooLow,
            Error::PixelNotFound,
            Error::PolicyAllowanceReached,
            Error::TooManyRequests { retry_after: 30 },
        ]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: ConfigureRequest,
    ) -> Result<ConsentOutcome> {
        let ConfigureRequest { pixel_id, dry_run, settings } = request;
        let (settings, dry_run) = (settings.check()?, dry_run.unwrap_or(false));
        let revised = match dry_run {
            true => preview(infra, &caller, &pixel_id, settings).await?,
            false => configure(infra, &caller, &pixel_id, settings).await?,
        };
        Ok(ConsentOutcome {
            dry_run,
            visitors_asked_again: revised.revision.asks_again(),
            notice: notice::plain_text(&revised.revision.policy, locales::english()),
            policy: revised.revision.policy,
            configured: revised.configured,
        })
    }
}
