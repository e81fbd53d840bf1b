//! Describes the header `Idempotency-Key` and its refusals ([`crate::http::idempotency`]).

use serde_json::{Value, json};

use crate::http::idempotency::{HEADER, is_repeatable};

pub fn add_to(document: &mut Value) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (_, item) in paths.filter(|(path, _)| is_repeatable(path)) {
        let Some(operation) = item.get_mut("post") else { continue };
        let parameter = json!({
            "name": HEADER,
            "in": "header",
            "required": false,
            "description": "A key of your own, such as a UUID (at least 16 characters without a credential): \
                the same request with the same key gets the first answer again for 24 hours. \
                Another request with it is 422, a concurrent one 409.",
            "schema": {"type": "string", "minLength": 1, "maxLength": 255},
        });
        match operation["parameters"].as_array_mut() {
            Some(parameters) => parameters.push(parameter),
            None => operation["parameters"] = json!([parameter]),
        }
        for (status, refusal) in REFUSALS {
            add_refusal(&mut operation["responses"][status], refusal);
        }
    }
}

const REFUSALS: [(&str, &str); 3] = [
    ("400", "the key is malformed"),
    ("409", "a request with the key is being answered"),
    ("422", "the key was used for another request"),
];

/// Adds a problem document to the responses of a status, which may already have another schema.
fn add_refusal(response: &mut Value, refusal: &str) {
    let problem = json!({"$ref": "#/components/schemas/Problem"});
    let content = |schema| json!({"application/problem+json": {"schema": schema}});
    if response.is_null() {
        *response =
            json!({"description": format!("{HEADER}: {refusal}"), "content": content(problem)});
        return;
    }
    let schema = &mut response["content"]["application/problem+json"]["schema"];
    if *schema != problem {
        *schema = json!({"anyOf": [schema.take(), problem]});
    }
}
