//! A broad table of ways to reach another site. The server's own account says which hosts were asked, so that a
//! report must name these and no other.

use std::collections::BTreeSet;

use crate::runs::{Run, watch};
use crate::sites::Sites;
use crate::ways::{MARKUP, QUIET, REFUSED, SCRIPTS, Way};

/// Names below `localhost` are secure contexts, which service workers need.
fn filled(way: &Way) -> String {
    way.2.replace("HOST", &format!("{}.localhost:PORT", way.1))
}

/// Fails unless the visits without a choice name every way, and every host that was asked.
fn names_all(run: &Run, sites: &Sites, ways: &[Way], own: &str, unasked: &[&str]) {
    let expected = ways.iter().map(|(kind, host, _)| ((*kind).into(), format!("{host}.localhost")));
    let expected: BTreeSet<(String, String)> = expected.collect();
    let mut problems = Vec::new();
    for visit in ["untouched", "gpc", "blocked"] {
        let found = run.listed(0, visit, "leaks");
        let missing = expected.difference(&found).collect::<Vec<_>>();
        let surplus = found.difference(&expected).collect::<Vec<_>>();
        if !(missing.is_empty() && surplus.is_empty()) {
            problems.push(format!("{visit}: missing {missing:?}, surplus {surplus:?}"));
        }
    }
    let asked = sites.asked();
    for (_, host, _) in ways {
        let host = format!("{host}.localhost");
        if !asked.contains(&host) && !unasked.contains(&host.split('.').next().unwrap()) {
            problems.push(format!("the browser never asked {host}"));
        }
    }
    let named = run.listed(0, "untouched", "leaks");
    let named = named.iter().map(|(_, host)| host).collect::<BTreeSet<_>>();
    let is_known = |host: &&String| host.as_str() == own || named.contains(host);
    let unnamed = asked.iter().filter(|host| !is_known(host)).collect::<Vec<_>>();
    if !unnamed.is_empty() {
        problems.push(format!("asked, but not named: {unnamed:?}"));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[tokio::test]
async fn every_way_in_markup_and_style_is_named() {
    let elements = MARKUP.iter().map(filled).collect::<Vec<_>>().join("\n");
    let page = format!("<!doctype html><title>Page</title><body>{elements}");
    let sites = Sites::start(&[
        ("marked.localhost/", page),
        ("marked.localhost/nested", r#"<img src="http://nested.localhost:PORT/i.png">"#.to_owned()),
        (
            "marked.localhost/refreshed",
            r#"<meta http-equiv="refresh" content="0;url=http://refreshed.localhost:PORT/">"#
                .to_owned(),
        ),
        (
            "marked.localhost/chained.css",
            r#"@import "http://chained.localhost:PORT/c.css";"#.to_owned(),
        ),
    ])
    .await;
    let run = watch(&[&sites.url("marked.localhost/")]).await;
    run.ends_with(1);
    names_all(&run, &sites, MARKUP, "marked.localhost", &["connectcors", "icon", "manifest"]);
}

#[tokio::test]
async fn every_way_of_scripts_and_workers_is_named() {
    let scripts = SCRIPTS.iter().map(|way| format!("<script>{{ {} }}</script>", filled(way)));
    let scripts = scripts.collect::<Vec<_>>().join("\n");
    let policy = "+ Content-Security-Policy-Report-Only: img-src http: data: blob:; connect-src *; \
                  script-src * 'unsafe-inline' 'unsafe-eval' blob: data:; worker-src 'self' blob:; \
                  report-uri http://csp.localhost:PORT/r\n";
    let policy =
        policy.replace("img-src http: data: blob:", "img-src http://*.localhost:PORT/ blob:");
    let page = format!(
        "{policy}<!doctype html><title>Page</title><body><p>Text</p>\
        <img src=\"data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=\" alt=\"\">{scripts}"
    );
    let fetching =
        |host: &str| format!("fetch('http://{host}.localhost:PORT/f', {{mode: 'no-cors'}})");
    let to = |host: &str| format!("-> http://{host}.localhost:PORT/there");
    let sites = Sites::start(&[
        ("scripted.localhost/", page),
        ("scripted.localhost/redirect-image", to("own-redirect")),
        ("own-redirect.localhost/there", "-> http://scripted.localhost:PORT/back".to_owned()),
        ("scripted.localhost/redirect-fetch", to("fetch-redirect")),
        ("scripted.localhost/shared.js", fetching("sharedworker")),
        ("scripted.localhost/service.js", fetching("serviceworker")),
        (
            "scripted.localhost/importing.js",
            "importScripts('http://serviceimport.localhost:PORT/i.js')".to_owned(),
        ),
    ])
    .await;
    let run = watch(&[&sites.url("scripted.localhost/")]).await;
    run.ends_with(1);
    names_all(&run, &sites, SCRIPTS, "scripted.localhost", &["connecting", "stun"]);
}

/// Requests to the page's own site, whose hosts are `cdn` and `www`.
const OWN: &[&str] = &[
    r#"<link rel="stylesheet" href="/s.css">"#,
    r#"<link rel="preconnect" href="http://cdn.naming.localhost:PORT">"#,
    r#"<script src="http://cdn.naming.localhost:PORT/s.js"></script>"#,
    r#"<iframe src="http://www.naming.localhost:PORT/f"></iframe>"#,
    r#"<img src="data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA=" alt="">"#,
    r#"<script>fetch("/data.txt"); navigator.sendBeacon("/count")</script>"#,
    r#"<iframe src="http://refusing.naming.localhost:PORT/"></iframe>"#,
];

#[tokio::test]
async fn what_asks_its_own_site_or_names_others_without_asking_them_is_silent() {
    let policy =
        "+ Content-Security-Policy: default-src 'self' 'unsafe-inline'; worker-src 'none'\n";
    let page = |body: &[&str]| format!("<!doctype html><title>Page</title>{}", body.join("\n"));
    let refusing = "refusing.naming.localhost";
    let sites = Sites::start(&[
        ("naming.localhost/", page(&[QUIET, OWN].concat())),
        (&format!("{refusing}/"), policy.to_owned() + &page(REFUSED)),
        (&format!("{refusing}/away.png"), "-> http://quiet.localhost:PORT/i.png".to_owned()),
    ])
    .await;
    let run = watch(&[&sites.url("naming.localhost/")]).await;
    run.ends_with(2);
    run.has_no_leak(0);
    let hosts = ["naming.localhost", "cdn.naming.localhost", refusing, "www.naming.localhost"];
    let expected = hosts.map(str::to_owned).into_iter().collect::<BTreeSet<_>>();
    assert_eq!(sites.asked(), expected);
    assert!(sites.was_asked_for(&format!("{refusing}/away.png")), "the page did try");
}

/// Each page of the site leaves for another site in another way, which leads back to the next page.
#[tokio::test]
async fn a_page_that_leaves_for_another_site_is_named() {
    let ways = [
        (
            "moved",
            "/",
            r#"<script>setTimeout(() => { location = "http://moved.localhost:PORT/" }, 500)</script>"#,
        ),
        (
            "refreshed",
            "/second",
            r#"<meta http-equiv="refresh" content="0;url=http://refreshed.localhost:PORT/">"#,
        ),
        (
            "submitted",
            "/third",
            r#"<form id="f" action="http://submitted.localhost:PORT/"></form><script>f.submit()</script>"#,
        ),
        (
            "clicked",
            "/fourth",
            r#"<a id="a" href="http://clicked.localhost:PORT/">A</a><script>a.click()</script>"#,
        ),
    ];
    let pages = ways.map(|(_, path, body)| {
        (format!("leaving.localhost{path}"), format!("<!doctype html><title>Page</title>{body}"))
    });
    let ways_back = ways.windows(2).map(|pair| {
        let back = format!("-> http://leaving.localhost:PORT{}", pair[1].1);
        (format!("{}.localhost/", pair[0].0), back)
    });
    let documents = pages.into_iter().chain(ways_back).collect::<Vec<_>>();
    let documents = documents.iter().map(|(address, text)| (address.as_str(), text.clone()));
    let sites = Sites::start(&documents.collect::<Vec<_>>()).await;
    // Long enough for four pages one after the other on a busy machine.
    let run = watch(&[&sites.url("leaving.localhost/"), "--seconds", "4"]).await;
    run.ends_with(1);
    let mut found = run.listed(0, "untouched", "leaks");
    // The browser requests the icons of the other sites in some of the visits.
    found.retain(|(kind, _)| kind != "image");
    let expected = ways.map(|(host, ..)| ("document".to_owned(), format!("{host}.localhost")));
    assert_eq!(found, BTreeSet::from(expected));
}
