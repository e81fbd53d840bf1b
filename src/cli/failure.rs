//! How commands fail.

use std::fmt::Display;

/// Why a command failed, in one sentence.
pub struct Failure(pub String);

impl<E: Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}
