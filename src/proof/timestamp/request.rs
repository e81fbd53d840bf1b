//! The request to an authority: a TimeStampReq (RFC 3161, section 2.4.1).

use der::asn1::{AnyRef, ObjectIdentifier};
use der::{Encode, Tag};
use rand::Rng;
use ring::digest;

use crate::proof::format::hashes::Hash;

pub const SHA256: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.16.840.1.101.3.4.2.1");

pub struct TimestampRequest {
    pub imprint: Hash,
    /// The response must repeat it.
    pub nonce: [u8; 8],
}

impl TimestampRequest {
    pub fn new(text: &str) -> Self {
        let mut nonce = [0; 8];
        rand::rng().fill_bytes(&mut nonce);
        // A positive number of exactly eight bytes.
        nonce[0] = nonce[0] & 0x3f | 0x40;
        Self { imprint: imprint_of(text), nonce }
    }

    pub fn to_der(&self) -> Vec<u8> {
        let algorithm = [value(Tag::ObjectIdentifier, SHA256.as_bytes()), value(Tag::Null, &[])];
        let imprint =
            [value(Tag::Sequence, &algorithm.concat()), value(Tag::OctetString, &self.imprint)];
        let fields = [
            value(Tag::Integer, &[1]),
            value(Tag::Sequence, &imprint.concat()),
            value(Tag::Integer, &self.nonce),
            // Requests that the token include the authority's certificate.
            value(Tag::Boolean, &[0xff]),
        ];
        value(Tag::Sequence, &fields.concat())
    }
}

pub fn value(tag: Tag, content: &[u8]) -> Vec<u8> {
    let value = AnyRef::new(tag, content).and_then(|value| value.to_der());
    value.expect("values of requests are short")
}

pub fn imprint_of(text: &str) -> Hash {
    let mut imprint = [0; 32];
    imprint.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    imprint
}
