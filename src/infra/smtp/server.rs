use lettre::transport::smtp;
use lettre::transport::smtp::authentication::Credentials;
use lettre::transport::smtp::client::{Tls, TlsParameters};
use lettre::transport::smtp::extension::ClientId;
use nix::unistd::gethostname;
use url::Host;

use crate::config::{Secret, SmtpAddress, SmtpEncryption};

#[derive(Clone)]
pub struct SmtpServer {
    pub host: String,
    pub port: u16,
    pub tls: Tls,
    pub hello_name: ClientId,
    pub credentials: Option<Credentials>,
}

impl SmtpServer {
    /// `own_host` is the public name of the service. It is used for EHLO unless `SMTP_URL` sets a name.
    pub fn new(address: &SmtpAddress, own_host: Option<&Host>) -> Result<Self, smtp::Error> {
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
            hello_name: hello_name.as_ref().map_or_else(|| default_name(own_host), client_id),
            credentials: credentials.as_ref().map(known),
        })
    }
}

/// The public name if it is fully qualified, else the machine's name: relays refuse other names (RFC 5321, 4.1.4).
fn default_name(own_host: Option<&Host>) -> ClientId {
    match own_host {
        Some(Host::Domain(domain)) if !domain.contains('.') => {}
        Some(host) if !is_loopback(host) => return client_id(host),
        _ => {}
    }
    let machine = gethostname().ok().and_then(|name| name.into_string().ok());
    let machine = machine.and_then(|name| Host::parse(&name).ok());
    machine.as_ref().map_or_else(ClientId::default, client_id)
}

fn is_loopback(host: &Host) -> bool {
    match host {
        Host::Domain(domain) => domain.ends_with(".localhost"),
        Host::Ipv4(address) => address.is_loopback(),
        Host::Ipv6(address) => address.is_loopback(),
    }
}

fn client_id(host: &Host) -> ClientId {
    match host {
        Host::Domain(domain) => ClientId::Domain(domain.clone()),
        Host::Ipv4(address) => ClientId::Ipv4(*address),
        Host::Ipv6(address) => ClientId::Ipv6(*address),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_greeting_has_the_public_name_or_address_of_the_service() {
        for (host, name) in [
            ("consent.shop.example", "consent.shop.example"),
            ("bücher.example", "xn--bcher-kva.example"),
            ("192.0.2.7", "[192.0.2.7]"),
            ("[2001:db8::7]", "[IPv6:2001:db8::7]"),
        ] {
            let host = Host::parse(host).unwrap();
            assert_eq!(default_name(Some(&host)).to_string(), name);
        }
    }

    #[test]
    fn a_local_name_is_replaced_by_the_name_of_the_machine() {
        let machine = default_name(None);
        assert_ne!(machine, ClientId::default());
        for host in ["localhost", "consent", "shop.localhost", "127.0.0.1", "[::1]"] {
            let host = Host::parse(host).unwrap();
            assert_eq!(default_name(Some(&host)), machine, "{host}");
        }
    }
}
