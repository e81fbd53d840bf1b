//! The translatable texts of a plain-text template: its paragraphs. Empty lines, indented lines and lines of
//! statements only separate them. The number of a list item starts a paragraph, but does not belong to it.

use std::ops::Range;

use super::tokens::{is_words, outside_of_tera};

/// The ranges of the texts in a template, in order.
pub fn paragraphs(source: &str) -> Vec<Range<usize>> {
    let (mut found, mut open, mut at) = (Vec::new(), None::<Range<usize>>, 0);
    for line in source.split_inclusive('\n') {
        let text = line.trim_end();
        if text.is_empty() || text.starts_with(' ') || is_statement(text) {
            found.extend(open.take());
        } else {
            let number = len_of_number(text);
            if number > 0 {
                found.extend(open.take());
            }
            let start = open.take().map_or(at + number, |open| open.start);
            open = Some(start..at + text.len());
        }
        at += line.len();
    }
    found.extend(open);
    found.retain(|range| is_words(&outside_of_tera(&source[range.clone()])));
    found
}

fn is_statement(line: &str) -> bool {
    line.starts_with("{%") && !line.contains("{{") && outside_of_tera(line).trim().is_empty()
}

/// The length of the number of a list item, including the space after it.
fn len_of_number(line: &str) -> usize {
    let digits = line.bytes().take_while(u8::is_ascii_digit).count();
    if digits > 0 && line[digits..].starts_with(". ") { digits + 2 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paragraphs_and_items_are_texts_and_conditions_around_them_are_none() {
        let source = "{% if a %}{{ a }}{% else %}Someone{% endif %} asked\nyou (see {{ b }}).\n\n    {{ code }}\n\n\
            1. Open it.\n2. Find {{ c }}:\n   {{ c }}\n{% if d -%}\nThis.\n{%- else -%}\nThat.\n{%- endif %}\n\
            {{ x.0 }}: {{ x.1 }}\n\n-- \nAssent\n{{ base_url }}\n";
        let found = paragraphs(source).into_iter().map(|range| &source[range]);
        let expected = [
            "{% if a %}{{ a }}{% else %}Someone{% endif %} asked\nyou (see {{ b }}).",
            "Open it.",
            "Find {{ c }}:",
            "This.",
            "That.",
        ];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }
}
