//! What becomes of a tool call that is refused.

use rmcp::ErrorData;
use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};
use serde::Serialize;

use crate::error::{Error, FieldError};
use crate::http::problem::{self, Problem};

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
            other => other,
        };
        let document =
            RefusedCall { problem: Problem::new(&error, ""), retry_after: error.retry_after() };
        let sentence = ContentBlock::text(sentence(&error));
        Ok(CallToolResult::error(vec![sentence, ContentBlock::json(document)?]).into())
    }
}

/// What the HTTP API says in body and header.
#[derive(Serialize)]
struct RefusedCall<'a> {
    #[serde(flatten)]
    problem: Problem<'a>,
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

fn sentence(error: &Error) -> String {
    let Error::Validation(problems) = error else { return error.to_string() };
    let one = |problem: &FieldError| match problem.loc.get(1..).filter(|place| !place.is_empty()) {
        Some(place) => format!("{}: {}", place.join("."), problem.msg),
        None => problem.msg.clone(),
    };
    problems.iter().map(one).collect::<Vec<_>>().join("; ")
}
