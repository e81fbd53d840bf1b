//! What becomes of a tool call that is refused.

use rmcp::ErrorData;
use rmcp::handler::server::tool::IntoCallToolResult;
use rmcp::model::{CallToolResponse, CallToolResult, ContentBlock};

use crate::error::Error;
use crate::http::problem::{self, Problem};

/// An error as a tool's answer: the sentence, then the problem document of the HTTP API.
pub struct Refusal(Error);

impl<E: Into<Error>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl IntoCallToolResult for Refusal {
    fn into_call_tool_result(self) -> Result<CallToolResponse, ErrorData> {
        problem::log(&self.0);
        if let Error::Internal(_) = &self.0 {
            return Err(ErrorData::internal_error("internal error", None));
        }
        let document = Problem::new(&self.0, "").to_json();
        let content = vec![ContentBlock::text(self.0.to_string()), ContentBlock::text(document)];
        Ok(CallToolResult::error(content).into())
    }
}
