//! Signatures according to standardwebhooks.com: HMAC-SHA256 over id, time and body.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderValue};
use rand::TryRng;
use rand::rngs::SysRng;
use sha2::Sha256;

use crate::error::{Error, Result};

const BYTES: usize = 32;
const PREFIX: &str = "whsec_";

/// The signing secret of an endpoint. Has no `Debug`: it is a secret.
#[derive(Clone)]
pub struct SigningSecret(Vec<u8>);

impl SigningSecret {
    pub fn random() -> Result<Self> {
        let mut bytes = vec![0; BYTES];
        SysRng.try_fill_bytes(&mut bytes).map_err(Error::internal)?;
        Ok(Self(bytes))
    }

    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn text(&self) -> String {
        format!("{PREFIX}{}", BASE64_STANDARD.encode(&self.0))
    }

    fn sign(&self, message_id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).expect("HMAC takes any length");
        mac.update(format!("{message_id}.{timestamp}.").as_bytes());
        mac.update(body);
        format!("v1,{}", BASE64_STANDARD.encode(mac.finalize().into_bytes()))
    }
}

pub fn headers(
    secrets: &[SigningSecret],
    message_id: &str,
    timestamp: i64,
    body: &[u8],
) -> Result<HeaderMap> {
    let signatures = secrets.iter().map(|secret| secret.sign(message_id, timestamp, body));
    let signatures = signatures.collect::<Vec<_>>().join(" ");
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
        let secret = SigningSecret::from_bytes(secret);
        let signed =
            secret.sign("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
        assert_eq!(signed, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn every_secret_signs_and_is_another() {
        let secrets = [SigningSecret::random().unwrap(), SigningSecret::random().unwrap()];
        assert_ne!(secrets[0].text(), secrets[1].text());
        assert!(secrets[0].text().starts_with(PREFIX) && secrets[0].bytes().len() == BYTES);
        let headers = headers(&secrets, "evt_1", 7, b"{}").unwrap();
        let expected = secrets.map(|secret| secret.sign("evt_1", 7, b"{}")).join(" ");
        assert_eq!(headers["webhook-signature"], expected);
        assert_eq!(
            (&headers["webhook-id"], &headers["webhook-timestamp"]),
            (&"evt_1".parse().unwrap(), &"7".parse().unwrap())
        );
    }
}
