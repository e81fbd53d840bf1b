//! The privacy notice: a policy as a page, in the reader's language.

use rocket_dyn_templates::Template;
use serde::Serialize;
use serde_json::{Value, json};

use super::policy::Policy;
use super::terms::ControllerType;
use crate::ids::PixelId;
use crate::locales::{self, Locale};

/// A policy to be shown.
pub struct Notice<'a> {
    pub pixel_id: &'a PixelId,
    pub policy: &'a Policy,
    /// Whether it is the version that visitors are asked to accept now.
    pub is_current: bool,
    pub locale: &'a Locale,
    /// The address of the page, without a query.
    pub url: &'a str,
}

#[derive(Serialize)]
struct Language<'a> {
    lang: &'a str,
    name: &'a str,
    url: String,
}

impl Notice<'_> {
    /// The page. With a policy of the site's own it is a short notice that adds to that one.
    pub fn render(&self) -> Template {
        Template::render("pages/policy", self.context())
    }

    fn context(&self) -> Value {
        let locale = self.locale;
        let text = &self.policy.text;
        let is_short = text.site_policy_url.is_some();
        let heading = &locale.policy[if is_short { "noticeTitle" } else { "title" }];
        let intro = locale.policy["intro"]
            .replace("{controller}", &self.isolated(&text.controller.name))
            .replace("{site}", &self.isolated(self.policy.domain.as_str()));
        let kind = &locale.policy[match text.controller.kind {
            ControllerType::Company => "typeCompany",
            ControllerType::Person => "typePerson",
            ControllerType::Organization => "typeOrganization",
        }];
        json!({
            "base_url": "",
            "page_title": heading,
            "lang": locale.lang,
            "dir": locale.dir,
            "t": locale.policy,
            "short_notice": is_short,
            "heading": heading,
            "intro": intro,
            "controller": {
                "name": text.controller.name,
                "kind": kind,
                "contact": text.controller.contact,
                "jurisdiction": text.controller.jurisdiction,
            },
            "rule_version": text.rule_version,
            "purposes": text.purposes.iter().map(|purpose| &locale.purposes[purpose.as_str()]).collect::<Vec<_>>(),
            "sharing": text.data_sharing,
            "parties": text.disclosed_parties,
            "channels": text.contact_channels.iter().map(|channel| &locale.channels[channel.as_str()]).collect::<Vec<_>>(),
            "site_policy_url": text.site_policy_url,
            "site": self.policy.domain,
            "version": self.policy.version,
            "hash": self.policy.hash,
            "published": self.policy.published_at.format("%Y-%m-%d").to_string(),
            "is_current": self.is_current,
            "current_url": format!("{}?lang={}", self.url, locale.lang),
            "languages": self.languages(),
            "pixel_id": self.pixel_id,
        })
    }

    /// A name inside a sentence. In languages that run from right to left it is set apart (FIRST
    /// STRONG ISOLATE … POP DIRECTIONAL ISOLATE), so that it cannot turn the words around it.
    fn isolated(&self, name: &str) -> String {
        match self.locale.dir.as_str() {
            "rtl" => format!("\u{2068}{name}\u{2069}"),
            _ => name.to_owned(),
        }
    }

    fn languages(&self) -> Vec<Language<'static>> {
        let link = |locale: &'static Locale| {
            let version = match self.is_current {
                true => String::new(),
                false => format!("&hash={}", self.policy.hash),
            };
            Language {
                lang: &locale.lang,
                name: &locale.name,
                url: format!("{}?lang={}{version}", self.url, locale.lang),
            }
        };
        locales::all().map(link).collect()
    }
}
