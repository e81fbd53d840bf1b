//! The privacy notice: a policy as a page, in the reader's language.

use std::sync::LazyLock;

use rocket_dyn_templates::Template;
use serde::Serialize;
use serde_json::{Value, json};
use tera::Tera;

use super::policy::Policy;
use super::terms::ControllerType;
use crate::ids::PixelId;
use crate::locales::{self, Locale};

static PLAIN_TEXT: LazyLock<Tera> = LazyLock::new(|| {
    let mut tera = Tera::default();
    tera.add_raw_template("policy.txt", include_str!("../../templates/texts/policy.txt.tera"))
        .expect("the notice's template is valid");
    tera
});

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
        let mut context = said(self.policy, self.locale);
        let page = json!({
            "base_url": "",
            "is_current": self.is_current,
            "current_url": format!("{}?lang={}", self.url, self.locale.lang),
            "languages": self.languages(),
            "pixel_id": self.pixel_id,
        });
        if let (Value::Object(context), Value::Object(page)) = (&mut context, page) {
            context.extend(page);
        }
        Template::render("pages/policy", context)
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

/// What the notice says, in words of the reader's language.
fn said(policy: &Policy, locale: &Locale) -> Value {
    let text = &policy.text;
    let is_short = text.site_policy_url.is_some();
    let heading = &locale.policy[if is_short { "noticeTitle" } else { "title" }];
    let intro = locale.policy["intro"]
        .replace("{controller}", &isolated(locale, &text.controller.name))
        .replace("{site}", &isolated(locale, policy.domain.as_str()));
    let kind = &locale.policy[match text.controller.kind {
        ControllerType::Company => "typeCompany",
        ControllerType::Person => "typePerson",
        ControllerType::Organization => "typeOrganization",
    }];
    json!({
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
        "site": policy.domain,
        "version": policy.version,
        "hash": policy.hash,
        "published": policy.published_at.format("%Y-%m-%d").to_string(),
    })
}

/// A name inside a sentence. In languages that run from right to left it is set apart (FIRST
/// STRONG ISOLATE … POP DIRECTIONAL ISOLATE), so that it cannot turn the words around it.
fn isolated(locale: &Locale, name: &str) -> String {
    match locale.dir.as_str() {
        "rtl" => format!("\u{2068}{name}\u{2069}"),
        _ => name.to_owned(),
    }
}

/// The notice in English and plain text, for programs.
pub fn plain_text(policy: &Policy) -> String {
    let context = tera::Context::from_value(said(policy, locales::choose(None, None)));
    let rendered = context.and_then(|context| PLAIN_TEXT.render("policy.txt", &context));
    rendered.expect("the notice's template renders")
}
