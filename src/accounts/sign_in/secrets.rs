use chrono::Duration;

use crate::infra::secret_hash::secret_hash;
use crate::types::ids::{random_code, random_text};

pub const SIGN_IN_LIFE: Duration = Duration::minutes(15);
const SECRET_LEN: usize = 43;

/// Both secrets of a new sign-in. No `Debug`, so that they are not logged.
pub struct Secrets {
    pub browser: String,
    pub code: String,
}

impl Secrets {
    pub fn random() -> Self {
        Self { browser: random_text(SECRET_LEN), code: random_code() }
    }

    pub fn token_hash(&self) -> Vec<u8> {
        secret_hash(&self.browser)
    }

    pub fn code_hash(&self) -> Vec<u8> {
        code_hash(&self.token_hash(), &self.code)
    }
}

/// Includes the browser's secret, because a hash of six digits alone could be reversed.
pub fn code_hash(token_hash: &[u8], code: &str) -> Vec<u8> {
    secret_hash(&format!("{}:{code}", hex::encode(token_hash)))
}
