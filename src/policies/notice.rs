use std::borrow::Cow;

use serde::Serialize;
use serde_json::{Value, json};

use super::policy::Policy;
use crate::infra::templates;
use crate::types::bidi;
use crate::types::consent::{ControllerType, Purpose};
use crate::types::ids::PixelId;
use crate::types::locales::{self, Locale};

pub struct Notice<'a> {
    pub pixel_id: &'a PixelId,
    pub policy: &'a Policy,
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
    /// The data of the page's template. With a policy of the site's own, the notice is short.
    pub fn context(&self) -> Value {
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
        context
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

/// The sentences of the notice in the reader's language. Bidirectional text of the integrator cannot
/// reorder ours: texts inside a sentence are isolated here, all others by the page.
fn said(policy: &Policy, locale: &Locale) -> Value {
    let text = &policy.text;
    let is_short = text.site_policy_url.is_some();
    let heading = &locale.policy[if is_short { "noticeTitle" } else { "title" }];
    let intro = locale.policy["intro"]
        .replace("{controller}", &bidi::isolated(&text.controller.name))
        .replace("{site}", &bidi::isolated(policy.domain.as_str()));
    let lasts = locale.policy["lasts"].replace("{days}", &text.consent_days.to_string());
    let all_subdomains = policy.shares_subdomains.then(|| {
        locale.policy["allSubdomains"].replace("{site}", &bidi::isolated(policy.domain.as_str()))
    });
    let kind = &locale.policy[match text.controller.kind {
        ControllerType::Company => "typeCompany",
        ControllerType::Person => "typePerson",
        ControllerType::Organization => "typeOrganization",
    }];
    let purposes = Purpose::most_sensitive_first(&text.purposes)
        .map(|purpose| locale.purpose(purpose.as_str(), text.wording));
    json!({
        "page_title": heading,
        "lang": locale.lang,
        "dir": locale.dir,
        "t": locale.policy,
        "short_notice": is_short,
        "heading": heading,
        "intro": intro,
        "controller": {
            "name": bidi::plain(&text.controller.name),
            "kind": kind,
            "contact": text.controller.contact.as_deref().map(bidi::plain),
            "jurisdiction": text.controller.jurisdiction.as_deref().map(bidi::plain),
            "address": text.controller.address.as_deref().map(bidi::plain),
        },
        "lasts": lasts,
        "all_subdomains": all_subdomains,
        "rule_version": text.rule_version.as_deref().map(bidi::plain),
        "purposes": purposes.collect::<Vec<_>>(),
        "sharing": text.data_sharing,
        "parties": plain(&text.disclosed_parties),
        "channels": text.contact_channels.iter().map(|channel| &locale.channels[channel.as_str()]).collect::<Vec<_>>(),
        "kinds": plain(&text.personal_data),
        "storage_places": plain(&text.storage_places),
        "retention": text.retention.as_deref().map(bidi::plain),
        "site_policy_url": text.site_policy_url,
        "site": policy.domain,
        "version": policy.version,
        "hash": policy.hash,
        "published": policy.published_at.format("%Y-%m-%d").to_string(),
    })
}

fn plain(texts: &[String]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| bidi::plain(text)).collect()
}

pub fn plain_text(policy: &Policy, locale: &Locale) -> String {
    let context = tera::Context::from_value(said(policy, locale));
    let rendered = context.and_then(|context| templates::render("texts/policy.txt", &context));
    rendered.expect("the notice's template renders")
}
