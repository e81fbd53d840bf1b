use serde::Serialize;
use serde_json::Value;

use super::prose::{Prose, prose};

#[derive(Debug, Serialize)]
pub struct Field {
    pub name: String,
    pub kind: Kind,
    pub required: bool,
    pub description: Vec<Prose>,
}

#[derive(Debug, Serialize)]
pub struct Kind {
    pub text: String,
    pub link: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct NamedSchema {
    pub name: String,
    pub description: Vec<Prose>,
    pub kind: Kind,
    pub includes: Vec<Kind>,
    pub fields: Vec<Field>,
}

impl NamedSchema {
    pub fn of(name: &str, schema: &Value) -> Self {
        let parts = schema["allOf"].as_array().map_or(std::slice::from_ref(schema), Vec::as_slice);
        Self {
            name: name.to_owned(),
            description: prose(&schema["description"]),
            kind: Kind::of(schema),
            includes: parts.iter().filter_map(included).collect(),
            fields: parts.iter().flat_map(fields).collect(),
        }
    }
}

fn included(part: &Value) -> Option<Kind> {
    let optional = part["anyOf"].as_array().and_then(|parts| parts.iter().find_map(link));
    link(part).or(optional).map(|name| Kind { text: name.clone(), link: Some(name) })
}

pub fn fields(schema: &Value) -> Vec<Field> {
    let is_required = |name: &str| {
        schema["required"].as_array().is_some_and(|names| names.iter().any(|known| known == name))
    };
    let fields = schema["properties"].as_object().into_iter().flatten();
    fields
        .map(|(name, field)| Field {
            name: name.clone(),
            kind: Kind::of(field),
            required: is_required(name),
            description: prose(description(field)),
        })
        .collect()
}

fn description(field: &Value) -> &Value {
    let parts = field["oneOf"].as_array().into_iter().flatten();
    let inner = parts.map(|part| &part["description"]).find(|text| text.is_string());
    Some(&field["description"]).filter(|text| text.is_string()).or(inner).unwrap_or(&Value::Null)
}

fn link(schema: &Value) -> Option<String> {
    let name = schema["$ref"].as_str()?.rsplit('/').next()?;
    Some(name.to_owned())
}

impl Kind {
    pub fn of(schema: &Value) -> Self {
        if let Some(name) = link(schema) {
            return Self { text: name.clone(), link: Some(name) };
        }
        if let Some(parts) = ["oneOf", "anyOf"].iter().find_map(|&key| schema[key].as_array()) {
            return Self::one_of(parts);
        }
        match &schema["type"] {
            Value::Array(types) => {
                let named = |name: &Value| {
                    let mut single = schema.clone();
                    single["type"] = name.clone();
                    Self::of(&single)
                };
                Self::joined(types.iter().map(named).collect())
            }
            Value::String(name) if name == "array" => Self::list(&schema["items"]),
            Value::String(name) => Self { text: plain(name, schema), link: None },
            _ => Self { text: "object".to_owned(), link: None },
        }
    }

    fn one_of(parts: &[Value]) -> Self {
        Self::joined(parts.iter().map(Self::of).collect())
    }

    fn joined(kinds: Vec<Self>) -> Self {
        let text = kinds.iter().map(|kind| kind.text.as_str()).collect::<Vec<_>>().join(" or ");
        let links = kinds.into_iter().filter_map(|kind| kind.link).collect::<Vec<_>>();
        Self { text, link: <[String; 1]>::try_from(links).ok().map(|[link]| link) }
    }

    fn list(items: &Value) -> Self {
        let items = Self::of(items);
        Self { text: format!("list of {}", items.text), link: items.link }
    }
}

fn plain(name: &str, schema: &Value) -> String {
    if name == "null" {
        return name.to_owned();
    }
    if let Some(words) = schema["enum"].as_array() {
        return words.iter().map(word).collect::<Vec<_>>().join(" · ");
    }
    match schema["format"].as_str() {
        Some(format @ ("date" | "date-time" | "uuid")) => format.to_owned(),
        _ => name.to_owned(),
    }
}

fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// The target of a `$ref`, or the schema itself.
pub fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let pointed = schema["$ref"].as_str().and_then(|link| document.pointer(&link[1..]));
    pointed.unwrap_or(schema)
}
