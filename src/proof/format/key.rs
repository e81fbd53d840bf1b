//! Keys and signature lines of notes (c2sp.org/signed-note).

use std::fmt;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};
use ring::signature::{ED25519, UnparsedPublicKey};

const ID: usize = 4;
const DASH: &str = "\u{2014} ";
/// The key type of ML-DSA-44, whose signatures are skipped.
const ML_DSA: u8 = 0x06;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text = 0x01,
    /// The time at which the text was seen (c2sp.org/tlog-cosignature).
    Cosignature = 0x04,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    kind: Kind,
    name: String,
    id: [u8; ID],
    public: Vec<u8>,
}

impl Key {
    /// `None` for a name that is invalid in a note.
    pub fn new(kind: Kind, name: &str, public: &[u8]) -> Option<Self> {
        let id = key_id(name, &typed(kind as u8, public));
        is_name(name).then(|| Self { kind, name: name.to_owned(), id, public: public.to_owned() })
    }

    /// Parses the one-line form: name, id and key, separated by `+`.
    pub fn parse(kind: Kind, text: &str) -> Option<Self> {
        let (name, found, public) = parts(text)?;
        (found == kind as u8 && public.len() == 32).then(|| Self::new(kind, name, &public))?
    }

    /// Whether the line is a key of a signature type that is not supported here.
    pub fn is_unknown(text: &str) -> bool {
        parts(text).is_some_and(|(_, found, _)| found == ML_DSA)
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn public(&self) -> &[u8] {
        &self.public
    }

    pub fn is_of(&self, line: &SignatureLine<'_>) -> bool {
        line.name == self.name && line.bytes.starts_with(&self.id)
    }

    pub fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        UnparsedPublicKey::new(&ED25519, &self.public).verify(message, signature).is_ok()
    }

    /// The line of a signature, with its line end.
    pub fn line(&self, signature: &[u8]) -> String {
        let bytes = BASE64_STANDARD.encode([&self.id, signature].concat());
        format!("{DASH}{} {bytes}\n", self.name)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = BASE64_STANDARD.encode(typed(self.kind as u8, &self.public));
        write!(formatter, "{}+{}+{key}", self.name, hex::encode(self.id))
    }
}

/// Name, type and bytes of a key; `None` if its id is wrong.
fn parts(text: &str) -> Option<(&str, u8, Vec<u8>)> {
    let [name, id, key] = text.splitn(3, '+').collect::<Vec<_>>()[..] else { return None };
    let key = BASE64_STANDARD.decode(key).ok()?;
    let (kind, public) = key.split_first()?;
    let is_whole = is_name(name) && hex::encode(key_id(name, &key)) == id;
    is_whole.then(|| (name, *kind, public.to_vec()))
}

pub struct SignatureLine<'n> {
    name: &'n str,
    /// The key's id and the signature.
    bytes: Vec<u8>,
}

impl<'n> SignatureLine<'n> {
    /// Parses a line without its line end.
    pub fn parse(line: &'n str) -> Option<Self> {
        let (name, bytes) = line.strip_prefix(DASH)?.split_once(' ')?;
        let bytes = BASE64_STANDARD.decode(bytes).ok()?;
        (is_name(name) && bytes.len() > ID).then_some(Self { name, bytes })
    }

    /// The bytes after the key's id.
    pub fn signature(&self) -> &[u8] {
        &self.bytes[ID..]
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.contains(|character: char| character.is_whitespace() || character == '+')
}

fn typed(kind: u8, public: &[u8]) -> Vec<u8> {
    [&[kind], public].concat()
}

fn key_id(name: &str, typed_key: &[u8]) -> [u8; ID] {
    let hash = digest(&SHA256, &[name.as_bytes(), b"\n", typed_key].concat());
    let mut id = [0; ID];
    id.copy_from_slice(&hash.as_ref()[..ID]);
    id
}
