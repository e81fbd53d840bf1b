//! The mail server of `SMTP_URL`, as lettre asks for it.

use lettre::transport::smtp;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;

use crate::config::{Secret, SmtpAddress, SmtpEncryption};

/// Where mails are handed over, and how.
#[derive(Clone)]
pub struct SmtpServer {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    pub hello_name: ClientId,
    pub credentials: Option<Credentials>,
}

impl SmtpServer {
    pub fn new(address: &SmtpAddress) -> Result<Self, smtp::Error> {
        let SmtpAddress { host, port, encryption, hello_name, credentials } = address;
        let secured = || TlsParameters::new(host.clone());
        let known = |(user, password): &(String, Secret)| {
            Credentials::new(user.clone(), password.expose().to_owned())
        };
        Ok(Self {
            host: host.clone(),
            port: *port,
            tls: match encryption {
                SmtpEncryption::None => Tls::None,
                SmtpEncryption::Opportunistic => Tls::Opportunistic(secured()?),
                SmtpEncryption::Required => Tls::Required(secured()?),
                SmtpEncryption::Wrapper => Tls::Wrapper(secured()?),
            },
            hello_name: hello_name.clone().map_or_else(ClientId::default, ClientId::Domain),
            credentials: credentials.as_ref().map(known),
        })
    }
}
