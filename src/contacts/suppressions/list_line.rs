use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::types::hem::Hem;

/// A run of this many Base64 characters is not a word: a digest has 43.
const DIGEST_LIKE: usize = 40;

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

#[derive(Default)]
pub struct Line {
    pub has_text: bool,
    pub has_digest: bool,
    /// Whether it contains control characters, as binary or wrongly decoded lists do.
    has_control: bool,
    is_digest_like: bool,
    word: usize,
    /// Number of hexadecimal digits in the present run, however they are grouped.
    digits: usize,
}

impl Line {
    pub fn push(&mut self, byte: u8) {
        let is_sign = byte.is_ascii_alphanumeric() || b"+/=-_".contains(&byte);
        self.word = if is_sign { self.word + 1 } else { 0 };
        self.digits = match byte {
            b' ' | b':' | b'-' | b'.' => self.digits,
            _ if byte.is_ascii_hexdigit() => self.digits + 1,
            _ => 0,
        };
        self.is_digest_like |= self.word >= DIGEST_LIKE || self.digits >= 2 * size_of::<Hem>();
        self.has_control |= byte.is_ascii_control();
    }

    pub fn end_cell(&mut self, has_text: bool, has_digest: bool) {
        self.has_text |= has_text;
        self.has_digest |= has_digest;
        self.word = 0;
    }

    pub fn may_be_header(&self) -> bool {
        !self.has_digest && !self.is_digest_like && !self.has_control
    }
}

fn unquoted(text: &[u8]) -> &[u8] {
    let inner = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
    inner.map_or(text, <[u8]>::trim_ascii)
}

pub fn digest(cell: &[u8]) -> Option<Hem> {
    let text = unquoted(cell);
    let mut bytes = [0; 32];
    match text.len() {
        64 => hex::decode_to_slice(text, &mut bytes).ok()?,
        43 | 44 => {
            let decoded = BASE64.decode_slice(text, &mut bytes).ok()?;
            (decoded == bytes.len()).then_some(())?;
        }
        _ => return None,
    }
    Some(Hem::from(bytes))
}
