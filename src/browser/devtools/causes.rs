use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The script or document, and the line in it, that caused a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Initiator {
    pub url: String,
    pub line: u64,
}

/// The protocol's resource type for requests of no other type.
pub const OTHER: &str = "Other";

/// The DevTools description of one request.
#[derive(Clone, Debug)]
pub struct Cause {
    /// The protocol's resource type, such as `Script`.
    pub resource: String,
    /// Requested by `<link rel="preload">`.
    pub is_preload: bool,
    /// The request follows a redirect.
    pub is_redirect: bool,
    pub initiator: Option<Initiator>,
}

impl Cause {
    /// Reads the parameters of `Network.requestWillBeSent`.
    pub fn of(params: &Value) -> Self {
        Self {
            resource: params["type"].as_str().unwrap_or(OTHER).to_owned(),
            is_preload: params["request"]["isLinkPreload"].as_bool().unwrap_or(false),
            is_redirect: params["redirectResponse"].is_object(),
            initiator: initiator(&params["initiator"]),
        }
    }
}

/// The innermost script with an address, or the document whose parser found the element.
fn initiator(value: &Value) -> Option<Initiator> {
    let mut stack = &value["stack"];
    while stack.is_object() {
        let frames = stack["callFrames"].as_array();
        let named = frames.into_iter().flatten().find_map(|frame| located(frame, "lineNumber"));
        if named.is_some() {
            return named;
        }
        stack = &stack["parent"];
    }
    located(value, "lineNumber")
}

fn located(value: &Value, line: &str) -> Option<Initiator> {
    let url = value["url"].as_str().filter(|url| !url.is_empty())?;
    let line = value[line].as_f64().filter(|line| *line >= 0.0).unwrap_or(0.0);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a small number")]
    Some(Initiator { url: url.chars().take(2000).collect(), line: line as u64 + 1 })
}
