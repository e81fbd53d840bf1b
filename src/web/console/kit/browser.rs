use rocket::Request;
use rocket::request::{FromRequest, Outcome};

use crate::http::header_value::header_of;

/// Derived from `User-Agent`, for example "Firefox on Windows".
pub struct Browser(pub String);

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Browser {
    type Error = std::convert::Infallible;

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, Self::Error> {
        let agent = header_of(request.headers(), "User-Agent");
        Outcome::Success(Self(name_of(agent.as_deref().unwrap_or_default())))
    }
}

/// In order of precedence: the header of most browsers also contains the names of similar ones.
const BROWSERS: [(&str, &str); 6] = [
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("Chrom", "Chrome"),
    ("Safari/", "Safari"),
];
const SYSTEMS: [(&str, &str); 6] = [
    ("iPhone", "an iPhone"),
    ("iPad", "an iPad"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "a Mac"),
    ("Linux", "Linux"),
];

fn name_of(agent: &str) -> String {
    let find = |names: &[(&str, &'static str)]| {
        names.iter().find(|(part, _)| agent.contains(part)).map(|(_, name)| *name)
    };
    let browser = find(&BROWSERS).unwrap_or("A browser");
    match find(&SYSTEMS) {
        Some(system) => format!("{browser} on {system}"),
        None => browser.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_browser_has_a_name_that_its_owner_knows() {
        for (agent, name) in [
            (
                "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
                "Firefox on Linux",
            ),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/130.0 Safari/537.36 Edg/130.0",
                "Edge on Windows",
            ),
            (
                "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1",
                "Safari on an iPhone",
            ),
            (
                "Mozilla/5.0 (Linux; Android 15) Chrome/130.0 Mobile Safari/537.36",
                "Chrome on Android",
            ),
            ("<script>", "A browser"),
            ("", "A browser"),
        ] {
            assert_eq!(name_of(agent), name);
        }
    }
}
