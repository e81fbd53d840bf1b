//! Errors in a value and their location, in the words of the API. Parser messages are used only if
//! they are known to be suitable for callers.

use serde::de::value::{Error as ProbeError, MapDeserializer};
use serde::de::{self, DeserializeOwned, Deserializer, Visitor};
use serde_json::error::Category;
use serde_json::{Map, Value};
use serde_path_to_error::{Path, Segment};

use crate::error::FieldError;

/// Longer names are truncated in answers, and never considered misspelt.
const MOST_NAME: usize = 64;
/// The number of arguments that are tried one by one to find an invalid one.
const MOST_SUSPECTS: usize = 20;

pub fn read_json<T: DeserializeOwned>(bytes: &[u8], root: &str) -> Result<T, FieldError> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut json);
    read.map_err(|error| problem(location(root, error.path()), error.inner()))
}

pub fn read_value<T: DeserializeOwned>(value: &Value, root: &str) -> Result<T, FieldError> {
    serde_path_to_error::deserialize(value)
        .map_err(|error| problem(location(root, error.path()), error.inner()))
}

/// Like [`read_value`], for types with `#[serde(flatten)]`. Their errors lack the location, so it is searched for.
pub fn read_fields<T: DeserializeOwned>(
    fields: &Map<String, Value>,
    root: &str,
) -> Result<T, FieldError> {
    read_without(None, fields, root).map_err(|mut found| {
        if found.loc.len() == 1 {
            let location = culprit::<T>(&found, fields, root);
            found.loc.extend(location.map(|name| cut(name)));
        }
        found
    })
}

fn read_without<T: DeserializeOwned>(
    left_out: Option<&str>,
    fields: &Map<String, Value>,
    root: &str,
) -> Result<T, FieldError> {
    let kept = fields.iter().filter(|(name, _)| Some(name.as_str()) != left_out);
    let kept = MapDeserializer::new(kept.map(|(name, value)| (name.as_str(), value)));
    let read = serde_path_to_error::deserialize::<_, T>(kept);
    read.map_err(|error: serde_path_to_error::Error<serde_json::Error>| {
        problem(location(root, error.path()), error.inner())
    })
}

/// The field whose removal makes the error disappear, or changes it to one that does not concern this field.
fn culprit<'a, T: DeserializeOwned>(
    found: &FieldError,
    fields: &'a Map<String, Value>,
    root: &str,
) -> Option<&'a String> {
    fields.keys().take(MOST_SUSPECTS).find(|name| {
        match read_without::<T>(Some(name), fields, root) {
            Ok(_) => true,
            Err(other) => other != *found && other.loc.last() != Some(*name),
        }
    })
}

pub fn unreadable(root: &str, error: &serde_json::Error) -> FieldError {
    problem(vec![root.to_owned()], error)
}

fn location(root: &str, path: &Path) -> Vec<String> {
    let below = path.iter().filter_map(|segment| match segment {
        Segment::Seq { index } => Some(index.to_string()),
        Segment::Map { key } => Some(cut(key)),
        Segment::Enum { .. } | Segment::Unknown => None,
    });
    std::iter::once(root.to_owned()).chain(below).collect()
}

fn problem(mut loc: Vec<String>, error: &serde_json::Error) -> FieldError {
    if error.classify() == Category::Syntax && error.to_string().starts_with("number out of range")
    {
        let msg = format!("has a number that is out of range at line {}", error.line());
        return FieldError { loc, msg, kind: "value_error".to_owned() };
    }
    if error.classify() != Category::Data {
        let msg =
            format!("is no JSON: it breaks at line {}, column {}", error.line(), error.column());
        return FieldError { loc, msg, kind: "json_invalid".to_owned() };
    }
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    let explanation = Explanation::of(text);
    if let Some(field) = explanation.field
        && loc.last() != Some(&field)
    {
        loc.push(field);
    }
    FieldError { loc, msg: explanation.msg, kind: explanation.kind.to_owned() }
}

struct Explanation {
    field: Option<String>,
    msg: String,
    kind: &'static str,
}

impl Explanation {
    /// Unknown parser messages become a general one.
    fn of(text: &str) -> Self {
        let quoted = |rest: &str| rest.split('`').next().map(cut);
        if let Some(name) = text.strip_prefix("missing field `").and_then(quoted) {
            return Self { field: Some(name), msg: "field required".to_owned(), kind: "missing" };
        }
        if let Some(rest) = text.strip_prefix("unknown field `") {
            let known = rest.rsplit_once(", expected ").map_or("", |(_, known)| known);
            let msg = if known.is_empty() {
                "no such field".to_owned()
            } else {
                format!("no such field, there is {known}")
            };
            return Self { field: quoted(rest), msg, kind: "unknown_field" };
        }
        if let Some((_, words)) =
            text.strip_prefix("unknown variant ").and_then(|rest| rest.rsplit_once(", expected "))
        {
            return Self { field: None, msg: format!("must be {words}"), kind: "enum" };
        }
        if text.starts_with("must ") {
            return Self { field: None, msg: text.to_owned(), kind: "value_error" };
        }
        let expected = text.rsplit_once(", expected ").map_or("", |(_, expected)| expected);
        Self { field: None, msg: in_our_words(expected).to_owned(), kind: "type_error" }
    }
}

fn in_our_words(expected: &str) -> &'static str {
    match expected {
        "a string" | "a borrowed string" | "string" => "must be a string",
        "i8" | "i16" | "i32" | "i64" | "i128" | "isize" => "must be a whole number",
        "u8" | "u16" | "u32" | "u64" | "u128" | "usize" => "must be a whole number, 0 or more",
        "f32" | "f64" => "must be a number",
        "a boolean" => "must be true or false",
        "a sequence" => "must be a list",
        "a map" => "must be an object",
        "unit" | "null" => "must be null",
        "a formatted UUID string" => "must be a UUID",
        other if other.starts_with("struct ") => "must be an object",
        _ => "is not valid here",
    }
}

fn cut(name: &str) -> String {
    name.chars().take(MOST_NAME).collect()
}

pub fn misspelt<T: DeserializeOwned>(names: &[String], root: &[&str]) -> Vec<FieldError> {
    misspelt_of(field_names::<T>(), names, root)
}

pub fn misspelt_of(known: &[&str], names: &[String], root: &[&str]) -> Vec<FieldError> {
    let left_out = known.iter().copied().filter(|known| names.iter().all(|name| name != known));
    let left_out = left_out.collect::<Vec<_>>();
    let unknown = names.iter().filter(|name| !known.contains(&name.as_str()));
    let meant = unknown.filter_map(|name| Some((name, nearest(name, &left_out)?)));
    meant
        .map(|(name, meant)| {
            let loc = root.iter().copied().chain([name.as_str()]).collect::<Vec<_>>();
            FieldError::new(
                &loc,
                format!("no such field, did you mean `{meant}`?"),
                "unknown_field",
            )
        })
        .collect()
}

pub fn nearest<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    let plain = |name: &str| name.to_lowercase().replace(['_', '-', ' '], "");
    let given = plain(name);
    if !(2..=MOST_NAME).contains(&given.len()) {
        return None;
    }
    let is_near = |known: &&&str| {
        let known = plain(known);
        strsim::osa_distance(&given, &known) <= known.len().div_ceil(4)
            || (given.len() > 2 && known.contains(&given))
    };
    known
        .iter()
        .filter(is_near)
        .min_by_key(|known| strsim::osa_distance(&given, &plain(known)))
        .copied()
}

/// The field names of a struct, as its deserializer announces them. Empty for a flattened type.
fn field_names<T: DeserializeOwned>() -> &'static [&'static str] {
    struct Probe<'a>(&'a mut &'static [&'static str]);

    impl<'de> Deserializer<'de> for Probe<'_> {
        type Error = ProbeError;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, ProbeError> {
            Err(de::Error::custom("only asked for its fields"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            visitor: V,
        ) -> Result<V::Value, ProbeError> {
            *self.0 = fields;
            self.deserialize_any(visitor)
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf
            option unit unit_struct newtype_struct seq tuple tuple_struct map enum identifier
            ignored_any
        }
    }

    let mut names: &'static [&'static str] = &[];
    let _ = T::deserialize(Probe(&mut names));
    names
}
