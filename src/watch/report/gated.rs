//! The lines to paste instead of scripts and frames, so that these wait for consent.

use std::collections::HashMap;

use super::escape::escape;
use super::shortened::REST;
use crate::browser::site::MAX_URL;
use crate::browser::tag_service::is_purpose;
use crate::verdict::{Kind, Leak};
use crate::visit::{Element, is_kept};

/// The purpose of most scripts and frames of third parties.
const USUAL: &str = "analytics";
/// The purpose of identification, which has a tag of its own.
const IDENTIFYING: &str = "resolution";

/// Writes the lines to paste for the leaks of a page.
pub struct GatedLines<'p> {
    purpose: &'p str,
    elements: HashMap<(&'p str, &'p str), &'p Element>,
}

impl<'p> GatedLines<'p> {
    /// Takes the purposes of the page's tag and the page's elements. Both are arbitrary in a submitted report.
    pub fn new(purposes: &'p [String], elements: &'p [Element]) -> Self {
        let elements = elements.iter().filter(|element| element.is_short());
        let elements =
            elements.map(|element| ((element.kind.as_str(), element.url.as_str()), element));
        Self { purpose: purpose_of(purposes), elements: elements.collect() }
    }

    /// The gated form of a script or frame; `None` for other leaks, and if the address was shortened.
    pub fn line(&self, leak: &Leak) -> Option<String> {
        if leak.url.ends_with(REST) || leak.url.chars().count() >= MAX_URL {
            return None;
        }
        let element = self.elements.get(&(leak.kind.name(), leak.url.as_str()));
        let attributes = element.map(|element| attributes(element)).unwrap_or_default();
        let (url, purpose) = (escape(&leak.url), self.purpose);
        match leak.kind {
            Kind::Script => Some(format!(
                "<script type=\"text/plain\" data-assent=\"{purpose}\" src=\"{url}\"{attributes}>\
                 </script>"
            )),
            Kind::Frame => Some(format!(
                "<iframe data-assent=\"{purpose}\" data-src=\"{url}\"{attributes}></iframe>"
            )),
            _ => None,
        }
    }
}

/// The purpose to name in the lines: one that the popup asks for, if its purposes are known.
fn purpose_of(purposes: &[String]) -> &str {
    let asked = || purposes.iter().map(String::as_str).filter(|name| is_purpose(name));
    if asked().any(|name| name == USUAL) {
        return USUAL;
    }
    let other = asked().find(|name| *name != IDENTIFYING);
    other.or_else(|| asked().next()).unwrap_or(USUAL)
}

/// The attributes of an element in its gated form, each after a space.
fn attributes(element: &Element) -> String {
    let mut text = String::new();
    let kept =
        element.attributes.iter().filter(|(name, value)| is_kept(&element.kind, name, value));
    for (name, value) in kept {
        if element.is_script() && name == "type" {
            let is_module = element.is_module();
            text.push_str(if is_module { " data-assent-type=\"module\"" } else { "" });
        } else if value.is_empty() {
            text.extend([" ", name.as_str()]);
        } else {
            text.extend([" ", name.as_str(), "=\"", &escape(value), "\""]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const URL: &str = "https://a.example/x?a=1&b=2";

    fn line(purposes: &[&str], kind: &str, attributes: &Value) -> Option<String> {
        let leak = json!({"url": URL, "host": "a.example", "kind": kind, "at_ms": 1});
        let leak = serde_json::from_value::<Leak>(leak).unwrap();
        let element = json!([{"url": URL, "kind": kind, "attributes": attributes}]);
        let elements = serde_json::from_value::<Vec<Element>>(element).unwrap();
        let purposes = purposes.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        GatedLines::new(&purposes, &elements).line(&leak)
    }

    #[test]
    fn the_purpose_is_one_for_which_the_popup_asks() {
        let named = |purposes: &[&str]| {
            let line = line(purposes, "frame", &json!({})).unwrap();
            line.split('"').nth(1).unwrap().to_owned()
        };
        assert_eq!(named(&[]), "analytics");
        assert_eq!(named(&["newsletter", "resolution", "analytics"]), "analytics");
        assert_eq!(named(&["resolution", "newsletter", "partner_sms"]), "newsletter");
        assert_eq!(named(&["resolution"]), "resolution");
        assert_eq!(named(&["\"><script>", "partner_sms"]), "partner_sms");
        assert_eq!(named(&["x y"]), "analytics");
    }

    #[test]
    fn a_script_keeps_its_attributes_and_a_module_stays_one() {
        let start = "<script type=\"text/plain\" data-assent=\"analytics\" \
                     src=\"https://a.example/x?a=1&amp;b=2\"";
        let of = |attributes: &Value| line(&[], "script", attributes).unwrap();
        let module = json!({"type": "Module", "id": "s", "async": "", "integrity": "sha384-x"});
        let kept = " async id=\"s\" integrity=\"sha384-x\" data-assent-type=\"module\"></script>";
        assert_eq!(of(&module), [start, kept].concat());
        let classic = json!({"type": "text/javascript", "onload": "f(\"<b>\")"});
        let kept = " onload=\"f(&quot;&lt;b&gt;&quot;)\"></script>";
        assert_eq!(of(&classic), [start, kept].concat());
    }

    #[test]
    fn attributes_of_a_submitted_report_cannot_leave_their_line() {
        let odd = json!({
            "title": "'\"><img src=x>", "x><img": "", "a b": "c", "nonce": "n", "src": "s",
            "data-assent": "x", "onload": "f()",
        });
        let expected = "<iframe data-assent=\"analytics\" data-src=\"https://a.example/x?a=1&amp;b=2\" \
                        title=\"&#39;&quot;&gt;&lt;img src=x&gt;\"></iframe>";
        assert_eq!(line(&[], "frame", &odd).as_deref(), Some(expected));
        let long = line(&[], "frame", &json!({"title": "x".repeat(2000)})).unwrap();
        assert!(!long.contains("title"), "{long}");
        assert_eq!(line(&[], "image", &json!({"alt": ""})), None);
    }
}
