//! Cookies and storage: which values are identifiers, and which are not.

use std::collections::BTreeSet;
use std::fmt::Write;

use crate::runs::{Run, watch};
use crate::sites::Sites;

/// The functions that scripts of the pages use.
const FUNCTIONS: &str = r"<!doctype html><title>Page</title><body><p>Text</p><script>
    const bytes = (n) => crypto.getRandomValues(new Uint8Array(n));
    const hex = (n) => [...bytes(n)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    const below = (n) => Math.floor(Math.random() * n);
    const one = (...all) => all[below(all.length)];
    const year = '; max-age=31536000; path=/';
    const put = (name, value) => localStorage.setItem(name, value);
    const store = (name, key, value) => { const r = indexedDB.open(name);
        r.onupgradeneeded = () => r.result.createObjectStore('s');
        r.onsuccess = () => { const t = r.result.transaction('s', 'readwrite');
            t.objectStore('s').put(value, key); t.oncomplete = () => r.result.close() } };
    </script>";

/// The name in the report, and the script that stores an identifier under it.
const IDENTIFIERS: &[(&str, &str)] = &[
    ("plain", "document.cookie = `plain=${hex(16)}${year}`"),
    ("domain", "document.cookie = `domain=${hex(8)}; domain=storing.localhost${year}`"),
    ("day", "document.cookie = `day=${hex(8)}; max-age=86400`"),
    ("ga", "document.cookie = `ga=GA1.1.${below(2e9)}.${Math.floor(Date.now() / 1000)}${year}`"),
    (
        "stamped",
        "document.cookie = `stamped=${Math.floor(Date.now() / 1000)}.${1e9 + below(9e9)}${year}`",
    ),
    ("coded", "document.cookie = `coded=${btoa(JSON.stringify({v: 1, id: hex(6)}))}${year}`"),
    (
        "json",
        "document.cookie = `json=${encodeURIComponent(JSON.stringify({a: 1, u: hex(6)}))}${year}`",
    ),
    ("storing", "cookieStore.set({name: 'storing', value: hex(8), expires: Date.now() + 1e10})"),
    ("uuid", "put('uuid', crypto.randomUUID())"),
    ("number", "put('number', Math.random())"),
    ("digits", "put('digits', 1e8 + below(9e8))"),
    (
        "letters",
        "put('letters', [...bytes(12)].map((b) => String.fromCharCode(97 + b % 26)).join(''))",
    ),
    (
        "state",
        "put('state', JSON.stringify({theme: 'dark', list: Array(900).fill('item'), id: hex(8)}))",
    ),
    ("time36", "put('time36', Date.now().toString(36) + Math.random().toString(36).slice(2))"),
    ("late", "setTimeout(() => put('late', hex(8)), 700)"),
    (
        "passing",
        "put('passing', hex(8)); setTimeout(() => localStorage.removeItem('passing'), 900)",
    ),
    (
        "brief",
        "document.cookie = `brief=${hex(8)}${year}`;
        setTimeout(() => { document.cookie = 'brief=; max-age=0; path=/' }, 900)",
    ),
    ("ending", "addEventListener('pagehide', () => put('ending', hex(8)))"),
    ("base/s/key", "store('base', 'key', hex(8))"),
    ("deep/s/key", "store('deep', 'key', {user: {ids: [hex(8)]}})"),
    ("bytes/s/key", "store('bytes', 'key', bytes(16))"),
    (
        "cachehttp://storing.localhost:PORT/id",
        "caches.open('cache').then((c) => c.put('/id', new Response(hex(8))))",
    ),
    (
        "queryhttp://storing.localhost:PORT/q",
        "caches.open('query').then((c) => c.put(`/q?id=${hex(8)}`, new Response('')))",
    ),
    (
        "framed",
        "const f = document.createElement('iframe'); f.srcdoc = `<script>localStorage.setItem('framed', crypto.randomUUID())</${''}script>`; document.body.append(f)",
    ),
    (
        "sub",
        "const f = document.createElement('iframe'); f.src = 'http://cdn.storing.localhost:PORT/sub'; document.body.append(f)",
    ),
    ("own", ""),
    ("quiet", ""),
];

/// The beginning of random values, by which they would be found in a report.
const MARK: &str = "c0ffee";

/// The name in the report, and the script. None of these is an identifier.
const PLAIN: &[(&str, &str)] = &[
    ("session", "document.cookie = `session=${hex(16)}`"),
    ("csrf", ""),
    ("short", "document.cookie = `short=${hex(16)}; max-age=43200`"),
    ("tab", "sessionStorage.setItem('tab', hex(16))"),
    ("lang", "document.cookie = `lang=en-GB${year}`"),
    ("first", "document.cookie = `first=${Date.now()}${year}`"),
    ("ms", "put('ms', Date.now())"),
    ("seconds", "put('seconds', Math.floor(Date.now() / 1000))"),
    (
        "microseconds",
        "put('microseconds', String(Date.now()) + String(below(1000)).padStart(3, '0'))",
    ),
    (
        "fraction",
        "put('fraction', (Date.now() / 1000).toFixed(3) + String(below(1000)).padStart(3, '0'))",
    ),
    ("iso", "put('iso', new Date().toISOString())"),
    ("date", "put('date', String(new Date()))"),
    ("expiry", "put('expiry', JSON.stringify({at: Date.now(), until: Date.now() + 31536e6}))"),
    ("base36", "put('base36', Date.now().toString(36))"),
    ("hexms", "put('hexms', Date.now().toString(16))"),
    ("hexs", "put('hexs', Math.floor(Date.now() / 1000).toString(16))"),
    ("compact", "put('compact', new Date().toISOString().replace(/\\D/g, ''))"),
    ("loaded", "put('loaded', performance.now())"),
    (
        "vitals",
        "put('vitals', JSON.stringify({ttfb: performance.now(), fcp: 300 + below(3000) / 10,
        lcp: 900 + below(9000) / 10, load: 1000 + below(900)}))",
    ),
    ("ab", "put('ab', one('control', 'treatment'))"),
    ("variant", "put('variant', one('original', 'headline-large', 'headline-small'))"),
    ("experiment", "put('experiment', one('8472611234', '8472619911'))"),
    ("bucket", "put('bucket', below(100))"),
    ("sample", "document.cookie = `sample=${Math.random() < .5}${year}`"),
    (
        "flags",
        "put('flags', JSON.stringify({a: one(true, false), b: one(1, 2, 3), c: one('on', 'off')}))",
    ),
    ("a1", "document.cookie = `a1=${one('a', 'b')}${year}`"),
    ("a2", "document.cookie = `a2=${one('a', 'b')}${year}`"),
    ("a3", "document.cookie = `a3=${one('x', 'y', 'z')}${year}`"),
    ("a4", "document.cookie = `a4=${one('x', 'y')}${year}`"),
    ("build", "put('build', '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b')"),
    (
        "screen",
        "put('screen', `${screen.width}x${screen.height} ${new Date().getTimezoneOffset()}`)",
    ),
    ("none", "put('none', '00000000-0000-0000-0000-000000000000')"),
    ("count", "put('count', 1 + Number(localStorage.count ?? 0))"),
    ("heartbeat", "for (let n = 0; n < 900; n++) put('heartbeat', Date.now() + n)"),
    ("counted", "for (let n = 0; n < 900; n++) put('counted', n)"),
    ("basket", "put('basket', '{\"items\":[],\"total\":0}')"),
    ("seen", "document.cookie = `seen=${new Date().toUTCString()}${year}`"),
];

/// Scripts that test the storage or hold a lock: an entry of a random name is gone at once.
const MOMENTARY: &[(&str, &str)] = &[
    (
        "test",
        "const t = '__' + Math.round(Math.random() * 1e7); put(t, t); localStorage.removeItem(t)",
    ),
    ("number", "const n = Math.random(); put(n, 1); localStorage.removeItem(n)"),
    (
        "lock",
        "const l = 'lock-' + hex(8); put(l, hex(8));
        Promise.resolve().then(() => localStorage.removeItem(l))",
    ),
];

fn script(script: &str) -> String {
    format!("<script>{{ {script} }}</script>\n")
}

fn page(headers: &str, scripts: &[(&str, &str)]) -> String {
    let mut page = headers.to_owned() + FUNCTIONS;
    for (_, text) in scripts {
        let _ = write!(page, "{}", script(text));
    }
    page
}

/// The names of identifiers among the leaks of a visit, without the server's port.
fn named(run: &Run, page: usize, visit: &str) -> BTreeSet<String> {
    let leaks = run.visit(page, visit)["leaks"].as_array().unwrap();
    leaks.iter().map(|leak| leak["name"].as_str().unwrap_or("(none)").to_owned()).collect()
}

#[tokio::test]
async fn every_identifier_is_named_and_its_value_is_in_no_report() {
    let headers = "+ Set-Cookie: own=RANDOM; Max-Age=31536000; HttpOnly; SameSite=Lax\n\
                   + Set-Cookie: quiet=RANDOM; Expires=Wed, 01 Jan 2031 00:00:00 GMT; Path=/\n";
    let sub = "<script>localStorage.setItem('sub', 'RANDOM')</script>".to_owned();
    let marked =
        |page: String| page.replacen("(n) => [...b", &format!("(n) => '{MARK}' + [...b"), 1);
    let sites = Sites::start(&[
        ("storing.localhost/", marked(page(headers, IDENTIFIERS))),
        ("cdn.storing.localhost/sub", sub),
    ])
    .await;
    let run = watch(&[&sites.url("storing.localhost/")]).await;
    run.ends_with(1);
    let port = sites.port.to_string();
    let expected = IDENTIFIERS.iter().map(|(name, _)| name.replace("PORT", &port));
    let expected = expected.collect::<BTreeSet<_>>();
    let visits = ["untouched", "gpc", "blocked"];
    let found = visits.map(|visit| named(&run, 0, visit));
    let missing = found.each_ref().map(|found| expected.difference(found).collect::<Vec<_>>());
    let surplus = found.each_ref().map(|found| found.difference(&expected).collect::<Vec<_>>());
    assert!(
        missing.iter().chain(&surplus).all(Vec::is_empty),
        "missing {missing:?}, surplus {surplus:?}"
    );
    for file in ["report.json", "report.html", "report.sarif", "report.xml"] {
        let text = std::fs::read_to_string(run.folder.join(file)).unwrap();
        assert!(!text.contains(MARK), "{file}: {text}");
    }
}

#[tokio::test]
async fn times_preferences_groups_and_sessions_are_no_identifiers() {
    let headers = "+ Set-Cookie: csrf=RANDOM; HttpOnly\n";
    let scripts = [PLAIN, MOMENTARY].concat();
    let sites = Sites::start(&[("plain.localhost/", page(headers, &scripts))]).await;
    let run = watch(&[&sites.url("plain.localhost/")]).await;
    let found = ["untouched", "gpc", "blocked"].map(|visit| named(&run, 0, visit));
    assert!(found.iter().all(BTreeSet::is_empty), "{found:?}");
    run.ends_with(2);
    run.has_no_leak(0);
    let is_cookie = |entry: &(&str, &str)| entry.0 == "csrf" || entry.1.contains("cookie");
    for (list, of_cookies) in [("cookies", true), ("storage", false)] {
        let listed = run.visit(0, "untouched")[list].as_array().unwrap().iter();
        let listed = listed.map(|entry| entry["name"].as_str().unwrap()).collect::<BTreeSet<_>>();
        let expected = PLAIN.iter().filter(|&entry| is_cookie(entry) == of_cookies);
        let expected = expected.map(|entry| entry.0).collect::<BTreeSet<_>>();
        assert_eq!(listed, expected, "{list}");
    }
}

/// Hosts of one site, the store, and the script that leaves an identifier there: in small parts, under a random name,
/// or within much else. In the same store of a host, one would be a part of another.
const SCATTERED: &[(&str, &str, &str)] = &[
    (
        "scattered.localhost",
        "cookie",
        "for (let n = 0; n < 4; n++) document.cookie = `part${n}=${hex(2)}${year}`",
    ),
    ("scattered.localhost", "indexeddb", "store(`d-${hex(8)}`, 'key', 1)"),
    (
        "scattered.localhost",
        "local_storage",
        "for (let n = 0; n < 400; n++) put(`a${n}`, 'same'); put('z', hex(8))",
    ),
    (
        "small.scattered.localhost",
        "cookie",
        "for (let n = 0; n < 12; n++) document.cookie = `p${n}=${hex(1)}${year}`",
    ),
    (
        "parts.scattered.localhost",
        "local_storage",
        "for (let n = 0; n < 8; n++) put(`part${n}`, hex(1))",
    ),
    ("keys.scattered.localhost", "local_storage", "put(`seen-${hex(8)}`, 1)"),
    ("long.scattered.localhost", "local_storage", "put('long', 'x '.repeat(20000) + hex(8))"),
];

#[tokio::test]
async fn an_identifier_in_many_small_parts_or_under_a_random_name_is_named() {
    let main = SCATTERED[0].0;
    let hosts = SCATTERED.iter().map(|entry| entry.0).collect::<BTreeSet<_>>();
    let framed = hosts.iter().filter(|&&host| host != main);
    let frames = framed.map(|host| format!(r#"<iframe src="http://{host}:PORT/"></iframe>"#));
    let frames = frames.collect::<String>();
    let document = |host: &str| {
        let scripts = SCATTERED.iter().filter(|entry| entry.0 == host);
        let scripts = scripts.map(|&(_, store, text)| (store, text)).collect::<Vec<_>>();
        page("", &scripts) + if host == main { frames.as_str() } else { "" }
    };
    let documents = hosts.iter().map(|&host| (format!("{host}/"), document(host)));
    let documents = documents.collect::<Vec<_>>();
    let documents = documents.iter().map(|(address, text)| (address.as_str(), text.clone()));
    let sites = Sites::start(&documents.collect::<Vec<_>>()).await;
    let run = watch(&[&sites.url("scattered.localhost/")]).await;
    let leaks = run.visit(0, "untouched")["leaks"].as_array().unwrap();
    let is_named = |host: &str, store: &str| {
        leaks.iter().any(|leak| leak["host"] == host && leak["store"] == store)
    };
    let unnamed = SCATTERED.iter().filter(|&&(host, store, _)| !is_named(host, store));
    let unnamed = unnamed.map(|&(host, store, _)| (host, store)).collect::<Vec<_>>();
    assert_eq!(unnamed, [("", ""); 0], "{leaks:?}");
}
