//! Whether the policies of a page let the tag do its work.

use url::Url;

use super::finding::{self, Finding};
use super::markup::{Element, Name};
use super::policy::{Policy, Script};
use super::tags::Tag;
use crate::infra::fetch::Page;

/// What is asked of the policies.
pub struct Asked<'a> {
    /// The tag in the page.
    pub tag: Option<&'a Tag<'a>>,
    /// Where the tag usually is, from the base address on.
    pub usual: String,
    /// Without a tag in the page: whether a script of the page adds it.
    pub is_added: bool,
    pub base: &'a Url,
    /// Where identification is loaded from after a yes.
    pub network: &'a str,
}

/// A policy, and whether it stands behind the tag, which it then does not judge.
struct Found {
    policy: Policy,
    is_behind: bool,
}

impl Asked<'_> {
    pub fn forbidden(&self, page: &Page, elements: &[Element<'_>]) -> Vec<Finding> {
        let policies = self.policies(page, elements);
        let (shown, here) = (self.base.as_str().trim_end_matches('/'), &page.address);
        let network = Url::parse(self.network).ok();
        let lets_in = |policy: &Policy| {
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

    fn allows_tag(&self, policy: &Policy, page: &Url) -> bool {
        let usual = self.base.join(&self.usual).unwrap_or_else(|_| self.base.clone());
        let address = self.tag.map_or(&usual, |tag| &tag.address);
        if self.tag.is_none() && self.is_added {
            return policy.allows_added_script(address, page);
        }
        let get = |name| self.tag.and_then(|tag| tag.script.get(name));
        let script = Script { address, nonce: get("nonce"), integrity: get("integrity") };
        policy.allows_script(script, page)
    }

    fn policies(&self, page: &Page, elements: &[Element<'_>]) -> Vec<Found> {
        let sent = page.policies.iter().flat_map(|text| Policy::parse_all(text));
        let mut all = sent.map(|policy| Found { policy, is_behind: false }).collect::<Vec<_>>();
        let mut is_behind = false;
        // A policy in the body counts for nothing.
        for element in elements.iter().take_while(|element| element.name != Name::Body) {
            is_behind |= self.tag.is_some_and(|tag| std::ptr::eq(tag.script, element));
            let text = policy_in(element).unwrap_or_default();
            all.extend(Policy::parse_all(text).map(|policy| Found { policy, is_behind }));
        }
        all
    }
}

/// The policy that a `<meta>` holds.
fn policy_in<'a>(element: &'a Element<'_>) -> Option<&'a str> {
    let name = element.get("http-equiv")?.trim();
    let is_policy = element.name == Name::Meta
        && !element.is_inert
        && name.eq_ignore_ascii_case("content-security-policy");
    element.get("content").filter(|_| is_policy)
}
