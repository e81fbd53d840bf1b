use crate::infra::outbox::Outbox;

/// The means by which people prove their identity to this service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Six digits from a mail.
    Mail,
    /// An API key, since no mail server is configured.
    Key,
}

impl Proof {
    pub fn of(outbox: &Outbox) -> Self {
        if outbox.mailer.is_configured() { Self::Mail } else { Self::Key }
    }
}

/// Whether accounts can be opened in the console: with a mail server, or without one on a loopback
/// address, which is reachable only from the same machine.
pub fn takes_signups(outbox: &Outbox, base_host: &str) -> bool {
    Proof::of(outbox) == Proof::Mail || is_loopback(base_host)
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_ok_and(|address| address.is_loopback())
}
