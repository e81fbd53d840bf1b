//! What visitors read, in their language. The texts are `scripts-src/locales/*.json`, merged by
//! `build.rs`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

/// The texts of one language.
#[derive(Debug, Deserialize)]
pub struct Locale {
    /// BCP 47 tag, for example `de` or `zh-Hant`.
    pub lang: String,
    /// `ltr` or `rtl`.
    pub dir: String,
    /// The language's name in itself.
    pub name: String,
    /// Texts of the consent tag.
    pub tag: BTreeMap<String, String>,
    pub purposes: BTreeMap<String, PurposeText>,
    pub channels: BTreeMap<String, String>,
    /// Texts of the policy page.
    pub policy: BTreeMap<String, String>,
    /// Texts of the notice of the immediate snippet.
    pub popup: Value,
}

/// A purpose in plain words.
#[derive(Clone, Debug, Deserialize, serde::Serialize)]
pub struct PurposeText {
    pub title: String,
    pub text: String,
}

const DEFAULT: &str = "en";

static LOCALES: LazyLock<BTreeMap<String, Locale>> = LazyLock::new(|| {
    serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/locales.json")))
        .expect("build.rs wrote valid locales")
});

/// All languages, by tag.
pub fn all() -> impl Iterator<Item = &'static Locale> {
    LOCALES.values()
}

/// The language asked for by name (`?lang=`), else the best of `Accept-Language` (RFC 9110,
/// section 12.5.4), else English.
pub fn choose(lang: Option<&str>, accept_language: Option<&str>) -> &'static Locale {
    lang.and_then(find)
        .or_else(|| accept_language.and_then(best_accepted))
        .unwrap_or_else(|| &LOCALES[DEFAULT])
}

/// The locale of a tag, or of its language without region (`de-AT` is served `de`).
fn find(tag: &str) -> Option<&'static Locale> {
    let tag = tag.trim().to_ascii_lowercase().replace('_', "-");
    let traditional = ["zh-tw", "zh-hk", "zh-mo", "zh-hant"];
    if traditional.iter().any(|prefix| tag.starts_with(prefix)) {
        return LOCALES.get("zh-Hant").or_else(|| LOCALES.get("zh"));
    }
    let language = tag.split('-').next().unwrap_or_default();
    let language = if language == "no" { "nb" } else { language };
    LOCALES.get(language)
}

fn best_accepted(header: &str) -> Option<&'static Locale> {
    let mut ranges = header
        .split(',')
        .take(20)
        .filter_map(|range| {
            let (tag, parameters) = range.split_once(';').unwrap_or((range, ""));
            let quality = match parameters.trim().strip_prefix("q=") {
                Some(quality) => quality.trim().parse::<f32>().ok()?,
                None => 1.0,
            };
            (quality > 0.0).then_some((tag, quality))
        })
        .collect::<Vec<_>>();
    ranges.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    ranges.into_iter().find_map(|(tag, _)| find(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_wins_over_the_browser_and_english_is_the_last_resort() {
        assert_eq!(choose(Some("de-AT"), Some("fr")).lang, "de");
        assert_eq!(choose(Some("xx"), Some("fr;q=0.4, es;q=0.9, xx")).lang, "es");
        assert_eq!(choose(None, Some("de;q=0, it")).lang, "it");
        assert_eq!(choose(None, Some("*;q=x,,;")).lang, "en");
        assert_eq!(choose(None, None).lang, "en");
    }

    #[test]
    fn every_language_has_every_text_with_the_same_placeholders() {
        let english = &LOCALES[DEFAULT];
        let placeholders = |text: &str| {
            let mut found = text
                .match_indices('{')
                .map(|(at, _)| text[at..].split('}').next().unwrap_or(""))
                .collect::<Vec<_>>();
            found.sort_unstable();
            found.join(",")
        };
        for locale in all() {
            let pairs = [
                (&english.tag, &locale.tag),
                (&english.policy, &locale.policy),
                (&english.channels, &locale.channels),
            ];
            for (expected, texts) in pairs {
                assert!(
                    expected.keys().eq(texts.keys()),
                    "{}: other keys than English",
                    locale.lang
                );
                for (key, text) in texts {
                    assert!(!text.is_empty(), "{}: {key} is empty", locale.lang);
                    assert_eq!(
                        placeholders(text),
                        placeholders(&expected[key]),
                        "{}: {key}",
                        locale.lang
                    );
                }
            }
            assert!(
                english.purposes.keys().eq(locale.purposes.keys()),
                "{}: other purposes",
                locale.lang
            );
        }
    }
}
