//! An incremental parser for lists of digests. A list is CSV: cells are separated by comma,
//! semicolon or tab, with or without quotes. Every cell with a SHA-256 digest counts, in hex or
//! base64; a line without one is rejected. The first line is a header only if it consists of words
//! and another line follows: a list that was not understood must not look like an empty one.

use encoding_rs::{CoderResult, Decoder, UTF_8};

use super::list_line::{Line, digest};
use crate::types::hem::Hem;

/// Longer cells cannot be digests, which have at most 64 digits, with quotes and spaces around them.
const LONGEST_CELL: usize = 128;
const DECODED: usize = 4 << 10;

#[derive(Debug, Default, PartialEq, Eq)]
pub struct Digests {
    pub hems: Vec<Hem>,
    /// Lines that are neither empty nor the header.
    pub lines: i64,
    /// Those of them without a digest.
    pub rejected: i64,
}

/// Parses a list incrementally. Holds one cell of it, and the digests that were not taken yet.
pub struct DigestReader {
    /// Chosen by the byte order mark: UTF-8 or UTF-16.
    decoder: Decoder,
    found: Digests,
    cell: Vec<u8>,
    line: Line,
    first: First,
}

#[derive(Default, PartialEq, Eq)]
enum First {
    #[default]
    Unread,
    /// The first line is a header if another line follows.
    Pending,
    Settled,
}

impl Default for DigestReader {
    fn default() -> Self {
        Self {
            decoder: UTF_8.new_decoder(),
            found: Digests::default(),
            cell: Vec::new(),
            line: Line::default(),
            first: First::default(),
        }
    }
}

impl DigestReader {
    pub fn read(&mut self, piece: &[u8]) {
        self.decode(piece, false);
    }

    pub fn waiting(&self) -> usize {
        self.found.hems.len()
    }

    pub fn take(&mut self) -> Digests {
        std::mem::take(&mut self.found)
    }

    pub fn finish(mut self) -> Digests {
        self.decode(&[], true);
        self.end_line();
        if self.first == First::Pending {
            self.found.lines += 1;
            self.found.rejected += 1;
        }
        self.found
    }

    fn decode(&mut self, mut piece: &[u8], is_last: bool) {
        let mut text = [0; DECODED];
        loop {
            let (result, read, written, _) = self.decoder.decode_to_utf8(piece, &mut text, is_last);
            text[..written].iter().for_each(|&byte| self.take_byte(byte));
            piece = &piece[read..];
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }

    fn take_byte(&mut self, byte: u8) {
        match byte {
            b',' | b';' | b'\t' => self.end_cell(),
            b'\n' | b'\r' => self.end_line(),
            _ => {
                self.line.push(byte);
                // One byte more shows that the cell is too long; the rest is not kept.
                if self.cell.len() <= LONGEST_CELL {
                    self.cell.push(byte);
                }
            }
        }
    }

    fn end_cell(&mut self) {
        let text = self.cell.trim_ascii();
        let hem = digest(text).filter(|_| self.cell.len() <= LONGEST_CELL);
        self.line.end_cell(!text.is_empty(), hem.is_some());
        self.found.hems.extend(hem);
        self.cell.clear();
    }

    fn end_line(&mut self) {
        self.end_cell();
        let line = std::mem::take(&mut self.line);
        if !line.has_text {
            return;
        }
        if self.first == First::Unread && line.may_be_header() {
            self.first = First::Pending;
            return;
        }
        self.first = First::Settled;
        self.found.lines += 1;
        self.found.rejected += i64::from(!line.has_digest);
    }
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
            format!("\u{feff}\"{HEX}\",,\r\n"),
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
    fn a_first_line_that_may_hold_a_digest_is_rejected_and_not_a_header() {
        let spaced = HEX.as_bytes().chunks(8).map(|group| std::str::from_utf8(group).unwrap());
        let spaced = spaced.collect::<Vec<_>>();
        for first in [
            HEX[1..].to_owned(),
            format!("{HEX}0"),
            BASE64[..42].to_owned(),
            format!("7,\"{BASE64}x\""),
            format!("sha256:{HEX}"),
            format!("'{HEX}'"),
            format!("1|{HEX}"),
            format!("1 {HEX}"),
            format!("0x{HEX}"),
            format!("[\"{HEX}\"]"),
            format!("{{\"hash\": \"{HEX}\"}}"),
            format!("<{BASE64}>"),
            spaced.join(" "),
            spaced.join(":"),
        ] {
            for (list, expected) in
                [(format!("{first}\n{HEX}"), (1, 2, 1)), (first.clone(), (0, 1, 1))]
            {
                let found = read(list.as_bytes(), 9);
                assert_eq!((found.hems.len(), found.lines, found.rejected), expected, "{list}");
            }
        }
    }

    #[test]
    fn a_single_line_is_not_a_header() {
        for list in ["hash", "ID,Hash\r\n\r\n", "\n\nno digests today\n  \n", "[", "{}"] {
            let found = read(list.as_bytes(), 3);
            assert_eq!((found.lines, found.rejected), (1, 1), "{list}");
        }
        for empty in ["", "\n", ",,;\r\n \t"] {
            assert_eq!(read(empty.as_bytes(), 3), Digests::default(), "{empty:?}");
        }
    }

    #[test]
    fn utf_16_is_read_where_a_byte_order_mark_says_so() {
        let text = format!("\u{feff}Größe\tHash\r\n1\t{HEX}\r\n2\t\"{BASE64}\"\r\n");
        let little = text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
        let big = text.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
        for list in [little, big] {
            for size in [1, 3, 64, 10_000] {
                let found = read(&list, size);
                assert_eq!((found.hems.len(), found.lines, found.rejected), (2, 2, 0), "{size}");
            }
            // Without the mark the encoding is unknown, and each line is rejected.
            let found = read(&list[2..], 64);
            assert_eq!((found.hems.len(), found.lines), (0, found.rejected));
            assert!(found.rejected >= 3, "{found:?}");
        }
    }

    #[test]
    fn a_compressed_list_is_rejected() {
        let zipped = b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\xb2\x34";
        for list in [&zipped[..], b"PK\x03\x04\x14\0"] {
            let found = read(list, 5);
            assert!(found.rejected > 0 && found.lines == found.rejected, "{found:?}");
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
    fn a_digest_before_much_space_and_other_text_is_not_accepted() {
        for spaces in [64, 65, 200] {
            let line = format!("{HEX}{}text\n", " ".repeat(spaces));
            assert!(read(line.as_bytes(), 1_000).hems.is_empty(), "{spaces}");
        }
    }

    #[test]
    fn a_line_without_end_takes_no_room() {
        let mut reader = DigestReader::default();
        (0..1_000).for_each(|_| reader.read(&[b'a'; 1_024]));
        assert!(reader.cell.capacity() <= 2 * LONGEST_CELL);
        assert_eq!(reader.finish(), Digests { hems: Vec::new(), lines: 1, rejected: 1 });
    }

    #[test]
    fn what_is_taken_is_not_found_again() {
        let mut reader = DigestReader::default();
        reader.read(format!("{HEX}\n{BASE64}\n").as_bytes());
        assert_eq!((reader.waiting(), reader.take().lines), (2, 2));
        assert_eq!(reader.finish(), Digests::default());
    }
}
