use std::borrow::Cow;
use std::cmp::Reverse;
use std::sync::Arc;

use rmcp::model::JsonObject;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::catalogue::{CATALOGUE, Entry};
use super::indirect::{CHANGE_WITH, READ_WITH};
use crate::accounts::scope::Scope;
use crate::error::{Error, FieldError, Result};
use crate::tool_calls::message::{Arguments, Call};
use crate::tool_calls::toolset::Subject;
use crate::types::json::shape::{nearest, read_fields};

/// Maximum number of tools that an answer describes with their arguments.
const MOST_DESCRIBED: usize = 5;
/// Maximum bytes of a call besides the arguments of the named tool.
const MOST_BESIDE: usize = 64 * 1024;

/// Replaces a call of `read_with` or `change_with` by the call that it contains. Returns other calls unchanged.
pub fn resolve(call: Call) -> Result<Call> {
    if ![READ_WITH, CHANGE_WITH].contains(&&*call.name) {
        return Ok(call);
    }
    let target = Target::read(&call.arguments)?;
    let Some(entry) = CATALOGUE.find(&target.tool) else {
        return Err(wrong("tool", no_such_tool(&target.tool)));
    };
    if call.name == READ_WITH && !entry.is_read_only() {
        return Err(wrong("tool", "is not a tool that only reads; call it with change_with"));
    }
    let arguments = call.arguments.nested(target.arguments)?;
    let beside = call.arguments.as_bytes().len().saturating_sub(arguments.as_bytes().len());
    if beside > MOST_BESIDE {
        return Err(Error::BodyTooLarge);
    }
    Ok(Call { name: entry.tool.name.to_string(), arguments })
}

#[derive(Deserialize)]
struct Target<'a> {
    #[serde(borrow)]
    tool: Cow<'a, str>,
    #[serde(borrow, default)]
    arguments: Option<&'a RawValue>,
}

impl<'a> Target<'a> {
    fn read(arguments: &'a Arguments) -> Result<Self> {
        let known = ["tool", "arguments", "api_key", "signup_token"];
        if let Some(foreign) = arguments.names.iter().find(|name| !known.contains(&name.as_str())) {
            let msg = match nearest(foreign, &known) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "the tool's own arguments go into `arguments`".to_owned(),
            };
            return Err(wrong("arguments", msg));
        }
        serde_json::from_slice(arguments.as_bytes()).map_err(|_| wrong("tool", "field required"))
    }
}

fn no_such_tool(name: &str) -> String {
    let names = CATALOGUE.entries(None).map(|entry| &*entry.tool.name).collect::<Vec<_>>();
    match nearest(name, &names) {
        Some(meant) => format!("no such tool, did you mean `{meant}`?"),
        None => "no such tool; find_tools finds those that there are".to_owned(),
    }
}

fn wrong(name: &str, msg: impl Into<String>) -> Error {
    Error::Validation(vec![FieldError::new(&["arguments", name], msg, "value_error")])
}

#[derive(Deserialize)]
struct Search {
    query: Option<String>,
    subject: Option<Subject>,
}

#[derive(Serialize)]
pub struct Found {
    tools: Vec<FoundTool>,
}

#[derive(Serialize)]
struct FoundTool {
    name: Cow<'static, str>,
    /// `read_with` or `change_with`.
    call_with: &'static str,
    description: Option<Cow<'static, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<Arc<JsonObject>>,
}

impl FoundTool {
    fn new(entry: &Entry, is_described: bool) -> Self {
        Self {
            name: entry.tool.name.clone(),
            call_with: if entry.is_read_only() { READ_WITH } else { CHANGE_WITH },
            description: entry.tool.description.clone(),
            arguments: is_described.then(|| entry.tool.input_schema.clone()),
        }
    }
}

pub fn find(arguments: &Arguments, scope: Option<Scope>) -> Result<Found> {
    let tree = serde_json::from_slice(arguments.as_bytes()).map_err(Error::internal)?;
    let search: Search =
        read_fields(&tree, "arguments").map_err(|wrong| Error::Validation(vec![wrong]))?;
    let of_subject = |entry: &&Entry| search.subject.is_none_or(|subject| entry.subject == subject);
    let entries = CATALOGUE.entries(scope).filter(of_subject);
    let words = words_of(search.query.as_deref().unwrap_or_default());
    if words.is_empty() {
        return Ok(Found { tools: entries.map(|entry| FoundTool::new(entry, false)).collect() });
    }
    let mut scored = entries.map(|entry| (score(entry, &words), entry)).collect::<Vec<_>>();
    scored.retain(|(score, _)| *score > 0);
    scored.sort_by_key(|(score, _)| Reverse(*score));
    scored.truncate(MOST_DESCRIBED);
    Ok(Found { tools: scored.into_iter().map(|(_, entry)| FoundTool::new(entry, true)).collect() })
}

fn score(entry: &Entry, words: &[String]) -> usize {
    let of = |text: &str, weight: usize| {
        let there = words_of(text);
        words.iter().filter(|word| there.contains(word)).count() * weight
    };
    of(&entry.tool.name, 4)
        + of(entry.tool.title.as_deref().unwrap_or_default(), 2)
        + of(entry.tool.description.as_deref().unwrap_or_default(), 1)
        + of(entry.subject.as_str(), 1)
}

fn words_of(text: &str) -> Vec<String> {
    let words = text.split(|character: char| !character.is_alphanumeric());
    let words = words.map(str::to_lowercase).filter(|word| word.len() > 2);
    words.map(|word| word.strip_suffix('s').unwrap_or(&word).to_owned()).collect()
}
