//! The timestamp of a proof file, for its verifier.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use super::request::imprint_of;
use super::time::StampTime;
use super::token::Token;
use crate::proof::format::tlog_proof::TlogProof;

/// The timestamp in a proof file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamped {
    pub token: String,
    pub tlog_proof: String,
}

/// The time in a token, if it covers this checkpoint. Whether the token is genuine is not checked.
pub fn time_of_token(token: &str, checkpoint: &str) -> Option<StampTime> {
    let token = BASE64_STANDARD.decode(token).ok()?;
    let token = Token::read(&token)?;
    (token.imprint == imprint_of(checkpoint)).then_some(token.time)
}

/// The input of `openssl ts -verify` for a proof file.
pub struct Extract {
    pub checkpoint: String,
    /// The token in DER.
    pub token: Vec<u8>,
}

impl Extract {
    /// `None` if the file has no timestamp, or an unreadable one.
    pub fn of(file: &str) -> Option<Self> {
        #[derive(Deserialize)]
        struct File {
            timestamp: Stamped,
        }
        let File { timestamp } = serde_json::from_str(file).ok()?;
        let token = BASE64_STANDARD.decode(timestamp.token).ok()?;
        let checkpoint = TlogProof::parse(&timestamp.tlog_proof)?.checkpoint;
        Some(Self { checkpoint, token })
    }
}
