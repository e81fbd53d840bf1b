//! Signatures: HMAC-SHA256 (RFC 2104) over the canonical JSON (RFC 8785) of a receipt.

use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256;

use crate::config::Secret;

pub const SIGNATURE_ALG: &str = "hmac-sha256";

/// Signs with the first secret, verifies with every one, so that secrets can be rotated while
/// old receipts stay valid.
#[derive(Clone)]
pub struct ReceiptSigner {
    keys: Vec<Hmac<Sha256>>,
}

impl ReceiptSigner {
    /// # Panics
    /// If there is no secret: the configuration ensures one.
    pub fn new(secrets: &[Secret]) -> Self {
        assert!(!secrets.is_empty(), "a signer needs a secret");
        let key = |secret: &Secret| {
            Hmac::new_from_slice(secret.expose().as_bytes()).expect("HMAC takes keys of any length")
        };
        Self { keys: secrets.iter().map(key).collect() }
    }

    /// The 32 bytes of the signature of a receipt's canonical JSON.
    pub fn sign(&self, canonical: &[u8]) -> Vec<u8> {
        let mut mac = self.keys[0].clone();
        mac.update(canonical);
        mac.finalize().into_bytes().to_vec()
    }

    /// Whether a signature (64 lowercase hex digits) is the service's own for exactly this receipt.
    pub fn verifies(&self, receipt: &Value, signature: &str) -> bool {
        serde_json_canonicalizer::to_vec(receipt)
            .is_ok_and(|message| self.has_signed(&message, signature))
    }

    /// Like [`ReceiptSigner::verifies`], for a receipt in its canonical form.
    pub fn has_signed(&self, message: &[u8], signature: &str) -> bool {
        let is_lowercase_hex =
            signature.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let Ok(signature) = hex::decode(signature) else { return false };
        is_lowercase_hex
            && self.keys.iter().any(|key| {
                let mut mac = key.clone();
                mac.update(message);
                mac.verify_slice(&signature).is_ok()
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn signer(secrets: &[&str]) -> ReceiptSigner {
        ReceiptSigner::new(&secrets.iter().map(|&secret| Secret::new(secret)).collect::<Vec<_>>())
    }

    #[test]
    fn key_order_does_not_matter_and_everything_else_does() {
        let signer = signer(&["one"]);
        let signature = hex::encode(signer.sign(r#"{"a":"ü","b":[1,2]}"#.as_bytes()));
        let reordered = serde_json::from_str(r#"{ "a": "\u00fc", "b": [1, 2] }"#).unwrap();
        assert!(signer.verifies(&reordered, &signature));
        assert!(!signer.verifies(&json!({"b": [2, 1], "a": "ü"}), &signature));
        assert!(!signer.verifies(&json!({"b": [1, 2], "a": "ü", "c": null}), &signature));
        assert!(!signer.verifies(&reordered, &signature.to_uppercase()));
        assert!(!signer.verifies(&reordered, &signature[..62]));
        assert!(!signer.verifies(&reordered, ""));
    }

    #[test]
    fn old_secrets_verify_after_a_rotation_and_removed_ones_do_not() {
        let receipt = json!({"a": 1});
        let signature = hex::encode(signer(&["old"]).sign(br#"{"a":1}"#));
        assert!(signer(&["new", "old"]).verifies(&receipt, &signature));
        assert!(!signer(&["new"]).verifies(&receipt, &signature));
    }

    #[test]
    fn the_signature_is_the_hmac_that_anyone_can_compute() {
        // RFC 4231, test case 2.
        let signature = hex::encode(signer(&["Jefe"]).sign(b"what do ya want for nothing?"));
        assert_eq!(signature, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    }
}
