//! The payment provider's signature on a webhook delivery: `t=…,v1=…`, where every `v1` is a hex
//! HMAC-SHA256 of `{t}.{raw body}` (<https://docs.stripe.com/webhooks#verify-manually>).

use chrono::{DateTime, Duration, Utc};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::config::Secret;

/// The accepted difference between the signature's time and ours; later deliveries may be replays.
pub const TOLERANCE: Duration = Duration::seconds(300);

/// Whether the header has a recent signature of this body. During a rotation of the secret the
/// provider sends several signatures; one match is enough.
pub fn is_genuine(header: &str, body: &[u8], secret: &Secret, now: DateTime<Utc>) -> bool {
    let fields =
        header.split(',').filter_map(|field| field.trim().split_once('=')).collect::<Vec<_>>();
    let Some(&(_, time)) = fields.iter().find(|(name, _)| *name == "t") else { return false };
    if !is_recent(time, now) {
        return false;
    }
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.expose().as_bytes())
        .expect("HMAC takes keys of any length");
    mac.update(time.as_bytes());
    mac.update(b".");
    mac.update(body);
    fields
        .iter()
        .filter(|(name, _)| *name == "v1")
        .filter_map(|(_, signature)| hex::decode(signature).ok())
        .any(|signature| mac.clone().verify_slice(&signature).is_ok())
}

/// `time` is in seconds since 1970.
fn is_recent(time: &str, now: DateTime<Utc>) -> bool {
    let signed_at = time.parse().ok().and_then(|seconds| DateTime::from_timestamp(seconds, 0));
    // The provider's times are whole seconds.
    signed_at.is_some_and(|signed_at| {
        (now.timestamp() - signed_at.timestamp()).abs() <= TOLERANCE.num_seconds()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Generated with the provider's Node library, version 23.1.0:
    /// `webhooks.generateTestHeaderString({payload, secret, timestamp})`.
    const BODY: &[u8] = br#"{"id":"evt_1","object":"event","type":"ping"}"#;
    const SECRET: &str = "whsec_known_vector";
    const TIME: i64 = 1_773_144_000;
    const V1: &str = "d4f5da8713bf510a9a0ba5a887cf44199c85c4b85b991e69d5456abbab019058";

    fn accepts(header: &str, body: &[u8], secret: &str, now: i64) -> bool {
        let now = DateTime::from_timestamp(now, 999_000_000).unwrap();
        is_genuine(header, body, &Secret::new(secret), now)
    }

    #[test]
    fn the_providers_own_signature_is_genuine_for_300_seconds() {
        let header = format!("t={TIME},v1={V1}");
        for age in [0, 299, 300, -300] {
            assert!(accepts(&header, BODY, SECRET, TIME + age), "{age}");
        }
        for age in [301, -301, 1 << 40] {
            assert!(!accepts(&header, BODY, SECRET, TIME + age), "{age}");
        }
    }

    #[test]
    fn one_of_several_signatures_is_enough() {
        let other = "00".repeat(32);
        for header in [
            format!("t={TIME},v1={other},v1={V1}"),
            format!("t={TIME},v1={V1},v1={other},v0={other}"),
            format!("v1={V1}, t={TIME}"),
        ] {
            assert!(accepts(&header, BODY, SECRET, TIME), "{header}");
        }
    }

    #[test]
    fn another_body_secret_time_or_scheme_is_no_signature() {
        let header = format!("t={TIME},v1={V1}");
        assert!(!accepts(&header, &BODY[1..], SECRET, TIME));
        assert!(!accepts(&header, BODY, "whsec_other", TIME));
        for header in [
            format!("t={},v1={V1}", TIME + 1),
            format!("t={TIME},v0={V1}"),
            format!("t={TIME},v1={}", &V1[..62]),
            format!("t={TIME},v1={V1}00"),
            format!("t={TIME},v1="),
            format!("t={TIME}"),
            format!("v1={V1}"),
            format!("t=,v1={V1}"),
            format!("t=99999999999999999999,v1={V1}"),
            format!("t=0{TIME},v1={V1}"),
            "t".to_owned(),
            String::new(),
        ] {
            assert!(!accepts(&header, BODY, SECRET, TIME), "{header}");
        }
    }
}
