use crate::error::Error;

/// The refusals of a missing, an unknown and a revoked key, which differ between families of routes. An expired key
/// is 401 everywhere.
pub struct KeyRefusals {
    pub missing: Error,
    pub unknown: Error,
    pub revoked: Error,
}

impl KeyRefusals {
    /// Routes that identify the caller: always 401.
    pub fn who_am_i() -> Self {
        Self {
            missing: Error::ApiKeyRequired,
            unknown: Error::InvalidApiKey { status: 401 },
            revoked: Error::ApiKeyRevoked { status: 401 },
        }
    }

    /// Setup, pixel, contact and billing routes: an invalid key is 403.
    pub fn setup() -> Self {
        Self {
            missing: Error::ApiKeyRequired,
            unknown: Error::InvalidApiKey { status: 403 },
            revoked: Error::ApiKeyRevoked { status: 403 },
        }
    }

    /// Consent configuration and log: a revoked key is refused like an unknown one.
    pub fn consent() -> Self {
        Self {
            missing: Error::ApiKeyRequired,
            unknown: Error::InvalidApiKey { status: 401 },
            revoked: Error::InvalidApiKey { status: 401 },
        }
    }

    /// Routes for unlimited keys; each has its own refusal of a missing key.
    pub fn unlimited(missing: Error) -> Self {
        Self { missing, ..Self::consent() }
    }

    pub fn all(self) -> Vec<Error> {
        vec![self.missing, self.unknown, self.revoked, Error::ApiKeyExpired]
    }
}
