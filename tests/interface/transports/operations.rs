//! Requests of both transports for an input, derived from the service's own descriptions.

use reqwest::{Method, RequestBuilder};
use serde_json::{Map, Value, json};

use super::input::Input;
use super::world::{Names, World, filled};
use crate::support::tools::{message, post};

/// A capability that has both transports.
pub struct Operation {
    pub name: String,
    pub method: Method,
    /// With its parameters in braces.
    pub path: String,
    pub in_path: Vec<String>,
    pub in_query: Vec<String>,
    pub in_body: Vec<String>,
    /// Arguments of the tool that are no credentials, and those among them that it needs.
    pub fields: Vec<String>,
    pub required: Vec<String>,
    /// Those that are whole numbers, and those that are true or false.
    pub numbers: Vec<String>,
    pub booleans: Vec<String>,
    pub takes_key: bool,
    pub takes_token: bool,
    /// Whether the body is a form, as on the pages that links of mails lead to.
    pub is_form: bool,
}

/// Arguments that only a tool has, with the reason.
const OF_TOOLS: &[(&str, &str, &str)] = &[
    ("configure_consent", "dry_run", "the agreed HTTP operation publishes"),
    ("read_consent_log", "detail", "the HTTP operation always answers in full"),
    ("read_consent_stats", "detail", "the HTTP operation always answers in full"),
];

/// Arguments with another name than their parameter, with the reason.
const RENAMED: &[(&str, &str, &str)] =
    &[("verification_url", "token", "a tool takes the whole link, which has the token in it")];

fn texts(values: &Value) -> Vec<String> {
    let values = values.as_array().into_iter().flatten();
    values.filter_map(|value| value.as_str().map(str::to_owned)).collect()
}

fn names_of(object: &Value) -> Vec<String> {
    object.as_object().into_iter().flatten().map(|(name, _)| name.clone()).collect()
}

/// The schema that a reference in the description names.
fn followed<'a>(description: &'a Value, schema: &'a Value) -> &'a Value {
    let choices = schema["oneOf"].as_array().into_iter().flatten();
    let schema =
        choices.chain([schema]).find(|schema| schema["$ref"].is_string()).unwrap_or(schema);
    match schema["$ref"].as_str().and_then(|pointer| pointer.strip_prefix('#')) {
        Some(pointer) => description.pointer(pointer).expect("what is referred to is there"),
        None => schema,
    }
}

impl Operation {
    /// The operation of a tool, if the description has one of its name.
    pub fn of(description: &Value, tool: &Value) -> Option<Self> {
        let name = tool["name"].as_str()?.to_owned();
        let paths = description["paths"].as_object()?.iter();
        let mut all = paths.flat_map(|(path, item)| {
            let item = item.as_object().into_iter().flatten();
            item.map(move |(method, operation)| (path, method, operation))
        });
        let (path, method, operation) =
            all.find(|(_, _, operation)| operation["operationId"] == name.as_str())?;
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let names_in = |location: &str| {
            let found = parameters.clone().filter(|parameter| parameter["in"] == location);
            found.map(|parameter| parameter["name"].as_str().unwrap().to_owned()).collect()
        };
        let content = &operation["requestBody"]["content"];
        let form = &content["application/x-www-form-urlencoded"]["schema"];
        let json = &content["application/json"]["schema"];
        let body = followed(description, if form.is_null() { json } else { form });
        let in_body = names_of(&body["properties"]);
        let arguments = &tool["inputSchema"]["properties"];
        let is_field = |field: &String| {
            let is_credential = matches!(field.as_str(), "api_key" | "signup_token");
            let is_foreign = OF_TOOLS.iter().any(|(tool, own, _)| (*tool, *own) == (&name, field));
            !is_foreign && (!is_credential || in_body.contains(field))
        };
        let takes =
            |field: &str| arguments.get(field).is_some() && !in_body.contains(&field.to_owned());
        let of_type = |name: &str| {
            let is_of_type = |field: &String| arguments[field]["type"] == name;
            names_of(arguments).into_iter().filter(is_of_type).collect()
        };
        Some(Self {
            numbers: of_type("integer"),
            booleans: of_type("boolean"),
            method: method.to_uppercase().parse().ok()?,
            path: path.clone(),
            in_path: names_in("path"),
            in_query: names_in("query"),
            fields: names_of(arguments).into_iter().filter(is_field).collect(),
            required: texts(&tool["inputSchema"]["required"]),
            takes_key: takes("api_key"),
            takes_token: takes("signup_token"),
            is_form: !form.is_null(),
            in_body,
            name,
        })
    }

    /// The name of an argument over HTTP.
    pub fn parameter<'a>(&self, field: &'a str) -> &'a str {
        let knows = |name: &str| {
            [&self.in_path, &self.in_query, &self.in_body]
                .into_iter()
                .flatten()
                .any(|own| own == name)
        };
        match RENAMED.iter().find(|(argument, _, _)| *argument == field) {
            Some((_, parameter, _)) if !knows(field) => parameter,
            _ => field,
        }
    }

    /// The request that says it over HTTP.
    pub fn request(&self, world: &World, names: &Names, input: &Input) -> RequestBuilder {
        let mut path = self.path.clone();
        let (mut query, mut body) = (Vec::new(), Map::new());
        for (field, value) in &input.arguments {
            let (name, value) = (self.parameter(field), filled(value, names));
            let owned = name.to_owned();
            if self.in_path.contains(&owned) {
                path = path.replace(&format!("{{{name}}}"), &percent_encoded(&text(&value)));
            } else if self.in_body.contains(&owned) {
                body.insert(owned, value);
            } else {
                assert!(self.in_query.contains(&owned), "{}: {name} is no parameter", self.name);
                query.extend((!value.is_null()).then(|| (owned, text(&value))));
            }
        }
        for name in &self.in_path {
            path = path.replace(&format!("{{{name}}}"), "");
        }
        let request = world.app.request(self.method.clone(), &path).query(&query);
        let request = with_credentials(request, names, input);
        match (self.in_body.is_empty(), self.is_form) {
            (true, _) => request,
            (false, true) => {
                let fields = body.iter().map(|(name, value)| (name, text(value)));
                request.form(&fields.collect::<Vec<_>>())
            }
            (false, false) => request.json(&body),
        }
    }

    /// The message that says it to the tool.
    pub fn message(&self, world: &World, names: &Names, input: &Input) -> RequestBuilder {
        let arguments = input.arguments.iter();
        let mut arguments = arguments
            .map(|(name, value)| (name.clone(), filled(value, names)))
            .collect::<Map<_, _>>();
        let given = input.credentials;
        let in_arguments = input.in_arguments && given.authorization.is_none();
        if in_arguments && self.takes_key {
            arguments
                .extend(given.key.map(|key| ("api_key".to_owned(), filled(&json!(key), names))));
        }
        if in_arguments && self.takes_token {
            let token = given.token.map(|token| filled(&json!(token), names));
            arguments.extend(token.map(|token| ("signup_token".to_owned(), token)));
        }
        if ["read_consent_log", "read_consent_stats"].contains(&&*self.name) {
            arguments.insert("detail".to_owned(), json!("full"));
        }
        let call = message("tools/call", json!({"name": self.name, "arguments": arguments}));
        let request = post(&world.app).json(&call);
        if in_arguments { request } else { with_credentials(request, names, input) }
    }
}

fn with_credentials(request: RequestBuilder, names: &Names, input: &Input) -> RequestBuilder {
    let secret = |secret: &'static str| text(&filled(&json!(secret), names));
    let given = input.credentials;
    let request = match (given.authorization, given.key) {
        (Some(header), _) => request.header("authorization", header),
        (None, Some(key)) => request.bearer_auth(secret(key)),
        (None, None) => request,
    };
    match given.token {
        Some(token) => request.header("x-signup-token", secret(token)),
        None => request,
    }
}

/// A value as a parameter: there is nothing but text.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

fn percent_encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_~".contains(&byte);
    let encoded = text.bytes().map(|byte| match is_plain(byte) {
        true => char::from(byte).to_string(),
        false => format!("%{byte:02X}"),
    });
    encoded.collect()
}
