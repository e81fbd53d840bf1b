//! Signed notes: a text, an empty line, and signature lines (c2sp.org/signed-note).

use std::fmt;

use ring::signature::{Ed25519KeyPair, KeyPair};

use super::key::{Key, Kind, SignatureLine};

/// Notes with more signatures are rejected.
const MAX_SIGNATURES: usize = 100;

/// The reason why a note is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    #[error("this is not a signed note")]
    Malformed,
    #[error("the note is not signed by this key")]
    Unsigned,
    #[error("the note was changed after it was signed")]
    Forged,
}

/// A note with unverified signatures.
pub struct Note<'n> {
    /// Ends with a newline.
    pub text: &'n str,
    pub signatures: Vec<SignatureLine<'n>>,
}

impl<'n> Note<'n> {
    pub fn parse(note: &'n str) -> Result<Self, NoteError> {
        if note.chars().any(|character| character < ' ' && character != '\n') {
            return Err(NoteError::Malformed);
        }
        let end = note.rfind("\n\n").ok_or(NoteError::Malformed)? + 1;
        let (text, signatures) = (&note[..end], &note[end + 1..]);
        let lines = signatures.strip_suffix('\n').ok_or(NoteError::Malformed)?;
        if lines.split('\n').count() > MAX_SIGNATURES {
            return Err(NoteError::Malformed);
        }
        let lines = lines.split('\n').map(SignatureLine::parse).collect::<Option<Vec<_>>>();
        Ok(Self { text, signatures: lines.ok_or(NoteError::Malformed)? })
    }
}

/// The signed text of a note; empty for a malformed note.
pub fn text_of(note: &str) -> &str {
    Note::parse(note).map_or("", |note| note.text)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verifier(Key);

impl Verifier {
    /// Parses the one-line form: name, id and key, separated by `+`.
    pub fn parse(text: &str) -> Option<Self> {
        Key::parse(Kind::Text, text).map(Self)
    }

    pub fn name(&self) -> &str {
        self.0.name()
    }

    /// The bytes of the public key, without the name.
    pub fn public(&self) -> &[u8] {
        self.0.public()
    }

    /// The same key under another name; `None` for a name that is invalid in a note.
    pub fn renamed(&self, name: &str) -> Option<Self> {
        Key::new(Kind::Text, name, self.public()).map(Self)
    }

    /// The text of a note that this key has signed. Other keys' signatures are ignored.
    pub fn open<'n>(&self, note: &'n str) -> Result<&'n str, NoteError> {
        self.open_parsed(&Note::parse(note)?)
    }

    pub fn open_parsed<'n>(&self, note: &Note<'n>) -> Result<&'n str, NoteError> {
        self.line_in(note).map(|_| note.text)
    }

    /// The line of this key's signature of a note, with its line end.
    pub fn line_in(&self, note: &Note<'_>) -> Result<String, NoteError> {
        let own = note.signatures.iter().find(|line| self.0.is_of(line));
        let own = own.ok_or(NoteError::Unsigned)?.signature();
        let is_signed = self.0.verify(note.text.as_bytes(), own);
        if is_signed { Ok(self.0.line(own)) } else { Err(NoteError::Forged) }
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

pub struct NoteSigner {
    verifier: Verifier,
    pair: Ed25519KeyPair,
}

impl NoteSigner {
    /// The key of this name derived from a seed. `None` for a name that is invalid in a note, and for a seed
    /// of another length than 32 bytes.
    pub fn new(name: &str, seed: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
        let key = Key::new(Kind::Text, name, pair.public_key().as_ref())?;
        Some(Self { verifier: Verifier(key), pair })
    }

    /// The key for verifying its signatures.
    pub fn verifier(&self) -> &Verifier {
        &self.verifier
    }

    /// Signs a text, which must end with a newline.
    pub fn sign(&self, text: &str) -> String {
        let line = self.verifier.0.line(self.pair.sign(text.as_bytes()).as_ref());
        format!("{text}\n{line}")
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    const LINE: &str = "\u{2014} ";
    /// The example of Go's `note` package.
    const SECRET: &str = "AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const VERIFIER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const TEXT: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n";
    const NOTE: &str = "If you think cryptography is the answer to your problem,\n\
        then you don't know what your problem is.\n\n\
        \u{2014} PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    fn peter() -> NoteSigner {
        let key = BASE64_STANDARD.decode(SECRET).unwrap();
        NoteSigner::new("PeterNeumann", &key[1..]).unwrap()
    }

    #[test]
    fn a_known_key_signs_as_it_is_known_to() {
        assert_eq!(peter().verifier().to_string(), VERIFIER);
        assert_eq!(peter().sign(TEXT), NOTE);
        assert_eq!(peter().verifier().open(NOTE), Ok(TEXT));
    }

    #[test]
    fn a_key_is_read_as_it_is_written_and_in_no_other_spelling() {
        let key = Verifier::parse(VERIFIER).unwrap();
        assert_eq!((key.name(), key.to_string()), ("PeterNeumann", VERIFIER.to_owned()));
        assert_eq!(key.open(NOTE), Ok(TEXT));
        let others = [
            String::new(),
            VERIFIER.replace("Peter", "Paul"),
            VERIFIER.replace("c74f", "c74e"),
            VERIFIER.replace("c74f", "C74F"),
            VERIFIER.replace("10TW", "10TX"),
            VERIFIER.replace("+ARp", "+BRp"),
            VERIFIER.replace('+', " "),
            format!("{VERIFIER}\n"),
        ];
        for other in others {
            assert!(Verifier::parse(&other).is_none(), "{other}");
        }
    }

    #[test]
    fn signatures_of_others_are_not_looked_at() {
        let other = format!("{LINE}witness {}\n", BASE64_STANDARD.encode([7; 76]));
        let (text, own) = NOTE.split_at(TEXT.len() + 1);
        assert_eq!(peter().verifier().open(&format!("{text}{}{own}", other.repeat(20))), Ok(TEXT));
        assert_eq!(peter().verifier().open(&format!("{text}{own}{}", other.repeat(20))), Ok(TEXT));
        assert_eq!(peter().verifier().open(&format!("{text}{other}")), Err(NoteError::Unsigned));
        let renamed = NOTE.replace("PeterNeumann x0", "EnochRoot x0");
        assert_eq!(peter().verifier().open(&renamed), Err(NoteError::Unsigned));
        let many = format!("{text}{own}{}", other.repeat(100));
        assert_eq!(peter().verifier().open(&many), Err(NoteError::Malformed));
    }

    #[test]
    fn a_changed_note_is_refused() {
        let forged = [NOTE.replace("answer", "Answer"), NOTE.replace("ZJkuBS", "ZJkuBT")];
        for note in forged {
            assert_eq!(peter().verifier().open(&note), Err(NoteError::Forged), "{note}");
        }
        let malformed = [
            String::new(),
            TEXT.to_owned(),
            NOTE[..NOTE.len() - 1].to_owned(),
            NOTE.replace("\n\n", "\n"),
            NOTE.replace('\u{2014}', "-"),
            NOTE.replace("PeterNeumann x0", "PeterNeumann  x0"),
            NOTE.replace("PeterNeumann x0", "Peter+Neumann x0"),
            NOTE.replace("AM=\n", "AM\n"),
            NOTE.replace("answer", "ans\twer"),
            NOTE.replace("answer", "ans\rwer"),
            format!("{NOTE}\n"),
        ];
        for note in malformed {
            assert_eq!(peter().verifier().open(&note), Err(NoteError::Malformed), "{note}");
        }
    }

    #[test]
    fn a_key_needs_a_name_that_a_line_can_hold() {
        for name in ["", "a b", "a+b", "a\nb", "a\u{a0}b"] {
            assert!(NoteSigner::new(name, &[1; 32]).is_none(), "{name}");
        }
        assert!(NoteSigner::new("consent.example.com/log", &[1; 31]).is_none());
    }
}
