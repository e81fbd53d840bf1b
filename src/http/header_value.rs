//! The value of a header.

use std::borrow::Cow;

use rocket::http::HeaderMap;

/// The first value of a header. Rocket's own lookup hashes the name letter by letter, which takes
/// far longer than to look through the few headers that there are.
pub fn header_of<'a>(headers: &'a HeaderMap<'_>, name: &str) -> Option<Cow<'a, str>> {
    headers.iter().find(|header| header.name == name).map(|header| header.value)
}
