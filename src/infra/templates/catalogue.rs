//! Translations of our own texts, in the PO format of gettext: `templates/locales/*.po`. The crate `polib` would not
//! make this code shorter: it adds plural forms and metadata, which these catalogues do not have.

use std::collections::HashMap;

/// Separates the context of an entry from its text, as in gettext's own tables.
const SEPARATOR: char = '\u{4}';

/// An entry of a catalogue: an English text, and its translation. The entry of an empty text is the header.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Entry {
    pub context: String,
    pub id: String,
    pub text: String,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Keyword {
    Context,
    Id,
    Text,
}

/// The entries of a catalogue, in order. Comments, which begin with `#`, are for translators and are skipped.
pub fn entries(po: &str) -> Vec<Entry> {
    let mut entries = Vec::<Entry>::new();
    let mut keyword = Keyword::Text;
    for line in po.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        let (word, quoted) = match line.split_once(' ') {
            Some((word, quoted)) if word.starts_with("msg") => (word, quoted),
            _ => ("", line),
        };
        let next = match word {
            "msgctxt" => Keyword::Context,
            "msgid" => Keyword::Id,
            "msgstr" => Keyword::Text,
            _ => keyword,
        };
        let begins = word == "msgctxt" || word == "msgid" && keyword == Keyword::Text;
        if begins {
            entries.push(Entry::default());
        }
        keyword = next;
        if let Some(entry) = entries.last_mut() {
            let text = match keyword {
                Keyword::Context => &mut entry.context,
                Keyword::Id => &mut entry.id,
                Keyword::Text => &mut entry.text,
            };
            text.push_str(&unquoted(quoted));
        }
    }
    entries
}

fn unquoted(quoted: &str) -> String {
    let inside = quoted.trim().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let (mut text, mut is_escaped) = (String::new(), false);
    for character in inside.unwrap_or_default().chars() {
        match character {
            '\\' if !is_escaped => {
                is_escaped = true;
                continue;
            }
            'n' if is_escaped => text.push('\n'),
            't' if is_escaped => text.push('\t'),
            other => text.push(other),
        }
        is_escaped = false;
    }
    text
}

/// The translations of one language; those of English are empty.
#[derive(Default)]
pub struct Catalogue(HashMap<String, String>);

impl Catalogue {
    pub fn of(po: &str) -> Self {
        let entries = entries(po).into_iter().filter(|entry| !entry.id.is_empty());
        Self(entries.map(|entry| (key(&entry.context, &entry.id), entry.text)).collect())
    }

    pub fn find(&self, id: &str) -> Option<&str> {
        self.0.get(id).map(String::as_str)
    }

    /// The translation of a text in a context (a template or a use), or else its translation without a context.
    pub fn find_in(&self, context: &str, id: &str) -> Option<&str> {
        self.0.get(&key(context, id)).map(String::as_str).or_else(|| self.find(id))
    }
}

fn key(context: &str, id: &str) -> String {
    if context.is_empty() { id.to_owned() } else { format!("{context}{SEPARATOR}{id}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PO: &str = "# A comment\nmsgid \"\"\nmsgstr \"\"\n\"Language: de\\n\"\n\n#: pages/help.html\n\
        msgid \"Help\"\nmsgstr \"Hilfe\"\n\nmsgctxt \"pages/log.html\"\nmsgid \"\"\n\"Say \\\"no\\\" \"\n\"now\"\n\
        msgstr \"Sag \\\"nein\\\"\"\n";

    #[test]
    fn entries_of_several_lines_and_with_a_context_are_read() {
        let read = entries(PO);
        assert_eq!(read.len(), 3);
        assert_eq!(read[0].text, "Language: de\n");
        let catalogue = Catalogue::of(PO);
        assert_eq!(catalogue.find("Help"), Some("Hilfe"));
        assert_eq!(catalogue.find_in("pages/log.html", "Help"), Some("Hilfe"));
        let asked = "Say \"no\" now";
        assert_eq!(catalogue.find_in("pages/log.html", asked), Some("Sag \"nein\""));
        assert_eq!([catalogue.find(asked), catalogue.find("")], [None, None]);
    }
}
