use std::fmt;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An API key, by its prefix.
    Key(String),
    Member(String),
    /// An app, by the id of its grant.
    App(String),
    SignupToken,
    Operator,
    PaymentProvider,
    Service,
}

impl Actor {
    pub fn key_prefix(&self) -> Option<&str> {
        match self {
            Self::Key(prefix) => Some(prefix),
            _ => None,
        }
    }
}

/// The form that is stored in events and shown to the account's members.
impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(prefix) => formatter.write_str(prefix),
            Self::Member(email) => formatter.write_str(email),
            Self::App(grant_id) => formatter.write_str(grant_id),
            Self::SignupToken => formatter.write_str("signup token"),
            Self::Operator => formatter.write_str("operator"),
            Self::PaymentProvider => formatter.write_str("payment provider"),
            Self::Service => formatter.write_str("service"),
        }
    }
}
