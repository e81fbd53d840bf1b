//! The parameters of a request. Each may be given once, and an empty value counts as missing (RFC 6749, 3.1).

use std::collections::BTreeMap;

use super::refusal::Refusal;

const MOST: usize = 40;

pub struct Parameters(BTreeMap<String, String>);

impl Parameters {
    /// Parses a query string or a form-encoded body.
    pub fn parse(text: &[u8]) -> Result<Self, Refusal> {
        let mut values = BTreeMap::new();
        for (name, value) in url::form_urlencoded::parse(text).take(MOST) {
            if !value.is_empty() && values.insert(name.into_owned(), value.into_owned()).is_some() {
                return Err(Refusal::invalid_request("a parameter is given more than once"));
            }
        }
        Ok(Self(values))
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    pub fn required(&self, name: &str, missing: &'static str) -> Result<&str, Refusal> {
        self.get(name).ok_or(Refusal::invalid_request(missing))
    }
}
