//! Translations of the texts of the install check, which are stored in English and looked up here by the English
//! text. An unknown text, for example from another version of the service, is not translated.

mod answer_texts;
mod error_texts;
mod page_texts;
mod tls_texts;

use std::borrow::Cow;

use serde::Serialize;

use crate::infra::templates::Message;
use crate::page_analysis::diagnostics::finding::{Finding, Severity};

/// The placeholder of a pattern whose value is an enumeration.
const NAMES: &str = "names";

#[derive(Serialize)]
pub struct FindingRow {
    severity: Severity,
    found: Message,
    cure: Message,
}

impl From<&Finding> for FindingRow {
    fn from(finding: &Finding) -> Self {
        let (found, cure) = (sentence(&finding.found), sentence(&finding.cure));
        Self { severity: finding.severity, found, cure }
    }
}

/// The translation of a finding or a remedy.
pub fn sentence(text: &str) -> Message {
    let texts = page_texts::TEXTS.iter().chain(&answer_texts::TEXTS).chain(&tls_texts::TEXTS);
    translated(text, texts, &page_texts::PATTERNS)
}

/// The translation of the reason why a page could not be read, as a phrase that follows a colon.
pub fn error(text: &str) -> Message {
    translated(text, error_texts::TEXTS.iter(), &error_texts::PATTERNS)
}

fn translated<'a>(
    text: &str,
    mut texts: impl Iterator<Item = &'a Message>,
    patterns: &[Message],
) -> Message {
    let known = texts.find(|known| english(known) == text).cloned();
    let filled = || patterns.iter().find_map(|pattern| filled(pattern, text));
    known.or_else(filled).unwrap_or_else(|| Message::plain(text))
}

fn english(message: &Message) -> &str {
    match message {
        Message::Text(text, _) => text,
        _ => "",
    }
}

/// The pattern, filled with the value from the text; `None` if the text does not match.
fn filled(pattern: &Message, text: &str) -> Option<Message> {
    let (before, rest) = english(pattern).split_once("{{ ")?;
    let (name, after) = rest.split_once(" }}")?;
    let value = text.strip_prefix(before)?.strip_suffix(after)?;
    let value = if name == NAMES { enumeration(value) } else { Message::plain(value) };
    let value = serde_json::to_value(value).ok()?;
    let text = english(pattern).to_owned();
    Some(Message::Text(Cow::Owned(text), vec![(Cow::Owned(name.to_owned()), value)]))
}

/// The names of an English enumeration.
fn enumeration(text: &str) -> Message {
    let (most, last) =
        text.rsplit_once(" and ").map_or((None, text), |(most, it)| (Some(most), it));
    let most = most.into_iter().flat_map(|most| most.split(", "));
    Message::List(most.chain([last]).map(Message::plain).collect())
}

#[cfg(test)]
mod tests {
    use regex::Regex;

    use super::*;
    use crate::infra::templates::in_english;

    /// The literals of a source file that are sentences, with a value in place of each expression.
    fn sentences_of(source: &str) -> Vec<String> {
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let literal = Regex::new(r#""((?:[^"\\]|\\.)*)""#).unwrap();
        let expression = Regex::new(r"\{\w*\}").unwrap();
        let texts = literal.captures_iter(source).map(|found| found[1].to_owned());
        let sentences = texts.filter(|text| text.ends_with('.') && text.contains(' '));
        let unescaped = sentences.map(|text| {
            let text = text.replace("\\u{201c}", "\u{201c}").replace("\\u{201d}", "\u{201d}");
            expression.replace_all(&text.replace("\\\"", "\""), "its id is x").into_owned()
        });
        unescaped.collect()
    }

    fn is_known(message: &Message) -> bool {
        !matches!(message, Message::Plain(_))
    }

    #[test]
    fn every_finding_of_the_install_check_can_be_translated() {
        let sources = [
            include_str!("../../../../page_analysis/diagnostics/finding.rs"),
            include_str!("../../../../page_analysis/diagnostics/tags.rs"),
            include_str!("../../../../page_analysis/diagnostics/unreadable.rs"),
        ];
        for source in sources {
            let sentences = sentences_of(source);
            assert!(sentences.len() > 5, "sentences are found in the source");
            for text in sentences {
                let known = sentence(&text);
                assert!(is_known(&known), "{text}");
                assert_eq!(in_english(&known), text);
            }
        }
    }

    #[test]
    fn every_reason_of_an_unreadable_page_can_be_translated() {
        let source = include_str!("../../../../infra/fetch/failure.rs");
        let reason = Regex::new(r#"#\[error\("([^"]*)"\)\]"#).unwrap();
        for found in reason.captures_iter(source) {
            let text = found[1].replace("{0}", "503");
            let known = error(&text);
            assert!(is_known(&known), "{text}");
            assert_eq!(in_english(&known), text);
        }
    }

    #[test]
    fn values_are_found_in_a_text_and_unknown_texts_stay() {
        for text in [
            "The page loads Hotjar, Segment and Meta Pixel before visitors are asked.",
            "The snippet on the page is not the one of this site: its id is abc.",
            "Something on the site has changed the snippet, so that it runs late or not at all.",
        ] {
            let known = sentence(text);
            assert!(is_known(&known), "{text}");
            assert_eq!(in_english(&known), text);
        }
        assert_eq!(sentence("The moon is full."), Message::plain("The moon is full."));
        assert_eq!(error("the moon is full"), Message::plain("the moon is full"));
    }
}
