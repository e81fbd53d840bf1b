use std::borrow::Cow;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, FieldError};
use crate::http::problem::{self, Document};
use crate::http::request_id::RequestId;

/// A placeholder for structured content, replaced by the text of the result. No result is a string.
const AS_TEXT: &str = "as the text says";
const STRUCTURED: &str = r#""structuredContent":"as the text says""#;

/// The result of a tool, as JSON. The library would parse it into a tree, whose numbers have 64 bits;
/// here the text is kept as it is.
pub fn answer(output: &impl Serialize) -> Result<CallToolResponse, ErrorData> {
    let text = serde_json::to_string(output)
        .map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
    let mut result = CallToolResult::structured(Value::String(AS_TEXT.to_owned()));
    result.content = vec![ContentBlock::text(text)];
    Ok(result.into())
}

/// Replaces the placeholder in a message of the library by the result of the tool.
pub fn with_structured_content(message: Vec<u8>) -> Vec<u8> {
    // Inside a string the quotes would be escaped, so this match is the member itself.
    let found = std::str::from_utf8(&message).ok().and_then(|text| text.find(STRUCTURED));
    let Some(start) = found else { return message };
    let Ok(Answered { result: Content { content: [Text { text }] } }) =
        serde_json::from_slice(&message)
    else {
        return message;
    };
    let value = start + STRUCTURED.len() - AS_TEXT.len() - 2;
    [&message[..value], text.as_bytes(), &message[start + STRUCTURED.len()..]].concat()
}

/// A message that contains the result of a tool call.
#[derive(Deserialize)]
struct Answered<'a> {
    #[serde(borrow)]
    result: Content<'a>,
}

#[derive(Deserialize)]
struct Content<'a> {
    #[serde(borrow)]
    content: [Text<'a>; 1],
}

#[derive(Deserialize)]
struct Text<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// The result of a refused call: the sentence, then the problem document of the HTTP API, with the
/// seconds of `Retry-After` as `retry_after`.
pub fn refusal(
    error: Error,
    base_url: &str,
    request_id: &RequestId,
) -> Result<CallToolResponse, ErrorData> {
    problem::log(&error);
    let error = match error {
        Error::Internal(_) => return Err(ErrorData::internal_error("internal error", None)),
        Error::Validation(problems) => {
            Error::Validation(problems.into_iter().map(of_arguments).collect())
        }
        Error::Naming { refusal, fields } => {
            Error::Naming { refusal, fields: fields.into_iter().map(of_arguments).collect() }
        }
        other => other,
    };
    let problem = Document::new(&error, base_url, request_id.as_str());
    let document = RefusedCall { problem, retry_after: error.retry_after() };
    let sentence = ContentBlock::text(sentence(&error));
    Ok(CallToolResult::error(vec![sentence, ContentBlock::json(document)?]).into())
}

/// The body and the headers of a refusal of the HTTP API.
#[derive(Serialize)]
struct RefusedCall<'a> {
    #[serde(flatten)]
    problem: Document<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

/// Replaces `body` or `query` in the location by `arguments`, because a tool has neither.
fn of_arguments(mut problem: FieldError) -> FieldError {
    if let Some(root) = problem.loc.first_mut() {
        "arguments".clone_into(root);
    }
    problem
}

pub fn sentence(error: &Error) -> String {
    match error {
        Error::Validation(fields) => listed(fields),
        Error::Naming { refusal, fields } => format!("{refusal} ({})", listed(fields)),
        other => other.to_string(),
    }
}

fn listed(fields: &[FieldError]) -> String {
    let one = |field: &FieldError| match field.loc.get(1..).filter(|location| !location.is_empty())
    {
        Some(location) => format!("{}: {}", location.join("."), field.msg),
        None => field.msg.clone(),
    };
    fields.iter().map(one).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn message_of(answer: &str) -> String {
        #[derive(Serialize)]
        struct Answer {
            answer: Box<RawValue>,
        }
        let answer = Answer { answer: RawValue::from_string(answer.to_owned()).unwrap() };
        let Ok(CallToolResponse::Complete(result)) = super::answer(&answer) else {
            panic!("a complete answer")
        };
        let message = serde_json::json!({"jsonrpc": "2.0", "id": 1, "result": result});
        String::from_utf8(with_structured_content(message.to_string().into_bytes())).unwrap()
    }

    #[test]
    fn an_answer_is_passed_on_as_it_was_written() {
        for answer in [
            "18446744073709551616",
            "[1E2,-0,1e-400,0.10]",
            r#"{"b":1,"a":"\"\u00e9\n"}"#,
            r#""\"structuredContent\":\"as the text says\"""#,
        ] {
            let message = message_of(answer);
            let structured = format!(r#""structuredContent":{{"answer":{answer}}}"#);
            assert!(message.contains(&structured), "{message}");
            let escaped = serde_json::to_string(&format!(r#"{{"answer":{answer}}}"#)).unwrap();
            assert!(message.contains(&format!(r#""text":{escaped}"#)), "{message}");
            assert!(serde_json::from_str::<Value>(&message).is_ok(), "{message}");
        }
    }

    #[test]
    fn other_messages_are_unchanged() {
        for message in ["", "{}", r#"{"result":{"tools":[]}}"#, "\u{fffd}"] {
            assert_eq!(with_structured_content(message.into()), message.as_bytes());
        }
    }
}
