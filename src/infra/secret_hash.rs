use sha2::{Digest, Sha256};

/// The SHA-256 of a secret. The secret itself is never stored.
pub fn secret_hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret).to_vec()
}
