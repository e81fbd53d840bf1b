use std::io::{self, Cursor, Read, Write};

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use crate::types::weighted::{Weighted, items};

/// Quality for content that is compressed once, outside of requests, and sent many times: the maximum.
const STRONGEST: i32 = 11;
/// Quality for content compressed during a request: milliseconds for a page.
const QUICK: i32 = 5;
/// Bytes after the shared prefix for which brotli sizes its window: more than any configuration needs.
const ROOM_FOR_REST: usize = 16 << 10;

/// The supported content codings, the one with the smallest output first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    Brotli,
    Gzip,
}

impl Encoding {
    pub const ALL: [Self; 2] = [Self::Brotli, Self::Gzip];

    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// Compresses for a waiting client. Takes milliseconds, so it must not run on an async worker thread.
    pub fn compress(self, text: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Brotli => brotli(text),
            Self::Gzip => gzip(text),
        }
    }
}

/// The weights that `Accept-Encoding` gives to the supported codings (RFC 9110, section 12.5.3).
#[derive(Clone, Copy)]
pub struct AcceptedEncodings {
    brotli: u16,
    gzip: u16,
    /// The weight of `identity`; `None` when the header does not mention it: acceptable, but less preferred.
    plain: Option<u16>,
}

impl AcceptedEncodings {
    pub fn of(header: Option<&str>) -> Self {
        let (mut brotli, mut gzip, mut plain, mut others) = (None, None, None, None);
        for Weighted { value, weight, .. } in items(header.unwrap_or_default()) {
            let coding = match value {
                "*" => &mut others,
                _ if value.eq_ignore_ascii_case("br") => &mut brotli,
                _ if is_gzip(value) => &mut gzip,
                _ if value.eq_ignore_ascii_case("identity") => &mut plain,
                _ => continue,
            };
            coding.get_or_insert(weight);
        }
        let named_or_other = |weight: Option<u16>| weight.or(others).unwrap_or(0);
        Self { brotli: named_or_other(brotli), gzip: named_or_other(gzip), plain: plain.or(others) }
    }

    /// The preferred available coding; the first one wins a tie. `None` when `identity` is
    /// preferred or nothing is acceptable.
    pub fn best(self, available: impl IntoIterator<Item = Encoding>) -> Option<Encoding> {
        let least = self.plain.unwrap_or(0).max(1);
        let accepted = available.into_iter().filter(|encoding| self.weight(*encoding) >= least);
        accepted.reduce(|best, other| match self.weight(other) > self.weight(best) {
            true => other,
            false => best,
        })
    }

    /// Whether `identity` is refused, so that even a short response must be compressed.
    pub fn refuses_plain(self) -> bool {
        self.plain == Some(0)
    }

    fn weight(self, encoding: Encoding) -> u16 {
        match encoding {
            Encoding::Brotli => self.brotli,
            Encoding::Gzip => self.gzip,
        }
    }
}

/// `x-gzip` is an alias of `gzip` (RFC 9110, section 8.4.1.3).
fn is_gzip(coding: &str) -> bool {
    coding.eq_ignore_ascii_case("gzip") || coding.eq_ignore_ascii_case("x-gzip")
}

pub struct TwoParts {
    /// Identical for all texts with the same prefix.
    pub head: Vec<u8>,
    pub rest: Vec<u8>,
}

impl TwoParts {
    fn cut(mut head: Vec<u8>, at: usize) -> Self {
        let rest = head.split_off(at);
        Self { head, rest }
    }
}

/// Compresses a shared prefix and the rest with [`gzip`]. Takes a fifth of a millisecond for a script.
pub fn gzip_in_two(head: &[u8], rest: &[u8]) -> io::Result<TwoParts> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(head)?;
    encoder.flush()?;
    let end_of_head = encoder.get_ref().len();
    encoder.write_all(rest)?;
    Ok(TwoParts::cut(encoder.finish()?, end_of_head))
}

/// Compresses a shared prefix and the rest with brotli at maximum quality, in some tens of milliseconds.
pub fn brotli_in_two(head: &[u8], rest: &[u8]) -> io::Result<TwoParts> {
    let params = params(STRONGEST, head.len() + ROOM_FOR_REST);
    let mut encoder = brotli::CompressorWriter::with_params(Vec::new(), 1 << 16, &params);
    encoder.write_all(head)?;
    encoder.flush()?;
    let end_of_head = encoder.get_ref().len();
    encoder.write_all(rest)?;
    Ok(TwoParts::cut(encoder.into_inner(), end_of_head))
}

fn gzip(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text)?;
    encoder.finish()
}

pub fn gunzip(bytes: impl Read) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    GzDecoder::new(bytes).read_to_end(&mut text)?;
    Ok(text)
}

fn brotli(text: &[u8]) -> io::Result<Vec<u8>> {
    let mut compressed = Vec::new();
    let params = params(QUICK, text.len());
    brotli::BrotliCompress(&mut Cursor::new(text), &mut compressed, &params)?;
    Ok(compressed)
}

fn params(quality: i32, len: usize) -> BrotliEncoderParams {
    BrotliEncoderParams {
        quality,
        lgwin: window_of(quality, len),
        size_hint: len,
        ..Default::default()
    }
}

/// The smallest window that holds the whole text, as a power of two (RFC 7932, section 9.1), because the
/// window determines the encoder's memory. Windows below 18 make the lower qualities ten times slower.
fn window_of(quality: i32, len: usize) -> i32 {
    let least = if quality == STRONGEST { 16 } else { 18 };
    (least..22).find(|&bits| (1_usize << bits) - 16 >= len).unwrap_or(22)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_encoding_is_chosen_and_the_smallest_of_equals() {
        let (br, gzip) = (Some(Encoding::Brotli), Some(Encoding::Gzip));
        for (header, best) in [
            ("gzip, deflate, br", br),
            ("GZIP;q=0.5", gzip),
            ("x-gzip", gzip),
            ("br;q=0, gzip", gzip),
            ("br;q=0.5, gzip;q=1", gzip),
            ("br;q=0.5, gzip;q=0.5, identity;q=0.5", br),
            ("gzip;Q=0.000, *;q=0.1", br),
            ("br;q=0, *", gzip),
            ("*", br),
            ("identity;q=0, gzip;q=0.001", gzip),
            ("zstd, gzip ; q=0.2", gzip),
            ("identity, gzip;q=0.5", None),
            ("identity", None),
            ("identity;q=0", None),
            ("*;q=0", None),
            ("gzip;q=0, br;q=0", None),
            ("gzip;q=x", None),
            ("gzipped, brotli", None),
            ("", None),
        ] {
            let accepted = AcceptedEncodings::of(Some(header));
            assert_eq!(accepted.best(Encoding::ALL), best, "{header:?}");
        }
        assert_eq!(AcceptedEncodings::of(None).best(Encoding::ALL), None);
        let only_gzip = AcceptedEncodings::of(Some("br, gzip;q=0.5")).best([Encoding::Gzip]);
        assert_eq!(only_gzip, gzip);
    }

    #[test]
    fn identity_is_refused_by_name_or_by_the_wildcard() {
        let refuses = |header| AcceptedEncodings::of(Some(header)).refuses_plain();
        for header in ["identity;q=0", "*;q=0", "gzip, *;q=0.0", "IDENTITY;q=0, *"] {
            assert!(refuses(header), "{header}");
        }
        for header in ["", "gzip", "gzip;q=0", "*;q=0, identity;q=0.1", "*"] {
            assert!(!refuses(header), "{header}");
        }
    }

    #[test]
    fn compressed_texts_can_be_read_again() {
        let text = b"var a=1;".repeat(100);
        let small = gzip(&text).unwrap();
        assert!(small.len() * 4 < text.len());
        assert_eq!(gunzip(&small[..]).unwrap(), text);
        let small = brotli(&text).unwrap();
        assert_eq!(unbrotli(&small), text);
    }

    fn unbrotli(bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        brotli::BrotliDecompress(&mut &bytes[..], &mut text).unwrap();
        text
    }

    #[test]
    fn texts_that_begin_the_same_are_compressed_to_bytes_that_begin_the_same() {
        let head = (0..1_000).map(|n| format!("var a{n}={};", n * n)).collect::<String>();
        let rests = [String::new(), "{}".to_owned(), "é{\"x\":1}".repeat(5_000), head.clone()];
        let mut heads = Vec::new();
        for rest in &rests {
            let whole = [head.as_bytes(), rest.as_bytes()].concat();
            let gzip = gzip_in_two(head.as_bytes(), rest.as_bytes()).unwrap();
            assert_eq!(gunzip(Read::chain(&gzip.head[..], &gzip.rest[..])).unwrap(), whole);
            let brotli = brotli_in_two(head.as_bytes(), rest.as_bytes()).unwrap();
            assert_eq!(unbrotli(&[&brotli.head[..], &brotli.rest].concat()), whole);
            assert!(gzip.rest.len() < 600 && brotli.rest.len() < 600, "{}", rest.len());
            heads.push((gzip.head, brotli.head));
        }
        assert!(heads.iter().all(|other| *other == heads[0]));
    }
}
