use percent_encoding::percent_decode_str;
use url::{Host, Url};

use super::secret::Secret;
use super::variables::{ConfigError, problem_with};

#[derive(Clone, Debug)]
pub struct SmtpAddress {
    pub host: String,
    pub port: u16,
    pub encryption: SmtpEncryption,
    /// The name for EHLO. If unset, the host of `BASE_URL` or the name of the machine is used.
    pub hello_name: Option<Host>,
    pub credentials: Option<(String, Secret)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SmtpEncryption {
    None,
    /// Used if the server offers it.
    Opportunistic,
    Required,
    Wrapper,
}

impl SmtpAddress {
    /// Parses `smtp://user:password@host:port/hello-name?tls=required` and similar.
    pub fn parse(address: &Secret) -> Result<Self, ConfigError> {
        Self::read(address.expose()).map_err(|problem| problem_with("SMTP_URL", problem))
    }

    /// The error names the invalid part, but does not quote the address, which may contain a password.
    fn read(text: &str) -> Result<Self, &'static str> {
        let url = Url::parse(text)
            .map_err(|_| "must be an address such as smtp://user:password@host:587?tls=required")?;
        let wish = url.query_pairs().find(|(name, _)| name == "tls").map(|(_, wish)| wish);
        let (port, encryption) = match (url.scheme(), wish.as_deref()) {
            ("smtp", None) => (25, SmtpEncryption::None),
            ("smtp", Some("required")) => (587, SmtpEncryption::Required),
            ("smtp", Some("opportunistic")) => (587, SmtpEncryption::Opportunistic),
            ("smtps", _) => (465, SmtpEncryption::Wrapper),
            ("smtp", Some(_)) => {
                return Err(
                    "tls must be required or opportunistic; leave it out for no encryption",
                );
            }
            _ => return Err("must begin with smtp:// or smtps://"),
        };
        let hello_name = Some(url.path().trim_matches('/')).filter(|name| !name.is_empty());
        let hello_name = hello_name.map(|name| Host::parse(&decoded(name))).transpose();
        let host = url.host_str().filter(|host| !host.is_empty());
        Ok(Self {
            host: host.ok_or("must name the host of the mail server")?.to_owned(),
            port: url.port().unwrap_or(port),
            encryption,
            hello_name: hello_name
                .map_err(|_| "the path must be a host name, which is sent in EHLO")?,
            credentials: url
                .password()
                .map(|password| (decoded(url.username()), Secret::new(decoded(password)))),
        })
    }
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(url: &str) -> SmtpAddress {
        SmtpAddress::read(url).unwrap_or_else(|problem| panic!("{url}: {problem}"))
    }

    #[test]
    fn the_scheme_and_the_wish_decide_over_port_and_encryption() {
        use SmtpEncryption::{None, Opportunistic, Required, Wrapper};
        for (url, port, encryption) in [
            ("smtp://mail.example", 25, None),
            ("smtp://mail.example:2525", 2525, None),
            ("smtp://mail.example?tls=required", 587, Required),
            ("smtp://mail.example:26?tls=opportunistic", 26, Opportunistic),
            ("smtps://mail.example", 465, Wrapper),
            ("smtps://mail.example:4650?tls=required", 4650, Wrapper),
        ] {
            let address = read(url);
            let found = (address.host.as_str(), address.port, address.encryption);
            assert_eq!(found, ("mail.example", port, encryption), "{url}");
        }
    }

    #[test]
    fn user_password_and_name_are_read_decoded_and_never_printed() {
        let address = read("smtp://ann%40shop.example:p%2Fw%3A1@mail.example/shop.example");
        assert!(!format!("{address:?}").contains("p/w"));
        let (user, password) = address.credentials.unwrap();
        assert_eq!((user.as_str(), password.expose()), ("ann@shop.example", "p/w:1"));
        assert_eq!(address.hello_name.unwrap().to_string(), "shop.example");
        let address = read("smtp://mail.example");
        assert!(address.credentials.is_none() && address.hello_name.is_none());
    }

    #[test]
    fn the_name_of_the_greeting_may_be_an_address_and_is_sent_as_ascii() {
        for (path, name) in [
            ("bücher.example", "xn--bcher-kva.example"),
            ("192.0.2.7", "192.0.2.7"),
            ("[2001:db8::7]", "[2001:db8::7]"),
        ] {
            let address = read(&format!("smtp://mail.example/{path}"));
            assert_eq!(address.hello_name.unwrap().to_string(), name);
        }
    }

    #[test]
    fn a_refused_address_is_reported_by_the_part_that_is_wrong() {
        for (url, part) in [
            ("", "an address such as"),
            ("mail.example", "an address such as"),
            ("http://mail.example", "begin with smtp://"),
            ("smtp:", "the host"),
            ("smtp://ann:secret@mail.example?tls=none", "tls must be"),
            ("smtp://mail.example/a%20b", "the path"),
            ("smtp://mail.example/a/b", "the path"),
        ] {
            let problem = SmtpAddress::parse(&Secret::new(url)).unwrap_err().to_string();
            assert!(problem.contains(part) && !problem.contains("secret"), "{url}: {problem}");
        }
    }
}
