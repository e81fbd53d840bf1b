//! Numbers that are sent with a refusal, besides its status.

use super::Error;

impl Error {
    /// Seconds after which the same call may succeed, for `Retry-After`.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Naming { refusal, .. } => refusal.retry_after(),
            Self::TooManyAttempts { retry_after }
            | Self::ConfirmationMailTooSoon { retry_after }
            | Self::SnippetMailTooSoon { retry_after }
            | Self::CodeTooSoon { retry_after }
            | Self::TooManyCodes { retry_after }
            | Self::TooManyRequests { retry_after }
            | Self::NotSealedYet { retry_after }
            | Self::IdempotencyKeyInUse { retry_after }
            | Self::Busy { retry_after } => Some(*retry_after),
            Self::DatabaseUnavailable => Some(1),
            _ => None,
        }
    }

    /// The rest of the allowance that the request would have exceeded.
    pub fn remaining(&self) -> Option<i64> {
        match self {
            Self::Naming { refusal, .. } => refusal.remaining(),
            Self::PixelAllowanceReached { remaining }
            | Self::ContactAllowanceReached { remaining }
            | Self::SubscriptionRequired { remaining } => Some(*remaining),
            _ => None,
        }
    }
}
