//! Texts for visitors in their language: `scripts-src/locales/*.json`, merged by `build.rs`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

use super::weighted::items;

#[derive(Debug, Deserialize)]
pub struct Locale {
    /// BCP 47 tag, for example `de` or `zh-Hant`.
    pub lang: String,
    pub dir: String,
    pub name: String,
    pub tag: BTreeMap<String, String>,
    pub purposes: BTreeMap<String, PurposeText>,
    earlier: BTreeMap<u32, BTreeMap<String, PurposeText>>,
    pub channels: BTreeMap<String, String>,
    pub policy: BTreeMap<String, String>,
    #[serde(rename = "yourData")]
    pub your_data: BTreeMap<String, String>,
    pub popup: Value,
    /// The placeholders of gated frames.
    pub frame: BTreeMap<String, String>,
}

impl Locale {
    /// The text of a purpose in the wording that a policy was published with.
    pub fn purpose(&self, name: &str, wording: u32) -> &PurposeText {
        let earlier = self.earlier.get(&wording).and_then(|purposes| purposes.get(name));
        earlier.unwrap_or_else(|| &self.purposes[name])
    }
}

#[derive(Clone, Debug, Deserialize, serde::Serialize)]
pub struct PurposeText {
    pub title: String,
    pub text: String,
}

const DEFAULT: &str = "en";

const MAX_RANGES: usize = 50;

static LOCALES: LazyLock<BTreeMap<String, Locale>> = LazyLock::new(|| {
    serde_json::from_str(include_str!(concat!(env!("OUT_DIR"), "/locales.json")))
        .expect("build.rs wrote valid locales")
});

pub fn all() -> impl Iterator<Item = &'static Locale> {
    LOCALES.values()
}

/// The language of `?lang=`, else the best of `Accept-Language` (RFC 9110, section 12.5.4), else English.
pub fn choose(lang: Option<&str>, accept_language: Option<&str>) -> &'static Locale {
    lang.and_then(find).or_else(|| accept_language.and_then(best_accepted)).unwrap_or_else(english)
}

pub fn english() -> &'static Locale {
    &LOCALES[DEFAULT]
}

pub fn named(tag: &str) -> Option<&'static Locale> {
    LOCALES.get(tag)
}

/// The locale of a language tag, or of its language without script and region (RFC 4647, section
/// 3.4): `de-AT` and `de-*` match `de`.
fn find(tag: &str) -> Option<&'static Locale> {
    let tag = tag.trim().to_ascii_lowercase().replace('_', "-");
    let (language, rest) = tag.split_once('-').unwrap_or((&tag, ""));
    let has = |subtags: &[&str]| rest.split('-').any(|subtag| subtags.contains(&subtag));
    match language {
        "zh" | "cmn" | "yue" => {
            let is_traditional = language == "yue" || has(&["tw", "hk", "mo"]);
            let is_traditional = has(&["hant"]) || is_traditional && !has(&["hans"]);
            LOCALES.get(if is_traditional { "zh-Hant" } else { "zh" })
        }
        // Older or closely related codes of the same written language.
        "no" | "nn" => LOCALES.get("nb"),
        "iw" => LOCALES.get("he"),
        "in" => LOCALES.get("id"),
        "mo" => LOCALES.get("ro"),
        "*" => Some(english()),
        language => LOCALES.get(language),
    }
}

fn best_accepted(header: &str) -> Option<&'static Locale> {
    best_of(header, find, |locale| locale.lang.as_str())
}

/// The supported language with the greatest weight, except languages that the header refuses with the weight 0.
pub fn best_of<T: Copy>(
    header: &str,
    find: impl Fn(&str) -> Option<T>,
    tag: impl Fn(T) -> &'static str,
) -> Option<T> {
    let mut ranges = items(header).take(MAX_RANGES).collect::<Vec<_>>();
    // The sort is stable: ranges of equal weight keep their order.
    ranges.sort_by_key(|range| Reverse(range.weight));
    let refused = ranges.iter().filter(|range| range.weight == 0).collect::<Vec<_>>();
    let is_refused =
        |found: T| refused.iter().any(|range| range.value.eq_ignore_ascii_case(tag(found)));
    let accepted = ranges.iter().filter(|range| range.weight > 0);
    accepted.filter_map(|range| find(range.value)).find(|found| !is_refused(*found))
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
    fn the_available_language_with_the_greatest_weight_is_served() {
        for (header, lang) in [
            ("de;Q=0.1, fr ; q = 0.2", "fr"),
            ("fr;q=0.5, de;q=0.5", "fr"),
            ("xx, de-CH-1996;q=0.3, *;q=0.1", "de"),
            ("en-*;q=0.4, es-*;q=0.6", "es"),
            ("*", "en"),
            ("de;q=0, *", "en"),
            ("en;q=0, it;q=0.1", "it"),
            ("pt-BR;q=0, pt;q=0.2", "pt"),
            ("sr-Latn, hr;q=0.5", "hr"),
            ("zh-Hant-TW", "zh-Hant"),
            ("zh-HK", "zh-Hant"),
            ("zh-Hans-HK", "zh"),
            ("zh-CN", "zh"),
            ("zh-two", "zh"),
            ("yue", "zh-Hant"),
            ("nn-NO", "nb"),
            ("iw", "he"),
            ("tlh, x-y, i-default", "en"),
        ] {
            assert_eq!(choose(None, Some(header)).lang, lang, "{header}");
        }
        let many = format!("{}de", "xx,".repeat(40));
        assert_eq!(choose(None, Some(&many)).lang, "de");
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
                (&english.your_data, &locale.your_data),
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
            let popup = |locale: &Locale| {
                locale.popup.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
            };
            assert_eq!(popup(english), popup(locale), "{}: the notice of the pixel", locale.lang);
            assert!(
                english.purposes.keys().eq(locale.purposes.keys()),
                "{}: other purposes",
                locale.lang
            );
            for (wording, purposes) in &english.earlier {
                assert!(purposes.keys().eq(locale.earlier[wording].keys()), "{}", locale.lang);
            }
        }
    }

    #[test]
    fn a_policy_keeps_the_wording_that_it_was_published_with() {
        for locale in all() {
            let [first, now] = [1, 2].map(|it| locale.purpose("resolution", it));
            assert_ne!(first.text, now.text, "{}", locale.lang);
            let same = [1, 2].map(|it| locale.purpose("analytics", it));
            assert_eq!(same[0].text, same[1].text, "{}", locale.lang);
        }
    }

    /// "Encrypted" in every language. A hash is not encryption: it has no key.
    #[rustfmt::skip]
    const ENCRYPTED: [&str; 29] = [
        "encr", "enkrip", "verschlüssel", "versleutel", "chiffr", "cifra", "xifra", "crypt", "cript",
        "chript", "krypt", "kript", "krüpt", "κρυπτο", "крипт", "шифр", "szyfr", "šifr", "şifre",
        "titkos", "salat", "mã hóa", "مشف", "رمزگذاری", "מוצפנ", "एन्क्रिप्ट", "暗号", "암호", "加密",
    ];

    #[test]
    fn no_language_calls_a_hash_encrypted() {
        let speaks_of_it = |text: &str| {
            let text = text.to_lowercase().replace("javascript", "");
            ENCRYPTED.iter().any(|word| text.contains(word))
        };
        for locale in all() {
            // The first wording contains such a word in every language, which shows that the list is complete.
            assert!(speaks_of_it(&locale.purpose("resolution", 1).text), "{}", locale.lang);
            let texts_of_purposes = locale.purposes.values().flat_map(|it| [&it.title, &it.text]);
            let texts = texts_of_purposes
                .chain(locale.tag.values())
                .chain(locale.policy.values())
                .chain(locale.your_data.values());
            let popup = locale.popup.as_object().unwrap().values().filter_map(Value::as_str);
            for text in texts.map(String::as_str).chain(popup) {
                assert!(!speaks_of_it(text), "{}: {text}", locale.lang);
            }
        }
    }
}
