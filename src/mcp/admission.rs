//! Refusals of a call before its tool runs.

use rmcp::ErrorData;
use rmcp::model::Tool;
use serde_json::{Map, Value};

use super::catalogue::CATALOGUE;
use super::indirect;
use crate::error::{Error, FieldError, Result};
use crate::tool_calls::call::Sender;
use crate::tool_calls::message::Arguments;
use crate::tool_calls::toolset::Toolset;
use crate::types::json::shape::nearest;

/// Maximum number of arguments that a refusal names, and of characters of each name.
const MOST_NAMED: usize = 10;
const MOST_OF_NAME: usize = 64;

/// Refuses tools that are not offered at this address of the tool server, and arguments that the tool
/// does not have.
pub fn admit(tool: Option<&Tool>, sender: &Sender) -> Result<()> {
    let changes = CATALOGUE.find(&sender.call.name).is_some_and(|entry| !entry.is_read_only());
    if sender.toolset == Toolset::Reading && changes {
        return Err(Error::OnlyReadingTools);
    }
    let is_indirect = [indirect::READ_WITH, indirect::CHANGE_WITH].contains(&&*sender.call.name);
    match tool.filter(|_| !is_indirect) {
        Some(tool) => admit_arguments(tool, &sender.call.arguments),
        None => Ok(()),
    }
}

pub fn no_tool() -> ErrorData {
    ErrorData::invalid_params("tool not found", None)
}

/// Refuses unknown arguments, which the tool would ignore: a call with a misspelt `dry_run` must not
/// publish. Also refuses arguments that are too large, as the routes do.
fn admit_arguments(tool: &Tool, arguments: &Arguments) -> Result<()> {
    let known = tool.input_schema.get("properties").and_then(Value::as_object);
    let known = known.into_iter().flat_map(Map::keys).map(String::as_str).collect::<Vec<_>>();
    let foreign = arguments
        .names
        .iter()
        .filter(|name| !known.contains(&name.as_str()))
        .take(MOST_NAMED)
        .map(|name| {
            let msg = match nearest(name, &known) {
                Some(meant) => format!("no such argument, did you mean `{meant}`?"),
                None => "no such argument".to_owned(),
            };
            let name = name.chars().take(MOST_OF_NAME).collect::<String>();
            FieldError::new(&["arguments", &name], msg, "unknown_field")
        })
        .collect::<Vec<_>>();
    if !foreign.is_empty() {
        return Err(Error::Validation(foreign));
    }
    match arguments.as_bytes().len() > most_bytes(&tool.name) {
        true => Err(Error::BodyTooLarge),
        false => Ok(()),
    }
}

/// The maximum size of a tool's arguments: that of the body of its HTTP route, and of what the tool adds.
fn most_bytes(tool: &str) -> usize {
    const KIB: usize = 1024;
    match tool {
        "verify_proof" => 4_096 * KIB,
        "store_contacts" => 2_304 * KIB,
        _ => 64 * KIB,
    }
}
