//! What a sign-in is proven by: the browser's secret, and the digits of the mail.

use chrono::Duration;

use crate::accounts::credentials::secret_hash;
use crate::types::ids::{random_code, random_text};

/// A sign-in must come to its end by then.
pub const SIGN_IN_LIFE: Duration = Duration::minutes(15);
const SECRET_LEN: usize = 43;

/// Both secrets of a sign-in that begins. Has no `Debug`.
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

/// The browser's secret is part of what is hashed: six digits alone could be read back from a hash.
pub fn code_hash(token_hash: &[u8], code: &str) -> Vec<u8> {
    secret_hash(&format!("{}:{code}", hex::encode(token_hash)))
}
