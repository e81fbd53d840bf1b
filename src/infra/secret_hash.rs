use sha2::{Digest, Sha256};

/// SHA-256 of a secret: all that is ever stored of it.
pub fn secret_hash(secret: &str) -> Vec<u8> {
    Sha256::digest(secret).to_vec()
}
