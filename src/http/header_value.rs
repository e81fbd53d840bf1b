use std::borrow::Cow;

use rocket::http::HeaderMap;

/// The first value of a header. Rocket's own lookup hashes the name, which takes far longer than a
/// linear search through the few headers.
pub fn header_of<'a>(headers: &'a HeaderMap<'_>, name: &str) -> Option<Cow<'a, str>> {
    headers.iter().find(|header| header.name == name).map(|header| header.value)
}

/// All values of a list header, which may span several lines (RFC 9110, section 5.3).
pub fn list_of<'a>(headers: &'a HeaderMap<'_>, name: &str) -> Option<Cow<'a, str>> {
    let mut values = headers.iter().filter(|header| header.name == name);
    let mut list = values.next()?.value;
    for header in values {
        let list = list.to_mut();
        list.push_str(", ");
        list.push_str(&header.value);
    }
    Some(list)
}
