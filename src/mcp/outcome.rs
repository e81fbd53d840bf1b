//! What becomes of a tool call that is refused.

use rmcp::ErrorData;
use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use serde::Serialize;

use crate::error::{Error, FieldError};
use crate::http::problem::{self, Document};

/// An error as a tool's answer: the sentence, then the problem document of the HTTP API, with the
/// seconds of `Retry-After` as `retry_after`.
pub struct Refusal(Error);

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoCallToolResult for Refusal {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        problem::log(&self.0);
        let error = match self.0 {
            Error::Internal(_) => return Err(ErrorData::internal_error("internal error", None)),
            Error::Validation(problems) => {
                Error::Validation(problems.into_iter().map(of_arguments).collect())
            }
            Error::Naming { refusal, fields } => {
                Error::Naming { refusal, fields: fields.into_iter().map(of_arguments).collect() }
            }
            other => other,
        };
        let document =
            RefusedCall { problem: Document::new(&error, ""), retry_after: error.retry_after() };
        let sentence = ContentBlock::text(sentence(&error));
        Ok(CallToolResult::error(vec![sentence, ContentBlock::json(document)?]).into())
    }
}

/// What the HTTP API says in body and header.
#[derive(Serialize)]
struct RefusedCall<'a> {
    #[serde(flatten)]
    problem: Document<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

/// A tool has neither body nor query.
fn of_arguments(mut problem: FieldError) -> FieldError {
    if let Some(root) = problem.loc.first_mut() {
        "arguments".clone_into(root);
    }
    problem
}

/// What an error says, and of which arguments.
pub fn sentence(error: &Error) -> String {
    match error {
        Error::Validation(fields) => listed(fields),
        Error::Naming { refusal, fields } => format!("{refusal} ({})", listed(fields)),
        other => other.to_string(),
    }
}

fn listed(fields: &[FieldError]) -> String {
    let one = |field: &FieldError| match field.loc.get(1..).filter(|place| !place.is_empty()) {
        Some(place) => format!("{}: {}", place.join("."), field.msg),
        None => field.msg.clone(),
    };
    fields.iter().map(one).collect::<Vec<_>>().join("; ")
}
