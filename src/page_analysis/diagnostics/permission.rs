//! Whether the content security policies of a page permit the tag.

use std::collections::HashMap;

use url::Url;

use super::finding::{self, Finding};
use super::policy::{ContentSecurityPolicy, Script};
use super::tags::Tag;
use crate::page_analysis::page::element::{Element, Name};

/// With more policies than this, no tag of the page counts as allowed.
const MOST_POLICIES: usize = 64;

pub struct Asked<'a> {
    pub tag: Option<&'a Tag<'a>>,
    pub usual: String,
    /// Whether a script of the page adds the tag, if the page itself does not contain it.
    pub is_added: bool,
    pub base: &'a Url,
    /// The base address from which identification is loaded after an acceptance.
    pub network: &'a str,
}

#[derive(Clone, Copy)]
pub struct Governed<'a> {
    pub address: &'a Url,
    pub sent: &'a [String],
    pub elements: &'a [Element],
}

/// A policy, and whether it comes after the tag, so that it does not apply to the tag.
struct Found {
    policy: ContentSecurityPolicy,
    is_behind: bool,
}

impl Asked<'_> {
    pub fn forbidden(&self, page: Governed<'_>) -> Vec<Finding> {
        let policies = page.policies(self.tag);
        let (shown, here) = (self.base.as_str().trim_end_matches('/'), page.address);
        let network = Url::parse(self.network).ok();
        let lets_in = |policy: &ContentSecurityPolicy| {
            network.as_ref().is_none_or(|network| policy.allows_added_script(network, here))
        };
        let before = policies.iter().filter(|found| !found.is_behind);
        let script = match before.map(|found| &found.policy).find(|one| !self.allows_tag(one, here))
        {
            Some(policy) if policy.trusts_scripts() => Some(finding::policy_wants_nonce()),
            Some(_) => Some(finding::policy_forbids_script(true, shown)),
            None => (!policies.iter().all(|found| lets_in(&found.policy)))
                .then(|| finding::policy_forbids_script(false, self.network)),
        };
        let is_open = policies.iter().all(|found| found.policy.allows_connection(self.base, here));
        let connection = (!is_open).then(|| finding::policy_forbids_connection(shown));
        script.into_iter().chain(connection).collect()
    }

    fn allows_tag(&self, policy: &ContentSecurityPolicy, page: &Url) -> bool {
        if let Some(tag) = self.tag {
            return allows(policy, tag, page);
        }
        let usual = self.base.join(&self.usual).unwrap_or_else(|_| self.base.clone());
        match self.is_added {
            true => policy.allows_added_script(&usual, page),
            false => {
                let script = Script { address: &usual, nonce: None, integrity: None };
                policy.allows_script(script, page)
            }
        }
    }
}

pub struct Policies<'a> {
    address: &'a Url,
    sent: Vec<ContentSecurityPolicy>,
    written: Vec<(usize, ContentSecurityPolicy)>,
    indexes: HashMap<*const Element, usize>,
}

impl Policies<'_> {
    /// Whether the policies let a tag of the page load. A page with too many policies is rejected,
    /// so that the time stays proportional to the length of the page.
    pub fn allow(&self, tag: &Tag<'_>) -> bool {
        if self.sent.len() + self.written.len() > MOST_POLICIES {
            return false;
        }
        let index =
            self.indexes.get(&std::ptr::from_ref(tag.script)).copied().unwrap_or(usize::MAX);
        let before = self.written.iter().filter(|(written_at, _)| *written_at < index);
        let mut policies = self.sent.iter().chain(before.map(|(_, policy)| policy));
        policies.all(|policy| allows(policy, tag, self.address))
    }
}

impl<'a> Governed<'a> {
    pub fn read_policies(self) -> Policies<'a> {
        // A policy in the body has no effect.
        let in_head = self.elements.iter().take_while(|element| element.name != Name::Body);
        let written = in_head.enumerate().flat_map(|(index, element)| {
            let text = policy_in(element).unwrap_or_default();
            ContentSecurityPolicy::parse_all(text).map(move |policy| (index, policy))
        });
        Policies {
            address: self.address,
            sent: self
                .sent
                .iter()
                .flat_map(|text| ContentSecurityPolicy::parse_all(text))
                .collect(),
            written: written.take(MOST_POLICIES + 1).collect(),
            indexes: self.elements.iter().map(std::ptr::from_ref).zip(0..).collect(),
        }
    }

    fn policies(self, tag: Option<&Tag<'_>>) -> Vec<Found> {
        let sent = self.sent.iter().flat_map(|text| ContentSecurityPolicy::parse_all(text));
        let mut all = sent.map(|policy| Found { policy, is_behind: false }).collect::<Vec<_>>();
        let mut is_behind = false;
        for element in self.elements.iter().take_while(|element| element.name != Name::Body) {
            is_behind |= tag.is_some_and(|tag| std::ptr::eq(tag.script, element));
            let text = policy_in(element).unwrap_or_default();
            all.extend(
                ContentSecurityPolicy::parse_all(text).map(|policy| Found { policy, is_behind }),
            );
        }
        all
    }
}

fn allows(policy: &ContentSecurityPolicy, tag: &Tag<'_>, page: &Url) -> bool {
    let (nonce, integrity) = (tag.script.get("nonce"), tag.script.get("integrity"));
    policy.allows_script(Script { address: &tag.address, nonce, integrity }, page)
}

fn policy_in(element: &Element) -> Option<&str> {
    let name = element.get("http-equiv")?.trim();
    let is_policy = element.name == Name::Meta
        && !element.is_inert()
        && name.eq_ignore_ascii_case("content-security-policy");
    element.get("content").filter(|_| is_policy)
}
