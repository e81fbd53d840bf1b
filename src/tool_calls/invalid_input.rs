use rmcp::model::{
    CallToolRequestParams, CompleteRequestParams, ErrorCode, GetPromptRequestParams,
    InitializeRequestParams, PaginatedRequestParams, ReadResourceRequestParams, RequestId,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::FieldError;
use crate::types::json::shape::read_value;

/// The member of a message that holds the parameters.
const PARAMS: &str = "params";

#[derive(Deserialize)]
struct Request {
    id: RequestId,
    method: String,
    params: Option<Value>,
}

/// The error for a request with parameters that do not fit its method; `None` for every other message. The
/// library reports such a request as an unknown method, rejects the whole message if the parameters are not
/// an object, and ignores invalid parameters that are optional.
pub fn answer(message: &[u8]) -> Option<Vec<u8>> {
    let Request { id, method, params } = serde_json::from_slice(message).ok()?;
    let error =
        json!({"code": ErrorCode::INVALID_PARAMS, "message": of(&method, params.as_ref())?});
    serde_json::to_vec(&json!({"jsonrpc": "2.0", "id": id, "error": error})).ok()
}

/// Describes what is wrong with the parameters of a request.
fn of(method: &str, params: Option<&Value>) -> Option<String> {
    let params = params.filter(|params| !params.is_null());
    if params.is_some_and(|params| !params.is_object()) {
        return Some(format!("{PARAMS}: must be an object"));
    }
    match method {
        "tools/call" => required::<CallToolRequestParams>(params),
        "resources/read" => required::<ReadResourceRequestParams>(params),
        "prompts/get" => required::<GetPromptRequestParams>(params),
        "completion/complete" => required::<CompleteRequestParams>(params),
        "initialize" => required::<InitializeRequestParams>(params),
        "tools/list" | "prompts/list" | "resources/list" | "resources/templates/list" => {
            params.and_then(mismatch::<PaginatedRequestParams>)
        }
        _ => None,
    }
}

fn required<T: DeserializeOwned>(params: Option<&Value>) -> Option<String> {
    match params {
        Some(params) => mismatch::<T>(params),
        None => Some(format!("{PARAMS}: field required")),
    }
}

fn mismatch<T: DeserializeOwned>(params: &Value) -> Option<String> {
    let FieldError { loc, msg, .. } = read_value::<T>(params, PARAMS).err()?;
    Some(format!("{}: {msg}", loc.join(".")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_requests_whose_parameters_are_no_object_are_answered() {
        for params in [r#""list_plans""#, r#"["list_plans"]"#, "7", "true"] {
            let message = format!(r#"{{"id": "a", "method": "tools/call", "params": {params}}}"#);
            let answer: Value =
                serde_json::from_slice(&answer(message.as_bytes()).unwrap()).unwrap();
            assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!("a"), &json!(-32602)));
        }
        for message in [
            r#"{"id": 1, "method": "tools/call", "params": {"name": "x"}}"#,
            r#"{"id": 1, "method": "tools/list", "params": null}"#,
            r#"{"id": 1, "method": "tools/list"}"#,
            r#"{"id": 1, "method": "no/such/method", "params": {}}"#,
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
