//! The time stamp of a proof file, for whoever checks one.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;

use super::request::imprint_of;
use super::token::Token;
use crate::proof::format::tlog_proof::TlogProof;

/// A time stamp, as a proof file has it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stamped {
    pub token: String,
    pub tlog_proof: String,
}

/// The time that a token names, if it is about this checkpoint. Whether the token is genuine is not looked
/// at.
pub fn time_of_token(token: &str, checkpoint: &str) -> Option<String> {
    let token = BASE64_STANDARD.decode(token).ok()?;
    let token = Token::read(&token)?;
    (token.imprint == imprint_of(checkpoint)).then(|| readable(token.time))
}

/// `20260310120000Z` as `2026-03-10T12:00:00Z`; what is written otherwise stays as it is.
fn readable(time: &str) -> String {
    let digits = time.bytes().take_while(u8::is_ascii_digit).count();
    if digits != 14 || !time.ends_with('Z') {
        return time.chars().filter(|character| !character.is_control()).collect();
    }
    let (date, clock) = time.split_at(8);
    let (hours, minutes, seconds) = (&clock[..2], &clock[2..4], &clock[4..]);
    format!("{}-{}-{}T{hours}:{minutes}:{seconds}", &date[..4], &date[4..6], &date[6..])
}

/// What `openssl ts -verify` needs of a proof file.
pub struct Extract {
    /// The checkpoint that was stamped.
    pub checkpoint: String,
    /// The token, in DER.
    pub token: Vec<u8>,
}

impl Extract {
    /// `None` when there is no time stamp in the file, or nothing that can be read.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_written_as_everywhere_else() {
        assert_eq!(readable("20260310120001Z"), "2026-03-10T12:00:01Z");
        assert_eq!(readable("20260310120001.25Z"), "2026-03-10T12:00:01.25Z");
        for odd in ["", "Z", "20260310Z", "2026031012000é", "202603101200011Z"] {
            assert_eq!(readable(odd), odd);
        }
    }
}
