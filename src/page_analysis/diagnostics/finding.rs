use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::tags::{DisabledReason, Optimiser};
use crate::types::text_enum::text_enum;

text_enum! {
    /// What was found at a site.
    pub enum FindingKind {
        /// The page could not be read.
        PageUnreadable = "page_unreadable",
        RedirectsElsewhere = "redirects_elsewhere",
        NoTag = "no_tag",
        TagInComment = "tag_in_comment",
        TagAsText = "tag_as_text",
        /// A tag of this service with an id that is not the pixel's.
        WrongPixel = "wrong_pixel",
        /// Beside the pixel's tag one with another id.
        TwoPixels = "two_pixels",
        TagTwice = "tag_twice",
        /// Something makes the site faster and runs the tag late.
        TagDelayed = "tag_delayed",
        /// In a place or of a type that browsers do not run.
        TagDisabled = "tag_disabled",
        /// The popup is to ask, and the immediate snippet does not.
        ImmediateSnippet = "immediate_snippet",
        /// The tag that asks is there, and the popup is off.
        PopupOff = "popup_off",
        /// Something else asks visitors, too.
        ConsentTool = "consent_tool",
        PolicyForbidsScript = "policy_forbids_script",
        PolicyForbidsConnection = "policy_forbids_connection",
        /// A tag manager may load the tag, and what else it loads nobody sees here.
        TagManager = "tag_manager",
        /// The scripts of the page are joined into one, in which the tag may be.
        ScriptsJoined = "scripts_joined",
        /// Scripts of others run before visitors are asked.
        UngatedScripts = "ungated_scripts",
    }
}

text_enum! {
    /// `error`: the tag does not do what it is for, or asks in vain. `hint`: worth a look.
    #[schemars(rename = "FindingSeverity")]
    #[schema(as = FindingSeverity)]
    pub enum Severity {
        Error = "error",
        Hint = "hint",
    }
}

/// Something that a look at the site has found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema, ToSchema)]
#[schemars(rename = "InstallFinding")]
#[schema(as = InstallFinding)]
pub struct Finding {
    pub kind: FindingKind,
    pub severity: Severity,
    /// What was found, in one sentence.
    pub found: String,
    /// What helps.
    pub cure: String,
}

impl FindingKind {
    pub fn says(self, found: impl Into<String>, cure: impl Into<String>) -> Finding {
        let severity = match self {
            Self::TagManager | Self::ScriptsJoined | Self::UngatedScripts => Severity::Hint,
            _ => Severity::Error,
        };
        Finding { kind: self, severity, found: found.into(), cure: cure.into() }
    }
}

pub fn no_tag() -> Finding {
    FindingKind::NoTag.says(
        "The snippet was not found on the page.",
        "Paste the snippet before </head>, save and publish. Caches may serve the old page for some minutes.",
    )
}

pub fn tag_in_comment() -> Finding {
    FindingKind::TagInComment.says(
        "The snippet is inside a comment, so browsers ignore it.",
        "Remove the <!-- before the snippet and the --> after it.",
    )
}

pub fn tag_as_text() -> Finding {
    FindingKind::TagAsText.says(
        "The pixel id is on the page, but no script that loads the tag.",
        "Paste the whole snippet as HTML: into a field for code, not into one for text.",
    )
}

/// `name` is the name on the page.
pub fn wrong_pixel(name: &str) -> Finding {
    FindingKind::WrongPixel.says(
        format!("The snippet on the page is not the one of this site: {}.", id_in_words(name)),
        "Replace it with the snippet of this site. A snippet works on its own host only.",
    )
}

pub fn two_pixels(name: &str) -> Finding {
    FindingKind::TwoPixels.says(
        format!("The page has this site's snippet and another one: {}.", id_in_words(name)),
        "Remove the other one, so that visitors are asked once.",
    )
}

/// A malformed id is not repeated, because it is arbitrary text from the page.
fn id_in_words(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    match (1..=40).contains(&name.len()) && name.bytes().all(is_plain) {
        true => format!("its id is {name}"),
        false => "its id is unknown here".to_owned(),
    }
}

pub fn tag_twice() -> Finding {
    FindingKind::TagTwice.says(
        "The snippet is on the page more than once.",
        "Keep one of them. A theme and a plugin may both have added it.",
    )
}

pub fn tag_delayed(optimiser: &Optimiser) -> Finding {
    FindingKind::TagDelayed.says(
        format!("{} has changed the snippet, so that it runs late or not at all.", optimiser.name),
        optimiser.cure,
    )
}

pub fn tag_disabled(reason: DisabledReason) -> Finding {
    let found = match reason {
        DisabledReason::Noscript => {
            "The snippet is inside <noscript>, where browsers do not run it."
        }
        DisabledReason::Template => {
            "The snippet is inside <template>, where browsers do not run it."
        }
        DisabledReason::Type => "The snippet has a script type that browsers do not run.",
        DisabledReason::OldBrowsers => {
            "The snippet has the attribute nomodule, so that only very old browsers run it."
        }
    };
    FindingKind::TagDisabled.says(
        found,
        "Paste the snippet unchanged, before </head>. It must not wait for consent, because it asks for it.",
    )
}

/// `is_beside` if the page has the consent tag as well.
pub fn immediate_snippet(is_beside: bool) -> Finding {
    let (found, cure) = match is_beside {
        true => (
            "The page has the snippet of the popup and the one that identifies visitors without asking.",
            "Remove the other snippet: the one with pixel.js or p.js in it.",
        ),
        false => (
            "The snippet on the page identifies visitors without asking them.",
            "Replace it with the snippet of the popup.",
        ),
    };
    FindingKind::ImmediateSnippet.says(found, cure)
}

pub fn popup_off() -> Finding {
    FindingKind::PopupOff.says(
        "The snippet of the popup is on the page, but the popup is off, so nothing happens.",
        "Set up the popup, or replace the snippet with the current one.",
    )
}

pub fn consent_tools(names: &str) -> Finding {
    FindingKind::ConsentTool.says(
        format!("Another tool also asks visitors for consent: {names}."),
        "Keep one of the two: visitors who are asked twice may give two different answers.",
    )
}

/// The policy trusts scripts by nonce, whatever their host.
pub fn policy_wants_nonce() -> Finding {
    FindingKind::PolicyForbidsScript.says(
        "The site's Content-Security-Policy allows only scripts with its nonce, and the snippet has none.",
        "Add the nonce attribute that the site's other scripts have to the snippet.",
    )
}

/// `is_tag` is false for scripts that the tag loads later.
pub fn policy_forbids_script(is_tag: bool, address: &str) -> Finding {
    let found = match is_tag {
        true => "The site's Content-Security-Policy blocks the tag.",
        false => {
            "The site's Content-Security-Policy blocks scripts that the tag loads after consent."
        }
    };
    let cure = format!("Add {address} to script-src of the policy.");
    FindingKind::PolicyForbidsScript.says(found, cure)
}

pub fn policy_forbids_connection(address: &str) -> Finding {
    FindingKind::PolicyForbidsConnection.says(
        "The site's Content-Security-Policy blocks the requests with which the tag sends choices.",
        format!("Add {address} to connect-src of the policy."),
    )
}

/// `is_seen` if the tag is in the page itself.
pub fn tag_managers(names: &str, is_seen: bool) -> Finding {
    let (found, cure) = match is_seen {
        true => (
            format!("{names} is on the page. This check cannot see what it loads."),
            "Let it load what needs consent only after consent, and do not add the snippet there as well.",
        ),
        false => (
            format!("{names} is on the page and may load the tag, which this check cannot see."),
            "If the snippet is in there, visit the page: if the popup appears, it works. It should fire on every page, before all other tags. It is better to add the snippet to the page itself.",
        ),
    };
    FindingKind::TagManager.says(found, cure)
}

pub fn scripts_joined(names: &str) -> Finding {
    FindingKind::ScriptsJoined.says(
        format!(
            "{names} combines the scripts of the page into one file, which may contain the tag."
        ),
        "Add /px/ to its list of excluded scripts, and clear its cache.",
    )
}

pub fn ungated_scripts(names: &str) -> Finding {
    FindingKind::UngatedScripts.says(
        format!("The page loads {names} before visitors are asked."),
        "Let them wait for consent: type=\"text/plain\" and data-assent=\"analytics\", or another purpose, on their <script>.",
    )
}
