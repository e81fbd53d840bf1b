use serde::Serialize;
use serde_json::Value;

use super::prose::{Prose, prose};
use super::schema::{Field, Kind, fields, resolved};

#[derive(Debug, Serialize)]
pub struct Operation {
    /// Its name in the document, and its anchor.
    pub id: String,
    pub method: String,
    pub path: String,
    pub summary: String,
    pub description: Vec<Prose>,
    /// Names of security schemes, one of which is required. If empty, no credential is required.
    pub credentials: Vec<String>,
    pub is_open: bool,
    pub parameters: Vec<Parameter>,
    pub body: Option<Body>,
    pub answers: Vec<Answer>,
    pub refusals: Vec<Refusal>,
    /// The parts of a command line. The page adds the service's address before the path.
    pub curl: Curl,
}

#[derive(Debug, Serialize)]
pub struct Parameter {
    pub location: String,
    #[serde(flatten)]
    pub field: Field,
}

#[derive(Debug, Serialize)]
pub struct Body {
    pub media_type: String,
    pub kind: Kind,
    pub fields: Vec<Field>,
    pub example: Option<String>,
}

#[derive(Debug, Serialize)]
pub struct Answer {
    pub status: String,
    pub description: Vec<Prose>,
    pub body: Option<Body>,
}

#[derive(Debug, Serialize)]
pub struct Refusal {
    pub status: String,
    pub sentences: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Curl {
    pub method: Option<String>,
    pub path: String,
    pub headers: Vec<String>,
    pub body: Option<String>,
}

impl Operation {
    pub fn of(document: &Value, path: &str, method: &str, operation: &Value) -> Self {
        let schemes = operation["security"].as_array().into_iter().flatten();
        let names = schemes.filter_map(Value::as_object);
        let (open, needed): (Vec<_>, Vec<_>) = names.partition(|scheme| scheme.is_empty());
        let credentials =
            needed.iter().flat_map(|scheme| scheme.keys().cloned()).collect::<Vec<_>>();
        let body = operation.get("requestBody").and_then(|body| body_of(document, body));
        let responses = operation["responses"].as_object().into_iter().flatten();
        let (refused, answered): (Vec<_>, Vec<_>) =
            responses.partition(|(_, response)| is_problem(response));
        Self {
            id: operation["operationId"].as_str().unwrap_or_default().to_owned(),
            method: method.to_uppercase(),
            path: path.to_owned(),
            summary: operation["summary"].as_str().unwrap_or_default().to_owned(),
            description: prose(&operation["description"]),
            is_open: credentials.is_empty() || !open.is_empty(),
            parameters: operation["parameters"]
                .as_array()
                .into_iter()
                .flatten()
                .map(parameter)
                .collect(),
            answers: answered
                .iter()
                .map(|(status, answer)| answer_of(document, status, answer))
                .collect(),
            refusals: refused.iter().map(|(status, response)| refusal(status, response)).collect(),
            curl: Curl::of(document, path, method, operation, &credentials, body.as_ref()),
            credentials,
            body,
        }
    }
}

fn is_problem(response: &Value) -> bool {
    response["content"].get("application/problem+json").is_some()
}

fn parameter(parameter: &Value) -> Parameter {
    Parameter {
        location: parameter["in"].as_str().unwrap_or_default().to_owned(),
        field: Field {
            name: parameter["name"].as_str().unwrap_or_default().to_owned(),
            kind: Kind::of(&parameter["schema"]),
            required: parameter["required"] == true,
            description: prose(&parameter["description"]),
        },
    }
}

fn body_of(document: &Value, holder: &Value) -> Option<Body> {
    let (media_type, content) = holder["content"].as_object()?.iter().next()?;
    let schema = &content["schema"];
    Some(Body {
        media_type: media_type.clone(),
        kind: Kind::of(schema),
        fields: fields(resolved(document, schema)),
        example: content.get("example").map(|example| format!("{example:#}")),
    })
}

fn answer_of(document: &Value, status: &str, answer: &Value) -> Answer {
    Answer {
        status: status.to_owned(),
        description: prose(&answer["description"]),
        body: body_of(document, answer),
    }
}

fn refusal(status: &str, response: &Value) -> Refusal {
    let examples = &response["content"]["application/problem+json"]["examples"];
    let details = examples.as_object().into_iter().flatten();
    let sentence = |(_, example): (&String, &Value)| match &example["value"]["detail"] {
        Value::String(sentence) => sentence.clone(),
        _ => "a list of what is wrong".to_owned(),
    };
    Refusal { status: status.to_owned(), sentences: details.map(sentence).collect() }
}

impl Curl {
    fn of(
        document: &Value,
        path: &str,
        method: &str,
        operation: &Value,
        credentials: &[String],
        body: Option<&Body>,
    ) -> Self {
        let header = match credentials.first().map(String::as_str) {
            Some("api_key") => Some("Authorization: Bearer $API_KEY"),
            Some("signup_token") => Some("x-signup-token: $SIGNUP_TOKEN"),
            _ => None,
        };
        let query = required_query(document, operation);
        let path = with_variables(path);
        Self {
            method: (method != "get" && !(method == "post" && body.is_some()))
                .then(|| method.to_uppercase()),
            path: if query.is_empty() { path } else { format!("{path}?{query}") },
            headers: header.map(str::to_owned).into_iter().collect(),
            body: body
                .and_then(|body| body.example.as_deref())
                .map(|text| text.replace('\'', "'\\''")),
        }
    }
}

/// Parameters as shell variables: `{pixel_id}` becomes `$PIXEL_ID`.
fn with_variables(path: &str) -> String {
    let mut pieces = path.split('{');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |done, piece| match piece.split_once('}') {
        Some((name, rest)) => format!("{done}${}{rest}", name.to_uppercase()),
        None => done + piece,
    })
}

fn required_query(document: &Value, operation: &Value) -> String {
    let parameters = operation["parameters"].as_array().into_iter().flatten();
    let needed = parameters.filter(|field| field["in"] == "query" && field["required"] == true);
    let pair = |field: &Value| {
        let name = field["name"].as_str().unwrap_or_default();
        let example = resolved(document, &field["schema"])["example"].as_str();
        let variable = || format!("${}", name.to_uppercase());
        format!("{name}={}", example.map_or_else(variable, str::to_owned))
    };
    needed.map(pair).collect::<Vec<_>>().join("&")
}
