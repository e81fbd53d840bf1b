//! What each script is told: the counterpart of `scripts-src/shared/config.ts`.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use crate::consent::appearance::Appearance;
use crate::consent::directory::Site;
use crate::consent::policy::Policy;
use crate::consent::terms::Purpose;
use crate::ids::PixelId;
use crate::locales::{Locale, PurposeText};

/// For scripts that need nothing but the service's address.
#[derive(Serialize)]
pub struct BaseConfig<'a> {
    pub base: &'a str,
}

/// For the notice of the immediate snippet.
#[derive(Serialize)]
pub struct PopupConfig<'a> {
    pub base: &'a str,
    pub lang: &'a str,
    pub dir: &'a str,
    pub texts: &'a Value,
}

/// For the consent tag of one pixel in one language: only the texts that it can need.
#[derive(Serialize)]
pub struct TagConfig<'a> {
    base: &'a str,
    pixel: &'a PixelId,
    hash: &'a str,
    version: i32,
    controller: &'a str,
    purposes: &'a [Purpose],
    sharing: bool,
    parties: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<&'a str>,
    lang: &'a str,
    dir: &'a str,
    texts: BTreeMap<&'a str, &'a str>,
    #[serde(rename = "purposeTexts")]
    purpose_texts: BTreeMap<&'a str, &'a PurposeText>,
    #[serde(skip_serializing_if = "Option::is_none")]
    look: Option<&'a Appearance>,
}

impl<'a> TagConfig<'a> {
    pub fn new(base: &'a str, site: &'a Site, policy: &'a Policy, locale: &'a Locale) -> Self {
        let text = &policy.text;
        let is_needed = |key: &str| match key {
            "sitePolicy" => text.site_policy_url.is_some(),
            "sharedWith" => text.data_sharing && !text.disclosed_parties.is_empty(),
            "shared" => text.data_sharing && text.disclosed_parties.is_empty(),
            "back" => false,
            _ => true,
        };
        Self {
            base,
            pixel: &site.pixel.pixel_id,
            hash: &policy.hash,
            version: policy.version,
            controller: &text.controller.name,
            purposes: &text.purposes,
            sharing: text.data_sharing,
            parties: &text.disclosed_parties,
            site: text.site_policy_url.as_deref(),
            lang: &locale.lang,
            dir: &locale.dir,
            texts: locale
                .tag
                .iter()
                .filter(|(key, _)| is_needed(key))
                .map(|(key, text)| (key.as_str(), text.as_str()))
                .collect(),
            purpose_texts: text
                .purposes
                .iter()
                .map(|purpose| (purpose.as_str(), &locale.purposes[purpose.as_str()]))
                .collect(),
            look: site.appearance.as_ref(),
        }
    }
}
