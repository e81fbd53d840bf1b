//! The checks of WebAuthn (Level 3, sections 7.1 and 7.2) on the response of an authenticator. Signatures are
//! verified by `webpki` with `ring`, like those of TLS. A WebAuthn library would add a second implementation of
//! cryptography (docs/adr/0011-libraries.md).

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use rustls::pki_types::{SignatureVerificationAlgorithm, SubjectPublicKeyInfoDer};
use serde::Deserialize;
use sha2::{Digest, Sha256};
use url::Url;
use webpki::{RawPublicKeyEntity, ring};

use crate::error::{Error, Result};

/// The COSE numbers of the accepted algorithms: ES256, RS256 and Ed25519, the preferred first.
pub const ALGORITHMS: [i32; 3] = [-7, -257, -8];
const USER_PRESENT: u8 = 0x01;
const USER_VERIFIED: u8 = 0x04;
const MAY_BE_BACKED_UP: u8 = 0x08;
const IS_BACKED_UP: u8 = 0x10;
const HAS_CREDENTIAL: u8 = 0x40;
const HASH_LEN: usize = 32;
const AAGUID_LEN: usize = 16;

/// The service, as browsers and authenticators identify it.
pub struct RelyingParty {
    pub id: String,
    origin: String,
}

impl RelyingParty {
    pub fn of(base_url: &str) -> Result<Self> {
        let url = Url::parse(base_url).map_err(Error::internal)?;
        let id = url.host_str().unwrap_or_default().to_owned();
        Ok(Self { id, origin: url.origin().ascii_serialization() })
    }
}

/// Written by the browser, and signed by the authenticator.
#[derive(Deserialize)]
pub struct ClientData {
    #[serde(rename = "type")]
    kind: String,
    challenge: String,
    origin: String,
    #[serde(default, rename = "crossOrigin")]
    cross_origin: bool,
}

impl ClientData {
    pub fn read(bytes: &[u8]) -> Option<Self> {
        serde_json::from_slice(bytes).ok()
    }

    pub fn challenge(&self) -> Option<Vec<u8>> {
        decoded(&self.challenge)
    }

    /// Whether a page of this service made the request, and not inside a frame of another site.
    pub fn is_from(&self, party: &RelyingParty, kind: &str) -> bool {
        self.kind == kind && self.origin == party.origin && !self.cross_origin
    }
}

pub struct AuthenticatorData {
    pub sign_count: u32,
    /// Present when a passkey was created.
    pub credential_id: Option<Vec<u8>>,
}

impl AuthenticatorData {
    /// Parses the data; `None` unless it is for this service and its user was verified.
    pub fn read(bytes: &[u8], party: &RelyingParty) -> Option<Self> {
        let (party_hash, rest) = bytes.split_at_checked(HASH_LEN)?;
        let (flags, rest) = rest.split_first()?;
        let (sign_count, rest) = rest.split_first_chunk::<4>()?;
        let has = |flag: u8| flags & flag == flag;
        let is_consistent = has(MAY_BE_BACKED_UP) || !has(IS_BACKED_UP);
        if Sha256::digest(&party.id).to_vec() != party_hash
            || !has(USER_PRESENT | USER_VERIFIED)
            || !is_consistent
        {
            return None;
        }
        let credential_id = if has(HAS_CREDENTIAL) { Some(credential_id(rest)?) } else { None };
        Some(Self { sign_count: u32::from_be_bytes(*sign_count), credential_id })
    }
}

fn credential_id(attested: &[u8]) -> Option<Vec<u8>> {
    let (_, rest) = attested.split_at_checked(AAGUID_LEN)?;
    let (length, rest) = rest.split_first_chunk::<2>()?;
    let id = rest.get(..usize::from(u16::from_be_bytes(*length)))?;
    (!id.is_empty()).then(|| id.to_vec())
}

fn algorithms() -> [&'static dyn SignatureVerificationAlgorithm; 3] {
    [ring::ECDSA_P256_SHA256, ring::RSA_PKCS1_2048_8192_SHA256, ring::ED25519]
}

/// Whether it is a public key of an accepted algorithm.
pub fn is_usable_key(public_key: &[u8]) -> bool {
    let key = SubjectPublicKeyInfoDer::from(public_key);
    let Ok(key) = RawPublicKeyEntity::try_from(&key) else { return false };
    // With a key of an accepted algorithm, only the signature, which is empty, is invalid.
    algorithms().iter().any(|algorithm| {
        let verdict = key.verify_signature(*algorithm, &[], &[]);
        matches!(verdict, Err(webpki::Error::InvalidSignatureForPublicKey))
    })
}

pub fn is_signed(
    public_key: &[u8],
    authenticator_data: &[u8],
    client_data: &[u8],
    signature: &[u8],
) -> bool {
    let key = SubjectPublicKeyInfoDer::from(public_key);
    let Ok(key) = RawPublicKeyEntity::try_from(&key) else { return false };
    let message = [authenticator_data, &Sha256::digest(client_data)].concat();
    algorithms()
        .iter()
        .any(|algorithm| key.verify_signature(*algorithm, &message, signature).is_ok())
}

pub fn decoded(text: &str) -> Option<Vec<u8>> {
    BASE64_URL_SAFE_NO_PAD.decode(text).ok()
}

pub fn encoded(bytes: &[u8]) -> String {
    BASE64_URL_SAFE_NO_PAD.encode(bytes)
}
