//! Examples of bodies, made from the examples of their fields, so that nothing is written twice.

use serde_json::{Map, Value, json};

use super::document::resolved;

/// Whether a body is sent or received: a request leaves out what it may.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Request,
    Answer,
}

/// Gives every JSON body without an example one.
pub fn fill_in(document: &mut Value) {
    let original = document.clone();
    let Some(paths) = document["paths"].as_object_mut() else { return };
    for operation in paths.values_mut().filter_map(Value::as_object_mut).flat_map(Map::values_mut) {
        if let Some(content) = operation.pointer_mut("/requestBody/content") {
            fill(content, &original, Kind::Request);
        }
        let answers = operation["responses"].as_object_mut().into_iter().flat_map(Map::values_mut);
        for content in answers.filter_map(|answer| answer.get_mut("content")) {
            fill(content, &original, Kind::Answer);
        }
    }
}

fn fill(content: &mut Value, document: &Value, kind: Kind) {
    let Some(body) = content.get_mut("application/json") else { return };
    if body.get("example").is_none() && body.get("examples").is_none() {
        body["example"] = example(document, &body["schema"], kind);
    }
}

fn example(document: &Value, schema: &Value, kind: Kind) -> Value {
    let schema = match schema.get("example") {
        Some(_) => schema,
        None => resolved(document, schema),
    };
    if let Some(given) = schema.get("example").or_else(|| schema.pointer("/enum/0")) {
        return given.clone();
    }
    if let Some(parts) = schema["allOf"].as_array() {
        let parts = parts.iter().map(|part| example(document, part, kind));
        return merged(parts);
    }
    let alternatives = ["oneOf", "anyOf"].iter().find_map(|&key| schema[key].as_array());
    if let Some(alternatives) = alternatives {
        let first = alternatives.iter().find(|part| part["type"] != "null");
        return first.map_or(Value::Null, |part| example(document, part, kind));
    }
    match main_type(schema) {
        "object" => object(document, schema, kind),
        "array" => json!([example(document, &schema["items"], kind)]),
        "boolean" => json!(true),
        "integer" | "number" => schema.get("minimum").cloned().unwrap_or(json!(0)),
        _ => text(schema),
    }
}

/// The type that is not `null`.
fn main_type(schema: &Value) -> &str {
    match &schema["type"] {
        Value::Array(types) => {
            types.iter().filter_map(Value::as_str).find(|&name| name != "null").unwrap_or_default()
        }
        other => other.as_str().unwrap_or_default(),
    }
}

fn object(document: &Value, schema: &Value, kind: Kind) -> Value {
    let required = schema["required"].as_array();
    let is_shown = |name: &str, field: &Value| {
        kind == Kind::Answer
            || field.get("example").is_some()
            || required.is_some_and(|names| names.iter().any(|known| known == name))
    };
    let fields = schema["properties"].as_object().into_iter().flatten();
    let shown = fields.filter(|(name, field)| is_shown(name, field));
    let pairs = shown.map(|(name, field)| (name.clone(), example(document, field, kind)));
    Value::Object(pairs.collect())
}

fn merged(parts: impl Iterator<Item = Value>) -> Value {
    let objects = parts.filter_map(|part| match part {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    Value::Object(objects.flatten().collect())
}

fn text(schema: &Value) -> Value {
    json!(match schema["format"].as_str() {
        Some("date") => "2026-01-31",
        Some("date-time") => "2026-01-31T23:59:59.123Z",
        Some("uuid") => "019c1a2b-3c4d-7e5f-8a6b-7c8d9e0f1a2b",
        _ => "…",
    })
}
