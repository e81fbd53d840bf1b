//! The tools, by the feature that they serve.
//!
//! A tool reads its arguments, finds the caller and calls the function that the HTTP route calls.
//! Its description is the doc comment: what an agent needs to choose it and to go on from it.

mod account;
mod accounts;
mod billing;
mod consent;
mod contacts;
mod erasure;
mod keys;
mod pixels;
mod suppressions;
mod visitors;
mod webhooks;

use std::sync::Arc;

use rmcp::handler::server::router::tool::ToolRouter;
use serde_json::{Map, Value};

use super::call::{Keyed, Parameters};
use super::tool_server::ToolServer;

impl ToolServer {
    /// All tools. None takes arguments that it does not name.
    pub(super) fn tools() -> ToolRouter<Self> {
        let mut tools = Self::account_tools()
            + Self::own_account_tools()
            + Self::key_tools()
            + Self::billing_tools()
            + Self::pixel_tools()
            + Self::consent_tools()
            + Self::visitor_tools()
            + Self::contact_tools()
            + Self::suppression_tools()
            + Self::erasure_tools()
            + Self::webhook_tools();
        for tool in tools.map.values_mut() {
            let schema = Arc::make_mut(&mut tool.attr.input_schema);
            schema.insert("additionalProperties".to_owned(), Value::Bool(false));
            shorten(schema, true);
            if let Some(schema) = &mut tool.attr.output_schema {
                shorten(Arc::make_mut(schema), false);
            }
            if let Some(hints) = &mut tool.attr.annotations {
                // What a client takes for granted.
                hints.read_only_hint = hints.read_only_hint.filter(|is_so| *is_so);
                hints.destructive_hint = hints.destructive_hint.filter(|is_so| !*is_so);
                hints.idempotent_hint = hints.idempotent_hint.filter(|is_so| *is_so);
                hints.open_world_hint = hints.open_world_hint.filter(|is_so| !*is_so);
            }
            let text = tool.attr.description.take();
            tool.attr.description = text.map(|text| text.replace('\n', " ").into());
        }
        tools
    }
}

/// Leaves out of a schema what tells a model nothing: its dialect, line breaks, widths of numbers,
/// and of arguments that null stands for one that is left out. Every model reads the list of tools
/// before it does anything.
fn shorten(schema: &mut Map<String, Value>, of_arguments: bool) {
    schema.remove("$schema");
    if schema.get("format").and_then(Value::as_str).is_some_and(|format| format.contains("int")) {
        schema.remove("format");
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    if of_arguments {
        without_null(schema);
    }
    for (name, value) in schema.iter_mut() {
        match value {
            Value::Object(inner) if matches!(&**name, "properties" | "$defs") => {
                inner.values_mut().filter_map(Value::as_object_mut).for_each(|inner| {
                    shorten(inner, of_arguments);
                    // Of a list of words, who uses it says what it is for.
                    if of_arguments && name == "$defs" && inner.contains_key("enum") {
                        inner.remove("description");
                    }
                });
            }
            Value::Object(inner) => shorten(inner, of_arguments),
            _ => {}
        }
    }
}

fn without_null(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = &types[..] {
            let kind = kind.clone();
            schema.insert("type".to_owned(), kind);
        }
    }
    let Some(Value::Array(mut choices)) = schema.remove("anyOf") else { return };
    choices.retain(|choice| choice["type"] != "null");
    match (choices.len(), choices.pop()) {
        (1, Some(Value::Object(only))) => schema.extend(only),
        (_, last) => {
            choices.extend(last);
            schema.insert("anyOf".to_owned(), Value::Array(choices));
        }
    }
}
