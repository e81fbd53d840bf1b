use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use url::Url;
use utoipa::ToSchema;

use super::appearance::Appearance;
use super::policy::{CURRENT_WORDING, Controller, PolicyText, USUAL_DAYS};
use crate::error::{BODY, Error, FieldError, Result, wrong_field};
use crate::pixels::test_hosts;
use crate::types::consent::{Channel, ControllerType, Purpose, known_sorted};
use crate::types::host::SiteHost;
use crate::types::json::shape;
use crate::types::text::present;

/// Maximum size of a policy in bytes. It equals the limit of HTTP requests; messages of tools may be longer.
const MAX_POLICY: usize = 64 << 10;
const MAX_TEXT: usize = 500;
const MAX_NAMES: usize = 100;
const MAX_URL: usize = 2000;
const MAX_DAYS: i32 = 365;

/// What visitors are asked and told. Texts have one line of at most 500 characters.
#[derive(Debug, Default, Deserialize, JsonSchema, ToSchema)]
pub struct ConsentRequest {
    /// Who asks.
    #[schemars(with = "String", length(max = 500))]
    #[schema(value_type = String, pattern = "\\S", max_length = 500, example = "Shop Ltd")]
    pub controller_name: Option<String>,
    /// What is asked for, at least one known name; unknown names are dropped, and reported as such.
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
    /// Where letters reach the controller.
    #[schema(max_length = 500)]
    pub controller_address: Option<String>,
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
    /// For how many days a permission lasts; 182 when omitted.
    #[schemars(range(min = 1, max = 365))]
    #[schema(minimum = 1, maximum = 365)]
    pub consent_days: Option<i64>,
    /// Which kinds of personal data are used, at most 100.
    #[schema(max_items = 100)]
    pub personal_data: Option<Vec<String>>,
    /// Where they are stored, at most 100 places.
    #[schema(max_items = 100)]
    pub storage_places: Option<Vec<String>>,
    /// How long they are kept.
    #[schema(max_length = 500, example = "13 months")]
    pub retention: Option<String>,
    /// How the popup looks; when omitted, as before.
    #[schemars(
        with = "Option<serde_json::Map<String, Value>>",
        description = "How the popup looks; when omitted, as before. position (bottom, bottom-left, \
            bottom-right, top, center), colors (light and dark, each with background, text, button, \
            button_text, link as #rrggbb), radius (0 to 24), font, button (show, and position: \
            bottom-left, bottom-right, top-left, top-right)."
    )]
    #[schema(value_type = Option<Appearance>)]
    pub appearance: Option<Value>,
    /// Whether contacts are only stored with a `visitor_id`; when omitted, as before: false at first.
    pub contacts_need_consent: Option<bool>,
    /// As `contacts_need_consent`, with an acceptance that a person made.
    pub contacts_need_act: Option<bool>,
    /// Hosts besides localhost for the test id, at most 20; when omitted, as before.
    #[schema(max_items = 20, example = json!(["staging.shop.example"]))]
    pub test_hosts: Option<Vec<String>>,
    /// Whether a choice on one subdomain of the site counts on all of them, by a cookie; when omitted, as
    /// before: false at first. Only for sites whose subdomains all belong to the controller.
    pub share_subdomains: Option<bool>,
}

pub struct ConsentSettings {
    pub text: PolicyText,
    /// Purposes that were asked for and do not exist.
    pub dropped_purposes: Vec<String>,
    /// `None` keeps the present one.
    pub appearance: Option<Appearance>,
    pub contacts_need_consent: Option<bool>,
    pub contacts_need_act: Option<bool>,
    /// `None` keeps the present ones.
    pub test_hosts: Option<Vec<SiteHost>>,
    pub share_subdomains: Option<bool>,
}

impl ConsentRequest {
    pub fn check(self) -> Result<ConsentSettings> {
        let name = short("controller_name", self.controller_name.as_deref())?;
        let name = name.ok_or(Error::ControllerNameRequired)?;
        let purposes = self.purposes.unwrap_or_default();
        let are_unknown = !purposes.is_empty();
        let dropped_purposes = unknown(&purposes);
        let purposes = known_sorted(&purposes, Purpose::parse, Purpose::as_str);
        if purposes.is_empty() {
            let word = || FieldError::unknown_word(&["body", "purposes"], Purpose::WORDS);
            return Err(Error::PurposeRequired.naming(are_unknown.then(word).into_iter().collect()));
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
                contact: short("controller_contact", self.controller_contact.as_deref())?,
                jurisdiction: short(
                    "controller_jurisdiction",
                    self.controller_jurisdiction.as_deref(),
                )?,
                address: short("controller_address", self.controller_address.as_deref())?,
            },
            rule_version: short("rule_version", self.rule_version.as_deref())?,
            purposes,
            data_sharing: self.data_sharing.unwrap_or(false),
            contact_channels: known_sorted(&channels, Channel::parse, Channel::as_str),
            disclosed_parties: names("disclosed_parties", self.disclosed_parties)?,
            site_policy_url: present(self.site_policy_url.as_deref())
                .map(https_link)
                .transpose()?,
            wording: CURRENT_WORDING,
            consent_days: self.consent_days.map_or(Ok(USUAL_DAYS), days)?,
            personal_data: names("personal_data", self.personal_data)?,
            storage_places: names("storage_places", self.storage_places)?,
            retention: short("retention", self.retention.as_deref())?,
        };
        if text.canonical()?.len() > MAX_POLICY {
            let msg = format!("all texts together may have at most {} KiB", MAX_POLICY >> 10);
            let wrong = FieldError::new(&[BODY], msg, "value_error");
            return Err(Error::InvalidRequest.naming(vec![wrong]));
        }
        Ok(ConsentSettings {
            text,
            dropped_purposes,
            appearance,
            contacts_need_consent: self.contacts_need_consent,
            contacts_need_act: self.contacts_need_act,
            test_hosts: self.test_hosts.as_deref().map(test_hosts::parse).transpose()?,
            share_subdomains: self.share_subdomains,
        })
    }
}

fn parse_appearance(value: Value) -> Result<Appearance> {
    let appearance = shape::read_value::<Appearance>(&value, "appearance");
    let appearance = appearance.map_err(|mut wrong| {
        wrong.loc.insert(0, BODY.to_owned());
        Error::InvalidRequest.naming(vec![wrong])
    })?;
    appearance.check()?;
    Ok(appearance)
}

/// The names that are no purposes, sorted and shortened, at most 20.
fn unknown(names: &[String]) -> Vec<String> {
    let unknown = names.iter().filter(|name| Purpose::parse(name).is_none());
    let mut unknown = unknown.map(|name| name.chars().take(64).collect()).collect::<Vec<String>>();
    unknown.sort_unstable();
    unknown.dedup();
    unknown.truncate(20);
    unknown
}

/// One line of at most 500 characters; blank counts as absent.
fn short(field: &str, text: Option<&str>) -> Result<Option<String>> {
    let Some(text) = present(text) else { return Ok(None) };
    if text.chars().count() > MAX_TEXT || text.chars().any(char::is_control) {
        let msg = format!("must be one line of at most {MAX_TEXT} characters");
        return Err(wrong_field(field, msg));
    }
    Ok(Some(text.to_owned()))
}

/// Names of at most 500 characters on one line each, without blank ones.
fn names(field: &str, names: Option<Vec<String>>) -> Result<Vec<String>> {
    let names = names.unwrap_or_default();
    if names.len() > MAX_NAMES {
        return Err(wrong_field(field, format!("must have at most {MAX_NAMES} names")));
    }
    names.iter().filter_map(|name| short(field, Some(name)).transpose()).collect()
}

fn days(days: i64) -> Result<i32> {
    let days = i32::try_from(days).ok().filter(|days| (1..=MAX_DAYS).contains(days));
    days.ok_or_else(|| wrong_field("consent_days", format!("must be from 1 to {MAX_DAYS}")))
}

fn https_link(text: &str) -> Result<String> {
    let url = Url::parse(text).map_err(|_| Error::SitePolicyUrlNotHttps)?;
    let is_link = url.scheme() == "https" && url.has_host() && url.username().is_empty();
    match is_link && text.len() <= MAX_URL {
        true => Ok(url.into()),
        false => Err(Error::SitePolicyUrlNotHttps),
    }
}
