//! The schemas of tools, as short as possible.

use std::sync::Arc;

use rmcp::handler::server::common::{schema_for_input, schema_for_output};
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde_json::{Map, Value};

use crate::accounts::credentials::Accepts;

/// The schema of arguments of the type `T` and of the credentials beside them. It permits no others.
pub fn of_arguments<T: JsonSchema + 'static>(accepts: Accepts) -> Arc<JsonObject> {
    let schema = match accepts {
        Accepts::Nothing => schema_for_input::<T>(),
        Accepts::Key | Accepts::OptionalKey => schema_for_input::<Keyed<T>>(),
        Accepts::SignupToken => schema_for_input::<Tokened<T>>(),
        Accepts::SignupTokenOrKey => schema_for_input::<TokenedOrKeyed<T>>(),
        Accepts::OperatorKey => schema_for_input::<OperatorKeyed<T>>(),
    };
    let mut schema = schema.expect("the arguments are an object");
    let object = Arc::make_mut(&mut schema);
    object.insert("additionalProperties".to_owned(), Value::Bool(false));
    shorten(object, true);
    schema
}

/// The schema of answers of the type `T`.
pub fn of_output<T: JsonSchema + 'static>() -> Arc<JsonObject> {
    let mut schema = schema_for_output::<T>();
    shorten(Arc::make_mut(&mut schema), false);
    schema
}

// The following types only describe arguments.

/// Arguments and a key.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
struct Keyed<T> {
    #[schemars(flatten)]
    input: T,
    api_key: Option<String>,
}

/// Arguments and a signup token.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
struct Tokened<T> {
    #[schemars(flatten)]
    input: T,
    /// Of this account.
    signup_token: Option<String>,
}

/// Arguments and either of both; a token counts before a key.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
struct TokenedOrKeyed<T> {
    #[schemars(flatten)]
    input: T,
    /// This or `api_key`.
    signup_token: Option<String>,
    api_key: Option<String>,
}

/// Arguments, and the key of an operator who has one.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
struct OperatorKeyed<T> {
    #[schemars(flatten)]
    input: T,
    /// Of operators only: no mail is sent, and the answer has a key of the new account.
    api_key: Option<String>,
}

/// Removes from a schema what a model does not need: its dialect, line breaks, widths of numbers, and
/// that an argument may be null instead of omitted. The list of tools takes space in the context of
/// every model.
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
                    // The argument that uses an enum describes it.
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
