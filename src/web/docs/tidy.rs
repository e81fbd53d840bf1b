//! Corrections of the generated description: additions that its macros cannot express, and changes for code generators.

use serde_json::{Map, Value, json};

/// The schema of bodies that are read but not described.
const UNNEEDED: &str = "#/components/schemas/UnneededBody";

pub fn tidy(document: &mut Value) {
    for operation in operations(document) {
        say_who_may_call(operation);
        describe_body(operation);
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.remove("UnneededBody");
    }
    complete_schemas(document);
}

pub fn operations(document: &mut Value) -> impl Iterator<Item = &mut Value> {
    let paths = document["paths"].as_object_mut().into_iter().flat_map(Map::values_mut);
    paths.filter_map(Value::as_object_mut).flat_map(Map::values_mut)
}

/// An operation without credentials gets an empty list, which distinguishes it from an omission.
fn say_who_may_call(operation: &mut Value) {
    let is_open = operation.get("security").is_none_or(|security| *security == json!([{}]));
    if is_open {
        operation["security"] = json!([]);
    }
}

/// Removes `null` from the types of an optional body: it may be missing, but not be `null`.
fn describe_body(operation: &mut Value) {
    let Some(body) = operation.pointer_mut("/requestBody/content/application~1json/schema") else {
        return;
    };
    let meant = body["oneOf"].as_array().into_iter().flatten().find(|part| part["type"] != "null");
    if let Some(meant) = meant.cloned() {
        *body = meant;
    }
    if body["$ref"] == UNNEEDED
        && let Some(operation) = operation.as_object_mut()
    {
        operation.remove("requestBody");
    }
}

/// Removes unregistered formats (`uint` and similar; `minimum` expresses the same), and permits any fields in
/// an object without described ones, because some client generators would assume that it has none.
fn complete_schemas(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let is_unknown =
                |format: &Value| format.as_str().is_some_and(|name| name.starts_with("uint"));
            if fields.get("format").is_some_and(is_unknown) {
                fields.remove("format");
            }
            let is_free = fields.get("type").is_some_and(is_object)
                && !["properties", "additionalProperties"]
                    .iter()
                    .any(|key| fields.contains_key(*key));
            if is_free {
                fields.insert("additionalProperties".to_owned(), json!(true));
            }
            fields.values_mut().for_each(complete_schemas);
        }
        Value::Array(items) => items.iter_mut().for_each(complete_schemas),
        _ => {}
    }
}

fn is_object(kind: &Value) -> bool {
    kind == "object" || kind.as_array().is_some_and(|kinds| kinds.contains(&json!("object")))
}
