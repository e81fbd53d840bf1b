//! Compressed pages, other charsets and other content: they are decoded, or the check fails. A page that
//! could not be decoded never counts as a page without a tag.

use std::io::Write;

use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder, ZlibEncoder};
use serde_json::Value;

use crate::support::setup::set_install_status;
use crate::support::sites::https_site::Reply;
use crate::support::sites::install::{Scene, installed, not_installed, unreachable};

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zlib(text: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn deflate(text: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn brotli(text: &[u8]) -> Vec<u8> {
    let mut packed = Vec::new();
    brotli::BrotliCompress(&mut &text[..], &mut packed, &Default::default()).unwrap();
    packed
}

fn reply(lines: &str, body: Vec<u8>) -> Reply {
    let lines = lines.split('|').filter(|line| !line.is_empty());
    Reply::Whole(200, lines.map(|line| format!("{line}\r\n")).collect(), body)
}

fn kind(checked: &Value) -> &str {
    checked["findings"][0]["kind"].as_str().unwrap_or_default()
}

#[tokio::test]
async fn a_compressed_page_is_decompressed() {
    let scene = Scene::new().await;
    let page = scene.snippet_page().into_bytes();
    for (lines, pack) in [
        ("Content-Encoding: gzip", gzip as fn(&[u8]) -> Vec<u8>),
        ("Content-Encoding: x-gzip", gzip),
        ("", gzip),
        ("Content-Encoding: deflate", zlib),
        ("Content-Encoding: deflate", deflate),
        ("Content-Encoding: br", brotli),
        ("Content-Encoding: gzip, br|Content-Type: text/html", |text| brotli(&gzip(text))),
        ("Content-Encoding: gzip|Content-Encoding: br", |text| brotli(&gzip(text))),
    ] {
        let checked = scene.check_home(reply(lines, pack(&page))).await;
        installed(&checked);
        let without = scene.check_home(reply(lines, pack(b"<html>nothing</html>"))).await;
        not_installed(&without);
        assert_eq!(kind(&without), "no_tag", "{lines}");
    }
}

#[tokio::test]
async fn an_undecodable_response_is_a_failure_and_leaves_the_pixel_installed() {
    let scene = Scene::new().await;
    let page = b"<html><body>nothing here that is ours, told at some length</body></html>".to_vec();
    let unpacked = "the page cannot be unpacked";
    for (lines, body, why) in [
        ("Content-Encoding: zstd", page.clone(), unpacked),
        ("Content-Encoding: gzip", page.clone(), unpacked),
        ("Content-Encoding: gzip", gzip(&page)[..12].to_vec(), unpacked),
        ("Content-Encoding: dcb", page.clone(), unpacked),
        ("", brotli(&page), "the answer is not text"),
        ("", deflate(&page), "the answer is not text"),
        ("Content-Type: text/html", (0..=255).collect(), "the answer is not text"),
        ("Content-Type: application/json", b"{\"a\": 1}".to_vec(), "the answer is no HTML page"),
        ("Content-Type: image/png", page.clone(), "the answer is no HTML page"),
        ("Content-Type: application/pdf", b"%PDF-1.7".to_vec(), "the answer is no HTML page"),
        ("Content-Type: text/plain", page.clone(), "the answer is no HTML page"),
        (
            "",
            b"<html><script>window._cf_chl_opt={}</script>Just a moment</html>".to_vec(),
            "a protection against programs answered instead of the page",
        ),
    ] {
        set_install_status(&scene.app, &scene.pixel, "not_checked").await;
        let checked = scene.check_home(reply(lines, body.clone())).await;
        unreachable(&checked, why);
        assert_eq!(kind(&checked), "page_unreadable", "{lines}");
        set_install_status(&scene.app, &scene.pixel, "installed").await;
        let checked = scene.check_home(reply(lines, body)).await;
        assert_eq!(checked["install_status"], "installed", "{lines}: {checked}");
        assert_eq!(checked["check_error"], why);
    }
}

#[tokio::test]
async fn a_partial_or_empty_response_is_a_failure() {
    let scene = Scene::new().await;
    for status in [203, 204, 205, 206] {
        let body = if matches!(status, 204 | 205) { Vec::new() } else { b"<html>".to_vec() };
        let checked = scene.check_home(Reply::Whole(status, String::new(), body)).await;
        unreachable(&checked, &format!("the page answered with status {status}"));
        assert_eq!(kind(&checked), "page_unreadable");
    }
}

#[tokio::test]
async fn pages_in_other_charsets_are_decoded() {
    let scene = Scene::new().await;
    let page = format!("<html><p>Grüße</p>{}</html>", scene.snippet_page());
    let little = page.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let big = page.encode_utf16().flat_map(u16::to_be_bytes).collect::<Vec<_>>();
    for (lines, body) in [
        ("Content-Type: text/html; charset=utf-16le", little.clone()),
        ("", [b"\xff\xfe", &little[..]].concat()),
        ("Content-Type: text/html; charset=\"UTF-16BE\"", big.clone()),
        ("Content-Type: text/html; charset=utf-8", [b"\xfe\xff", &big[..]].concat()),
        ("Content-Type: text/html; charset=iso-8859-1", page.replace('ü', "u").into_bytes()),
        ("", page.replace("ü", "\u{0}").into_bytes()),
        ("Content-Type: application/xhtml+xml", page.clone().into_bytes()),
    ] {
        installed(&scene.check_home(reply(lines, body)).await);
    }
    let without = "<html><p>Grüße</p></html>".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let lines = "Content-Type: text/html; charset=utf-16le";
    not_installed(&scene.check_home(reply(lines, without)).await);
}

#[tokio::test]
async fn a_compressed_page_is_decompressed_to_one_mebibyte() {
    const MIB: usize = 1 << 20;
    let scene = Scene::new().await;
    let lines = "Content-Encoding: gzip";
    let bomb = gzip(&vec![b' '; 64 * MIB]);
    let large = "the page is larger than 1 MiB";
    unreachable(&scene.check_home(reply(lines, bomb)).await, large);
    let mut page = scene.snippet_page().into_bytes();
    page.resize(3 * MIB, b' ');
    installed(&scene.check_home(reply(lines, gzip(&page))).await);
    set_install_status(&scene.app, &scene.pixel, "not_checked").await;
    page.rotate_right(2 * MIB);
    unreachable(&scene.check_home(reply(lines, gzip(&page))).await, large);
}
