//! The outcome of an input, in terms of both transports.

use serde_json::{Map, Value, json};

use crate::support::Answer;

/// An answer, without what differs between two services that are set up alike.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// 200 for every success.
    pub status: u16,
    /// The sentence or the list of a refusal, and what is said beside it.
    pub refusal: Value,
    /// Seconds.
    pub retry_after: Option<u64>,
    /// Of a success; null when it is no JSON.
    pub body: Value,
}

/// Fields that hold ids, secrets and addresses, or are made from them.
const VOLATILE: &[&str] = &[
    "account_id",
    "api_key",
    "button_snippet",
    "check_url",
    "consent_url",
    "endpoint_id",
    "entry",
    "event_id",
    "import_id",
    "key_prefix",
    "log_entry",
    "member_id",
    "noscript",
    "pixel_id",
    "policy_url",
    "prefix",
    "pixels",
    "public_page",
    "receipt_id",
    "report_id",
    "request_id",
    "salt",
    "secret",
    "sentences",
    "signature",
    "signup_token",
    "snippet",
    "tag_url",
    "test_pixel_id",
    "test_snippet",
    "tlog_proof",
    "token",
    "url",
    "verification_url",
    "visitor_id",
    "webhook_id",
];

impl Outcome {
    /// Of the HTTP API.
    pub fn of_http(answer: &Answer) -> Self {
        let body = serde_json::from_str::<Value>(&answer.text).unwrap_or_default();
        if (200..300).contains(&answer.status) {
            return Self::success(&without_next(body));
        }
        let retry_after = answer.header("retry-after").map(|seconds| seconds.parse().unwrap());
        Self::refusal(answer.status, &body, retry_after)
    }

    /// Of a tool, or of the tool server when it did not take the message.
    pub fn of_tool(answer: &Answer) -> Self {
        if answer.status != 200 {
            return Self::of_http(answer);
        }
        let result = answer.json()["result"].take();
        if result["isError"] != true {
            assert!(result["structuredContent"].is_object(), "{}", answer.text);
            return Self::success(&result["structuredContent"]);
        }
        let problem = result["content"][1]["text"].as_str().expect("a problem document");
        let problem: Value = serde_json::from_str(problem).unwrap();
        let status = problem["status"].as_u64().and_then(|status| status.try_into().ok());
        Self::refusal(status.unwrap(), &problem, problem["retry_after"].as_u64())
    }

    fn success(body: &Value) -> Self {
        Self { status: 200, refusal: Value::Null, retry_after: None, body: steady(body) }
    }

    fn refusal(status: u16, problem: &Value, retry_after: Option<u64>) -> Self {
        let [detail, errors] = ["detail", "errors"].map(|name| of_arguments(&problem[name]));
        let refusal = json!([detail, errors, problem["remaining"], problem["code"]]);
        Self { status, refusal, retry_after, body: Value::Null }
    }

    pub fn is_refusal(&self) -> bool {
        self.status >= 400
    }
}

/// A list without the address of its next page, which tools do not follow.
fn without_next(mut body: Value) -> Value {
    if let Some(fields) = body.as_object_mut() {
        fields.remove("next");
    }
    body
}

/// The errors of fields; their locations begin with `arguments` for both transports.
fn of_arguments(wrong: &Value) -> Value {
    let mut wrong = wrong.clone();
    for problem in wrong.as_array_mut().into_iter().flatten() {
        if let Some(root) = problem["loc"].get_mut(0) {
            assert!(["body", "query", "path", "arguments"].contains(&root.as_str().unwrap()));
            *root = json!("arguments");
        }
    }
    wrong
}

/// An answer's shape, and those of its values that do not differ between services.
fn steady(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(steady).collect(),
        Value::Object(fields) => {
            let steadied = fields.iter().map(|(name, value)| {
                let is_volatile = VOLATILE.contains(&name.as_str());
                let steadied = match value {
                    Value::String(_) if is_volatile => json!("…"),
                    // Null until the next round of the log, which each service has at its own time.
                    Value::Null | Value::Number(_) if name == "log_entry" => json!("…"),
                    Value::String(by) if name == "made_by" && by.starts_with("px_") => json!("…"),
                    Value::Array(ids) if is_volatile && ids.iter().all(Value::is_string) => {
                        ids.iter().map(|_| json!("…")).collect()
                    }
                    other => steady(other),
                };
                (name.clone(), steadied)
            });
            Value::Object(steadied.collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}
