//! Cosignatures: a witness states that at a time it had seen this state of a log, and that it extends every
//! state seen before (c2sp.org/tlog-cosignature, version 1).

use std::fmt;

use ring::signature::{Ed25519KeyPair, KeyPair};

use super::key::{Key, Kind, SignatureLine};
use super::note::{Note, NoteError};

/// Length of the timestamp before the signature, in bytes.
const TIME: usize = 8;
/// The latest representable time.
const LAST: u64 = i64::MAX as u64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cosigner(Key);

impl Cosigner {
    /// Parses a key in its one-line form.
    pub fn parse(text: &str) -> Option<Self> {
        Key::parse(Kind::Cosignature, text).map(Self)
    }

    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The bytes of the public key, without the name.
    pub fn public(&self) -> &[u8] {
        self.0.public()
    }

    /// Time of the key's cosignature of a note, in seconds since 1970; `None` if it did not cosign it.
    pub fn time_of(&self, note: &Note<'_>) -> Result<Option<u64>, NoteError> {
        match note.signatures.iter().find(|line| self.0.is_of(line)) {
            Some(line) => self.time_in(note.text, line).map(Some).ok_or(NoteError::Forged),
            None => Ok(None),
        }
    }

    pub fn time_in(&self, text: &str, line: &SignatureLine<'_>) -> Option<u64> {
        let (time, signature) = line.signature().split_first_chunk::<TIME>()?;
        let time = u64::from_be_bytes(*time);
        let is_signed = || self.0.verify(message(text, time).as_bytes(), signature);
        (self.0.is_of(line) && time <= LAST && is_signed()).then_some(time)
    }

    /// The first line that is this key's cosignature of the text, verbatim, and its time.
    pub fn find<'l>(&self, text: &str, lines: &'l str) -> Option<(&'l str, u64)> {
        let found = lines.split_inclusive('\n').filter_map(|line| {
            let signature = SignatureLine::parse(line.strip_suffix('\n')?)?;
            Some((line, self.time_in(text, &signature)?))
        });
        found.into_iter().next()
    }
}

impl fmt::Display for Cosigner {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

pub struct CosigningKey {
    cosigner: Cosigner,
    pair: Ed25519KeyPair,
}

impl CosigningKey {
    /// The key of this name derived from a seed. `None` for a name that is invalid in a note, and for a seed
    /// of another length than 32 bytes.
    pub fn new(name: &str, seed: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let key = Key::new(Kind::Cosignature, name, pair.public_key().as_ref())?;
        Some(Self { cosigner: Cosigner(key), pair })
    }

    pub fn cosigner(&self) -> &Cosigner {
        &self.cosigner
    }

    /// The cosignature line of a text at a time, with its line end.
    pub fn cosign(&self, text: &str, time: u64) -> String {
        let signature = self.pair.sign(message(text, time).as_bytes());
        self.cosigner.0.line(&[&time.to_be_bytes(), signature.as_ref()].concat())
    }
}

fn message(text: &str, time: u64) -> String {
    format!("cosignature/v1\ntime {time}\n{text}")
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    const TEXT: &str =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
    /// The example of the specification, which does not include a key.
    const LINE: &str = "\u{2014} witness.example.com/w1 jWbPPwAAAABkGFDLEZMHwSRaJNiIDoe9DYn/zXcrtPHeolMI5OWXEhZCB9dlrDJsX3b2oyin1nPZqhf5nNo0xUe+mbIUBkBIfZ+qnA==\n";
    const TIME_OF_LINE: u64 = 1_679_315_147;

    fn key() -> CosigningKey {
        CosigningKey::new("witness.example.com/w1", &[7; 32]).unwrap()
    }

    #[test]
    fn what_is_signed_is_what_the_specification_shows() {
        let expected = "cosignature/v1\ntime 1679315147\nexample.com/behind-the-sofa\n20852163\n\
            CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";
        assert_eq!(message(TEXT, TIME_OF_LINE), expected);
        let line = SignatureLine::parse(LINE.trim_end()).unwrap();
        assert_eq!(line.signature().len(), 72);
        assert_eq!(&line.signature()[..8], TIME_OF_LINE.to_be_bytes());
        let own = key().cosign(TEXT, TIME_OF_LINE);
        assert_eq!(own.len(), LINE.len());
        let id = |line: &str| BASE64_STANDARD.decode(line.split(' ').nth(2).unwrap().trim());
        assert_eq!(id(&own).unwrap()[4..12], id(LINE).unwrap()[4..12]);
    }

    #[test]
    fn a_cosignature_says_when_and_no_changed_one_is_believed() {
        let (key, time) = (key(), TIME_OF_LINE);
        let line = key.cosign(TEXT, time);
        let cosigner = Cosigner::parse(&key.cosigner().to_string()).unwrap();
        assert_eq!(cosigner.find(TEXT, &line), Some((&*line, time)));
        let many = format!("garbage\n{LINE}{line}{line}");
        assert_eq!(cosigner.find(TEXT, &many), Some((&*line, time)));
        assert_eq!(cosigner.find(&TEXT.replace("20852163", "20852164"), &line), None);
        assert_eq!(cosigner.find(TEXT, line.trim_end()), None);
        let note = format!("{TEXT}\n{LINE}{line}");
        assert_eq!(cosigner.time_of(&Note::parse(&note).unwrap()), Ok(Some(time)));
        let without = format!("{TEXT}\n{LINE}");
        assert_eq!(cosigner.time_of(&Note::parse(&without).unwrap()), Ok(None));
        let (name, bytes) = line.trim_end().rsplit_once(' ').unwrap();
        let bytes = BASE64_STANDARD.decode(bytes).unwrap();
        for index in 4..bytes.len() {
            let mut changed = bytes.clone();
            changed[index] ^= 1;
            let note = format!("{TEXT}\n{name} {}\n", BASE64_STANDARD.encode(changed));
            let forged = cosigner.time_of(&Note::parse(&note).unwrap());
            assert_eq!(forged, Err(NoteError::Forged), "{index}");
        }
        let late = key.cosign(TEXT, u64::MAX);
        assert_eq!(cosigner.find(TEXT, &late), None);
        let other = CosigningKey::new("witness.example.com/w1", &[8; 32]).unwrap();
        assert_eq!(cosigner.find(TEXT, &other.cosign(TEXT, time)), None);
    }

    #[test]
    fn a_log_cannot_cosign_itself_by_mistake() {
        use crate::proof::format::note::{NoteSigner, Verifier};
        let signer = NoteSigner::new("witness.example.com/w1", &[7; 32]).unwrap();
        assert!(Cosigner::parse(&signer.verifier().to_string()).is_none());
        assert!(Verifier::parse(&key().cosigner().to_string()).is_none());
        let note = signer.sign(TEXT);
        assert_eq!(key().cosigner().time_of(&Note::parse(&note).unwrap()), Ok(None));
    }
}
