//! The configuration of each script: the counterpart of `scripts-src/shared/config.ts`.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::bundles::Script;
use crate::policies::appearance::{Appearance, Corner, Position};
use crate::policies::policy::{Policy, PolicyText};
use crate::policies::sharing::Sharing;
use crate::policies::sites::Site;
use crate::types::bidi;
use crate::types::consent::Purpose;
use crate::types::ids::PixelId;
use crate::types::locales::{Locale, PurposeText};

/// The label of a popup under a test id; `scripts-src/preferences/main.ts` has the same.
const TEST_MARK: &str = "Test · ";

#[derive(Serialize)]
pub struct BaseConfig<'a> {
    pub base: &'a str,
}

#[derive(Serialize)]
pub struct PopupConfig<'a> {
    pub base: &'a str,
    pub lang: &'a str,
    pub dir: &'a str,
    pub texts: &'a Value,
}

/// For the script of the reopened popup, which gets everything else from the consent tag.
#[derive(Serialize)]
pub struct PreferencesConfig<'a> {
    texts: BTreeMap<&'static str, &'a str>,
}

impl<'a> PreferencesConfig<'a> {
    pub fn new(locale: &'a Locale) -> Self {
        let mut texts =
            BTreeMap::from(PREFERENCES_TEXTS.map(|key| (key, locale.tag[key].as_str())));
        texts.insert("yourData", &locale.your_data["title"]);
        texts.extend(RECEIPT_TEXTS.map(|key| (key, locale.your_data[key].as_str())));
        Self { texts }
    }
}

/// The texts of the reopened popup in `Locale::tag`: a part of `PreferencesTexts` in `scripts-src/shared/config.ts`.
const PREFERENCES_TEXTS: [&str; 10] = [
    "title",
    "prefsTitle",
    "notice",
    "sitePolicy",
    "acceptAll",
    "declineAll",
    "save",
    "withdraw",
    "close",
    "gpc",
];

/// Also used by the page of a visitor's own data.
const RECEIPT_TEXTS: [&str; 3] = ["receipt", "downloading", "failed"];

/// For the module that asks the service again, which receives everything else from the consent tag.
#[derive(Serialize)]
pub struct RecheckConfig<'a> {
    reload: &'a str,
}

impl<'a> RecheckConfig<'a> {
    pub fn new(locale: &'a Locale) -> Self {
        Self { reload: &locale.tag["reload"] }
    }
}

/// For the placeholders of gated frames, which receive everything else from the consent tag.
#[derive(Serialize)]
pub struct PlaceholdersConfig<'a> {
    texts: BTreeMap<&'a str, &'a str>,
}

impl<'a> PlaceholdersConfig<'a> {
    pub fn new(locale: &'a Locale) -> Self {
        let own = locale.frame.iter().map(|(key, text)| (key.as_str(), text.as_str()));
        let shared = ["notice", "failed"].map(|key| (key, locale.tag[key].as_str()));
        Self { texts: own.chain(shared).collect() }
    }
}

/// For the consent tag of one pixel in one language: only values that it may need, and texts as ordered
/// lists without names, because every page view transfers the bytes.
#[derive(Serialize)]
pub struct TagConfig<'a> {
    base: &'a str,
    pixel: &'a PixelId,
    hash: &'a str,
    version: i32,
    days: i32,
    build: &'static str,
    purposes: &'a [Purpose],
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<&'a str>,
    lang: &'a str,
    dir: &'a str,
    texts: Vec<Option<Cow<'a, str>>>,
    /// Key, title and text of each purpose, the most sensitive first.
    shown: Vec<(&'a str, &'a str, &'a str)>,
    css: String,
    position: Position,
    corner: Option<Corner>,
    /// The hosts whose subdomains share one choice; after a `-`, they no longer do.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<Cow<'a, str>>,
}

pub struct Draft<'a> {
    pub pixel_id: &'a PixelId,
    pub text: &'a PolicyText,
    pub appearance: Option<&'a Appearance>,
}

impl<'a> TagConfig<'a> {
    pub fn new(base: &'a str, site: &'a Site, policy: &'a Policy, locale: &'a Locale) -> Self {
        let (pixel_id, appearance) = (&site.pixel.pixel_id, site.appearance.as_ref());
        let draft = Draft { pixel_id, text: &policy.text, appearance };
        let config = Self::of_draft(base, &draft, locale);
        let hosts = site.shared_hosts.as_str();
        let share = match site.sharing {
            Sharing::Off => None,
            Sharing::On => Some(hosts.into()),
            Sharing::Ended => Some(format!("-{hosts}").into()),
        };
        Self { hash: &policy.hash, version: policy.version, share, ..config }
    }

    /// With the test id, and a title that says so. Sharing is off, because on a staging site below the pixel's host
    /// the cookie would replace that of the site's visitors.
    pub fn for_tests(mut self, test_id: &'a PixelId) -> Self {
        self.pixel = test_id;
        self.share = None;
        if let Some(title) = self.texts.first_mut() {
            *title = title.take().map(|title| format!("{TEST_MARK}{title}").into());
        }
        self
    }

    /// A draft has no hash and no version, so no choices are recorded for it.
    pub fn of_draft(base: &'a str, draft: &Draft<'a>, locale: &'a Locale) -> Self {
        let Draft { pixel_id, text, .. } = *draft;
        let PolicyText { purposes, site_policy_url, wording, consent_days, .. } = text;
        let default = Appearance::default();
        let appearance = draft.appearance.unwrap_or(&default);
        let shown = |purpose: Purpose| {
            let PurposeText { title, text } = locale.purpose(purpose.as_str(), *wording);
            (purpose.as_str(), title.as_str(), text.as_str())
        };
        Self {
            base,
            pixel: pixel_id,
            hash: "",
            version: 0,
            days: *consent_days,
            build: Script::ConsentTag.served().name,
            purposes,
            site: site_policy_url.as_deref(),
            lang: &locale.lang,
            dir: &locale.dir,
            texts: TEXTS.iter().map(|key| text_of(key, text, locale)).collect(),
            shown: Purpose::most_sensitive_first(purposes).map(shown).collect(),
            css: appearance.css(),
            position: appearance.position.unwrap_or(Position::Bottom),
            corner: appearance.corner(),
            share: None,
        }
    }
}

/// The texts of the tag, in the order of `TagConfig` in `scripts-src/shared/config.ts`.
const TEXTS: [&str; 12] = [
    "title",
    "ask",
    "promise",
    "accept",
    "decline",
    "choose",
    "notice",
    "sitePolicy",
    "withdraw",
    "shared",
    "saved",
    "failed",
];

/// A text with the integrator's values inserted; `None` when this tag does not use it.
fn text_of<'a>(key: &str, policy: &PolicyText, locale: &'a Locale) -> Option<Cow<'a, str>> {
    let PolicyText { controller, data_sharing, disclosed_parties, site_policy_url, .. } = policy;
    let filled = |key: &str, placeholder: &str, words: &str| {
        Some(locale.tag[key].replace(placeholder, &bidi::isolated(words)).into())
    };
    match key {
        "ask" => filled("ask", "{controller}", &controller.name),
        "shared" if !data_sharing => None,
        "shared" if !disclosed_parties.is_empty() => {
            filled("sharedWith", "{parties}", &disclosed_parties.join(", "))
        }
        "sitePolicy" if site_policy_url.is_none() => None,
        _ => Some(locale.tag[key].as_str().into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tag_reads_the_texts_in_the_order_in_which_they_come() {
        let source = include_str!("../../scripts-src/shared/config.ts");
        let (_, names) = source.split_once("texts: [").unwrap();
        let (names, _) = names.split_once(']').unwrap();
        let read = names.split(',').filter_map(|name| Some(name.split_once(':')?.0.trim()));
        assert!(read.eq(TEXTS));
    }
}
