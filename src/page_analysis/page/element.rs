//! The elements of a page that decide what runs on it.

use std::sync::LazyLock;

use regex::Regex;
use url::Url;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    Script,
    Meta,
    Base,
    Body,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementContext {
    Document,
    /// Inside a template, whose contents are a separate document in which nothing runs.
    Template,
    /// Inside `<noscript>`, for browsers without scripting.
    Noscript,
}

#[derive(Debug)]
pub struct Element {
    pub name: Name,
    /// Names in lowercase, values decoded. The first attribute of each name counts.
    pub attributes: Vec<(String, String)>,
    pub text: String,
    pub context: ElementContext,
    /// Whether it is an SVG element. SVG scripts have other attributes.
    pub is_foreign: bool,
    /// A script without an end tag. No browser runs it.
    pub is_unfinished: bool,
}

/// The types of classic scripts (MIME Sniffing, section 4.6).
const JAVASCRIPT: [&str; 16] = [
    "application/ecmascript",
    "application/javascript",
    "application/x-ecmascript",
    "application/x-javascript",
    "text/ecmascript",
    "text/javascript",
    "text/javascript1.0",
    "text/javascript1.1",
    "text/javascript1.2",
    "text/javascript1.3",
    "text/javascript1.4",
    "text/javascript1.5",
    "text/jscript",
    "text/livescript",
    "text/x-ecmascript",
    "text/x-javascript",
];

/// Pages that refresh after more than this number of seconds are meant to be read first.
const REFRESH_SECONDS: u32 = 5;

impl Element {
    pub fn get(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        attributes.find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    pub fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        self.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }

    pub fn is_inert(&self) -> bool {
        self.context != ElementContext::Document
    }

    /// Whether a browser runs it as a script while parsing (HTML, section 4.12.1.1).
    pub fn is_run(&self) -> bool {
        let kind = self.kind();
        let is_module = kind == "module";
        let is_classic = JAVASCRIPT.contains(&kind.as_str());
        self.name == Name::Script
            && !self.is_inert()
            && (is_module || (is_classic && !self.is_for_old_browsers() && !self.waits_for_event()))
    }

    /// The address that a browser goes to as soon as the page is loaded: of a `<meta http-equiv="refresh">`
    /// without a noticeable delay (HTML, "shared declarative refresh steps").
    pub fn refresh_target(&self) -> Option<&str> {
        static REFRESH: LazyLock<Regex> = LazyLock::new(|| {
            let delay = r"^\s*(?:(?<seconds>\d+)[\d.]*|\.[\d.]*)(?:\s*[;,]\s*|\s+)";
            let target = r#"(?:url\s*=\s*)?(?:"(?<double>[^"]*)|'(?<single>[^']*)|(?<bare>.*))"#;
            Regex::new(&format!("(?is){delay}{target}")).expect("a regular expression")
        });
        let is_refresh = self.name == Name::Meta
            && !self.is_inert()
            && self.get("http-equiv").is_some_and(|kind| kind.eq_ignore_ascii_case("refresh"));
        let found = REFRESH.captures(self.get("content").filter(|_| is_refresh)?)?;
        let seconds =
            found.name("seconds").map_or(Ok(0), |seconds| seconds.as_str().parse::<u32>());
        let target = ["double", "single", "bare"].iter().find_map(|form| found.name(form))?;
        let target = target.as_str().trim();
        let is_immediate = seconds.is_ok_and(|seconds| seconds <= REFRESH_SECONDS);
        (is_immediate && !target.is_empty()).then_some(target)
    }

    /// Browsers with module support ignore classic scripts with this attribute.
    pub fn is_for_old_browsers(&self) -> bool {
        self.get("nomodule").is_some()
    }

    fn kind(&self) -> String {
        let kind = match (self.get("type"), self.get("language")) {
            (Some(""), _) | (None, None | Some("")) => return JAVASCRIPT[5].to_owned(),
            (Some(kind), _) => kind.to_owned(),
            (None, Some(language)) => format!("text/{language}"),
        };
        kind.trim_matches(|blank: char| blank.is_ascii_whitespace()).to_ascii_lowercase()
    }

    /// Whether legacy attributes bind the script to an event other than the window's `onload`, so that it never runs.
    fn waits_for_event(&self) -> bool {
        let (Some(target), Some(event)) = (self.get("for"), self.get("event")) else {
            return false;
        };
        let event = event.trim().to_ascii_lowercase();
        !target.trim().eq_ignore_ascii_case("window")
            || !matches!(event.as_str(), "onload" | "onload()")
    }
}

/// The base address of the page: its own address, or that of its first `<base>`.
pub fn base_of(elements: &[Element], page: &Url) -> Url {
    let mut bases = elements
        .iter()
        .filter(|element| element.name == Name::Base && !element.is_inert() && !element.is_foreign);
    let named = bases.find_map(|base| base.get("href"));
    let base = named.and_then(|address| page.join(address.trim()).ok());
    base.filter(|base| matches!(base.scheme(), "http" | "https")).unwrap_or_else(|| page.clone())
}
