//! Query parameters, decoded but not yet understood.
//!
//! Rocket's own optional parameters drop values that do not parse; here every value reaches the
//! code that can say what is wrong with it.

use std::collections::HashMap;

use rocket::Request;
use rocket::request::{FromRequest, Outcome};

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

    /// The value of a parameter; an absent one is `None`, an empty one `Some("")`.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// As [`Query::get`], without empty and blank values.
    pub fn present(&self, name: &str) -> Option<&str> {
        super::body::present(self.get(name))
    }
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Query {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        Outcome::Success(Self::of(request))
    }
}
