//! Decompression and decoding of fetched pages. An undecodable page is an error, never a page without a tag.

use std::io::Read;
use std::sync::LazyLock;

use brotli::Decompressor;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};
use flate2::read::{DeflateDecoder, MultiGzDecoder, ZlibDecoder};
use regex::bytes::Regex;

use super::failure::{FetchError, Unreadable};

pub const MAX_PAGE: usize = 1 << 20;
const MOST_ENCODINGS: usize = 3;
/// Number of bytes at the beginning within which a page may declare its charset (HTML, section 13.2.3.2).
const CHARSET_WITHIN: usize = 1024;
const SAMPLE: usize = 64 << 10;
/// At most one in this number of characters of a text may be a control character.
const CONTROLS: usize = 20;

#[derive(Debug)]
pub enum Content {
    Text {
        text: String,
        /// Parsed as HTML, not as XML.
        is_html: bool,
    },
    Unreadable {
        why: Unreadable,
        bytes: Vec<u8>,
    },
}

pub struct Received {
    pub content_type: Option<String>,
    pub encodings: Vec<String>,
    pub bytes: Vec<u8>,
    pub cut_short: Option<FetchError>,
}

/// Decompresses and decodes a response. Also returns the reason if the response is truncated.
pub fn understand(received: Received) -> (Content, Option<FetchError>) {
    let Received { content_type, encodings, bytes, cut_short } = received;
    let unpacked = match unpack(&encodings, bytes) {
        Ok(unpacked) => unpacked,
        Err(bytes) => {
            return (Content::Unreadable { why: Unreadable::Compression, bytes }, cut_short);
        }
    };
    let cut_short = cut_short.or(unpacked.cut_short);
    let kind = content_type.unwrap_or_default();
    (decode(&kind, unpacked.bytes, cut_short.is_none()), cut_short)
}

struct Unpacked {
    bytes: Vec<u8>,
    cut_short: Option<FetchError>,
}

/// Removes the content encodings, the last one first; fails with the bytes that could not be decompressed.
/// Also decompresses gzip that is not declared, because some servers send it.
fn unpack(encodings: &[String], bytes: Vec<u8>) -> Result<Unpacked, Vec<u8>> {
    let names = encodings.iter().flat_map(|value| value.split(','));
    let names = names.map(|name| name.trim().to_ascii_lowercase());
    let names = names.filter(|name| !matches!(name.as_str(), "" | "identity")).collect::<Vec<_>>();
    if names.len() > MOST_ENCODINGS {
        return Err(bytes);
    }
    let mut unpacked = Unpacked { bytes, cut_short: None };
    for name in names.iter().rev() {
        unpacked = unpack_one(name, unpacked)?;
    }
    match unpacked.bytes.starts_with(&[0x1f, 0x8b]) {
        true => unpack_one("gzip", unpacked),
        false => Ok(unpacked),
    }
}

fn unpack_one(name: &str, packed: Unpacked) -> Result<Unpacked, Vec<u8>> {
    let Unpacked { bytes, cut_short } = packed;
    let unpacked = match name {
        // An empty body is valid in every encoding.
        _ if bytes.is_empty() => return Ok(Unpacked { bytes, cut_short }),
        "gzip" | "x-gzip" => read_to_limit(MultiGzDecoder::new(&bytes[..])),
        "deflate" if is_zlib(&bytes) => read_to_limit(ZlibDecoder::new(&bytes[..])),
        "deflate" => read_to_limit(DeflateDecoder::new(&bytes[..])),
        "br" => read_to_limit(Decompressor::new(&bytes[..], 4096)),
        _ => return Err(bytes),
    };
    match unpacked.bytes.is_empty() && unpacked.cut_short.is_some() {
        true => Err(bytes),
        false => Ok(Unpacked { cut_short: cut_short.or(unpacked.cut_short), ..unpacked }),
    }
}

/// Whether the bytes begin like a zlib stream (RFC 1950, section 2.2). Servers send both zlib and raw
/// deflate as `deflate`.
fn is_zlib(bytes: &[u8]) -> bool {
    let [first, second, ..] = bytes else { return false };
    first & 0x0f == 8 && (u16::from(*first) << 8 | u16::from(*second)) % 31 == 0
}

fn read_to_limit(mut reader: impl Read) -> Unpacked {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 8 << 10]);
    loop {
        let cut_short = match reader.read(&mut chunk) {
            Ok(0) => None,
            Ok(count) => {
                let room = MAX_PAGE - bytes.len();
                bytes.extend_from_slice(&chunk[..count.min(room)]);
                if count <= room {
                    continue;
                }
                Some(FetchError::TooLarge)
            }
            Err(_) => Some(FetchError::Unreadable(Unreadable::Compression)),
        };
        return Unpacked { bytes, cut_short };
    }
}

/// Decodes a page to text. A missing content type counts as HTML, as in browsers.
fn decode(content_type: &str, bytes: Vec<u8>, is_whole: bool) -> Content {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_html = matches!(kind.as_str(), "" | "text/html");
    if !is_html && kind != "application/xhtml+xml" {
        return Content::Unreadable { why: Unreadable::NotHtml, bytes };
    }
    let encoding = encoding_of(content_type, &bytes, is_whole);
    let (text, encoding, _) = encoding.decode(&bytes);
    // Binary data may begin like UTF-16 and decode to arbitrary characters, but is unlikely to contain a tag.
    let is_wide = [UTF_16LE, UTF_16BE].contains(&encoding);
    match is_text(&text) && (!is_wide || text.contains('<')) {
        true => Content::Text { text: text.into_owned(), is_html },
        false => Content::Unreadable { why: Unreadable::NotText, bytes },
    }
}

/// The encoding from the byte order mark (which `decode` prefers), the header, the page's `<meta>`,
/// or its bytes.
fn encoding_of(content_type: &str, bytes: &[u8], is_whole: bool) -> &'static Encoding {
    static CHARSET: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r#"(?i-u)charset\s*=\s*["']?\s*([a-z0-9_:.\-]+)"#;
        Regex::new(pattern).expect("a regular expression")
    });
    static META: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r#"(?i-u)<meta[\s/][^>]*?charset\s*=\s*["']?\s*([a-z0-9_:.\-]+)"#;
        Regex::new(pattern).expect("a regular expression")
    });
    let named = |pattern: &Regex, text: &[u8]| {
        pattern.captures(text).and_then(|found| Encoding::for_label(&found[1]))
    };
    let in_page = || named(&META, &bytes[..bytes.len().min(CHARSET_WITHIN)]);
    let declared = named(&CHARSET, content_type.as_bytes()).or_else(|| match in_page() {
        // The declaration could be read as single bytes, so the page is not UTF-16.
        Some(wide) if [UTF_16LE, UTF_16BE].contains(&wide) => Some(UTF_8),
        declared => declared,
    });
    declared.unwrap_or_else(|| match std::str::from_utf8(bytes) {
        Ok(_) => UTF_8,
        Err(error) if !is_whole && error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    })
}

fn is_text(text: &str) -> bool {
    let (mut all, mut odd) = (0, 0);
    for character in text.chars().take(SAMPLE) {
        let is_control = character.is_control() && !"\t\n\r\u{c}".contains(character);
        all += 1;
        odd += usize::from(is_control || character == char::REPLACEMENT_CHARACTER);
    }
    odd * CONTROLS <= all
}

#[cfg(test)]
mod tests;
