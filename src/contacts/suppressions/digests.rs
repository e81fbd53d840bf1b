//! The digests in a list, read while it comes.
//!
//! A list is CSV as people and authorities export it: the cells of a line are apart by comma,
//! semicolon or tab, with or without quotes. Every cell that is a SHA-256 digest counts, in hex or
//! in base64; a line without one is rejected, except for the first, which is taken for the header.

use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use crate::types::hem::Hem;

/// Longer cells are no digests: 64 digits, quotes, and what spaces may stand around them.
const LONGEST_CELL: usize = 128;
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Padded or not.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// What has been read of a list since it was last taken.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Digests {
    pub hems: Vec<Hem>,
    /// Lines that are neither empty nor the header.
    pub lines: i64,
    /// Those of them without a digest.
    pub rejected: i64,
}

/// Reads a list piece by piece. Holds one cell of it, and the digests that nobody has taken yet.
#[derive(Default)]
pub struct DigestReader {
    found: Digests,
    cell: Vec<u8>,
    /// Whether the line has anything in it.
    has_text: bool,
    has_digest: bool,
    /// Whether a cell of the line looks as if a digest had been meant.
    has_long_word: bool,
    is_past_header: bool,
}

impl DigestReader {
    pub fn read(&mut self, piece: &[u8]) {
        for &byte in piece {
            match byte {
                b',' | b';' | b'\t' => self.end_cell(),
                b'\n' | b'\r' => self.end_line(),
                _ if self.cell.len() < LONGEST_CELL => self.cell.push(byte),
                // One byte more than any digest has.
                _ => {}
            }
        }
    }

    /// Digests that wait to be taken.
    pub fn waiting(&self) -> usize {
        self.found.hems.len()
    }

    pub fn take(&mut self) -> Digests {
        std::mem::take(&mut self.found)
    }

    /// The rest, once the list has ended.
    pub fn finish(mut self) -> Digests {
        self.end_line();
        self.found
    }

    fn end_cell(&mut self) {
        let text = self.cell.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.cell).trim_ascii();
        self.has_text |= !text.is_empty();
        self.has_long_word |= is_word(unquoted(text));
        if let Some(hem) = digest(unquoted(text)) {
            self.has_digest = true;
            self.found.hems.push(hem);
        }
        self.cell.clear();
    }

    fn end_line(&mut self) {
        self.end_cell();
        let (has_text, has_digest) = (self.has_text, self.has_digest);
        let is_header = !self.is_past_header && !has_digest && !self.has_long_word;
        (self.has_text, self.has_digest, self.has_long_word) = (false, false, false);
        if !has_text {
            return;
        }
        self.is_past_header = true;
        if !is_header {
            self.found.lines += 1;
            self.found.rejected += i64::from(!has_digest);
        }
    }
}

/// Whether it is about as long as a digest, with nothing in it but the signs of Base64.
fn is_word(text: &[u8]) -> bool {
    (40..=100).contains(&text.len())
        && text.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+/=-_".contains(byte))
}

fn unquoted(text: &[u8]) -> &[u8] {
    let inner = text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\""));
    inner.map_or(text, <[u8]>::trim_ascii)
}

fn digest(text: &[u8]) -> Option<Hem> {
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

#[cfg(test)]
mod tests {
    use super::*;

    const HEX: &str = "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9";
    const BASE64: &str = "uU0nuZNNPgilLlLX2n2r+sSE7+N6U4DukIj3rOLvzek=";

    fn read(text: &[u8], size: usize) -> Digests {
        let mut reader = DigestReader::default();
        text.chunks(size.max(1)).for_each(|piece| reader.read(piece));
        reader.finish()
    }

    #[test]
    fn a_digest_is_found_however_it_is_written() {
        let hem = Hem::parse(HEX).unwrap();
        let unpadded = BASE64.trim_end_matches('=');
        for line in [
            HEX.to_owned(),
            HEX.to_uppercase(),
            BASE64.to_owned(),
            unpadded.to_owned(),
            format!("\"{HEX}\""),
            format!("  \" {BASE64} \"  "),
            format!("8c1d,{BASE64}"),
            format!("{HEX};somebody;2026-01-01"),
            format!("17\t\"{unpadded}\"\r"),
            format!("\u{feff}{HEX}"),
        ] {
            let found = read(line.as_bytes(), 7);
            assert_eq!(found, Digests { hems: vec![hem], lines: 1, rejected: 0 }, "{line}");
        }
    }

    #[test]
    fn a_header_and_empty_lines_are_not_counted_and_other_lines_are_rejected() {
        let list = format!("ID,Hash\r\n\r\n1,{HEX}\r\n2,\r\n,,\r\n  \n3,{BASE64}x\n4,{BASE64}");
        for size in [1, 2, 50, 10_000] {
            let found = read(list.as_bytes(), size);
            assert_eq!((found.hems.len(), found.lines, found.rejected), (2, 4, 2), "{size}");
        }
    }

    #[test]
    fn a_broken_digest_in_the_first_line_is_rejected_and_no_header() {
        for first in [&HEX[1..], &format!("{HEX}0"), &BASE64[..42], &format!("7,\"{BASE64}x\"")] {
            let found = read(format!("{first}\n{HEX}").as_bytes(), 9);
            assert_eq!((found.hems.len(), found.lines, found.rejected), (1, 2, 1), "{first}");
        }
    }

    #[test]
    fn what_is_no_digest_is_none() {
        let foreign = BASE64.replace('+', "-").replace('/', "_");
        let loose = format!("{}l", &BASE64[..42]);
        for line in [&HEX[1..], &format!("{HEX}0"), &foreign, &loose, "=", "\"", &"é".repeat(32)] {
            let found = read(format!("{HEX}\n{line}").as_bytes(), 9);
            assert_eq!((found.hems.len(), found.rejected), (1, 1), "{line}");
        }
        let binary = (0..=255).collect::<Vec<u8>>().repeat(9);
        assert!(read(&binary, 100).hems.is_empty());
    }

    #[test]
    fn a_line_without_end_takes_no_room() {
        let mut reader = DigestReader::default();
        (0..1_000).for_each(|_| reader.read(&[b'a'; 1_024]));
        assert!(reader.cell.capacity() <= 2 * LONGEST_CELL);
        assert_eq!(reader.finish(), Digests::default(), "a header");
    }

    #[test]
    fn what_is_taken_is_not_found_again() {
        let mut reader = DigestReader::default();
        reader.read(format!("{HEX}\n{BASE64}\n").as_bytes());
        assert_eq!((reader.waiting(), reader.take().lines), (2, 2));
        assert_eq!(reader.finish(), Digests::default());
    }
}
