//! The description as OpenAPI 3.0, whose schemas are an earlier form of JSON Schema.

use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

pub fn of(json: &str) -> Result<String> {
    let mut document = serde_json::from_str::<Value>(json).map_err(Error::internal)?;
    document["openapi"] = json!("3.0.3");
    if let Some(parts) = document.as_object_mut() {
        parts.remove("webhooks");
        parts.remove("jsonSchemaDialect");
    }
    if let Some(licence) = document["info"]["license"].as_object_mut() {
        licence.remove("identifier");
    }
    if let Some(schemas) = document["components"]["schemas"].as_object_mut() {
        schemas.values_mut().for_each(schema);
    }
    schemas_in(&mut document["paths"]);
    Ok(document.to_string())
}

/// Converts every schema of operations. Examples may contain anything, so they stay unchanged.
fn schemas_in(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                match name.as_str() {
                    "schema" => schema(field),
                    "example" | "examples" => {}
                    _ => schemas_in(field),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(schemas_in),
        _ => {}
    }
}

fn schema(value: &mut Value) {
    let Some(fields) = value.as_object_mut() else { return };
    for name in ["propertyNames", "patternProperties", "contentMediaType", "contentEncoding"] {
        fields.remove(name);
    }
    if let Some(constant) = fields.remove("const") {
        fields.insert("enum".to_owned(), json!([constant]));
    }
    if let Some(Value::Array(examples)) = fields.remove("examples")
        && let Some(first) = examples.into_iter().next()
    {
        fields.insert("example".to_owned(), first);
    }
    bounds(fields);
    types(fields);
    without_null(fields);
    for name in ["properties"] {
        if let Some(Value::Object(properties)) = fields.get_mut(name) {
            properties.values_mut().for_each(schema);
        }
    }
    for name in ["items", "additionalProperties", "not"] {
        if let Some(inner) = fields.get_mut(name) {
            schema(inner);
        }
    }
    for name in ["oneOf", "anyOf", "allOf"] {
        if let Some(Value::Array(parts)) = fields.get_mut(name) {
            parts.iter_mut().for_each(schema);
        }
    }
    if fields.contains_key("$ref") && fields.len() > 1 {
        let reference = fields.remove("$ref").unwrap_or_default();
        fields.insert("allOf".to_owned(), json!([{"$ref": reference}]));
    }
}

/// `exclusiveMinimum` is a number in 3.1, and a flag beside `minimum` in 3.0.
fn bounds(fields: &mut Map<String, Value>) {
    for (name, bound) in [("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")] {
        if let Some(number) = fields.get(name).filter(|value| value.is_number()).cloned() {
            fields.insert(bound.to_owned(), number);
            fields.insert(name.to_owned(), json!(true));
        }
    }
}

/// A list of types becomes one type or `anyOf`. The type `null` becomes `nullable`.
fn types(fields: &mut Map<String, Value>) {
    match fields.get("type").cloned() {
        Some(Value::Array(types)) => {
            let mut others =
                types.iter().filter(|kind| *kind != "null").cloned().collect::<Vec<_>>();
            if others.len() < types.len() {
                fields.insert("nullable".to_owned(), json!(true));
            }
            match others.len() {
                1 => fields.insert("type".to_owned(), others.remove(0)),
                _ => {
                    fields.remove("type");
                    let choice = others.into_iter().map(|kind| json!({"type": kind}));
                    fields.insert("anyOf".to_owned(), choice.collect())
                }
            };
        }
        Some(Value::String(kind)) if kind == "null" => {
            fields.remove("type");
            fields.insert("nullable".to_owned(), json!(true));
        }
        _ => {}
    }
}

fn without_null(fields: &mut Map<String, Value>) {
    for name in ["oneOf", "anyOf"] {
        let Some(Value::Array(parts)) = fields.get_mut(name) else { continue };
        let all = parts.len();
        parts.retain(|part| part["type"] != "null");
        if parts.len() == all {
            continue;
        }
        let only = if parts.len() == 1 { parts.pop() } else { None };
        fields.insert("nullable".to_owned(), json!(true));
        if let Some(only) = only {
            fields.remove(name);
            fields.insert("allOf".to_owned(), json!([only]));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn what_3_0_does_not_know_is_said_in_its_words() {
        for (newer, older) in [
            (json!({"type": ["string", "null"]}), json!({"type": "string", "nullable": true})),
            (json!({"const": "a"}), json!({"enum": ["a"]})),
            (
                json!({"oneOf": [{"type": "null"}, {"$ref": "#/x"}]}),
                json!({"allOf": [{"$ref": "#/x"}], "nullable": true}),
            ),
            (
                json!({"type": ["integer", "string"]}),
                json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
            ),
            (
                json!({"type": "number", "exclusiveMinimum": 0}),
                json!({"type": "number", "minimum": 0, "exclusiveMinimum": true}),
            ),
            (
                json!({"$ref": "#/x", "description": "d"}),
                json!({"allOf": [{"$ref": "#/x"}], "description": "d"}),
            ),
            (
                json!({"properties": {"a": {"items": {"type": ["null", "integer"]}}}}),
                json!({"properties": {"a": {"items": {"type": "integer", "nullable": true}}}}),
            ),
        ] {
            let mut schema = newer;
            super::schema(&mut schema);
            assert_eq!(schema, older);
        }
    }
}
