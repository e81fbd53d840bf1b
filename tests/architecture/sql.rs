//! Enough of SQL to tell which tables a statement names, and of which it names the pixel.

use std::collections::BTreeSet;

/// The distribution of the tables on a cluster, according to the guide.
pub struct Tables {
    /// Those that are spread, by `pixel_id`.
    pub distributed: BTreeSet<String>,
    /// Those that stay together.
    pub local: BTreeSet<String>,
}

impl Tables {
    pub fn read(guide: &str) -> Self {
        let spread = guide.lines().filter_map(|line| {
            line.strip_prefix("SELECT create_distributed_table('")?.split('\'').next()
        });
        let local =
            guide.lines().filter_map(|line| line.strip_prefix("-- Stays on the coordinator: "));
        let tables = Self {
            distributed: spread.map(str::to_owned).collect(),
            local: local.flat_map(|names| names.split(", ")).map(str::to_owned).collect(),
        };
        assert!(tables.distributed.len() > 10 && tables.local.len() > 20, "the guide names them");
        tables
    }
}

/// A statement on one line, without comments and quoted words.
pub struct Statement {
    pub text: String,
    words: Vec<String>,
}

/// A table that a statement reads or writes.
struct Named {
    /// By which its columns are known.
    alias: String,
    /// The innermost brackets around it.
    scope: usize,
}

impl Statement {
    pub fn of(text: &str) -> Self {
        let lines = text.lines().map(|line| line.split("--").next().unwrap_or_default());
        let plain = without_quoted(&lines.collect::<Vec<_>>().join(" "));
        let text = plain.split_whitespace().collect::<Vec<_>>().join(" ");
        let words = words_of(&text);
        Self { text, words }
    }

    /// Whether it has these words, whatever their case.
    pub fn says(&self, words: &str) -> bool {
        self.text.to_lowercase().contains(&words.to_lowercase())
    }

    fn is(&self, at: usize, word: &str) -> bool {
        self.words.get(at).is_some_and(|known| known.eq_ignore_ascii_case(word))
    }

    /// Those of the tables that it names.
    pub fn tables_of(&self, tables: &BTreeSet<String>) -> BTreeSet<String> {
        let named = self.named_at(tables).into_iter().map(|at| self.words[at].clone());
        named.collect()
    }

    /// The offsets at which tables are named, and not their columns.
    fn named_at(&self, tables: &BTreeSet<String>) -> Vec<usize> {
        let begins = ["FROM", "JOIN", "INTO", "UPDATE", "USING"];
        let is_named = |at: &usize| {
            tables.contains(&self.words[*at])
                && *at > 0
                && begins.iter().any(|word| self.is(*at - 1, word))
        };
        (0..self.words.len()).filter(is_named).collect()
    }

    pub fn inserts_into(&self, tables: &BTreeSet<String>) -> bool {
        self.named_at(tables).iter().any(|at| self.is(at - 1, "INTO"))
    }

    pub fn selects(&self) -> bool {
        self.words.iter().any(|word| word.eq_ignore_ascii_case("SELECT"))
    }

    pub fn has_unnamed_conflict(&self) -> bool {
        (0..self.words.len()).any(|at| self.is(at, "CONFLICT") && !self.is(at + 1, "("))
    }

    pub fn has_subquery_in_values(&self) -> bool {
        let values = self.words.iter().position(|word| word.eq_ignore_ascii_case("VALUES"));
        values.is_some_and(|at| {
            self.words[at..].iter().any(|word| word.eq_ignore_ascii_case("SELECT"))
        })
    }

    pub fn has_modifying_cte(&self) -> bool {
        (2..self.words.len()).any(|at| {
            ["INSERT", "UPDATE", "DELETE"].iter().any(|verb| self.is(at, verb))
                && self.is(at - 1, "(")
                && (self.is(at - 2, "AS") || self.is(at - 2, "MATERIALIZED"))
        })
    }

    /// Whether it says of each of these tables that `pixel_id` is one given value.
    pub fn names_one_pixel(&self, tables: &BTreeSet<String>) -> bool {
        self.names(tables, &|at| self.words.get(at).is_some_and(|word| word.starts_with('$')))
    }

    /// As [`Self::names_one_pixel`], or several given values.
    pub fn names_pixels(&self, tables: &BTreeSet<String>) -> bool {
        self.names(tables, &|at| {
            let is_given = |at: usize| self.words.get(at).is_some_and(|word| word.starts_with('$'));
            is_given(at) || self.is(at, "ANY") && is_given(at + 2)
        })
    }

    fn names(&self, tables: &BTreeSet<String>, is_given: &dyn Fn(usize) -> bool) -> bool {
        let scopes = scopes_of(&self.words);
        let all = self.named(tables, &scopes);
        let is_known = |one: &Named| {
            self.pixels_of(one, &scopes).into_iter().any(|after| {
                is_given(after) || self.follows(after, one.scope, &all, &scopes, is_given)
            })
        };
        all.iter().all(is_known)
    }

    fn named(&self, tables: &BTreeSet<String>, scopes: &[usize]) -> Vec<Named> {
        let alias = |at: usize| match self.is(at + 1, "AS") {
            true => self.words[at + 2].clone(),
            false => self.words[at].clone(),
        };
        let named = self.named_at(tables).into_iter();
        named.map(|at| Named { alias: alias(at), scope: scopes[at] }).collect()
    }

    /// The expression that the table's `pixel_id` is compared with, in its own brackets.
    fn pixels_of(&self, one: &Named, scopes: &[usize]) -> Vec<usize> {
        let qualified = format!("{}.pixel_id", one.alias);
        let is_its = |at: &usize| {
            scopes[*at] == one.scope
                && (self.words[*at] == qualified || self.words[*at] == "pixel_id")
        };
        let equal = |at: usize| {
            let after = self.is(at + 1, "=").then_some(at + 2);
            let before = (at >= 2 && self.is(at - 1, "=")).then(|| at - 2);
            [after, before]
        };
        (0..self.words.len()).filter(is_its).flat_map(equal).flatten().collect()
    }

    /// Whether it equals the pixel of another table in the same brackets, which is given.
    fn follows(
        &self,
        at: usize,
        scope: usize,
        all: &[Named],
        scopes: &[usize],
        is_given: &dyn Fn(usize) -> bool,
    ) -> bool {
        let word = &self.words[at];
        all.iter().filter(|other| other.scope == scope).any(|other| {
            *word == format!("{}.pixel_id", other.alias)
                && self.pixels_of(other, scopes).into_iter().any(is_given)
        })
    }
}

fn without_quoted(text: &str) -> String {
    let (mut plain, mut quote) = (String::new(), None);
    for character in text.chars() {
        match quote {
            Some(open) if character == open => quote = None,
            Some(_) => {}
            None if character == '\'' || character == '"' => quote = Some(character),
            None => plain.push(character),
        }
    }
    plain
}

/// Names, with what they belong to, and signs.
fn words_of(text: &str) -> Vec<String> {
    let mut words = Vec::<String>::new();
    let mut in_word = false;
    for character in text.chars() {
        let is_word = character.is_ascii_alphanumeric() || "_.$".contains(character);
        match (is_word && in_word, words.last_mut()) {
            (true, Some(word)) => word.push(character),
            _ if !character.is_whitespace() => words.push(character.to_string()),
            _ => {}
        }
        in_word = is_word;
    }
    words
}

/// The innermost brackets around each word, by a number. Brackets without a `SELECT` are those around
/// them.
fn scopes_of(words: &[String]) -> Vec<usize> {
    let (mut open, mut next, mut scopes) = (vec![0], 0, Vec::new());
    for (at, word) in words.iter().enumerate() {
        let around = *open.last().unwrap_or(&0);
        scopes.push(around);
        match word.as_str() {
            "(" => {
                let selects = words.get(at + 1).is_some_and(|after| {
                    ["SELECT", "WITH", "("].iter().any(|word| after.eq_ignore_ascii_case(word))
                });
                next += usize::from(selects);
                open.push(if selects { next } else { around });
            }
            ")" if open.len() > 1 => drop(open.pop()),
            _ => {}
        }
    }
    scopes
}
