//! Pages without a consent tag: each way to tell another site of a visitor, and each identifier, is named.

use std::collections::BTreeSet;

use crate::runs::{Run, VISITS, watch};
use crate::sites::Sites;

/// A way to leak: its kind in the report, the host that the report names, and the markup.
type Way = (&'static str, &'static str, &'static str);

const BY_MARKUP: &[Way] = &[
    ("script", "script.test", r#"<script async src="http://script.test:PORT/s.js"></script>"#),
    ("image", "image.test", r#"<img src="http://image.test:PORT/i.png" alt="">"#),
    ("style", "style.test", r#"<link rel="stylesheet" href="http://style.test:PORT/s.css">"#),
    (
        "font",
        "font.test",
        r#"<style>@font-face { font-family: F; src: url("http://font.test:PORT/f.woff2") }
        p { font-family: F }</style><p>Text</p>"#,
    ),
    ("frame", "frame.test", r#"<iframe src="http://frame.test:PORT/"></iframe>"#),
    ("media", "media.test", r#"<video src="http://media.test:PORT/v.mp4" preload="auto"></video>"#),
    ("object", "object.test", r#"<object data="http://object.test:PORT/o"></object>"#),
    ("prefetch", "prefetch.test", r#"<link rel="prefetch" href="http://prefetch.test:PORT/p">"#),
    (
        "preload",
        "preload.test",
        r#"<link rel="preload" as="script" href="http://preload.test:PORT/s.js">"#,
    ),
    ("preconnect", "connect.test", r#"<link rel="preconnect" href="http://connect.test:PORT">"#),
    ("image", "private.github.io", r#"<img src="http://private.github.io:PORT/i.png" alt="">"#),
    (
        "ping",
        "ping.test",
        r##"<a id="a" ping="http://ping.test:PORT/p" href="#a">A</a><script>a.click()</script>"##,
    ),
];

const BY_SCRIPT: &[Way] = &[
    ("fetch", "fetch.test", r#"fetch("http://fetch.test:PORT/f.txt").catch(() => {})"#),
    (
        "fetch",
        "xhr.test",
        r#"const r = new XMLHttpRequest(); r.open("GET", "http://xhr.test:PORT/x.txt"); r.send()"#,
    ),
    ("beacon", "beacon.test", r#"navigator.sendBeacon("http://beacon.test:PORT/b", "x")"#),
    (
        "beacon",
        "unload.test",
        r#"addEventListener("pagehide", () => navigator.sendBeacon("http://unload.test:PORT/b"))"#,
    ),
    ("websocket", "socket.test", r#"new WebSocket("ws://socket.test:PORT/")"#),
    ("eventsource", "events.test", r#"new EventSource("http://events.test:PORT/a.events")"#),
    ("fetch", "worker.test", r#"new Worker("/worker.js")"#),
    (
        "image",
        "late.test",
        r#"setTimeout(() => { new Image().src = "http://late.test:PORT/i.png" }, 500)"#,
    ),
    ("cookie", "scripted.test", "document.cookie = `id=${random()}; max-age=172800`"),
    ("storage", "scripted.test", "localStorage.setItem('id', random())"),
];

const WORKER: &str = r#"fetch("http://worker.test:PORT/f.txt").catch(() => {})"#;

/// Fails unless every visit has exactly these leaks, also those visits that could not make their choice.
fn leaks_exactly(run: &Run, expected: &[(&str, &str)]) {
    let expected = expected.iter().map(|(kind, host)| ((*kind).to_owned(), (*host).to_owned()));
    let expected = expected.collect::<BTreeSet<_>>();
    for visit in VISITS {
        let found = run.listed(0, visit, "leaks");
        let missing = expected.difference(&found).collect::<Vec<_>>();
        let surplus = found.difference(&expected).collect::<Vec<_>>();
        let is_exact = missing.is_empty() && surplus.is_empty();
        assert!(is_exact, "{visit}: missing {missing:?}, surplus {surplus:?}");
    }
    assert_eq!(run.visits_that_are(0, Some(false)), ["untouched", "gpc", "blocked"]);
    let with_choice = ["declined", "accepted_then_withdrawn", "returning"];
    assert_eq!(run.visits_that_are(0, None), with_choice);
}

fn kinds_and_hosts(ways: &[Way]) -> Vec<(&'static str, &'static str)> {
    ways.iter().map(|&(kind, host, _)| (kind, host)).collect()
}

#[tokio::test]
async fn what_markup_loads_from_other_sites_is_named_and_so_is_a_way_through_another_site() {
    let elements = BY_MARKUP.iter().map(|(_, _, element)| *element).collect::<Vec<_>>();
    let page = format!("<!doctype html><title>Page</title>{}", elements.join("\n"));
    let sites = Sites::start(&[
        ("marked.test/", "-> http://through.test:PORT/there".to_owned()),
        ("through.test/there", "-> http://marked.test:PORT/page".to_owned()),
        ("marked.test/page", page),
    ])
    .await;
    let run = watch(&[&sites.url("marked.test/")]).await;
    run.ends_with(1);
    let mut expected = kinds_and_hosts(BY_MARKUP);
    expected.push(("document", "through.test"));
    leaks_exactly(&run, &expected);
}

#[tokio::test]
async fn requests_and_identifiers_of_scripts_are_named() {
    let scripts = BY_SCRIPT.iter().map(|(_, _, script)| format!("<script>{script}</script>"));
    let random = "<script>const random = () =>
        [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16)).join('')
        </script>";
    let scripts = scripts.collect::<Vec<_>>().join("\n");
    let page = format!("<!doctype html><title>Page</title>{random}{scripts}");
    let worker = ("scripted.test/worker.js", WORKER.to_owned());
    let sites = Sites::start(&[("scripted.test/", page), worker]).await;
    let run = watch(&[&sites.url("scripted.test/")]).await;
    run.ends_with(1);
    leaks_exactly(&run, &kinds_and_hosts(BY_SCRIPT));
    let leaks = run.visit(0, "untouched")["leaks"].as_array().unwrap();
    let of = |kind: &str| leaks.iter().find(|leak| leak["kind"] == kind).unwrap();
    assert_eq!((&of("cookie")["name"], &of("cookie")["store"]), (&"id".into(), &"cookie".into()));
    assert_eq!(of("storage")["store"], "local_storage");
    assert!(of("cookie")["bits"].as_u64().unwrap() >= 24, "{leaks:?}");
    let page = sites.url("scripted.test/");
    assert_eq!(of("fetch")["initiator"]["url"], page.as_str(), "{leaks:?}");
}
