//! The service whose tag is on a page, and those of its addresses that need no consent.

use serde::Deserialize;
use url::Url;

use super::site::host_of;

/// The modules that the consent tag imports from its service, by their paths.
pub const TAG_MODULES: [&str; 9] = [
    "/preferences.js",
    "/extras.js",
    "/placeholders.js",
    "/signals.js",
    "/compat.js",
    "/hints.js",
    "/recheck.js",
    "/controls.js",
    "/share.js",
];

/// The visitor routes of consent, and the names of their parameters in addresses.
const REQUESTS: [(&str, &[&str]); 10] = [
    ("/v1/consent/record", &[]),
    ("/v1/consent/shown", &[]),
    ("/v1/consent/check", &["pixel_id", "visitor_id", "required_purpose"]),
    ("/v1/consent/receipt", &["pixel_id", "visitor_id", "receipt_id", "required_purpose"]),
    ("/v1/consent/history", &["before"]),
    ("/v1/consent/verify", &[]),
    ("/v1/consent/proof", &["pixel_id", "visitor_id", "receipt_id", "old_size"]),
    ("/v1/consent/proof/verify", &[]),
    ("/v1/consent/erasure-requests", &[]),
    ("/v1/consent/erasure-requests/history", &[]),
];

/// The longest language tag, and the longest version or time in an address. A module that another one imports has
/// the times of both.
const MAX_LANGUAGE: usize = 35;
const MAX_NUMBER: usize = 32;

/// The longest name of a purpose, and the most purposes of a tag.
const MAX_PURPOSE: usize = 40;
const MAX_PURPOSES: usize = 20;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Service {
    pub host: String,
}

impl Service {
    pub fn of(url: &str) -> Option<Self> {
        host_of(url).map(|host| Self { host })
    }

    pub fn has(&self, url: &str) -> bool {
        host_of(url).as_deref() == Some(self.host.as_str())
    }

    /// Whether the address is the tag, one of its modules, a policy or notice, or a visitor route of consent, without
    /// parameters that these do not have.
    pub fn is_exempt(&self, url: &str) -> bool {
        let Ok(url) = Url::parse(url) else { return false };
        let path = url.path();
        if tag_name(path).is_some() || TAG_MODULES.contains(&path) {
            return url.query_pairs().all(|(name, value)| is_of_script(&name, &value));
        }
        if path.strip_prefix("/v1/policy/").is_some_and(is_name) {
            return has_only(&url, &["lang", "hash"]);
        }
        let known = REQUESTS.iter().find(|(known, _)| *known == path);
        known.is_some_and(|(_, parameters)| has_only(&url, parameters))
    }

    /// Whether the address belongs to identification, which needs consent.
    pub fn is_identification(url: &str) -> bool {
        let Ok(url) = Url::parse(url) else { return false };
        let path = url.path();
        matches!(path, "/pixel.js" | "/pixel.dev.js" | "/pixel_popup.js")
            || path.ends_with("/install-pixel/tag-pixel")
            || path.starts_with("/pixels/") && path.ends_with("/p.js")
    }
}

/// URL patterns that block a service: all addresses of its host, but only those of the tag if the page is on that host.
pub fn blocked_patterns(service: &str, page: &str) -> Vec<String> {
    let of_tag = ["/px/*", "/v1/*"].into_iter().map(str::to_owned);
    let of_modules = TAG_MODULES.iter().map(|module| format!("{module}*"));
    let paths: Vec<String> = match host_of(page).as_deref() == Some(service) {
        true => of_tag.chain(of_modules).collect(),
        false => vec!["/*".to_owned()],
    };
    let patterns = paths
        .iter()
        .flat_map(|path| [format!("*://{service}{path}"), format!("*://{service}:*{path}")]);
    patterns.collect()
}

/// Whether a text has at most `most` bytes, and contains only letters, digits and the characters `others`.
fn is_word(text: &str, most: usize, others: &[u8]) -> bool {
    let is_known = |byte: u8| byte.is_ascii_alphanumeric() || others.contains(&byte);
    text.len() <= most && text.bytes().all(is_known)
}

/// Whether a text is a version such as `6.9-beta1`: a number, perhaps with a suffix after a sign. A `+` in an address
/// is decoded to a space.
fn is_version(text: &str) -> bool {
    let rest = text.trim_start_matches(|character: char| character.is_ascii_digit());
    let is_of_number = !rest.starts_with(|character: char| character.is_ascii_alphabetic());
    is_of_number && is_word(text, MAX_NUMBER, b".-_+ ")
}

/// Whether a parameter of a script is a language, a version, or a time that bypasses caches.
fn is_of_script(name: &str, value: &str) -> bool {
    let is_number = |text: &str| {
        text.len() <= MAX_NUMBER && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    };
    match (name, value) {
        ("lang", language) => is_word(language, MAX_LANGUAGE, b"-_"),
        ("v" | "ver", version) => is_version(version),
        ("now" | "_", number) | (number, "") => is_number(number),
        _ => false,
    }
}

fn has_only(url: &Url, parameters: &[&str]) -> bool {
    url.query_pairs().all(|(name, _)| parameters.iter().any(|known| *known == name))
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn tag_name(path: &str) -> Option<&str> {
    path.strip_prefix("/px/")?.strip_suffix(".js").filter(|name| is_name(name))
}

/// Whether the address has the form of a consent tag's. [`is_consent_tag`] checks the text, too.
pub fn is_tag(url: &str) -> bool {
    pixel_of(url).is_some()
}

pub fn pixel_of(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    tag_name(url.path()).map(str::to_owned)
}

/// Whether a tag's name is one of the pixel's names or its test id. If `pixels` is empty, every pixel is wanted.
pub fn is_wanted(name: &str, pixels: &[String]) -> bool {
    let tested = name.strip_prefix("test_").unwrap_or(name);
    pixels.is_empty() || pixels.iter().any(|pixel| pixel == name || pixel == tested)
}

/// The part of a consent tag's configuration by which it is recognised, and its purposes.
#[derive(Deserialize)]
struct Configuration {
    base: String,
    pixel: String,
    #[serde(default)]
    purposes: Vec<String>,
}

/// The configuration at the end of a script.
fn configuration(text: &str) -> Option<Configuration> {
    // Quotation marks in texts inside the configuration are escaped, so only its start can match.
    let at = text.rfind("({\"")?;
    let values = serde_json::Deserializer::from_str(&text[at + 1..]);
    values.into_iter::<Configuration>().next()?.ok()
}

/// Whether a script is a consent tag of the host that it came from, by the configuration at its end. The address proves
/// nothing, because any script can be named `/px/name.js`.
pub fn is_consent_tag(url: &str, text: &str) -> bool {
    let Some(found) = configuration(text) else { return false };
    let host = host_of(url);
    is_name(&found.pixel) && host.is_some() && host_of(&found.base) == host
}

/// The purposes for which a consent tag asks.
pub fn purposes_of(text: &str) -> Vec<String> {
    let asked = configuration(text).map(|found| found.purposes).unwrap_or_default();
    asked.into_iter().filter(|name| is_purpose(name)).take(MAX_PURPOSES).collect()
}

/// Whether a text has the form of a purpose. Later versions of the service may have other purposes than this one.
pub fn is_purpose(name: &str) -> bool {
    name.len() <= MAX_PURPOSE && is_name(name)
}

#[cfg(test)]
mod tests;
