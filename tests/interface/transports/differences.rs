//! Intended differences between the transports, each with its reason.

use serde_json::{Value, json};

use super::input::Input;
use super::operations::Operation;
use super::outcome::Outcome;

/// Everything there is to know of one pair of answers.
pub struct Pair<'a> {
    operation: &'a Operation,
    input: &'a Input,
    http: &'a Outcome,
    tool: &'a Outcome,
}

type Excuse = fn(&Pair<'_>) -> bool;

const DIFFERENCES: &[(&str, Excuse)] = &[
    (
        "a path without a part is another one, and all its parts are text: a tool says what is wrong",
        |pair| pair.has_no_path() && pair.tool.is_refusal(),
    ),
    (
        "a query is text, and of what it lacks the rule speaks: a tool's arguments have types",
        |pair| pair.has_other_type() && matches!(pair.tool.status, 400 | 422),
    ),
    (
        "models send empty words for what they leave out, which a tool does not hold against them",
        |pair| pair.has_blank_word() && pair.http.status == 400 && pair.tool.status == 200,
    ),
    ("whether an argument can be a credential is seen before the others are read", |pair| {
        pair.has_odd_token() && pair.http.status == 422 && pair.tool.status == 422
    }),
    (
        "a key in the headers that does not do is 401 for every tool, so that clients ask a person",
        |pair| {
            let refused = ["invalid api key", "api key revoked"].map(|it| json!(it));
            let is_in_headers =
                !pair.input.in_arguments || pair.input.credentials.authorization.is_some();
            is_in_headers && pair.tool.status == 401 && refused.contains(&pair.tool.refusal[0])
        },
    ),
    ("NUL is no JSON: a message with it is refused before its tool is found", |pair| {
        pair.has_nul() && pair.tool.refusal[0] == "invalid request"
    }),
    ("no content is a status; a tool's answer is an object", |pair| {
        pair.http.body.is_null() && pair.http.status == 200 && pair.tool.status == 200
    }),
    ("a tool tells what a preview would, beside what the route answers", |pair| {
        pair.operation.name == "configure_consent" && pair.is_the_same_but(CONFIGURED)
    }),
    (
        "ids differ between the transports, and so does the hash of a policy that names one",
        |pair| {
            let foreign = ["{foreign_account}", "{foreign_pixel}"];
            let names_one =
                pair.input.arguments.values().any(|it| foreign.iter().any(|id| it == id));
            names_one && pair.is_the_same_but(&[CONFIGURED, &["policy_hash"]].concat())
        },
    ),
    ("a tool leaves out the report itself, which a model would pay for", |pair| {
        pair.operation.name == "read_watch_report" && pair.is_the_same_but(&["text", "note"])
    }),
    ("events name keys, and have no order within a millisecond", |pair| {
        let count = |outcome: &Outcome| outcome.body["events"].as_array().map(Vec::len);
        let is_of_events = pair.operation.name == "read_account_events";
        is_of_events && count(pair.http).is_some() && count(pair.http) == count(pair.tool)
    }),
    ("what was called by an id is called so from then on", |pair| {
        pair.operation.name == "change_account" && pair.is_the_same_but(&["display_name"])
    }),
    (
        "arguments that are put together from several are named without what is inside them",
        |pair| {
            let names = ["configure_consent", "change_watch"];
            names.contains(&pair.operation.name.as_str()) && pair.is_refused_above()
        },
    ),
    ("a tool reads contacts page by page also when nobody names a limit", |pair| {
        pair.operation.name == "read_contacts" && pair.is_the_same_but(&["next_cursor"])
    }),
];

const CONFIGURED: &[&str] = &["dry_run", "visitors_asked_again", "notice"];

pub fn is_meant(operation: &Operation, input: &Input, http: &Outcome, tool: &Outcome) -> bool {
    let pair = Pair { operation, input, http, tool };
    http == tool || DIFFERENCES.iter().any(|(_, is_meant)| is_meant(&pair))
}

impl Pair<'_> {
    /// Whether a part of the path is missing, empty or no text.
    fn has_no_path(&self) -> bool {
        let Operation { in_path, fields, .. } = self.operation;
        let mut fields = fields.iter().filter(|field| in_path.contains(field));
        fields.any(|field| {
            let text = self.input.arguments.get(field).and_then(Value::as_str);
            text.is_none_or(str::is_empty)
        })
    }

    /// Whether something of a query or a form has another type than the tool's argument, or is left
    /// out though the tool must be told it.
    fn has_other_type(&self) -> bool {
        let Operation { in_query, in_body, is_form, numbers, booleans, required, .. } =
            self.operation;
        let parameters = if *is_form { in_body } else { in_query };
        let mut fields = self.operation.fields.iter().filter(|field| {
            parameters.iter().any(|parameter| self.operation.parameter(field) == parameter)
        });
        fields.any(|field| match self.input.arguments.get(field) {
            None | Some(Value::Null) => required.contains(field),
            Some(value) if numbers.contains(field) => !value.is_i64(),
            Some(value) if booleans.contains(field) => !value.is_boolean(),
            Some(value) => !value.is_string(),
        })
    }

    fn has_blank_word(&self) -> bool {
        let words = ["required_purpose", "state"].map(|name| self.input.arguments.get(name));
        let mut words = words.into_iter().flatten().filter_map(Value::as_str);
        words.any(|word| word.trim().is_empty())
    }

    fn has_odd_token(&self) -> bool {
        let token = self.input.arguments.get("signup_token");
        token.is_some_and(|token| !token.is_string() && !token.is_null())
    }

    fn has_nul(&self) -> bool {
        self.input.arguments.values().any(|value| value.to_string().contains("\\u0000"))
    }

    /// Whether both are done, and what the tool says more has one of these names.
    fn is_the_same_but(&self, names: &[&str]) -> bool {
        let without = |body: &Value| {
            let mut fields = body.as_object()?.clone();
            fields.retain(|name, _| !names.contains(&name.as_str()));
            Some(fields)
        };
        let is_done = self.http.status == 200 && self.tool.status == 200;
        let (said, answered) = (without(&self.tool.body), without(&self.http.body));
        is_done && said.is_some() && said == answered
    }

    /// Whether both say the same is wrong, the route of an item and the tool of the whole list.
    fn is_refused_above(&self) -> bool {
        let mut above = self.http.refusal.clone();
        let location = above.pointer_mut("/1/0/loc").and_then(Value::as_array_mut);
        location.is_some_and(|location| location.pop().is_some()) && above == self.tool.refusal
    }
}
