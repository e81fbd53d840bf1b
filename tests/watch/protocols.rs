//! Ways to another site that have no element or function of their own: headers, WebRTC, reports, and what new browsers
//! add.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{KeyPair, PublicKeyData};
use sha2::{Digest, Sha256};

use crate::runs::{Run, VISITS, Watcher, watch, watch_by};
use crate::sites::Sites;
use crate::support::sites::https_site::{HttpsSite, Reply, authority, leaf_params};
use crate::ways::Way;

const WITHOUT_CHOICE: [&str; 3] = ["untouched", "gpc", "blocked"];

/// Headers of the page's response instead of markup.
const HEADERS: &[Way] = &[
    ("preload", "headerpreload", "Link: <http://HOST/s.js>; rel=preload; as=script"),
    ("preconnect", "headerconnect", "Link: <http://HOST>; rel=preconnect"),
];

/// Ways that not every version of the browser has.
const UNCERTAIN: &[Way] = &[
    (
        "image",
        "prerendered",
        r#"<script type="speculationrules">{"prerender":
        [{"source": "list", "urls": ["/prerendered"], "eagerness": "immediate"}]}</script>"#,
    ),
    (
        "document",
        "prerenderedthere",
        r#"<script type="speculationrules">{"prerender":
        [{"source": "list", "urls": ["http://HOST/p"], "eagerness": "immediate"}]}</script>"#,
    ),
    (
        "beacon",
        "fetchedlater",
        r#"<script>window.fetchLater?.("http://HOST/f", {method: "POST", body: "x"})</script>"#,
    ),
    (
        "fetch",
        "fetchedsoon",
        r#"<script>window.fetchLater?.("http://HOST/f", {activateAfter: 100})</script>"#,
    ),
    ("image", "attributed", r#"<img attributionsrc="http://HOST/a" src="/own.png" alt="">"#),
    (
        "script",
        "attributedscript",
        r#"<script attributionsrc="http://HOST/a" src="/own.js"></script>"#,
    ),
];

fn filled(way: &Way) -> String {
    way.2.replace("HOST", &format!("{}.localhost:PORT", way.1))
}

fn leaks(kinds_and_hosts: &[(&str, &str)]) -> BTreeSet<(String, String)> {
    let owned = kinds_and_hosts.iter().map(|(kind, host)| ((*kind).to_owned(), (*host).to_owned()));
    owned.collect()
}

/// The hosts that a visit or several name as leaking.
fn named(run: &Run) -> BTreeSet<String> {
    let listed = VISITS.iter().flat_map(|visit| run.listed(0, visit, "leaks"));
    listed.map(|(_, host)| host).collect()
}

#[tokio::test]
async fn what_headers_of_the_page_load_is_named() {
    let headers = HEADERS.iter().map(|way| format!("+ {}\n", filled(way))).collect::<String>();
    let page = format!("{headers}<!doctype html><title>Page</title><p>Text");
    let sites = Sites::start(&[("headed.localhost/", page)]).await;
    let run = watch(&[&sites.url("headed.localhost/")]).await;
    run.ends_with(1);
    let expected =
        HEADERS.iter().map(|(kind, host, _)| ((*kind).into(), format!("{host}.localhost")));
    let expected = expected.collect::<BTreeSet<(String, String)>>();
    for visit in WITHOUT_CHOICE {
        assert_eq!(run.listed(0, visit, "leaks"), expected, "{visit}");
    }
    assert!(sites.asked().contains("headerpreload.localhost"));
}

#[tokio::test]
async fn relays_of_webrtc_are_named_by_udp_and_by_tcp() {
    let page = |url: &str| {
        format!(
            r#"<!doctype html><title>Page</title><script>
            const peer = new RTCPeerConnection({{iceServers: [{{urls: "{url}", username: "u", credential: "c"}}]}});
            peer.createDataChannel("c");
            peer.createOffer().then((offer) => peer.setLocalDescription(offer))</script>"#
        )
    };
    let sites = Sites::start(&[
        ("turning.localhost/", page("turn:relay.localhost:PORT")),
        ("turning.localhost/tcp", page("turn:stream.localhost:PORT?transport=tcp")),
    ])
    .await;
    let urls = [sites.url("turning.localhost/"), sites.url("turning.localhost/tcp")];
    let run = watch(&[&urls[0], &urls[1]]).await;
    run.ends_with(1);
    for (page, host) in ["relay.localhost", "stream.localhost"].into_iter().enumerate() {
        for visit in WITHOUT_CHOICE {
            let expected = leaks(&[("webrtc", host)]);
            assert_eq!(run.listed(page, visit, "leaks"), expected, "{visit}");
        }
    }
}

#[tokio::test]
async fn whatever_new_ways_the_browser_has_are_named() {
    let elements = UNCERTAIN.iter().map(filled).collect::<Vec<_>>().join("\n");
    let page = format!("<!doctype html><title>Page</title><body>{elements}");
    let prerendered = r#"<img src="http://prerendered.localhost:PORT/i.png" alt="">"#;
    let sites = Sites::start(&[
        ("newer.localhost/", page),
        ("newer.localhost/prerendered", prerendered.to_owned()),
    ])
    .await;
    let run = watch(&[&sites.url("newer.localhost/")]).await;
    let mut asked = sites.asked();
    asked.remove("newer.localhost");
    println!("this browser has: {asked:?}");
    let named = named(&run);
    let unnamed = asked.difference(&named).collect::<Vec<_>>();
    assert!(unnamed.is_empty(), "asked, but not named: {unnamed:?}");
}

/// A browser that takes the certificates of this key for valid, as it sends no reports about others.
fn trusting(key: &KeyPair) -> Watcher {
    let digest = Sha256::digest(key.subject_public_key_info());
    let digest = BASE64_STANDARD.encode(digest);
    Watcher::after(&format!("set -- \"$@\" '--ignore-certificate-errors-spki-list={digest}'"))
}

#[tokio::test]
async fn reports_about_errors_and_policies_are_named() {
    let key = KeyPair::generate().unwrap();
    let hosts = ["reporting.test", "errors.test", "policies.test"];
    let certificate = authority().sign(leaf_params(&hosts), &key);
    let site = HttpsSite::start_with(vec![certificate], &key).await;
    let port = site.address.port();
    let headers = format!(
        "Content-Type: text/html\r\n\
         Report-To: {{\"group\": \"errors\", \"max_age\": 86400, \
         \"endpoints\": [{{\"url\": \"https://errors.test:{port}/r\"}}]}}\r\n\
         NEL: {{\"report_to\": \"errors\", \"max_age\": 86400, \"success_fraction\": 1.0}}\r\n\
         Reporting-Endpoints: policies=\"https://policies.test:{port}/r\"\r\n\
         Content-Security-Policy-Report-Only: img-src 'none'; report-to policies\r\n"
    );
    let page = b"<!doctype html><title>Page</title><img src=\"/own.png\" alt=\"\">";
    site.answer(&format!("reporting.test:{port}/"), Reply::Whole(200, headers, page.to_vec()));
    let allowed =
        "Access-Control-Allow-Origin: *\r\nAccess-Control-Allow-Headers: content-type\r\n";
    for host in &hosts[1..] {
        let reply = Reply::Whole(200, allowed.to_owned(), Vec::new());
        site.answer(&format!("{host}:{port}/r"), reply);
    }
    let url = format!("https://reporting.test:{port}/");
    let run = watch_by(trusting(&key), &[], &[&url, "--seconds", "3"]).await;
    let host_of = |page: &str| page.split(':').next().unwrap_or_default().to_owned();
    let mut asked = site.seen().iter().map(|seen| host_of(&seen.page)).collect::<BTreeSet<_>>();
    assert!(asked.remove("reporting.test"), "{}", run.said);
    assert!(asked.contains("policies.test"), "the browser sends reports: {asked:?}, {}", run.said);
    assert_eq!(named(&run), asked, "{}", run.said);
    run.ends_with(1);
}
