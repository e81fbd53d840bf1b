//! What is wrong with the parameters of a request whose method is known.

use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, ErrorCode, GetPromptRequestParams,
    InitializeRequestParams, PaginatedRequestParams, ReadResourceRequestParams, RequestId,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::error::FieldError;
use crate::types::json::shape::read_value;

/// Where the parameters stand in a message.
const PARAMS: &str = "params";

/// What is wrong with the parameters, which the library could not read; `None` for a method that there
/// is not.
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

/// A request, of which only what an error repeats is read.
#[derive(Deserialize)]
struct Envelope<'a> {
    id: RequestId,
    #[serde(rename = "method")]
    _method: String,
    #[serde(borrow)]
    params: &'a RawValue,
}

/// The error for a request whose parameters are not an object. JSON-RPC allows an array and the Model
/// Context Protocol does not; the library does not recognise such a request. `None` for every other
/// message.
pub fn answer(message: &[u8]) -> Option<Vec<u8>> {
    let Envelope { id, params, .. } = serde_json::from_slice(message).ok()?;
    if params.get().starts_with(['{', 'n']) {
        return None;
    }
    let error = json!({
        "code": ErrorCode::INVALID_PARAMS,
        "message": format!("{PARAMS}: must be an object"),
    });
    serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": id, "error": error})).ok()
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
    fn only_requests_whose_parameters_are_no_object_are_answered() {
        for params in [r#""list_plans""#, r#"["list_plans"]"#, "7", "true"] {
            let message = format!(r#"{{"id": "a", "method": "tools/call", "params": {params}}}"#);
            let answer: Value = serde_json::from_slice(&answer(message.as_bytes()).unwrap()).unwrap();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("a"), &json!(-32602)));
        }
        for message in [
            r#"{"id": 1, "method": "tools/call", "params": {}}"#,
            r#"{"id": 1, "method": "tools/call", "params": null}"#,
            r#"{"id": 1, "method": "tools/call"}"#,
            r#"{"method": "notifications/initialized", "params": []}"#,
            r#"{"id": 1, "params": []}"#,
            r#"[{"id": 1, "method": "tools/call", "params": []}]"#,
            "7",
        ] {
            assert!(answer(message.as_bytes()).is_none(), "{message}");
        }
    }

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
