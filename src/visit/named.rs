//! The addresses that a page names at one moment, and its elements that load scripts and frames.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Reads all of them in one call, because a busy page may not answer several.
pub const NAMED: &str = include_str!("named.js");

/// Maximum number of characters in the attributes of an element, as in `named.js`.
const MAX_ATTRIBUTES: usize = 1000;

const SCRIPT: &str = "script";
const FRAME: &str = "frame";
const MODULE: &str = "module";

/// An element of a page that loads a script or a frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Element {
    /// The address that it loads.
    pub url: String,
    /// `script` or `frame`.
    pub kind: String,
    /// The other attributes that its gated form keeps.
    pub attributes: BTreeMap<String, String>,
}

#[derive(Debug, Default, PartialEq)]
pub struct Named {
    pub objects: Vec<String>,
    /// Icons and manifests. A browser without a window does not load all of them.
    pub icons: Vec<String>,
    pub manifests: Vec<String>,
    pub elements: Vec<Element>,
}

impl Named {
    /// Parses the answer of a page. Empty if there is no answer.
    pub fn of(answer: &Value) -> Self {
        let mut named = Self::default();
        for entry in answer.as_array().into_iter().flatten() {
            let Some(url) = entry[1].as_str().map(str::to_owned) else { continue };
            match entry[0].as_str() {
                Some("icon") => named.icons.push(url),
                Some("manifest") => named.manifests.push(url),
                Some(kind @ (SCRIPT | FRAME)) => {
                    let attributes = entry[2].as_str().unwrap_or_default();
                    named.elements.extend(Element::of(kind, url, attributes));
                }
                _ => named.objects.push(url),
            }
        }
        named
    }

    /// Keeps only icons and manifests that were named without consent. Their times are unknown: after an acceptance,
    /// only those count that were named before it, and those of [`Self::other_than`].
    pub fn without_consent(self, before: Self, was_accepted: bool) -> Self {
        if !was_accepted {
            return self;
        }
        Self { icons: before.icons, manifests: before.manifests, ..self }
    }

    /// The icons and manifests that were named neither before an acceptance nor at the withdrawal.
    pub fn other_than(&self, before: &Self, at_withdrawal: &Self) -> Self {
        let icons = other_urls(&self.icons, [&before.icons, &at_withdrawal.icons]);
        let manifests = other_urls(&self.manifests, [&before.manifests, &at_withdrawal.manifests]);
        Self { icons, manifests, ..Self::default() }
    }
}

fn other_urls(urls: &[String], known: [&[String]; 2]) -> Vec<String> {
    let is_other = |url: &&String| !known.iter().any(|known| known.contains(url));
    urls.iter().filter(is_other).cloned().collect()
}

impl Element {
    /// `None` for a script of a type that loads nothing, such as text/plain, and for attributes that are too long.
    fn of(kind: &str, url: String, attributes: &str) -> Option<Self> {
        let mut attributes = serde_json::from_str::<BTreeMap<String, String>>(attributes).ok()?;
        attributes.retain(|name, value| is_kept(kind, name, value));
        let element = Self { url, kind: kind.to_owned(), attributes };
        (element.is_run() && element.is_short()).then_some(element)
    }

    fn is_run(&self) -> bool {
        let own = self.own_type();
        !self.is_script() || own.is_empty() || own == MODULE || own.contains("script")
    }

    /// Whether its attributes are within the limit of characters.
    pub fn is_short(&self) -> bool {
        let count = |(name, value): (&String, &String)| name.chars().chain(value.chars()).count();
        self.attributes.iter().map(count).sum::<usize>() <= MAX_ATTRIBUTES
    }

    pub fn is_script(&self) -> bool {
        self.kind == SCRIPT
    }

    pub fn is_module(&self) -> bool {
        self.is_script() && self.own_type() == MODULE
    }

    fn own_type(&self) -> String {
        self.attributes.get("type").map(|own| own.trim().to_ascii_lowercase()).unwrap_or_default()
    }
}

/// Whether the gated form of an element keeps an attribute. A nonce is not kept, because it is new in each response.
/// Handlers of frames are not, because a gated frame loads an empty document, and they would run before consent.
/// Browsers request addresses in styles and in `attributionsrc` even for gated elements.
pub fn is_kept(kind: &str, name: &str, value: &str) -> bool {
    let is_known =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_:.".contains(&byte);
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase());
    let is_of_frame = matches!(name, "srcdoc" | "data-src") || name.starts_with("on");
    let is_replaced = matches!(name, "src" | "nonce") || name.starts_with("data-assent");
    let is_requested =
        name == "attributionsrc" || name == "style" && value.to_ascii_lowercase().contains("url(");
    let is_left_out = is_replaced || is_requested || kind == FRAME && is_of_frame;
    is_name && name.bytes().all(is_known) && !is_left_out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn element(kind: &str, attributes: &Value) -> Option<BTreeMap<String, String>> {
        let url = "https://a.example/";
        let named = Named::of(&json!([[kind, url, attributes.to_string()]]));
        assert!(named.elements.iter().all(|element| element.url == url && element.kind == kind));
        named.elements.into_iter().next().map(|element| element.attributes)
    }

    fn names(kind: &str, attributes: &Value) -> Vec<String> {
        element(kind, attributes).unwrap().into_keys().collect()
    }

    #[test]
    fn addresses_are_listed_by_kind_and_elements_with_their_attributes() {
        let answer = json!([
            ["object", "https://a.example/o"],
            ["icon", "https://a.example/i"],
            ["manifest", "https://a.example/m"],
            ["script", "https://a.example/s", r#"{"async":""}"#],
            ["script", "https://a.example/t", ""],
            ["script", "https://a.example/u", r#"{"id":"\ud800"}"#],
            ["icon", null],
        ]);
        let named = Named::of(&answer);
        assert_eq!(named.objects, ["https://a.example/o"]);
        assert_eq!(named.icons, ["https://a.example/i"]);
        assert_eq!(named.manifests, ["https://a.example/m"]);
        let urls = named.elements.iter().map(|element| element.url.as_str());
        assert_eq!(urls.collect::<Vec<_>>(), ["https://a.example/s"]);
        assert!(Named::of(&Value::Null).elements.is_empty());
    }

    #[test]
    fn attributes_that_a_waiting_element_cannot_have_are_left_out() {
        let attributes = json!({
            "id": "a", "data-x": "1", "nonce": "n", "src": "s", "data-assent-type": "module",
            "onload": "f()", "srcdoc": "<p>", "data-src": "d",
            "attributionsrc": "https://a.example/", "style": "background: URL(a.png)",
            "x\"y": "", "<b": "", "a=b": "", "a b": "", "@click": "", "Id": "", "": "",
        });
        let (script, frame) = (names("script", &attributes), names("frame", &attributes));
        assert_eq!(script, ["data-src", "data-x", "id", "onload", "srcdoc"]);
        assert_eq!(frame, ["data-x", "id"]);
    }

    #[test]
    fn scripts_that_do_not_run_and_long_attributes_are_left_out() {
        for own in ["", "module", " Text/JavaScript ", "application/x-javascript"] {
            assert!(element("script", &json!({"type": own})).is_some(), "{own}");
        }
        assert_eq!(element("script", &json!({"type": "text/plain"})), None);
        assert!(element("frame", &json!({"type": "text/plain"})).is_some());
        let long = |count: usize| json!({"title": "é".repeat(count - "title".len())});
        assert!(element("frame", &long(MAX_ATTRIBUTES)).is_some());
        assert_eq!(element("frame", &long(MAX_ATTRIBUTES + 1)), None);
    }

    #[test]
    fn after_an_acceptance_icons_and_manifests_count_that_were_named_before_it() {
        let named = |own: &str| {
            Named::of(&json!([
                ["object", own],
                ["icon", own],
                ["manifest", own],
                ["script", own, "{}"]
            ]))
        };
        let (before, end) = (|| named("early"), || named("late"));
        let both = end().without_consent(before(), true);
        assert_eq!((both.icons, both.manifests), (before().icons, before().manifests));
        assert_eq!((both.objects, both.elements), (end().objects, end().elements));
        assert_eq!(end().without_consent(Named::default(), false), end());
    }

    #[test]
    fn after_a_withdrawal_icons_and_manifests_count_that_were_not_named_by_then() {
        let named = |urls: &[&str]| {
            let of = |kind: &str| urls.iter().map(|url| json!([kind, url])).collect::<Vec<_>>();
            Named::of(&Value::Array([of("icon"), of("manifest"), of("object")].concat()))
        };
        let (before, at_withdrawal) = (named(&["removed", "kept"]), named(&["kept", "permitted"]));
        let end = named(&["late", "removed", "kept", "permitted"]);
        let later = end.other_than(&before, &at_withdrawal);
        assert_eq!(later, Named { objects: Vec::new(), ..named(&["late"]) });
    }
}
