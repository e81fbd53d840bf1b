//! Pages that resist: every run ends within its bounds, leaves nothing behind, and judges whatever it could observe.

use std::time::Duration;

use crate::hostile_site::HostileSite;
use crate::runs::{Run, VISITS, Watcher, watch, watch_by};
use crate::verification::verified;

/// The most time of one page, with its repeated visits and the ends of browsers.
const PAGE: Duration = Duration::from_secs(180 + 60 + 20);
const MAX_URL: usize = 4000;
const MAX_OF_KIND: usize = 100;

/// Behaviours that do not keep a visit from being observed. Each script requests `/ran/` and its name once the page
/// goes on.
const RESISTING: &[(&str, &str)] = &[
    ("storage", "localStorage.full = 'x'.repeat(4e6); ran('storage')"),
    (
        "dialogs",
        "for (let i = 0; i < 10; i++) { alert('a'); confirm('b'); prompt('c') } ran('dialogs')",
    ),
    ("debugger", "debugger; ran('debugger')"),
    ("console", "for (let i = 0; i < 5000; i++) console.log('x'.repeat(1000)); ran('console')"),
    (
        "elements",
        "for (let i = 0; i < 20000; i++) document.body.append(document.createElement('p'));
        ran('elements')",
    ),
    (
        "permissions",
        "window.Notification?.requestPermission();
        navigator.geolocation?.getCurrentPosition(() => {});
        navigator.mediaDevices?.getUserMedia({audio: true, video: true}).catch(() => {});
        document.documentElement.requestFullscreen?.().catch(() => {}); ran('permissions')",
    ),
    (
        "schemes",
        "for (const to of ['file:///etc/passwd', 'view-source:file:///etc/passwd', 'chrome://crash/']) {
            frame(to); attempt(() => open(to)); attempt(() => { location = to }) }
        fetch('file:///etc/passwd').then((r) => r.text()).then(() => ran('reading'), () => ran('schemes'))",
    ),
    (
        "downloads",
        "frame('/download'); const a = link('/download'); a.download = 'x'; a.click(); ran('downloads')",
    ),
    (
        "windows",
        "for (let i = 0; i < 30; i++) open('/window?' + i);
        const a = link('/window'); a.target = '_blank'; for (let i = 0; i < 4; i++) a.click();
        ran('windows')",
    ),
    (
        "sockets",
        "for (let i = 0; i < 100; i++) new WebSocket(`ws://${location.host}/socket`); ran('sockets')",
    ),
    ("redirects", "fetch('/loop').catch(() => ran('redirects'))"),
    ("service", "navigator.serviceWorker.register('/service.js').then(() => ran('service'))"),
    (
        "addresses",
        "new Image().src = 'data:image/png,' + 'A'.repeat(3e6);
        fetch('http://long.localhost:PORT/?' + 'a'.repeat(1e5), {mode: 'no-cors'});
        const i = document.createElement('link'); i.rel = 'icon';
        i.href = 'http://long.localhost:PORT/' + 'b'.repeat(1e5); document.head.append(i);
        new Worker('data:text/javascript,' + 'c'.repeat(1e6)); ran('addresses')",
    ),
    (
        "requests",
        "for (let i = 0; i < 400; i++) fetch('http://flood.localhost:PORT/' + i, {mode: 'no-cors'});
        ran('requests')",
    ),
    (
        "cookies",
        "for (let i = 0; i < 400; i++) document.cookie = `c${i}=${'x'.repeat(100)}`; ran('cookies')",
    ),
    (
        "endless",
        "addEventListener('load', () => { for (const path of ['endless', 'silent', 'dripping', 'password'])
            new Image().src = 'http://slow.hostile.localhost:PORT/' + path; ran('endless') })",
    ),
    (
        "leaving",
        "addEventListener('beforeunload', (event) => { event.preventDefault(); event.returnValue = 'x' });
        addEventListener('pagehide', () => navigator.sendBeacon('/ran/leaving'))",
    ),
];

const FUNCTIONS: &str = "<!doctype html><title>Page</title><body><script>
    const ran = (name) => { fetch('/ran/' + name, {keepalive: true}) };
    const attempt = (work) => { try { work() } catch {} };
    const frame = (to) => { const f = document.createElement('iframe'); f.src = to; document.body.append(f) };
    const link = (to) => { const a = document.createElement('a'); a.href = to; document.body.append(a); return a };
    </script>";

/// The leak that must be named in spite of everything. One visit stores more than is compared, and may end with its
/// page or its printing.
const LEAKING: &str = "<script>new Image().src = 'http://canary.localhost:PORT/i.png';
    if (navigator.globalPrivacyControl) {
        for (let i = 0; i < 1500; i++) localStorage['k' + i] = i;
        addEventListener('load', () => setTimeout(() => { close(); print() }, 300)) }</script>";

/// Fails unless the report of a run is complete and holds, and the run is over in time and leaves nothing.
async fn ends_well(run: &Run, pages: u32) {
    for page in 0..pages as usize {
        for visit in VISITS {
            let made = run.visit(page, visit);
            assert_eq!(made["silent"].is_null(), made["unobserved"].is_string(), "{made}");
        }
    }
    assert_eq!(verified(&run.folder, &[]).await, Some(0));
    assert!(run.took < PAGE * pages, "{:?}", run.took);
    run.leaves_nothing();
}

#[tokio::test]
async fn a_page_that_resists_in_many_ways_is_judged_and_so_is_the_next_one() {
    let scripts = RESISTING.iter().map(|(_, text)| format!("<script>{{ {text} }}</script>\n"));
    let page = [FUNCTIONS, &scripts.collect::<String>(), LEAKING].concat();
    let site = HostileSite::start(&[page]).await;
    let run = watch(&[&site.url(), &site.plain_url(), "--seconds", "0.5"]).await;
    run.ends_with(1);
    let is_stuck = |name: &&str| !site.was_asked_for(&format!("/ran/{name}"));
    let stuck = RESISTING.iter().map(|(name, _)| *name).filter(is_stuck).collect::<Vec<_>>();
    assert!(stuck.is_empty(), "{stuck:?}: {}", run.said);
    assert!(!site.was_asked_for("/ran/reading"), "a page read a file");
    assert!(site.downloaded() < 512 << 20, "{} bytes were downloaded", site.downloaded());
    // On a busy machine a visit may exceed a bound before it has loaded everything. None is silent.
    assert_eq!(run.visits_that_are(0, Some(true)), [""; 0], "{}", run.said);
    let evaluated = run.visits_that_are(0, Some(false));
    assert!(!evaluated.is_empty(), "{}", run.said);
    let named = run.visits_with(0, "leaks", "canary.localhost");
    assert!(evaluated.iter().all(|visit| named.contains(visit)), "{}", run.said);
    let leaks = run.visit(0, evaluated[0])["leaks"].as_array().unwrap();
    let to = |host: &str| leaks.iter().filter(|leak| leak["host"] == host).collect::<Vec<_>>();
    assert_eq!(to("flood.localhost").len(), MAX_OF_KIND);
    assert!(!to("long.localhost").is_empty());
    let is_short = |leak: &serde_json::Value| leak["url"].as_str().unwrap().len() <= MAX_URL;
    assert!(leaks.iter().all(is_short), "a long address is in the report");
    run.has_no_leak(1);
    ends_well(&run, 2).await;
}

/// The page of each opening: the visits of a pair are made at the same time, so each pair has two pages.
const ENDING: [&str; 5] = [
    "<!doctype html><title>Busy</title><script>for (;;) {}</script>",
    // The page waits without an end, while its worker writes.
    "<!doctype html><title>Filling</title><img src='http://slow.hostile.localhost:PORT/silent' alt=''><script>
    const work = `(async () => { postMessage(0);
        const part = crypto.getRandomValues(new Uint8Array(65536));
        const blob = new Blob(Array(256).fill(part)), cache = await caches.open('c');
        for (let i = 0; ; i++) await cache.put(self.origin + '/' + i, new Response(blob)) })()`;
    new Worker(URL.createObjectURL(new Blob([work]))).onmessage = () => {
        const x = new XMLHttpRequest(); x.open('GET', '/silent', false); x.send() }</script>",
    "<!doctype html><title>Busy, too</title><script>for (;;) {}</script>",
    "<!doctype html><title>Receiving</title><img src='http://slow.hostile.localhost:PORT/silent' alt=''><script>
    for (const path of ['/big', '/bomb'])
        fetch(path).then((r) => r.arrayBuffer()).catch(() => {})</script>",
    "<!doctype html><title>Moving</title><script>
    new Worker(URL.createObjectURL(new Blob(['for (;;) {}'])));
    setTimeout(() => { location = '/?' + Math.random() }, 200)</script>",
];

#[tokio::test]
async fn visits_that_exceed_a_bound_are_not_observed_and_the_others_are() {
    let site = HostileSite::start(&ENDING.map(str::to_owned)).await;
    let run = watch(&[&site.url()]).await;
    run.ends_with(2);
    let reasons = |visits: [&str; 2]| {
        let reason = |visit: &str| run.visit(0, visit)["unobserved"].to_string();
        visits.map(reason).join(", ")
    };
    let first = reasons(["untouched", "declined"]);
    // A busy page answers no question about its storage either.
    let stuck = |reasons: &str| {
        let each = ["the visit took longer than", "the storage of http"];
        each.map(|reason| reasons.matches(reason).count()).iter().sum::<usize>()
    };
    assert!(stuck(&first) > 0, "{first}");
    // A slow disk is not full in time; `screenshots` tests that bound with a browser that fills it at once.
    assert_eq!(stuck(&first) + first.matches("more than 512 MiB of disk").count(), 2, "{first}");
    let second = reasons(["accepted_then_withdrawn", "gpc"]);
    assert!(stuck(&second) > 0, "{second}");
    assert!(second.contains("the page received more than 512 MiB"), "{second}");
    assert_eq!(run.visits_that_are(0, Some(true)), ["blocked"], "{}", run.said);
    ends_well(&run, 1).await;
}

/// A browser that starts other processes first is ended for this reason in every visit.
async fn is_ended_after(first: &str, reason: &str) {
    let site = HostileSite::start(&[String::new()]).await;
    let run = watch_by(Watcher::after(first), &[], &[&site.plain_url()]).await;
    run.ends_with(2);
    for visit in VISITS {
        assert_eq!(run.visit(0, visit)["unobserved"].as_str(), Some(reason), "{visit}");
    }
    ends_well(&run, 1).await;
}

#[tokio::test]
async fn a_browser_with_too_many_processes_is_ended() {
    let many = "for i in $(seq 220); do sleep 100 3<&- 4>&- & done";
    is_ended_after(many, "the page started more than 200 processes").await;
}

#[tokio::test]
async fn a_browser_with_too_much_memory_is_ended() {
    let large = [
        "python3 -c 'import os, time; kept = b\"x\" * (3300 << 20)",
        "open(os.environ[\"TMPDIR\"] + \"/large\", \"w\"); time.sleep(100)' 3<&- 4>&- &",
        "while [ ! -e \"$TMPDIR/large\" ]; do sleep 0.1; done",
    ];
    let large = large.join("\n");
    is_ended_after(&large, "the page used more than 3 GiB of memory").await;
}
