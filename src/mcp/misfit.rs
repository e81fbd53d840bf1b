//! Errors in the parameters of a request whose method is known.

use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, GetPromptRequestParams, InitializeRequestParams,
    PaginatedRequestParams, ReadResourceRequestParams,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::FieldError;
use crate::types::json::shape::read_value;

/// The member of a message that holds the parameters.
const PARAMS: &str = "params";

/// Describes what is wrong with parameters that the library could not parse; `None` for an unknown
/// method.
pub fn of(method: &str, params: Option<&Value>) -> Option<String> {
    let read = match method {
        "tools/call" => wrong::<CallToolRequestParams>,
        "resources/read" => wrong::<ReadResourceRequestParams>,
        "prompts/get" => wrong::<GetPromptRequestParams>,
        "completion/complete" => wrong::<CompleteRequestParams>,
        "initialize" => wrong::<InitializeRequestParams>,
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            wrong::<PaginatedRequestParams>
        }
        _ => return None,
    };
    Some(read(params))
}

fn wrong<T: DeserializeOwned>(params: Option<&Value>) -> String {
    let Some(params) = params.filter(|params| !params.is_null()) else {
        return format!("{PARAMS}: field required");
    };
    if !params.is_object() {
        return format!("{PARAMS}: must be an object");
    }
    let found = read_value::<T>(params, PARAMS).err();
    let FieldError { loc, msg, .. } =
        found.unwrap_or_else(|| FieldError::new(&[PARAMS], "are not valid here", "value_error"));
    format!("{}: {msg}", loc.join("."))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_parameter_that_does_not_fit_is_named() {
        for (method, params, said) in [
            ("tools/call", json!({"arguments": {}}), "params.name: field required"),
            ("tools/call", json!({"name": 7}), "params.name: must be a string"),
            (
                "tools/call",
                json!({"name": "x", "arguments": "{}"}),
                "params.arguments: must be an object",
            ),
            (
                "tools/call",
                json!({"name": "x", "arguments": [1]}),
                "params.arguments: must be an object",
            ),
            ("tools/call", json!(["x"]), "params: must be an object"),
            ("tools/call", Value::Null, "params: field required"),
            ("resources/read", json!({}), "params.uri: field required"),
            ("prompts/get", json!({"name": null}), "params.name: must be a string"),
            ("tools/list", json!({"cursor": 7}), "params.cursor: must be a string"),
            ("initialize", json!({}), "params.protocolVersion: field required"),
        ] {
            assert_eq!(of(method, Some(&params)).as_deref(), Some(said), "{method} {params}");
        }
        assert_eq!(of("tools/call", None).as_deref(), Some("params: field required"));
        for method in ["tools/calls", "TOOLS/CALL", "", "tools"] {
            assert_eq!(of(method, None), None, "{method}");
        }
    }
}
