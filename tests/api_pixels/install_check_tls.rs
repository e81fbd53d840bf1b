//! Results of checks of servers whose TLS fails: each fault has its own sentence.

use rcgen::{CertificateParams, CertifiedIssuer, KeyPair, date_time_ymd};
use rustls::pki_types::CertificateDer;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::App;
use crate::support::sites::https_site::{
    Authority, HttpsSite, Reply, authority, ca_file, leaf_params,
};
use crate::support::sites::install::{check, unreachable};

const HOST: &str = "shop.example";

/// Checks a site whose host resolves to this address.
async fn check_at(address: &str) -> Value {
    let resolve = format!("{HOST}={address}");
    let settings =
        [("INSTALL_CHECK_RESOLVE", resolve.as_str()), ("INSTALL_CHECK_CA_FILE", ca_file())];
    let app = App::spawn_with(&settings).await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, HOST).await;
    check(&app, &ann.key, &pixel).await.expect(200)
}

/// Checks a site that sends these certificates.
async fn check_with(chain: Vec<CertificateDer<'static>>, key: &KeyPair) -> Value {
    let site = HttpsSite::start_with(chain, key).await;
    check_at(&site.address.to_string()).await
}

/// The sentences of the single finding about a failed handshake.
fn said(checked: &Value) -> String {
    unreachable(checked, "the TLS handshake failed");
    let [finding] = checked["findings"].as_array().unwrap().as_slice() else {
        panic!("one finding: {checked}")
    };
    assert_eq!(finding["kind"], "page_unreadable");
    format!("{} {}", finding["found"].as_str().unwrap(), finding["cure"].as_str().unwrap())
}

fn signed_by_authority(params: CertificateParams, key: &KeyPair) -> Vec<CertificateDer<'static>> {
    vec![authority().sign(params, key)]
}

#[tokio::test]
async fn each_fault_of_a_certificate_has_its_own_sentence() {
    let key = KeyPair::generate().unwrap();
    let mut expired = leaf_params(&[HOST]);
    expired.not_after = date_time_ymd(2020, 1, 1);
    let mut early = leaf_params(&[HOST]);
    early.not_before = date_time_ymd(2999, 1, 1);
    early.not_after = date_time_ymd(3000, 1, 1);
    let private = Authority::new("Private authority");
    let own = leaf_params(&[HOST]).self_signed(&key).unwrap().der().clone();
    let warned = "Browsers warn about it";
    for (chain, sentence, warns) in [
        (signed_by_authority(expired, &key), "has expired", true),
        (signed_by_authority(early, &key), "is not valid yet", true),
        (signed_by_authority(leaf_params(&["other.example"]), &key), "is for another host", true),
        (vec![own], "is self-signed", true),
        (
            vec![private.sign(leaf_params(&[HOST]), &key), private.certificate()],
            "an authority that is not trusted publicly",
            true,
        ),
        (
            vec![private.sign(leaf_params(&[HOST]), &key)],
            "without the intermediate certificate",
            false,
        ),
    ] {
        let said = said(&check_with(chain, &key).await);
        assert!(said.contains(sentence), "{sentence}: {said}");
        assert_eq!(said.contains(warned), warns, "{said}");
    }
}

#[tokio::test]
async fn a_missing_intermediate_certificate_is_distinguished_from_a_bad_one() {
    let intermediate: CertifiedIssuer<'_, KeyPair> = authority().intermediate("Intermediate");
    let key = KeyPair::generate().unwrap();
    let leaf = leaf_params(&[HOST]).signed_by(&key, &intermediate).unwrap().der().clone();
    let said = said(&check_with(vec![leaf.clone()], &key).await);
    assert!(said.contains("without the intermediate certificate"), "{said}");
    assert!(said.contains("fullchain.pem"), "{said}");
    assert!(said.contains("Many browsers fetch a missing intermediate"), "{said}");
    assert!(!said.contains("expired") && !said.contains("Browsers warn"), "{said}");
    let site = HttpsSite::start_with(vec![leaf, intermediate.der().clone()], &key).await;
    site.answer("shop.example/", Reply::page("hello"));
    let checked = check_at(&site.address.to_string()).await;
    assert_eq!(checked["install_status"], "not_installed", "the full chain is read");
}

/// A server that answers every client hello with these bytes.
async fn server(answer: &'static [u8]) -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(answer).await;
            // The client closes the connection after reading the answer.
            let _ = stream.read(&mut [0; 4096]).await;
        }
    });
    address
}

#[tokio::test]
async fn a_missing_tls_version_and_a_server_without_tls_have_their_own_sentences() {
    for (answer, sentence) in [
        (&b"\x15\x03\x01\x00\x02\x02\x46"[..], "no current version of TLS"),
        (b"\x15\x03\x01\x00\x02\x02\x47", "no current version of TLS"),
        (b"\x15\x03\x01\x00\x02\x02\x28", "refused the TLS handshake"),
        (b"\x15\x03\x03\x00\x02\x02\x70", "refused the TLS handshake"),
        (b"HTTP/1.1 400 Bad Request\r\n\r\nplain HTTP", "does not use TLS"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "does not use TLS"),
    ] {
        let said = said(&check_at(&server(answer).await).await);
        assert!(said.contains(sentence), "{sentence}: {said}");
        assert!(!said.contains("expired") && !said.contains("Browsers warn"), "{said}");
    }
}

#[tokio::test]
async fn a_trusted_certificate_gives_no_finding() {
    let site = HttpsSite::start(&[HOST]).await;
    site.answer("shop.example/", Reply::page("hello"));
    let checked = check_at(&site.address.to_string()).await;
    assert_eq!(checked["install_status"], "not_installed");
    assert_eq!(checked["check_error"], Value::Null);
}
