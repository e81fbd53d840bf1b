//! Encryption of secrets at rest (AES-256-GCM) and signatures of cookies (HMAC-SHA256), with keys
//! derived from the receipt secrets by HKDF-SHA256 (RFC 5869). The first secret encrypts and signs;
//! every secret decrypts and verifies.

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Okm, Salt};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use uuid::Uuid;

use crate::config::Secret;
use crate::error::{Error, Result};

/// Purpose of a derived key, which separates it from other keys derived from the same secrets.
#[derive(Clone, Copy)]
pub enum Purpose {
    Outbox,
    Webhooks,
    Answers,
    KnownBrowsers,
}

impl Purpose {
    fn words(self) -> &'static [u8] {
        match self {
            Self::Outbox => b"assent outbox, AES-256-GCM",
            Self::Webhooks => b"assent webhooks, AES-256-GCM",
            Self::Answers => b"assent idempotency keys, AES-256-GCM",
            Self::KnownBrowsers => b"assent known browsers, HMAC-SHA256",
        }
    }
}

pub struct Encryptor {
    keys: Vec<LessSafeKey>,
}

impl Encryptor {
    pub fn new(secrets: &[Secret], purpose: Purpose) -> Self {
        Self { keys: secrets.iter().map(|secret| derived_key(secret, purpose)).collect() }
    }

    /// Returns a random nonce, the ciphertext and its tag. Decryption requires the same id.
    pub fn encrypt(&self, id: Uuid, text: &[u8]) -> Result<Vec<u8>> {
        let key = self.keys.first().ok_or_else(|| Error::internal("no secret to seal with"))?;
        let failed = |_| Error::internal("a text could not be encrypted");
        let mut nonce = [0; NONCE_LEN];
        SystemRandom::new().fill(&mut nonce).map_err(failed)?;
        let mut encrypted = text.to_vec();
        let about = Aad::from(id.as_bytes());
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), about, &mut encrypted)
            .map_err(failed)?;
        Ok([nonce.as_slice(), &encrypted].concat())
    }

    pub fn is_current(&self, id: Uuid, encrypted: &[u8]) -> bool {
        self.keys.first().is_some_and(|key| decrypt(key, id, encrypted).is_some())
    }

    /// Returns the plaintext; `None` if no secret decrypts it.
    pub fn decrypt(&self, id: Uuid, encrypted: &[u8]) -> Option<Vec<u8>> {
        self.keys.iter().find_map(|key| decrypt(key, id, encrypted))
    }
}

fn decrypt(key: &LessSafeKey, id: Uuid, encrypted: &[u8]) -> Option<Vec<u8>> {
    let (nonce, encrypted) = encrypted.split_first_chunk::<NONCE_LEN>()?;
    let (nonce, about) = (Nonce::assume_unique_for_key(*nonce), Aad::from(id.as_bytes()));
    let mut text = encrypted.to_vec();
    key.open_in_place(nonce, about, &mut text).ok().map(|text| text.to_vec())
}

fn derived_key(secret: &Secret, purpose: Purpose) -> LessSafeKey {
    LessSafeKey::new(derived::<_, UnboundKey>(secret, purpose, &AES_256_GCM))
}

fn derived<T: KeyType, K: for<'a> From<Okm<'a, T>>>(
    secret: &Secret,
    purpose: Purpose,
    key_type: T,
) -> K {
    let extracted = Salt::new(HKDF_SHA256, &[]).extract(secret.expose().as_bytes());
    let words = [purpose.words()];
    let expanded = extracted.expand(&words, key_type).expect("32 bytes can be derived");
    K::from(expanded)
}

pub struct TokenSigner {
    keys: Vec<hmac::Key>,
}

impl TokenSigner {
    pub fn new(secrets: &[Secret], purpose: Purpose) -> Self {
        let key = |secret| derived(secret, purpose, hmac::HMAC_SHA256);
        Self { keys: secrets.iter().map(key).collect() }
    }

    /// The signature in hex; `None` if no secret is configured.
    pub fn sign(&self, text: &str) -> Option<String> {
        let key = self.keys.first()?;
        Some(hex::encode(hmac::sign(key, text.as_bytes())))
    }

    pub fn verify(&self, text: &str, signature: &str) -> bool {
        let Ok(signature) = hex::decode(signature) else { return false };
        let is_of = |key| hmac::verify(key, text.as_bytes(), &signature).is_ok();
        self.keys.iter().any(is_of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encryptor(secrets: &[&str]) -> Encryptor {
        Encryptor::new(
            &secrets.iter().map(|&secret| Secret::new(secret)).collect::<Vec<_>>(),
            Purpose::Outbox,
        )
    }

    #[test]
    fn texts_of_an_older_secret_are_decrypted_until_it_is_removed() {
        let id = Uuid::from_u128(1);
        let encrypted = encryptor(&["old"]).encrypt(id, b"042137").unwrap();
        assert_eq!(
            encryptor(&["new", "old"]).decrypt(id, &encrypted).as_deref(),
            Some(&b"042137"[..])
        );
        assert_eq!(encryptor(&["new"]).decrypt(id, &encrypted), None);
        assert!(encryptor(&["old", "new"]).is_current(id, &encrypted));
        assert!(!encryptor(&["new", "old"]).is_current(id, &encrypted));
    }

    #[test]
    fn it_opens_unchanged_and_for_its_own_id_and_purpose_only() {
        let (encryptor, id) = (encryptor(&["one"]), Uuid::from_u128(1));
        let encrypted = encryptor.encrypt(id, b"042137").unwrap();
        assert!(!encrypted.windows(6).any(|part| part == b"042137"));
        assert_ne!(encryptor.encrypt(id, b"042137").unwrap(), encrypted, "every nonce is another");
        assert_eq!(encryptor.decrypt(Uuid::from_u128(2), &encrypted), None);
        let other = Encryptor::new(&[Secret::new("one")], Purpose::Webhooks);
        assert_eq!(other.decrypt(id, &encrypted), None);
        let mut changed = encrypted.clone();
        changed[NONCE_LEN] ^= 1;
        assert_eq!(encryptor.decrypt(id, &changed), None);
        assert_eq!(encryptor.decrypt(id, &encrypted[..5]), None);
    }

    #[test]
    fn a_signature_verifies_for_its_text_under_every_secret() {
        let signer = |secrets: &[&str]| {
            let secrets = secrets.iter().map(|&secret| Secret::new(secret)).collect::<Vec<_>>();
            TokenSigner::new(&secrets, Purpose::KnownBrowsers)
        };
        let signature = signer(&["old"]).sign("text").unwrap();
        assert!(signer(&["new", "old"]).verify("text", &signature));
        assert!(!signer(&["new"]).verify("text", &signature));
        assert!(!signer(&["old"]).verify("other", &signature));
        assert!(!signer(&["old"]).verify("text", "no hex"));
        assert!(signer(&[]).sign("text").is_none());
    }

    #[test]
    fn without_a_secret_nothing_is_encrypted() {
        assert!(encryptor(&[]).encrypt(Uuid::from_u128(1), b"042137").is_err());
    }
}
