//! A part of the description: the operations of one tag, and the schemas that they need.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::error::{Error, FieldError, Result};

const SCHEMAS: &str = "#/components/schemas/";

pub fn names(document: &Value) -> impl Iterator<Item = &str> {
    let tags = document["tags"].as_array().into_iter().flatten();
    tags.filter_map(|named| named["name"].as_str())
}

pub fn only(json: &str, tag: &str) -> Result<String> {
    let mut document = serde_json::from_str::<Value>(json).map_err(Error::internal)?;
    for part in ["paths", "webhooks"] {
        if let Some(items) = document[part].as_object_mut() {
            keep(items, tag);
        }
    }
    if let Some(tags) = document["tags"].as_array_mut() {
        tags.retain(|named| named["name"] == tag);
    }
    let needed = needed(&document);
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.retain(|name, _| needed.contains(name));
    }
    Ok(document.to_string())
}

pub fn unknown(names: &[&str]) -> FieldError {
    FieldError::unknown_word(&["query", "tag"], names)
}

fn keep(items: &mut Map<String, Value>, tag: &str) {
    for item in items.values_mut().filter_map(Value::as_object_mut) {
        item.retain(|_, operation| operation["tags"][0] == tag);
    }
    items.retain(|_, item| item.as_object().is_some_and(|methods| !methods.is_empty()));
}

/// The names of the schemas that operations use directly or through other schemas.
fn needed(document: &Value) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut open = Vec::new();
    for part in ["paths", "webhooks"] {
        collect(&document[part], &mut open);
    }
    while let Some(name) = open.pop() {
        if names.insert(name.clone()) {
            collect(&document["components"]["schemas"][&name], &mut open);
        }
    }
    names
}

fn collect(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let named = fields.get("$ref").and_then(Value::as_str);
            found.extend(named.and_then(|name| name.strip_prefix(SCHEMAS)).map(str::to_owned));
            fields.values().for_each(|value| collect(value, found));
        }
        Value::Array(items) => items.iter().for_each(|value| collect(value, found)),
        _ => {}
    }
}
