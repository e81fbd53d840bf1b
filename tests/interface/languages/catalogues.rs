//! Every language has every text, with the same tags, values and links.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use assent::infra::templates::catalogue::{Entry, entries};
use assent::infra::templates::language::{Language, all, texts_of};
use assent::infra::templates::localiser::{FORMS, MONTH, MONTHS};
use assent::infra::templates::segments::id_of;
use assent::infra::templates::translated;
use regex::Regex;

fn others() -> impl Iterator<Item = &'static Language> {
    all().iter().filter(|language| !language.is_english())
}

fn repository() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let files = walkdir::WalkDir::new(folder).sort_by_file_name().into_iter();
    files.map(|entry| entry.unwrap().into_path()).filter(|path| path.is_file()).collect()
}

/// The arguments of `tr` in the source, without its tests.
fn messages_in_source() -> BTreeSet<String> {
    let message = Regex::new(r#"\btr\(\s*"((?:[^"\\]|\\.)*)""#).unwrap();
    let mut texts = BTreeSet::new();
    for path in files(&repository().join("src")) {
        if path.extension().is_some_and(|extension| extension == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let source = source.split("#[cfg(test)]").next().unwrap();
            let found = message.captures_iter(source).map(|found| found[1].replace("\\\"", "\""));
            texts.extend(found);
        }
    }
    texts
}

fn needed() -> BTreeSet<String> {
    let mut needed = messages_in_source();
    for (name, source) in translated() {
        needed.extend(texts_of(name, source).into_iter().map(|range| id_of(&source[range])));
    }
    needed.extend(FORMS.map(str::to_owned));
    needed
}

fn catalogue(language: &Language) -> Vec<Entry> {
    let path = format!("templates/locales/{}.po", language.tag);
    let entries = entries(&fs::read_to_string(repository().join(path)).unwrap());
    entries.into_iter().filter(|entry| !entry.id.is_empty()).collect()
}

#[test]
fn every_catalogue_translates_what_is_shown_and_nothing_else() {
    let needed = needed();
    assert!(needed.len() > 1500 && needed.contains("Help") && needed.contains("Sign in"));
    for language in others() {
        let entries = catalogue(language);
        let has = |id: &str| entries.iter().any(|entry| entry.id == id && !entry.text.is_empty());
        let missing = needed.iter().filter(|id| !has(id)).collect::<Vec<_>>();
        assert!(missing.is_empty(), "{} lacks {missing:#?}", language.tag);
        let mut names = BTreeSet::new();
        for Entry { context, id, .. } in &entries {
            assert!(names.insert((context, id)), "{}: {id} is there twice", language.tag);
            let is_used = match context.as_str() {
                MONTH => MONTHS.contains(&id.as_str()),
                "" => needed.contains(id),
                name => needed.contains(id) && translated().any(|(known, _)| known == name),
            };
            assert!(is_used, "{}: {context} {id} is not used", language.tag);
        }
        assert!(MONTHS.into_iter().all(has), "{}", language.tag);
    }
}

fn matches(pattern: &Regex, text: &str) -> Vec<String> {
    let mut found = pattern.captures_iter(text).map(|it| id_of(&it[1])).collect::<Vec<_>>();
    found.sort();
    found
}

macro_rules! pattern {
    ($name:ident, $pattern:expr) => {
        static $name: LazyLock<Regex> = LazyLock::new(|| Regex::new($pattern).unwrap());
    };
}

pattern!(VALUE, r"\{\{-?(.*?)-?\}\}");
pattern!(STATEMENT, r"\{%-?(.*?)-?%\}");
pattern!(TERA, r"\{[{%].*?[%}]\}");
pattern!(TAG, "(</?[a-z][^<>]*>)");
pattern!(TEXT_OR_FILTER, r#""[^"]*"|\|\s*[a-z_]+"#);
pattern!(NAME, r"([a-z_][a-z_0-9.]*)");

fn tags(text: &str) -> Vec<String> {
    matches(&TAG, &TERA.replace_all(text, ""))
}

/// The names of values in all expressions, which a translation may put into other conditions.
fn names(text: &str) -> BTreeSet<String> {
    const WORDS: [&str; 13] = [
        "and",
        "elif",
        "else",
        "endfor",
        "endif",
        "for",
        "if",
        "in",
        "loop.first",
        "loop.last",
        "not",
        "or",
        "value",
    ];
    let inside = [matches(&VALUE, text), matches(&STATEMENT, text)].concat().join(" ; ");
    let names = matches(&NAME, &TEXT_OR_FILTER.replace_all(&inside, " ")).into_iter();
    names.filter(|name| !WORDS.contains(&name.as_str())).collect()
}

#[test]
fn a_translation_has_the_tags_and_values_of_its_source() {
    for language in others() {
        for Entry { context, id, text } in catalogue(language) {
            let tag = language.tag;
            if context == MONTH || FORMS.contains(&id.as_str()) {
                continue;
            }
            assert_eq!(tags(&id), tags(&text), "{tag}: {text}");
            assert_eq!(names(&id), names(&text), "{tag}: {text}");
            let known = matches(&VALUE, &id);
            let values = matches(&VALUE, &text);
            assert!(values.iter().all(|value| known.contains(value)), "{tag}: {text}");
            assert_eq!(text.trim(), text, "{tag}: {text}");
            assert!(!text.contains("  "), "{tag}: {text}");
        }
    }
}

#[test]
fn the_page_that_verifies_proofs_has_the_same_texts_in_every_language() {
    let page = fs::read_to_string(repository().join("src/web/verify.html")).unwrap();
    let table = page.split("\nconst TEXTS = {\n").nth(1).unwrap().split("\n};\n").next().unwrap();
    let names = |tag: &str| {
        let own = table.split(&format!("  {tag}: {{\n")).nth(1).unwrap_or_else(|| panic!("{tag}"));
        let own = own.split("\n  },").next().unwrap();
        own.lines().map(|line| line.split(": '").next().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let german = names("de");
    assert!(german.len() > 30, "{german:?}");
    for language in others() {
        assert_eq!(names(language.tag), german, "{}", language.tag);
    }
    assert_eq!(table.matches("\n    title: ").count(), others().count());
    for name in page.match_indices("data-text=\"") {
        let name = page[name.0 + name.1.len()..].split('"').next().unwrap();
        assert!(german.contains(&format!("    {name}")), "{name}");
    }
}

pattern!(HEADING, r"(?m)^(#+) ");
pattern!(LINK, r"\]\(([^)]*)\)");
pattern!(CODE, r"`([^`]*)`");
pattern!(ITEM, r"(?m)^(-|[0-9]\.) ");
pattern!(ROW, r"(?m)^(\|)");

#[test]
fn a_translated_markdown_text_has_the_parts_of_its_source() {
    let folder = repository().join("templates/texts");
    let patterns = [&*HEADING, &*LINK, &*CODE, &*ITEM, &*ROW, &*VALUE, &*STATEMENT];
    let mut compared = 0;
    for name in ["help", "papers"] {
        let sources = fs::read_dir(folder.join(name)).unwrap().map(|entry| entry.unwrap().path());
        for path in sources.filter(|path| path.is_file()) {
            let source = fs::read_to_string(&path).unwrap();
            for language in others() {
                let own = path.parent().unwrap().join(language.tag).join(path.file_name().unwrap());
                let text = fs::read_to_string(&own).unwrap_or_else(|_| panic!("{}", own.display()));
                for pattern in patterns {
                    let expected = matches(pattern, &source);
                    assert_eq!(matches(pattern, &text), expected, "{pattern} in {}", own.display());
                }
                compared += 1;
            }
        }
    }
    assert_eq!(compared, 16 * others().count());
}
