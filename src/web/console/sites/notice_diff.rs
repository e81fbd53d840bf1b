//! The differences between two texts of a notice, word by word.

use std::time::Duration;

use serde::Serialize;
use similar::{ChangeTag, TextDiff};

use crate::infra::templates::{Message, tr};

/// Comparisons that take longer are approximated. Most take less than a millisecond.
const TIMEOUT: Duration = Duration::from_millis(50);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    Kept,
    Removed,
    Added,
}

#[derive(Debug, PartialEq, Serialize)]
pub struct Passage {
    kind: Kind,
    /// The label for screen readers before a text that was changed.
    label: Option<Message>,
    text: String,
}

/// The passages of both texts in order. A removed passage precedes the one that replaces it.
pub fn passages(before: &str, after: &str) -> Vec<Passage> {
    let diff = TextDiff::configure().timeout(TIMEOUT).diff_words(before, after);
    let mut merging = Merging::default();
    for change in diff.iter_all_changes() {
        let word = change.value();
        match change.tag() {
            ChangeTag::Equal => merging.keep(word),
            ChangeTag::Delete => merging.remove(word),
            ChangeTag::Insert => merging.add(word),
        }
    }
    merging.finish()
}

pub fn count(passages: &[Passage], kind: Kind) -> usize {
    passages.iter().filter(|passage| passage.kind == kind).count()
}

/// Joins changed words that only spaces separate, so that a changed sentence is one passage.
#[derive(Default)]
struct Merging {
    passages: Vec<Passage>,
    removed: String,
    added: String,
    /// Spaces after a changed word, which belong to the change if another changed word follows.
    spaces: String,
}

impl Merging {
    fn keep(&mut self, word: &str) {
        let is_changing = !self.removed.is_empty() || !self.added.is_empty();
        let is_space = !word.contains('\n') && word.chars().all(char::is_whitespace);
        if is_changing && is_space {
            self.spaces.push_str(word);
            return;
        }
        self.end_change();
        self.push(Kind::Kept, word);
    }

    fn remove(&mut self, word: &str) {
        self.continue_change();
        self.removed.push_str(word);
    }

    fn add(&mut self, word: &str) {
        self.continue_change();
        self.added.push_str(word);
    }

    fn continue_change(&mut self) {
        if self.spaces.is_empty() {
            return;
        }
        if self.removed.is_empty() || self.added.is_empty() {
            return self.end_change();
        }
        let spaces = std::mem::take(&mut self.spaces);
        self.removed.push_str(&spaces);
        self.added.push_str(&spaces);
    }

    fn end_change(&mut self) {
        let [removed, added, spaces] =
            [&mut self.removed, &mut self.added, &mut self.spaces].map(std::mem::take);
        self.push(Kind::Removed, &removed);
        self.push(Kind::Added, &added);
        self.push(Kind::Kept, &spaces);
    }

    fn push(&mut self, kind: Kind, text: &str) {
        if text.is_empty() {
            return;
        }
        if let Some(last) = self.passages.last_mut()
            && last.kind == kind
        {
            return last.text.push_str(text);
        }
        let label = match kind {
            Kind::Kept => None,
            Kind::Removed => Some(tr("removed")),
            Kind::Added => Some(tr("added")),
        };
        self.passages.push(Passage { kind, label, text: text.to_owned() });
    }

    fn finish(mut self) -> Vec<Passage> {
        self.end_change();
        self.passages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(before: &str, after: &str) -> String {
        let mark = |passage: &Passage| match passage.kind {
            Kind::Kept => passage.text.clone(),
            Kind::Removed => format!("[-{}-]", passage.text),
            Kind::Added => format!("[+{}+]", passage.text),
        };
        passages(before, after).iter().map(mark).collect()
    }

    #[test]
    fn words_are_marked_and_a_changed_sentence_is_one_passage() {
        assert_eq!(marked("a b c", "a b c"), "a b c");
        assert_eq!(marked("Name: Shop\nx", "Name: Café\nx"), "Name: [-Shop-][+Café+]\nx");
        assert_eq!(
            marked("one two three.", "four five six."),
            "[-one two three.-][+four five six.+]"
        );
        assert_eq!(marked("", "new"), "[+new+]");
        assert_eq!(marked("old", ""), "[-old-]");
    }

    #[test]
    fn both_texts_can_be_read_from_the_passages() {
        let before = "We ask for analytics.\n  Recipients: One, Two\nEnd";
        let after = "We ask for newsletters and calls.\n  Recipients: Two\nKept: a year\nEnd";
        let all = passages(before, after);
        let side = |other: Kind| {
            let own = all.iter().filter(|passage| passage.kind != other);
            own.map(|passage| passage.text.as_str()).collect::<String>()
        };
        assert_eq!([side(Kind::Added), side(Kind::Removed)], [before, after]);
        assert_eq!(count(&passages(before, before), Kind::Kept), 1);
    }
}
