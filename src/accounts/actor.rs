//! Who acts for an account.

use std::fmt;

/// Who acts for an account.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Actor {
    /// An API key, by its prefix.
    Key(String),
    /// A member who has signed in, by the address.
    Member(String),
    /// Whoever holds the account's signup token.
    SignupToken,
    /// Who runs the service.
    Operator,
    PaymentProvider,
    /// The service itself.
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

/// As it is told to the account itself.
impl fmt::Display for Actor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(prefix) => formatter.write_str(prefix),
            Self::Member(email) => formatter.write_str(email),
            Self::SignupToken => formatter.write_str("signup token"),
            Self::Operator => formatter.write_str("operator"),
            Self::PaymentProvider => formatter.write_str("payment provider"),
            Self::Service => formatter.write_str("service"),
        }
    }
}
