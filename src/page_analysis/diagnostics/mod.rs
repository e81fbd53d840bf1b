//! Diagnostics of an installation, from the page that visitors get. The page is untrusted: there is
//! at most one finding of each kind, and a finding quotes nothing from the page but an id.

pub mod finding;
mod known;
pub mod live;
mod permission;
mod policy;
mod tags;
pub mod unreadable;

use url::Url;

use self::finding::{Finding, Severity};
use self::known::{CHALLENGES, CONSENT_TOOLS, GOOGLE, OPTIMISERS, TAG_MANAGERS, TRACKERS};
use self::live::governed;
use self::permission::Asked;
use self::tags::{DisabledReason, ExecutionIssue, Tag, TagKind, tags};
use super::page::document::Document;
use super::page::element::{Element, Name, base_of};
use super::page::words::{names_pixel, unescaped};
use super::page::{Body, SitePage};
use crate::types::ids::{PixelId, PixelRef};
use crate::types::text::listed;

pub struct Install<'a> {
    pub pixel_id: &'a PixelId,
    pub aliases: &'a [PixelRef],
    pub asks: bool,
    pub is_present: bool,
    pub base_url: &'a str,
    /// The base address from which identification is loaded after an acceptance.
    pub tag_network: &'a str,
}

struct Reading<'a> {
    install: &'a Install<'a>,
    page: &'a SitePage,
    document: &'a Document,
    own: Vec<&'a Tag<'a>>,
    other: Option<&'a str>,
}

/// Whether a bot protection shows this page instead of the site's.
pub fn is_challenge(document: &Document) -> bool {
    !CHALLENGES.names_in(&scripts(document, Element::is_run)).is_empty()
}

/// Returns all findings about the page, errors first.
pub fn examine(page: &SitePage, install: &Install<'_>) -> Vec<Finding> {
    let Ok(service) = Url::parse(install.base_url) else { return Vec::new() };
    let document = match &page.body {
        Body::Read { document, .. } => document,
        Body::Unreadable { why, .. } => return vec![unreadable::unreadable((*why).into())],
    };
    let tags = tags(&document.elements, &base_of(&document.elements, &page.address));
    let is_own = |tag: &Tag<'_>| tag.is_of(install.pixel_id, install.aliases);
    // A script on another server is not a tag of this service.
    let is_ours = |tag: &Tag<'_>| tag.address.origin() == service.origin();
    let mut others = tags.iter().filter(|tag| !is_own(tag) && is_ours(tag) && tag.is_alive());
    let reading = Reading {
        install,
        page,
        document,
        own: tags.iter().filter(|tag| is_own(tag)).collect(),
        other: others.next().map(|tag| tag.name.as_str()),
    };
    let mut found = Vec::new();
    reading.evaluate_presence(&mut found);
    reading.evaluate_kind(&mut found);
    reading.evaluate_permission(&service, &mut found);
    reading.evaluate_neighbours(&mut found);
    found.sort_by_key(|finding| finding.severity != Severity::Error);
    found
}

impl Reading<'_> {
    fn evaluate_presence(&self, found: &mut Vec<Finding>) {
        let alive = self.own.iter().filter(|tag| tag.is_alive()).collect::<Vec<_>>();
        match (alive.first(), self.other) {
            (Some(_), Some(name)) => found.push(finding::two_pixels(name)),
            (None, Some(name)) if self.own.is_empty() => found.push(finding::wrong_pixel(name)),
            (None, _) => found.extend(self.absence()),
            (Some(_), None) => {}
        }
        let of = |kind| alive.iter().filter(|tag| tag.kind == kind).count();
        if of(TagKind::Consent) > 1 || of(TagKind::Immediate) > 1 {
            found.push(finding::tag_twice());
        }
        // A delayed tag does no harm if another one runs immediately.
        let issues = alive.iter().map(|tag| tag.issue);
        if let Some(Some(ExecutionIssue::Delayed(optimiser))) = issues.min_by_key(Option::is_some) {
            found.push(finding::tag_delayed(optimiser));
        }
    }

    /// The reason why no tag of the pixel runs; `None` if a script may load it.
    fn absence(&self) -> Option<Finding> {
        let Install { pixel_id, aliases, is_present, .. } = self.install;
        if let Some(reason) = self.own.iter().find_map(|tag| disabled_reason(tag)) {
            return Some(finding::tag_disabled(reason));
        }
        if *is_present {
            return (!self.is_named_by_a_script()).then(finding::tag_as_text);
        }
        let is_commented = names_pixel(&self.document.comments, pixel_id, aliases);
        Some(if is_commented { finding::tag_in_comment() } else { finding::no_tag() })
    }

    fn is_named_by_a_script(&self) -> bool {
        let Install { pixel_id, aliases, .. } = self.install;
        let names = |text: &str| {
            names_pixel(text, pixel_id, aliases) || names_pixel(&unescaped(text), pixel_id, aliases)
        };
        let mut run = self.document.elements.iter().filter(|element| element.is_run());
        run.any(|script| names(&script.text) || script.attributes().any(|(_, value)| names(value)))
    }

    fn evaluate_kind(&self, found: &mut Vec<Finding>) {
        let has = |kind| self.own.iter().any(|tag| tag.is_alive() && tag.kind == kind);
        let (consent, immediate) = (has(TagKind::Consent), has(TagKind::Immediate));
        if self.install.asks && immediate {
            found.push(finding::immediate_snippet(consent));
        }
        if !self.install.asks && consent {
            found.push(finding::popup_off());
        }
    }

    fn evaluate_permission(&self, base: &Url, found: &mut Vec<Finding>) {
        let asked = Asked {
            tag: self.own.iter().find(|tag| tag.is_alive()).copied(),
            usual: format!("px/{}.js", self.install.pixel_id),
            is_added: self.install.is_present,
            base,
            network: self.install.tag_network,
        };
        found.extend(asked.forbidden(governed(self.page, self.document)));
    }

    fn evaluate_neighbours(&self, found: &mut Vec<Finding>) {
        let run = scripts(self.document, Element::is_run);
        // Optimisers that delay scripts change the type but keep the addresses.
        let kept = scripts(self.document, |script| !script.is_inert());
        let mut report = |names: &[&str], finding: &dyn Fn(&str) -> Finding| {
            if !names.is_empty() {
                found.push(finding(&listed(names)));
            }
        };
        let is_seen = self.install.is_present;
        report(&TAG_MANAGERS.names_in(&run), &|names| finding::tag_managers(names, is_seen));
        if !is_seen {
            report(&OPTIMISERS.names_in(&kept), &finding::scripts_joined);
        }
        if self.install.asks {
            report(&CONSENT_TOOLS.names_in(&kept), &finding::consent_tools);
            let mut ungated = TRACKERS.names_in(&run);
            if !has_consent_mode(&run) {
                ungated.extend(GOOGLE.names_in(&run));
            }
            report(&ungated, &finding::ungated_scripts);
        }
    }
}

fn scripts(document: &Document, is_wanted: impl Fn(&Element) -> bool) -> Vec<u8> {
    let mut all = String::new();
    let elements = document.elements.iter().filter(|element| element.name == Name::Script);
    for script in elements.filter(|script| is_wanted(script)) {
        let sources = script.attributes().filter(|(name, _)| name.ends_with("src"));
        let text = Some(script.text.as_str()).filter(|_| script.is_run());
        for part in sources.map(|(_, address)| address).chain(text) {
            all.push_str(part);
            all.push('\n');
        }
    }
    unescaped(&all).into_bytes()
}

fn disabled_reason(tag: &Tag<'_>) -> Option<DisabledReason> {
    match tag.issue {
        Some(ExecutionIssue::Disabled(reason)) => Some(reason),
        Some(ExecutionIssue::Delayed(_)) | None => None,
    }
}

/// Whether the scripts set Google Consent Mode to denied by default, as the installation guide describes.
fn has_consent_mode(scripts: &[u8]) -> bool {
    let has = |word: &[u8]| scripts.windows(word.len()).any(|found| found == word);
    [&b"ad_storage"[..], b"default", b"denied"].into_iter().all(has)
}
