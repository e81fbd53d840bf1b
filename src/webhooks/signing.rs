//! Signatures over id, time and body according to standardwebhooks.com: HMAC-SHA256, and optionally Ed25519.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderValue};
use rand::TryRng;
use rand::rngs::SysRng;
use ring::signature::{Ed25519KeyPair, KeyPair};
use sha2::Sha256;

use crate::error::{Error, Result};

const BYTES: usize = 32;
const PREFIX: &str = "whsec_";
const PUBLIC_PREFIX: &str = "whpk_";
/// Derives the Ed25519 key from the secret.
const SEED: &[u8] = b"assent webhooks, Ed25519";

/// The signing secret of an endpoint. Has no `Debug`: it is a secret.
#[derive(Clone)]
pub struct SigningSecret {
    bytes: Vec<u8>,
    /// Whether it signs with Ed25519 too.
    is_public: bool,
}

impl SigningSecret {
    pub fn random() -> Result<Self> {
        let mut bytes = vec![0; BYTES];
        SysRng.try_fill_bytes(&mut bytes).map_err(Error::internal)?;
        Ok(Self { bytes, is_public: false })
    }

    pub fn new(bytes: Vec<u8>, is_public: bool) -> Self {
        Self { bytes, is_public }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn text(&self) -> String {
        format!("{PREFIX}{}", BASE64_STANDARD.encode(&self.bytes))
    }

    /// The key with which receivers check the signatures `v1a`.
    pub fn public_key(&self) -> Result<String> {
        let key = self.key_pair()?;
        Ok(format!("{PUBLIC_PREFIX}{}", BASE64_STANDARD.encode(key.public_key())))
    }

    fn key_pair(&self) -> Result<Ed25519KeyPair> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.bytes).map_err(Error::internal)?;
        mac.update(SEED);
        let seed = mac.finalize().into_bytes();
        Ed25519KeyPair::from_seed_unchecked(&seed).map_err(Error::internal)
    }

    fn sign(&self, message_id: &str, timestamp: i64, body: &[u8]) -> Result<String> {
        let text = [format!("{message_id}.{timestamp}.").as_bytes(), body].concat();
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.bytes).map_err(Error::internal)?;
        mac.update(&text);
        let signed = format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()));
        if !self.is_public {
            return Ok(signed);
        }
        let public = BASE64_STANDARD.encode(self.key_pair()?.sign(&text));
        Ok(format!("{signed} v1a,{public}"))
    }
}

pub fn headers(
    secrets: &[SigningSecret],
    message_id: &str,
    timestamp: i64,
    body: &[u8],
) -> Result<HeaderMap> {
    let signatures = secrets.iter().map(|secret| secret.sign(message_id, timestamp, body));
    let signatures = signatures.collect::<Result<Vec<_>>>()?.join(" ");
    let value = |text: &str| HeaderValue::from_str(text).map_err(Error::internal);
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("webhook-id", value(message_id)?);
    headers.insert("webhook-timestamp", timestamp.into());
    headers.insert("webhook-signature", value(&signatures)?);
    Ok(headers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_signs_as_the_specification_does() {
        let secret = BASE64_STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let (id, body) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", br#"{"test": 2432232314}"#);
        let sign = |is_public| {
            let secret = SigningSecret::new(secret.clone(), is_public);
            (secret.sign(id, 1_614_265_330, body).unwrap(), secret.public_key().unwrap())
        };
        let (signed, _) = sign(false);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
        let (both, key) = sign(true);
        let signature = both.strip_prefix(&format!("{signed} v1a,")).unwrap();
        let signature = BASE64_STANDARD.decode(signature).unwrap();
        let key = BASE64_STANDARD.decode(key.strip_prefix("whpk_").unwrap()).unwrap();
        let text = [format!("{id}.1614265330.").as_bytes(), body].concat();
        let key = ring::signature::UnparsedPublicKey::new(&ring::signature::ED25519, key);
        assert!(key.verify(&text, &signature).is_ok());
        assert!(key.verify(b"another", &signature).is_err());
    }

    #[test]
    fn every_secret_signs_and_is_another() {
        let secrets = [SigningSecret::random().unwrap(), SigningSecret::random().unwrap()];
        assert_ne!(secrets[0].text(), secrets[1].text());
        assert!(secrets[0].text().starts_with(PREFIX) && secrets[0].bytes().len() == BYTES);
        let headers = headers(&secrets, "evt_1", 7, b"{}").unwrap();
        let expected = secrets.map(|secret| secret.sign("evt_1", 7, b"{}").unwrap()).join(" ");
        assert_eq!(headers["webhook-signature"], expected);
        assert_eq!(
            (&headers["webhook-id"], &headers["webhook-timestamp"]),
            (&"evt_1".parse().unwrap(), &"7".parse().unwrap())
        );
    }
}
