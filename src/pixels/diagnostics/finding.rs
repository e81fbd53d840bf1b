use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::tags::{Hold, Optimiser};
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
        "The page was read, and the tag is not on it.",
        "Paste the line before </head>, save and publish. Caches may show the old page for some minutes.",
    )
}

pub fn tag_in_comment() -> Finding {
    FindingKind::TagInComment.says(
        "The tag stands inside of a comment, so browsers pass over it.",
        "Take away the <!-- before the line and the --> after it.",
    )
}

pub fn tag_as_text() -> Finding {
    FindingKind::TagAsText.says(
        "The id of the tag is on the page, but no script that loads it.",
        "Paste the whole line as HTML: into a field for code, not into one for text.",
    )
}

/// `name` is the name on the page.
pub fn wrong_pixel(name: &str) -> Finding {
    FindingKind::WrongPixel.says(
        format!("The tag on the page is not this site's: {}.", id_in_words(name)),
        "Put the line of this site in its place. It works on this host alone.",
    )
}

pub fn two_pixels(name: &str) -> Finding {
    FindingKind::TwoPixels.says(
        format!("Beside this site's tag there is another one: {}.", id_in_words(name)),
        "Take the other one away, so that visitors are asked once.",
    )
}

/// A malformed id is a stranger's text, which is not repeated.
fn id_in_words(name: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    match (1..=40).contains(&name.len()) && name.bytes().all(is_plain) {
        true => format!("its id is {name}"),
        false => "its id is none of ours".to_owned(),
    }
}

pub fn tag_twice() -> Finding {
    FindingKind::TagTwice.says(
        "The tag is on the page more than once.",
        "Leave one of them. A theme and a plugin may both have it.",
    )
}

pub fn tag_delayed(optimiser: &Optimiser) -> Finding {
    FindingKind::TagDelayed.says(
        format!("{} has rewritten the tag, so it runs late or not at all.", optimiser.name),
        optimiser.cure,
    )
}

pub fn tag_disabled(hold: Hold) -> Finding {
    let found = match hold {
        Hold::Noscript => "The tag stands inside of <noscript>, where browsers do not run it.",
        Hold::Template => "The tag stands inside of <template>, where browsers do not run it.",
        Hold::Type => "The tag stands there as a script of a type that browsers do not run.",
        Hold::OldBrowsers => {
            "The tag has the attribute nomodule, so that only very old browsers run it."
        }
    };
    FindingKind::TagDisabled.says(
        found,
        "Paste the line as it is, before </head>. It must not wait for consent: it is what asks.",
    )
}

/// `is_beside` when the page has the consent tag, too.
pub fn immediate_snippet(is_beside: bool) -> Finding {
    let (found, cure) = match is_beside {
        true => (
            "Beside the tag that asks there is the one that identifies visitors without asking.",
            "Take the other line away: the one with pixel.js or p.js in it.",
        ),
        false => (
            "The line on the page identifies visitors without asking them.",
            "Put the line of the popup in its place.",
        ),
    };
    FindingKind::ImmediateSnippet.says(found, cure)
}

pub fn popup_off() -> Finding {
    FindingKind::PopupOff.says(
        "The line of the popup is on the page, but the popup is off, so nothing happens.",
        "Set up the popup, or put the present line in its place.",
    )
}

pub fn consent_tools(names: &str) -> Finding {
    FindingKind::ConsentTool.says(
        format!("Something else asks visitors for consent, too: {names}."),
        "Keep one of the two: visitors who are asked twice may say yes here and no there.",
    )
}

/// The policy trusts scripts by nonce, whatever their host.
pub fn policy_wants_nonce() -> Finding {
    FindingKind::PolicyForbidsScript.says(
        "The site's Content-Security-Policy runs scripts with its nonce only, and the tag has none.",
        "Give the tag the nonce attribute that the site's other scripts have.",
    )
}

/// `is_tag` is false for what the tag loads later.
pub fn policy_forbids_script(is_tag: bool, address: &str) -> Finding {
    let found = match is_tag {
        true => "The site's Content-Security-Policy does not let the tag load.",
        false => {
            "The site's Content-Security-Policy does not let the tag load what it needs after a yes."
        }
    };
    let cure = format!("Add {address} to script-src of the policy.");
    FindingKind::PolicyForbidsScript.says(found, cure)
}

pub fn policy_forbids_connection(address: &str) -> Finding {
    FindingKind::PolicyForbidsConnection.says(
        "The site's Content-Security-Policy does not let the tag send what visitors choose.",
        format!("Add {address} to connect-src of the policy."),
    )
}

/// `is_seen` when the tag is in the page itself.
pub fn tag_managers(names: &str, is_seen: bool) -> Finding {
    let (found, cure) = match is_seen {
        true => (
            format!("{names} is on the page. What it loads cannot be seen from here."),
            "Let it load what needs consent only after a yes, and the tag not once more.",
        ),
        false => (
            format!("{names} is on the page and may load the tag, which cannot be seen from here."),
            "If the tag is in there, visit the page: the popup that you see is the proof. It should fire on every page, first of all. Better is the line in the page itself.",
        ),
    };
    FindingKind::TagManager.says(found, cure)
}

pub fn scripts_joined(names: &str) -> Finding {
    FindingKind::ScriptsJoined.says(
        format!("{names} joins the scripts of the page into one, perhaps with the tag in it."),
        "Put /px/ into its list of scripts to leave alone, and empty its cache.",
    )
}

pub fn ungated_scripts(names: &str) -> Finding {
    FindingKind::UngatedScripts.says(
        format!("Before visitors are asked, the page loads {names}."),
        "Let them wait for a yes: type=\"text/plain\" and data-assent=\"analytics\", or another purpose, on their <script>.",
    )
}
