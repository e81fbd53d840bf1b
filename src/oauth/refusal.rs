use crate::error::Error;

/// An error of the protocol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub error: &'static str,
    pub error_description: &'static str,
}

impl Refusal {
    pub const fn new(error: &'static str, error_description: &'static str) -> Self {
        Self { error, error_description }
    }

    pub const fn invalid_request(error_description: &'static str) -> Self {
        Self::new("invalid_request", error_description)
    }

    pub const fn invalid_grant(error_description: &'static str) -> Self {
        Self::new("invalid_grant", error_description)
    }

    pub fn status(&self) -> u16 {
        if self.error == "invalid_client" { 401 } else { 400 }
    }
}

/// The reason why a request failed: it was refused, or the service has an error.
#[derive(Debug)]
pub enum Failure {
    Refused(Refusal),
    Failed(Error),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl From<sqlx::Error> for Failure {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}
