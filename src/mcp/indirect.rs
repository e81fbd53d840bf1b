//! The tools that find and call others, so that the list need not name every tool: `find_tools`,
//! `read_with` and `change_with`.

use std::sync::Arc;

use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::tool_calls::toolset::Subject;

pub const FIND_TOOLS: &str = "find_tools";
pub const READ_WITH: &str = "read_with";
pub const CHANGE_WITH: &str = "change_with";

pub fn tools() -> [Tool; 3] {
    let subjects = Subject::ALL.iter().map(|subject| subject.as_str()).collect::<Vec<_>>();
    let find = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "A few words; omitted: names only."},
            "subject": {"type": "string", "enum": subjects},
        },
        "additionalProperties": false,
    });
    let call = json!({
        "type": "object",
        "properties": {
            "tool": {"type": "string"},
            "arguments": {"type": "object", "description": "As find_tools describes them."},
            "api_key": {"type": "string"},
        },
        "required": ["tool"],
        "additionalProperties": false,
    });
    [
        tool(
            FIND_TOOLS,
            "Find tools",
            "Finds tools that this list leaves out, with their arguments: contacts, suppressions, \
             erasure, watch, receipts, proofs, webhooks, members, keys, billing, claims of hosts.",
            find,
            ToolAnnotations::from_raw(None, Some(true), None, None, Some(false)),
        ),
        tool(
            READ_WITH,
            "Read with a tool",
            "Calls a tool that only reads, by its name.",
            call.clone(),
            ToolAnnotations::from_raw(None, Some(true), None, None, Some(false)),
        ),
        tool(
            CHANGE_WITH,
            "Change with a tool",
            "Calls any tool by its name, also one that changes, deletes or sends.",
            call,
            ToolAnnotations::default(),
        ),
    ]
}

fn tool(
    name: &'static str,
    title: &str,
    description: &'static str,
    schema: Value,
    mut hints: ToolAnnotations,
) -> Tool {
    let schema: JsonObject = serde_json::from_value(schema).expect("the schema is an object");
    hints.title = Some(title.to_owned());
    Tool::new_with_raw(name, Some(description.into()), Arc::new(schema))
        .with_title(title)
        .with_annotations(hints)
}
