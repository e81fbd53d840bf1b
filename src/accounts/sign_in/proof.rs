use crate::infra::Infra;

/// How people prove who they are to this service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    /// Six digits from a mail.
    Mail,
    /// An API key, since no mail server is configured.
    Key,
}

impl Proof {
    pub fn of(infra: &Infra) -> Self {
        if infra.outbox.mailer.is_configured() { Self::Mail } else { Self::Key }
    }
}

/// Whether accounts can be opened in the console: with a mail, or without one where nobody but the
/// machine's own people come.
pub fn takes_signups(infra: &Infra) -> bool {
    Proof::of(infra) == Proof::Mail || is_loopback(infra)
}

fn is_loopback(infra: &Infra) -> bool {
    let host = infra.base_host();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost"
        || host.ends_with(".localhost")
        || address.is_ok_and(|address| address.is_loopback())
}
