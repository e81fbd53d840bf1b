//! A DER parser (X.690) for timestamps: complete values of definite length, in sequence. Anything else
//! results in `None`, and nothing is read past the end.

pub const BOOLEAN: u8 = 0x01;
pub const INTEGER: u8 = 0x02;
pub const OCTET_STRING: u8 = 0x04;
pub const NULL: u8 = 0x05;
pub const OID: u8 = 0x06;
pub const GENERALIZED_TIME: u8 = 0x18;
pub const SEQUENCE: u8 = 0x30;
pub const SET: u8 = 0x31;

/// The tag of an explicitly tagged field with this number.
pub const fn explicit(number: u8) -> u8 {
    0xa0 | number
}

/// The values not yet read.
#[derive(Clone, Copy)]
pub struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_at_end(&self) -> bool {
        self.0.is_empty()
    }

    /// The tag of the next value.
    pub fn peek(&self) -> Option<u8> {
        self.0.first().copied()
    }

    /// The content of the next value; `None` if it does not have this tag.
    pub fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (&found, rest) = self.0.split_first()?;
        let (length, rest) = length(rest)?;
        let (content, rest) = rest.split_at_checked(length)?;
        if found != tag {
            return None;
        }
        self.0 = rest;
        Some(content)
    }

    /// Like [`take`](Self::take), for a constructed value.
    pub fn enter(&mut self, tag: u8) -> Option<Self> {
        self.take(tag).map(Self)
    }

    /// The unread bytes.
    pub fn rest(&self) -> &'a [u8] {
        self.0
    }
}

/// A length, and the remaining bytes. Lengths of at most four bytes are supported: nothing here is larger.
fn length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    if first < 0x80 {
        return Some((first.into(), rest));
    }
    let (digits, rest) = rest.split_at_checked((first & 0x7f).into())?;
    if digits.is_empty() || digits.len() > 4 || digits[0] == 0 {
        return None;
    }
    let length = digits.iter().fold(0_usize, |length, digit| length << 8 | usize::from(*digit));
    (length >= 0x80).then_some((length, rest))
}

/// Encodes a value.
pub fn value(tag: u8, content: &[u8]) -> Vec<u8> {
    let mut written = vec![tag];
    let digits = content.len().to_be_bytes();
    let digits = &digits[digits.iter().take_while(|digit| **digit == 0).count()..];
    if content.len() >= 0x80 {
        written.push(0x80 | u8::try_from(digits.len()).unwrap_or_default());
        written.extend_from_slice(digits);
    } else {
        written.push(u8::try_from(content.len()).unwrap_or_default());
    }
    written.extend_from_slice(content);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_whatever_its_length() {
        for length in [0, 1, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000] {
            let content = vec![7; length];
            let written = value(OCTET_STRING, &content);
            let mut reader = Reader::new(&written);
            assert_eq!(reader.take(OCTET_STRING), Some(&*content));
            assert!(reader.is_at_end());
        }
    }

    #[test]
    fn what_is_cut_short_or_spelt_otherwise_is_nothing() {
        let odd: [&[u8]; 9] = [
            &[],
            &[OCTET_STRING],
            &[OCTET_STRING, 2, 0],
            &[OCTET_STRING, 0x80, 0, 0],
            &[OCTET_STRING, 0x81, 1, 0],
            &[OCTET_STRING, 0x82, 0, 0x80],
            &[OCTET_STRING, 0x84, 0xff, 0xff, 0xff, 0xff],
            &[OCTET_STRING, 0x85, 1, 0, 0, 0, 0],
            &[INTEGER, 1, 0],
        ];
        for bytes in odd {
            assert_eq!(Reader::new(bytes).take(OCTET_STRING), None, "{bytes:?}");
        }
    }
}
