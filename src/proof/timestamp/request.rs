//! The request to an authority: a TimeStampReq (RFC 3161, section 2.4.1).

use rand::Rng;
use ring::digest::{SHA256, digest};

use super::der::{self, BOOLEAN, INTEGER, NULL, OCTET_STRING, OID, SEQUENCE};
use crate::proof::format::hashes::Hash;

/// 2.16.840.1.101.3.4.2.1
pub const SHA256_OID: &[u8] = &[0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01];

/// A request to timestamp a text.
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
        let algorithm = [der::value(OID, SHA256_OID), der::value(NULL, &[])].concat();
        let imprint =
            [der::value(SEQUENCE, &algorithm), der::value(OCTET_STRING, &self.imprint)].concat();
        let fields = [
            der::value(INTEGER, &[1]),
            der::value(SEQUENCE, &imprint),
            der::value(INTEGER, &self.nonce),
            // Requests that the token include the authority's certificate.
            der::value(BOOLEAN, &[0xff]),
        ];
        der::value(SEQUENCE, &fields.concat())
    }
}

/// The hash of a text, which is timestamped.
pub fn imprint_of(text: &str) -> Hash {
    let mut imprint = [0; 32];
    imprint.copy_from_slice(digest(&SHA256, text.as_bytes()).as_ref());
    imprint
}
