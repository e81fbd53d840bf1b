//! What is wrong with an install, from the page that visitors get.
//!
//! The page is a stranger's: whatever it is, it is read in one pass, there is at most one finding of
//! each kind, and of its words none but an id are repeated.

mod entities;
pub mod finding;
mod known;
mod markup;
mod permission;
mod policy;
mod tags;

use url::Url;

use self::finding::{Finding, Severity};
use self::known::{CONSENT_TOOLS, GOOGLE, OPTIMISERS, TAG_MANAGERS, TRACKERS};
use self::markup::{Element, Name, elements};
use self::permission::Asked;
use self::tags::{Brake, Owner, Tag, TagKind, tags};
use super::sighting::names_pixel;
use crate::infra::fetch::Page;
use crate::types::ids::{PixelId, PixelRef};
use crate::types::text::listed;

/// The install that is looked at.
pub struct Install<'a> {
    pub pixel_id: &'a PixelId,
    pub aliases: &'a [PixelRef],
    /// Whether visitors are to be asked.
    pub asks: bool,
    /// Whether the id was found, wherever that was.
    pub is_present: bool,
    /// The public base address of this service.
    pub base_url: &'a str,
    /// The base address from which identification is loaded after a yes.
    pub tag_network: &'a str,
}

/// What a page says, read once.
struct Reading<'a> {
    install: &'a Install<'a>,
    page: &'a Page,
    elements: &'a [Element<'a>],
    own: Vec<&'a Tag<'a>>,
    /// The first tag of another pixel, by its id.
    other: Option<&'a str>,
}

/// Everything that is found, errors first.
pub fn examine(page: &Page, install: &Install<'_>) -> Vec<Finding> {
    let Ok(base) = Url::parse(install.base_url) else { return Vec::new() };
    let all = elements(&page.bytes);
    let owner = Owner { pixel_id: install.pixel_id, aliases: install.aliases, base: &base };
    let tags = tags(&all, &page.address, &owner);
    let alive = |tag: &&Tag<'_>| !tag.script.is_inert;
    let reading = Reading {
        install,
        page,
        elements: &all,
        own: tags.iter().filter(|tag| tag.is_own).collect(),
        other: tags.iter().filter(alive).find(|tag| !tag.is_own).map(|tag| tag.name.as_str()),
    };
    let mut found = Vec::new();
    reading.judge_presence(&mut found);
    reading.judge_kind(&mut found);
    reading.judge_permission(&base, &mut found);
    reading.judge_neighbours(&mut found);
    found.sort_by_key(|finding| finding.severity != Severity::Error);
    found
}

impl Reading<'_> {
    fn judge_presence(&self, found: &mut Vec<Finding>) {
        let alive = self.own.iter().filter(|tag| !tag.script.is_inert).collect::<Vec<_>>();
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
        let brakes = alive.iter().map(|tag| tag.brake);
        // One that runs is enough.
        if let Some(Some(brake)) = brakes.min_by_key(Option::is_some) {
            found.push(match brake {
                Brake::Optimiser(optimiser) => finding::tag_delayed(optimiser),
                Brake::Held => finding::tag_disabled(),
            });
        }
    }

    /// Why no tag of the pixel is among the page's scripts; `None` when a script may load it.
    fn absence(&self) -> Option<Finding> {
        let Install { pixel_id, aliases, is_present, .. } = self.install;
        if !self.own.is_empty() {
            return Some(finding::tag_disabled());
        }
        if !is_present {
            let is_hidden = has(&self.page.bytes, pixel_id.as_str().as_bytes());
            return Some(if is_hidden { finding::tag_in_comment() } else { finding::no_tag() });
        }
        let is_named = |script: &Element<'_>| names_pixel(script.text, true, pixel_id, aliases);
        let is_loaded = self.elements.iter().any(|script| !script.is_inert && is_named(script));
        (!is_loaded).then(finding::tag_as_text)
    }

    fn judge_kind(&self, found: &mut Vec<Finding>) {
        let has = |kind| self.own.iter().any(|tag| !tag.script.is_inert && tag.kind == kind);
        let (consent, immediate) = (has(TagKind::Consent), has(TagKind::Immediate));
        if self.install.asks && immediate {
            found.push(finding::immediate_snippet(consent));
        }
        if !self.install.asks && consent {
            found.push(finding::popup_off());
        }
    }

    fn judge_permission(&self, base: &Url, found: &mut Vec<Finding>) {
        let asked = Asked {
            tag: self.own.iter().find(|tag| !tag.script.is_inert).copied(),
            usual: format!("px/{}.js", self.install.pixel_id),
            is_added: self.install.is_present,
            base,
            network: self.install.tag_network,
        };
        found.extend(asked.forbidden(self.page, self.elements));
    }

    fn judge_neighbours(&self, found: &mut Vec<Finding>) {
        let loaded = self.loaded(|script| !script.is_inert);
        let run = self.loaded(|script| script.is_run());
        let mut tell = |names: &[&str], finding: &dyn Fn(&str) -> Finding| {
            if !names.is_empty() {
                found.push(finding(&listed(names)));
            }
        };
        let is_seen = self.install.is_present;
        tell(&TAG_MANAGERS.names_in(&run), &|names| finding::tag_managers(names, is_seen));
        if !is_seen {
            tell(&OPTIMISERS.names_in(&loaded), &finding::scripts_joined);
        }
        if self.install.asks {
            tell(&CONSENT_TOOLS.names_in(&loaded), &finding::consent_tools);
            let mut ungated = TRACKERS.names_in(&run);
            if !has_consent_mode(&run) {
                ungated.extend(GOOGLE.names_in(&run));
            }
            tell(&ungated, &finding::ungated_scripts);
        }
    }

    /// The addresses and the texts of these scripts, one after the other.
    fn loaded(&self, wanted: impl Fn(&Element<'_>) -> bool) -> Vec<u8> {
        let scripts = self.elements.iter().filter(|element| element.name == Name::Script);
        let mut all = Vec::new();
        for script in scripts.filter(|script| wanted(script)) {
            let addresses = script.attributes().filter(|(name, _)| name.ends_with("src"));
            for text in addresses.map(|(_, address)| address.as_bytes()).chain([script.text]) {
                all.extend_from_slice(text);
                all.push(b'\n');
            }
        }
        all
    }
}

/// Whether the scripts tell Google's to wait, as the instructions for the tag say.
fn has_consent_mode(scripts: &[u8]) -> bool {
    [&b"ad_storage"[..], b"default", b"denied"].iter().all(|word| has(scripts, word))
}

fn has(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|found| found == part)
}
