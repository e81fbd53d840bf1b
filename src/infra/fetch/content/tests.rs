use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};

use super::*;

const PAGE: &str = "<html><p>Grüße, 肉</p><script src=/a.js></script></html>";

fn understood(
    kind: &str,
    encoding: &str,
    bytes: Vec<u8>,
) -> (Result<String, Unreadable>, Option<FetchError>) {
    let received = Received {
        content_type: Some(kind.to_owned()),
        encodings: vec![encoding.to_owned()],
        bytes,
        cut_short: None,
    };
    let (content, cut_short) = understand(received);
    let text = match content {
        Content::Text { text, .. } => Ok(text),
        Content::Unreadable { why, .. } => Err(why),
    };
    (text, cut_short)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn brotli(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &text[..], &mut packed, &Default::default()).unwrap();
    packed
}

#[test]
fn every_common_compression_is_supported() {
    let page = PAGE.as_bytes();
    for (encoding, bytes) in [
        ("", page.to_vec()),
        ("identity", page.to_vec()),
        ("gzip", gzip(page)),
        ("GZIP ", gzip(page)),
        ("x-gzip", gzip(page)),
        ("", gzip(page)),
        ("gzip", gzip(&gzip(page))),
        ("gzip, gzip", gzip(&gzip(page))),
        ("deflate", zlib(page)),
        ("deflate", deflate(page)),
        ("br", brotli(page)),
        ("gzip, br", brotli(&gzip(page))),
    ] {
        assert_eq!(understood("text/html", encoding, bytes), (Ok(PAGE.to_owned()), None));
    }
}

#[test]
fn a_page_that_cannot_be_decompressed_is_unreadable() {
    let page = PAGE.as_bytes();
    for (encoding, bytes) in [
        ("gzip", page.to_vec()),
        ("br", b"\xff\xff\xff\xff".to_vec()),
        ("zstd", page.to_vec()),
        ("gzip, gzip, gzip, gzip", gzip(page)),
        ("", vec![0x1f, 0x8b, 1, 2, 3]),
    ] {
        let found = understood("text/html", encoding, bytes).0;
        assert_eq!(found, Err(Unreadable::Compression), "{encoding}");
    }
    // Without a declared encoding these are ordinary bytes. Deflate would store a short page uncompressed.
    let page = (0..5000).map(|number| format!("<p>{number}</p>")).collect::<String>();
    for bytes in [deflate(page.as_bytes()), brotli(page.as_bytes())] {
        assert_eq!(understood("text/html", "", bytes).0, Err(Unreadable::NotText));
    }
}

#[test]
fn a_decompression_bomb_is_cut_at_one_mebibyte() {
    let large = vec![b' '; 64 << 20];
    for (encoding, bytes) in [("gzip", gzip(&large)), ("deflate", zlib(&large))] {
        let (text, cut_short) = understood("text/html", encoding, bytes);
        assert_eq!((text.unwrap().len(), cut_short), (MAX_PAGE, Some(FetchError::TooLarge)));
    }
}

#[test]
fn a_truncated_stream_is_a_truncated_page() {
    let page = (0..5000).map(|number| format!("<p>{number}</p>")).collect::<String>();
    for (encoding, bytes) in [("gzip", gzip(page.as_bytes())), ("br", brotli(page.as_bytes()))] {
        let half = bytes[..bytes.len() / 2].to_vec();
        let (text, cut_short) = understood("text/html", encoding, half);
        assert!(page.starts_with(&text.unwrap()), "{encoding}");
        assert_eq!(cut_short, Some(FetchError::Unreadable(Unreadable::Compression)));
    }
}

#[test]
fn texts_of_all_charsets_are_decoded() {
    let wide = |bytes: fn(u16) -> [u8; 2]| PAGE.encode_utf16().flat_map(bytes).collect();
    let (little, big): (Vec<u8>, Vec<u8>) = (wide(u16::to_le_bytes), wide(u16::to_be_bytes));
    for (kind, bytes) in [
        ("text/html", PAGE.as_bytes().to_vec()),
        ("", [b"\xef\xbb\xbf", PAGE.as_bytes()].concat()),
        ("text/html; charset=UTF-16LE", little.clone()),
        ("text/html", [b"\xff\xfe", &little[..]].concat()),
        ("text/html;charset=\"utf-16be\"", big.clone()),
        ("text/html; charset=latin1", [b"\xfe\xff", &big[..]].concat()),
    ] {
        assert_eq!(understood(kind, "", bytes).0, Ok(PAGE.to_owned()), "{kind}");
    }
    let kanji = [b"<meta charset=iso-2022-jp>\x1b$B", &b"F|K\\"[..], b"\x1b(B"].concat();
    assert!(understood("text/html", "", kanji).0.unwrap().ends_with("日本"));
    let russian = b"<p>\xcf\xf0\xe8\xe2\xe5\xf2".to_vec();
    assert!(understood("text/html", "", russian).0.is_ok(), "a charset that nobody names");
}

#[test]
fn content_that_is_not_a_page_is_unreadable() {
    for kind in ["application/json", "image/png", "text/plain", "application/octet-stream"] {
        let found = understood(kind, "", PAGE.as_bytes().to_vec()).0;
        assert_eq!(found, Err(Unreadable::NotHtml), "{kind}");
    }
    let noise = (0..4000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    assert_eq!(understood("text/html", "", noise).0, Err(Unreadable::NotText));
    let retired = understood("text/html; charset=iso-2022-kr", "", PAGE.as_bytes().to_vec()).0;
    assert_eq!(retired, Err(Unreadable::NotText));
}
