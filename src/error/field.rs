use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

/// One thing wrong with a body or a parameter: listed in a 422 answer, and beside the sentence of
/// others.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct FieldError {
    /// Where: `["body", "domain"]` or `["query", "from"]`.
    pub loc: Vec<String>,
    /// What, in one sentence for people.
    pub msg: String,
    /// What, in one word for programs: `missing`, `unknown_field`, `type_error`, `value_error`,
    /// `enum`, `json_invalid`. There may be more.
    #[serde(rename = "type")]
    pub kind: String,
}

impl FieldError {
    pub fn unknown_word(loc: &[&str], permitted: &[&str]) -> Self {
        Self::new(loc, format!("must be {}", any_of(permitted)), "enum")
    }

    pub fn new(loc: &[&str], msg: impl Into<String>, kind: &str) -> Self {
        Self {
            loc: loc.iter().map(|&part| part.to_owned()).collect(),
            msg: msg.into(),
            kind: kind.to_owned(),
        }
    }
}

fn any_of(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [most @ .., last] => format!("{} or {last}", most.join(", ")),
    }
}
