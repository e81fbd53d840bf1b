//! Query parameters, decoded but not parsed. Rocket's optional parameters drop invalid values; here,
//! every value is passed to the code that can describe the error.

use std::collections::HashMap;

use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use crate::error::{Error, FieldError, Result};

const MOST_NAMED: usize = 10;

fn cut(name: &str) -> String {
    name.chars().take(64).collect()
}

/// The first value of each parameter, percent-decoded.
pub struct Query(HashMap<String, String>);

impl Query {
    pub fn of(request: &Request<'_>) -> Self {
        let text = request.uri().query().map_or("", |query| query.as_str());
        let mut values = HashMap::new();
        for (name, value) in url::form_urlencoded::parse(text.as_bytes()) {
            values.entry(name.into_owned()).or_insert_with(|| value.into_owned());
        }
        Self(values)
    }

    /// Refuses unknown parameters, for requests where ignoring a misspelt one would silently change the response.
    pub fn only(&self, known: &[&str]) -> Result<()> {
        let foreign = self.0.keys().filter(|name| !known.contains(&name.as_str()));
        let mut names = foreign.map(|name| cut(name)).collect::<Vec<_>>();
        if names.is_empty() {
            return Ok(());
        }
        names.sort_unstable();
        names.truncate(MOST_NAMED);
        let message = format!("no such parameter, there is {}", known.join(", "));
        let wrong = |name: &String| FieldError::new(&["query", name], &*message, "unknown_field");
        Err(Error::Validation(names.iter().map(wrong).collect()))
    }

    /// The value of a parameter; an absent one is `None`, an empty one `Some("")`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn present(&self, name: &str) -> Option<&str> {
        crate::types::text::present(self.get(name))
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Query {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self::of(request))
    }
}
