//! Pages with the tag that load nothing without consent: what sites and the tag's own modules do every day is no leak.

use crate::runs::{VISITS, step};
use crate::sites::SOCKET;
use crate::tagged_pages::{ON_CHOICE, TAG, Tagged};

/// Reports to the page's own site which scripts of the service were loaded.
const LOADED: &str =
    "<script>new PerformanceObserver((list) => list.getEntries().forEach(({name}) => {
    if (name.startsWith('BASE/')) fetch('/loaded' + new URL(name).pathname) }))
    .observe({type: 'resource', buffered: true})</script>";

/// Pages on which the tag loads modules: the path, the tag, the rest of the page, and what must have been loaded.
const MODULES: &[(&str, &str, &str, &[&str])] = &[
    (
        "placeholder",
        TAG,
        r#"<iframe data-assent="analytics" data-src="https://www.youtube-nocookie.com/embed/1" width="560"
        height="315" title="Video"></iframe>"#,
        &["extras", "placeholders"],
    ),
    (
        "signals",
        r#"<script async src="BASE/px/PIXEL.js" data-assent-signals="google uet clarity"></script>"#,
        "",
        &["extras", "signals"],
    ),
    (
        "compat",
        r#"<script async src="BASE/px/PIXEL.js" data-assent-compat></script>"#,
        r#"<script type="text/plain" data-cookieconsent="statistics" src="http://gated.test:PORT/s.js"></script>"#,
        &["extras", "compat"],
    ),
    (
        "modal",
        TAG,
        "<dialog id='own'><p>Sale</p><button>Close</button></dialog><script>own.showModal()</script>",
        &["extras"],
    ),
    ("inert", TAG, "<script>document.body.inert = true</script>", &["extras"]),
    (
        "controls",
        TAG,
        "<a href='#top' style='position: fixed; inset: auto 0 0 0; height: 120px; background: wheat'>Top</a>
        <div style='height: 3000px'></div>",
        &["extras", "controls"],
    ),
    (
        "hints",
        TAG,
        r#"<iframe data-assent="newsletter" data-src="https://frames.example/" width="300" height="150"
        title="Form"></iframe>"#,
        &["extras", "hints"],
    ),
    (
        "preferences",
        TAG,
        "<button data-assent-open>Cookies</button><script>on('declined', () => setTimeout(() => assent.open(), 200))
        </script>",
        &["preferences"],
    ),
    // The tag imports it while an acceptance is in doubt, which no visit brings about.
    ("recheck", TAG, "<script>import('BASE/recheck.js?lang=en&' + Date.now())</script>", &["recheck"]),
];

/// On a host where browsers accept the cookie.
const SHARING: &str = r#"<script async src="BASE/px/SHARING.js"></script>"#;

/// The path, headers, the tag, and the rest of the page.
const SITES: &[(&str, &str, &str, &str)] = &[
    ("test-tag", "", r#"<script async src="BASE/px/test_PIXEL.js?lang=pt_BR"></script>"#, ""),
    ("versioned-tag", "", r#"<script async src="BASE/px/PIXEL.js?ver=6.9-beta1"></script>"#, ""),
    (
        "own-cdn",
        "",
        TAG,
        r#"<link rel="preconnect" href="http://cdn.shop.test:PORT"><script src="http://cdn.shop.test:PORT/a.js"></script>
        <link rel="stylesheet" href="http://cdn.shop.test:PORT/a.css"><img src="http://cdn.shop.test:PORT/a.png" alt="">"#,
    ),
    (
        "policy-link",
        "",
        TAG,
        r#"<a href="BASE/v1/policy/PIXEL?lang=en">Privacy</a><a href="https://partner.example/">Partner</a>"#,
    ),
    ("preferences-link", "", TAG, r##"<a href="#" data-assent-open>Cookie settings</a>"##),
    (
        "own-fonts",
        "",
        TAG,
        r#"<style>@font-face { font-family: F; src: url("http://fonts.shop.test:PORT/f.woff2") }
        p { font-family: F }</style><p>Text</p>"#,
    ),
    (
        "own-api",
        "",
        TAG,
        "<script>fetch('/api/items?page=2'); navigator.sendBeacon('/api/seen', 'x');
        const stock = new XMLHttpRequest(); stock.open('GET', '/api/stock'); stock.send()</script>",
    ),
    ("session-cookie", "+ Set-Cookie: session=RANDOM; HttpOnly; SameSite=Lax\n", TAG, ""),
    ("language-cookie", "+ Set-Cookie: lang=de; Max-Age=31536000; Path=/\n", TAG, ""),
    ("theme", "", TAG, "<script>localStorage.setItem('theme', 'dark'); localStorage.visits = 1</script>"),
    (
        "cache-busting",
        "",
        TAG,
        "<script src='/app.js?v=RANDOM'></script><script>new Image().src = '/i.png?' + Date.now()</script>",
    ),
    (
        "lazy-images",
        "",
        TAG,
        "<div style='height: 3000px'></div><img loading='lazy' width='9' height='9' src='/late.png' alt=''>",
    ),
    (
        "own-socket",
        "",
        TAG,
        "<script>const live = new WebSocket('ws://shop.test:PORT/live');
        live.onopen = () => setInterval(() => live.send('x'), 100)</script>",
    ),
    (
        "form",
        "",
        TAG,
        "<form action='/send' method='post'><input type='hidden' name='csrf' value='RANDOM'><input name='email'>
        <button>Send</button></form><script>sessionStorage.setItem('form', 'RANDOM')</script>",
    ),
    (
        "questions",
        "",
        TAG,
        "<script>if (confirm('Load the map?')) new Image().src = 'http://map.test:PORT/m.png';
        if (prompt('Your town?', 'Bern') !== null) new Image().src = 'http://town.test:PORT/t.png'</script>",
    ),
    // Browsers ask their own servers about the fields of such forms.
    (
        "address-form",
        "",
        TAG,
        "<form action='/order' method='post'><input name='name' autocomplete='name'><input name='street'>
        <input name='city'><input name='postcode'><input name='tel' type='tel'><button>Order</button></form>
        <form action='/sign-in' method='post'><input name='email' type='email'>
        <input name='password' type='password'><button>Sign in</button></form>",
    ),
    (
        "consent-mode",
        "",
        TAG,
        "<script>window.dataLayer = window.dataLayer || []; function gtag() { dataLayer.push(arguments) }
        gtag('consent', 'default', {ad_storage: 'denied', analytics_storage: 'denied', wait_for_update: 500})</script>",
    ),
    (
        "declared-cookies",
        "",
        TAG,
        r#"<script type="text/plain" data-assent="analytics" data-assent-cookies="stat_*">
        document.cookie = 'stat_id=RANDOM; max-age=31536000; path=/'</script>"#,
    ),
];

/// Pages of secure contexts, whose documents are on `shop.localhost`: the path, the tag, and the rest of the page.
const SECURE: &[(&str, &str, &str)] = &[
    ("sharing", SHARING, ""),
    (
        "service-worker",
        r#"<script async src="BASE/px/test_PIXEL.js"></script>"#,
        "<script>navigator.serviceWorker.register('/worker.js')</script>",
    ),
];

const WORKER: &str = "addEventListener('install', (event) => event.waitUntil(
        caches.open('v1').then((cache) => cache.addAll(['/app.css', '/app.js']))));
    addEventListener('fetch', (event) => { if (new URL(event.request.url).origin === location.origin)
        event.respondWith(caches.match(event.request).then((known) => known || fetch(event.request))) })";

fn page(headers: &str, tag: &str, body: &str) -> String {
    format!(
        "{headers}<!doctype html><title>Shop</title>{LOADED}{ON_CHOICE}{tag}<h1>Shop</h1>{body}"
    )
}

#[tokio::test]
async fn pages_that_wait_for_consent_are_silent_whatever_else_they_and_the_tag_do() {
    let modules = MODULES
        .iter()
        .map(|(path, tag, body, _)| (format!("shop.test/{path}"), page("", tag, body)));
    let sites = SITES
        .iter()
        .map(|(path, headers, tag, body)| (format!("shop.test/{path}"), page(headers, tag, body)));
    let secure = SECURE
        .iter()
        .map(|(path, tag, body)| (format!("shop.localhost/{path}"), page("", tag, body)));
    let pages = modules.chain(sites).chain(secure).step_by(step()).collect::<Vec<_>>();
    let documents = pages.iter().map(|(address, text)| (address.as_str(), text.as_str()));
    let others = [("shop.localhost/worker.js", WORKER), ("shop.test/live", SOCKET)];
    let tagged = Tagged::serving(&documents.chain(others).collect::<Vec<_>>()).await;
    let addresses = pages.iter().map(|(address, _)| address.as_str()).collect::<Vec<_>>();
    let halves = addresses.split_at(addresses.len() / 2);
    let runs = tagged.watch([halves.0, halves.1]).await;
    for (run, addresses) in runs.iter().zip([halves.0, halves.1]) {
        for (number, address) in addresses.iter().enumerate() {
            let visits = &run.report["pages"][number]["visits"];
            assert_eq!(run.visits_that_are(number, Some(true)), VISITS, "{address}: {visits}");
        }
        run.ends_with(0);
    }
    let is_watched = |path: &str| pages.iter().any(|(address, _)| address.ends_with(path));
    for (path, _, _, loaded) in MODULES.iter().filter(|(path, ..)| is_watched(path)) {
        for module in *loaded {
            let is_loaded = tagged.sites.was_asked_for(&format!("shop.test/loaded/{module}.js"));
            assert!(is_loaded, "{path} loads {module}");
        }
    }
    for (path, loaded) in [("sharing", "loaded/share.js"), ("service-worker", "app.css")] {
        let is_loaded = tagged.sites.was_asked_for(&format!("shop.localhost/{loaded}"));
        assert!(is_loaded || !is_watched(path), "{path} loads {loaded}");
    }
}
