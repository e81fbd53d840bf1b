//! The header `Idempotency-Key` in the description ([`crate::http::once`]).

use serde_json::{Value, json};

use crate::http::once::{HEADER, is_repeatable};

pub fn add_to(document: &mut Value) {
    let paths = document["paths"].as_object_mut().into_iter().flatten();
    for (path, item) in paths.filter(|(path, _)| is_repeatable(path)) {
        // Lists are sent in pieces, which the key does not cover.
        let Some(operation) = item.get_mut("post").filter(|_| !path.ends_with("/import")) else {
            continue;
        };
        let parameter = json!({
            "name": HEADER,
            "in": "header",
            "required": false,
            "description": "A key of your own, such as a UUID: the same request with the same key gets the \
                first answer again for 24 hours. Another request with it is 422, a concurrent one 409.",
            "schema": {"type": "string", "minLength": 16, "maxLength": 255},
        });
        match operation["parameters"].as_array_mut() {
            Some(parameters) => parameters.push(parameter),
            None => operation["parameters"] = json!([parameter]),
        }
    }
}
