//! Turning the consent popup on and off, and saying what it asks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;
use utoipa::ToSchema;

use super::appearance::Appearance;
use super::policy::{self, CURRENT_WORDING, Controller, PolicyText, Revision};
use super::store;
use super::terms::{Channel, ControllerType, Purpose, known_sorted};
use crate::accounts::Caller;
use crate::error::{Error, Result};
use crate::http::body::present;
use crate::ids::PixelId;
use crate::pixels::{self, Pixel, snippet};
use crate::platform::Platform;

const MAX_TEXT: usize = 500;
const MAX_PARTIES: usize = 100;
const MAX_URL: usize = 2000;

/// What visitors are asked and told. Texts have one line of at most 500 characters.
#[derive(Debug, Default, Deserialize, JsonSchema, ToSchema)]
pub struct ConsentRequest {
    /// Who asks.
    #[schemars(with = "String", length(max = 500))]
    #[schema(value_type = String, pattern = "\\S", max_length = 500, example = "Shop Ltd")]
    pub controller_name: Option<String>,
    /// What is asked for, at least one known name; unknown names are dropped.
    #[schemars(with = "Vec<Purpose>", length(min = 1))]
    #[schema(value_type = Vec<Purpose>, min_items = 1)]
    pub purposes: Option<Vec<String>>,
    /// `company` when omitted.
    #[schemars(with = "Option<ControllerType>")]
    #[schema(value_type = Option<ControllerType>)]
    pub controller_type: Option<String>,
    /// How the controller is reached.
    #[schema(max_length = 500)]
    pub controller_contact: Option<String>,
    /// Under whose law.
    #[schema(max_length = 500)]
    pub controller_jurisdiction: Option<String>,
    /// The version of the rules that the integrator goes by.
    #[schema(max_length = 500)]
    pub rule_version: Option<String>,
    /// Whether data are shared with others; false when omitted.
    pub data_sharing: Option<bool>,
    /// How visitors may be contacted; unknown names are dropped.
    #[schemars(with = "Option<Vec<Channel>>")]
    #[schema(value_type = Option<Vec<Channel>>)]
    pub contact_channels: Option<Vec<String>>,
    /// With whom data are shared, at most 100 names.
    #[schema(max_items = 100)]
    pub disclosed_parties: Option<Vec<String>>,
    /// The site's own policy, an https:// link. The notice of this service then adds to it.
    #[schema(max_length = 2000, example = "https://shop.example/privacy")]
    pub site_policy_url: Option<String>,
    /// How the popup looks; when omitted, as before.
    #[schemars(with = "Option<Appearance>")]
    #[schema(value_type = Option<Appearance>)]
    pub appearance: Option<Value>,
}

/// A checked configuration.
pub struct ConsentSettings {
    pub text: PolicyText,
    /// `None` keeps the present look.
    pub appearance: Option<Appearance>,
}

impl ConsentRequest {
    pub fn check(self) -> Result<ConsentSettings> {
        let name = short(self.controller_name.as_deref())?.ok_or(Error::ControllerNameRequired)?;
        let purposes = self.purposes.unwrap_or_default();
        let purposes = known_sorted(&purposes, Purpose::parse, Purpose::as_str);
        if purposes.is_empty() {
            return Err(Error::PurposeRequired);
        }
        let kind = match present(self.controller_type.as_deref()) {
            None => ControllerType::Company,
            Some(kind) => ControllerType::parse(kind).ok_or(Error::ControllerTypeUnknown)?,
        };
        let channels = self.contact_channels.unwrap_or_default();
        let appearance = self.appearance.map(parse_appearance).transpose()?;
        let text = PolicyText {
            controller: Controller {
                name,
                kind,
                contact: short(self.controller_contact.as_deref())?,
                jurisdiction: short(self.controller_jurisdiction.as_deref())?,
            },
            rule_version: short(self.rule_version.as_deref())?,
            purposes,
            data_sharing: self.data_sharing.unwrap_or(false),
            contact_channels: known_sorted(&channels, Channel::parse, Channel::as_str),
            disclosed_parties: parties(&self.disclosed_parties.unwrap_or_default())?,
            site_policy_url: present(self.site_policy_url.as_deref())
                .map(https_link)
                .transpose()?,
            wording: CURRENT_WORDING,
        };
        Ok(ConsentSettings { text, appearance })
    }
}

fn parse_appearance(value: Value) -> Result<Appearance> {
    let appearance: Appearance =
        serde_json::from_value(value).map_err(|_| Error::InvalidRequest)?;
    appearance.check()?;
    Ok(appearance)
}

/// A text for people of at most 500 characters on one line; blank counts as absent.
fn short(text: Option<&str>) -> Result<Option<String>> {
    let Some(text) = present(text) else { return Ok(None) };
    if text.chars().count() > MAX_TEXT || text.chars().any(char::is_control) {
        return Err(Error::InvalidRequest);
    }
    Ok(Some(text.to_owned()))
}

fn parties(names: &[String]) -> Result<Vec<String>> {
    if names.len() > MAX_PARTIES {
        return Err(Error::InvalidRequest);
    }
    names.iter().filter_map(|name| short(Some(name)).transpose()).collect()
}

fn https_link(text: &str) -> Result<String> {
    let url = Url::parse(text).map_err(|_| Error::SitePolicyUrlNotHttps)?;
    let is_link = url.scheme() == "https" && url.has_host() && url.username().is_empty();
    match is_link && text.len() <= MAX_URL {
        true => Ok(url.into()),
        false => Err(Error::SitePolicyUrlNotHttps),
    }
}

/// The answer to a configuration.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Configured {
    pub pixel_id: PixelId,
    /// Always true.
    pub consent_enabled: bool,
    /// Counts up with each change of the policy's text, from 1.
    pub policy_version: i32,
    /// SHA-256 of the policy's canonical JSON, 64 lowercase hex digits. Visitors accept this one.
    pub policy_hash: String,
    /// Where visitors read the policy.
    pub policy_url: String,
    /// HTML to paste into the site: the consent tag.
    pub snippet: String,
    /// Sorted by name.
    pub purposes: Vec<Purpose>,
}

/// Publishes the policy of a pixel that the caller may configure, and turns its popup on.
pub async fn configure(
    platform: &Platform,
    caller: &Caller,
    pixel_id: &str,
    settings: ConsentSettings,
) -> Result<Revised> {
    let pixel = pixels::pixel::find_for(platform, caller, pixel_id).await?;
    turn_on(platform, &pixel.pixel_id, settings).await
}

/// A configuration, and what it does to the policy.
pub struct Revised {
    pub configured: Configured,
    pub revision: Revision,
}

impl Revised {
    fn new(platform: &Platform, pixel_id: PixelId, enabled: bool, revision: Revision) -> Self {
        let policy = &revision.policy;
        let configured = Configured {
            consent_enabled: enabled,
            policy_version: policy.version,
            policy_hash: policy.hash.clone(),
            policy_url: policy_url(platform, &pixel_id),
            snippet: snippet::consent_tag(&pixel_id, platform.base_url()),
            purposes: policy.text.purposes.clone(),
            pixel_id,
        };
        Self { configured, revision }
    }
}

/// Publishes the policy and turns the popup on. The caller's right to it must be checked.
pub async fn turn_on(
    platform: &Platform,
    pixel_id: &PixelId,
    settings: ConsentSettings,
) -> Result<Revised> {
    let now = platform.clock.now();
    let mut transaction = platform.pool.begin().await?;
    let Pixel { pixel_id, domain, .. } =
        pixels::store::lock_pixel(&mut transaction, pixel_id).await?.ok_or(Error::PixelNotFound)?;
    let revision =
        policy::publish(&mut transaction, now, &pixel_id, &domain, settings.text).await?;
    if let Some(appearance) = &settings.appearance {
        let value = serde_json::to_value(appearance).map_err(Error::internal)?;
        store::upsert_appearance(&mut transaction, &pixel_id, &value).await?;
    }
    pixels::store::update_consent_enabled(&mut transaction, &pixel_id, true).await?;
    platform.changes.commit(transaction).await?;
    tracing::info!(%pixel_id, version = revision.policy.version, "consent policy in force");
    Ok(Revised::new(platform, pixel_id, true, revision))
}

/// What [`configure`] would answer; nothing is stored.
pub async fn rehearse(
    platform: &Platform,
    caller: &Caller,
    pixel_id: &str,
    settings: ConsentSettings,
) -> Result<Revised> {
    let pixel = pixels::pixel::find_for(platform, caller, pixel_id).await?;
    let Pixel { pixel_id, domain, consent_enabled, .. } = pixel;
    let now = platform.clock.now();
    let mut connection = platform.pool.acquire().await?;
    let revision = policy::revise(&mut connection, now, &pixel_id, &domain, settings.text).await?;
    Ok(Revised::new(platform, pixel_id, consent_enabled, revision))
}

/// Turns the popup off. Policies and receipts stay: they prove what was asked and answered.
pub async fn turn_off(platform: &Platform, caller: &Caller, pixel_id: &str) -> Result<PixelId> {
    let Pixel { pixel_id, .. } = pixels::pixel::find_for(platform, caller, pixel_id).await?;
    let mut transaction = platform.pool.begin().await?;
    pixels::store::update_consent_enabled(&mut transaction, &pixel_id, false).await?;
    platform.changes.commit(transaction).await?;
    tracing::info!(%pixel_id, "consent turned off");
    Ok(pixel_id)
}

/// Where the pixel's notice is read.
pub fn policy_url(platform: &Platform, pixel_id: &PixelId) -> String {
    format!("{}/v1/policy/{pixel_id}", platform.base_url())
}
