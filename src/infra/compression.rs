//! The compressed forms of what is sent.

use std::io::{self, Cursor, Read, Write};

use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Quality of what is compressed once and sent many times, aside from the requests: the strongest.
const STRONGEST: i32 = 11;
/// Quality of what somebody waits for: milliseconds for a page.
const QUICK: i32 = 5;
/// For how many bytes after a beginning brotli prepares: more than a configuration has.
const ROOM_FOR_REST: usize = 16 << 10;

/// A way to compress that clients may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    Brotli,
    Gzip,
}

impl Encoding {
    /// The name in `Accept-Encoding` and `Content-Encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// Whether `Accept-Encoding` names it without ruling it out (RFC 9110, section 12.5.3).
    pub fn is_accepted(self, header: Option<&str>) -> bool {
        header.unwrap_or_default().split(',').any(|item| {
            let mut parts = item.split(';').map(str::trim);
            let named = parts.next().is_some_and(|name| name.eq_ignore_ascii_case(self.name()));
            let refused = parts.any(|part| matches!(part, "q=0" | "q=0.0" | "q=0.00" | "q=0.000"));
            named && !refused
        })
    }

    /// The smallest form that a client takes.
    pub fn best(header: Option<&str>) -> Option<Self> {
        [Self::Brotli, Self::Gzip].into_iter().find(|encoding| encoding.is_accepted(header))
    }

    /// A text in a form that somebody waits for. Takes milliseconds, so not on a thread that serves.
    pub fn compress(self, text: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Brotli => brotli(text),
            Self::Gzip => gzip(text),
        }
    }
}

/// What was compressed in one stream, cut where the beginning of the text ends.
pub struct InTwo {
    /// The same bytes for all texts that begin the same.
    pub head: Vec<u8>,
    pub rest: Vec<u8>,
}

impl InTwo {
    fn cut(mut head: Vec<u8>, at: usize) -> Self {
        let rest = head.split_off(at);
        Self { head, rest }
    }
}

/// Of a beginning and the rest, as [`gzip`]. It takes a fifth of a millisecond for a script.
pub fn gzip_in_two(head: &[u8], rest: &[u8]) -> io::Result<InTwo> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(head)?;
    encoder.flush()?;
    let end_of_head = encoder.get_ref().len();
    encoder.write_all(rest)?;
    Ok(InTwo::cut(encoder.finish()?, end_of_head))
}

/// Of a beginning and the rest, at the strongest. It takes some tens of milliseconds for a script.
pub fn brotli_in_two(head: &[u8], rest: &[u8]) -> io::Result<InTwo> {
    // Nothing here may depend on the rest, or the head would be another.
    let params = params(STRONGEST, head.len() + ROOM_FOR_REST);
    let mut encoder = brotli::CompressorWriter::with_params(Vec::new(), 1 << 16, &params);
    encoder.write_all(head)?;
    encoder.flush()?;
    let end_of_head = encoder.get_ref().len();
    encoder.write_all(rest)?;
    Ok(InTwo::cut(encoder.into_inner(), end_of_head))
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

/// The smallest window that holds a whole text, as the power of two that brotli takes (RFC 7932,
/// section 9.1): the encoder's memory grows with its window, not with the text. Windows below 18
/// make the lesser qualities take ten times as long.
fn window_of(quality: i32, len: usize) -> i32 {
    let least = if quality == STRONGEST { 16 } else { 18 };
    (least..22).find(|&bits| (1_usize << bits) - 16 >= len).unwrap_or(22)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_form_that_is_accepted_is_chosen() {
        for (header, best) in [
            ("gzip, deflate, br", Some(Encoding::Brotli)),
            ("GZIP;q=0.5", Some(Encoding::Gzip)),
            ("br;q=0, gzip", Some(Encoding::Gzip)),
            ("identity", None),
            ("", None),
        ] {
            assert_eq!(Encoding::best(Some(header)), best, "{header:?}");
        }
        assert_eq!(Encoding::best(None), None);
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
            // The rest knows what came before it.
            assert!(gzip.rest.len() < 600 && brotli.rest.len() < 600, "{}", rest.len());
            heads.push((gzip.head, brotli.head));
        }
        assert!(heads.iter().all(|other| *other == heads[0]));
    }
}
