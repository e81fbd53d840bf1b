//! Storage that is large or has unusual contents: it is read to its end, or the visit does not count as observed.

use std::collections::BTreeSet;

use crate::runs::{Run, VISITS, watch};
use crate::sites::Sites;

const FUNCTIONS: &str = r"<!doctype html><title>Page</title><body><p>Text</p><script>
    const bytes = (n) => crypto.getRandomValues(new Uint8Array(n));
    const hex = (n) => [...bytes(n)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
    const number = (n) => String(n).padStart(2, '0');
    const store = (name, write) => { const r = indexedDB.open(name);
        r.onupgradeneeded = () => r.result.createObjectStore('s');
        r.onsuccess = () => { const t = r.result.transaction('s', 'readwrite');
            write(t.objectStore('s')); t.oncomplete = () => r.result.close() } };
    const cache = async (name, path, body, headers) =>
        (await caches.open(name)).put(path, new Response(body, {headers}));
    </script>";

/// The name in the report, and the script that stores an identifier under it.
const IDENTIFIERS: &[(&str, &str)] = &[
    (
        "many/s/z",
        "store('many', (s) => { for (let n = 0; n < 60; n++) s.put('same', 'a' + number(n)); s.put(hex(8), 'z') })",
    ),
    ("blob/s/key", "store('blob', (s) => s.put({file: new Blob([hex(8)])}, 'key'))"),
    ("file/s/key", "store('file', (s) => s.put([new File([hex(8)], 'n.txt')], 'key'))"),
    (
        "buffer/s/key",
        "store('buffer', (s) => s.put(new Uint8Array([...Array(2000).fill(0), ...bytes(16)]), 'key'))",
    ),
    (
        "large/s/key",
        "store('large', (s) => s.put(new Uint8Array([...Array(20000).fill(65), ...bytes(16)]), 'key'))",
    ),
    ("map/s/key", "store('map', (s) => s.put(new Map([['id', {of: hex(8)}]]), 'key'))"),
    (
        "manyhttp://large.localhost:PORT/z",
        "Promise.all([...Array(60).keys()].map((n) => cache('many', '/a' + number(n), 'same')))
        .then(() => cache('many', '/z', hex(8)))",
    ),
    ("headerhttp://large.localhost:PORT/h", "cache('header', '/h', 'same', {'X-Id': hex(8)})"),
];

/// Values that are the same in every profile.
const PLAIN: &str = "localStorage.long = 'x'.repeat(100000);
    store('plain', (s) => { s.put(new Blob(['same']), 'blob'); s.put(new Uint8Array(70000), 'bytes') });
    cache('plain', '/large', 'y'.repeat(200000))";

const FRAMES: usize = 7;

fn script(text: &str) -> String {
    format!("<script>{{ {text} }}</script>\n")
}

fn hosts_and_names(run: &Run, visit: &str) -> BTreeSet<(String, String)> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let leaks = run.visit(0, visit)["leaks"].as_array().unwrap();
    leaks.iter().map(|leak| (text(&leak["host"]), text(&leak["name"]))).collect()
}

#[tokio::test]
async fn every_origin_entry_blob_and_header_is_read() {
    let frame = |at: usize| format!("part{at}.large.localhost");
    let frames =
        (0..FRAMES).map(|at| format!(r#"<iframe src="http://{}:PORT/"></iframe>"#, frame(at)));
    let scripts = IDENTIFIERS.iter().map(|(_, text)| script(text)).collect::<String>();
    let page = [FUNCTIONS, &scripts, &script(PLAIN), &frames.collect::<String>()].concat();
    let framed = (0..FRAMES)
        .map(|at| (frame(at) + "/", [FUNCTIONS, &script("localStorage.id = hex(8)")].concat()));
    let framed = framed.collect::<Vec<_>>();
    let framed = framed.iter().map(|(address, text)| (address.as_str(), text.clone()));
    let documents = framed.chain([("large.localhost/", page)]).collect::<Vec<_>>();
    let sites = Sites::start(&documents).await;
    let run = watch(&[&sites.url("large.localhost/")]).await;
    run.ends_with(1);
    let port = sites.port.to_string();
    let own = IDENTIFIERS
        .iter()
        .map(|(name, _)| ("large.localhost".to_owned(), name.replace("PORT", &port)));
    let of_frames = (0..FRAMES).map(|at| (frame(at), "id".to_owned()));
    let expected = own.chain(of_frames).collect::<BTreeSet<_>>();
    for visit in ["untouched", "gpc", "blocked"] {
        assert_eq!(hosts_and_names(&run, visit), expected, "{visit}");
    }
    assert_eq!(
        run.visits_that_are(0, Some(false)),
        ["untouched", "gpc", "blocked"],
        "{}",
        run.said
    );
}

#[tokio::test]
async fn a_visit_with_storage_that_cannot_be_read_is_not_observed() {
    let frames =
        (0..21).map(|at| format!(r#"<iframe src="http://f{at}.wide.localhost:PORT/"></iframe>"#));
    let key = "crypto.subtle.generateKey({name: 'AES-GCM', length: 128}, false, ['encrypt'])
        .then((made) => store('keys', (s) => s.put(made, 'key')))";
    let middle = "localStorage.state = 'x'.repeat(40000) + hex(8) + 'y'.repeat(40000)";
    let writes = "for (let n = 0; n < 200; n++) localStorage.count = `number ${n}`";
    let page = |text: &str| [FUNCTIONS, text].concat();
    let sites = Sites::start(&[
        ("wide.localhost/", page(&frames.collect::<String>())),
        ("key.localhost/", page(&script(key))),
        ("middle.localhost/", page(&script(middle))),
        ("middle.test/", page(&script(middle))),
        ("writing.localhost/", page(&script(writes))),
    ])
    .await;
    let hosts = [
        "wide.localhost/",
        "key.localhost/",
        "middle.localhost/",
        "middle.test/",
        "writing.localhost/",
    ];
    let urls = hosts.map(|host| sites.url(host));
    let mut arguments = urls.iter().map(String::as_str).collect::<Vec<_>>();
    arguments.extend(["--seconds", "0.5"]);
    let run = watch(&arguments).await;
    run.ends_with(2);
    let origin = format!("http://key.localhost:{}", sites.port);
    let reasons = [
        "the site showed more than 20 origins".to_owned(),
        format!("the storage of {origin} could not be read"),
        "a long value of middle.localhost in local_storage was not read to its end".to_owned(),
        "a long value of middle.test in local_storage was not read to its end".to_owned(),
        "the page stored or opened more than is kept".to_owned(),
    ];
    for (page, reason) in reasons.iter().enumerate() {
        assert_eq!(run.visits_that_are(page, None), VISITS, "{reason}: {}", run.said);
        let found = run.visit(page, "untouched")["unobserved"].as_str();
        assert_eq!(found, Some(reason.as_str()), "{}", run.said);
    }
}

#[tokio::test]
async fn long_values_that_are_the_same_in_all_profiles_are_compared_without_tls_too() {
    let long = "localStorage.long = 'x'.repeat(100000);
        store('long', (s) => s.put('y'.repeat(3000000), 'key'))";
    let page = [FUNCTIONS, &script(long)].concat();
    let sites = Sites::start(&[("plain.test/", page)]).await;
    let run = watch(&[&sites.url("plain.test/")]).await;
    run.ends_with(2);
    run.has_no_leak(0);
}

#[tokio::test]
async fn a_cookie_of_a_header_that_is_removed_at_once_is_named_and_a_short_one_is_not() {
    let page = "+ Set-Cookie: brief=RANDOM; Max-Age=31536000; Path=/\n\
        + Set-Cookie: dated=RANDOM; Expires=Wed, 01 Jan 2031 00:00:00 GMT; Path=/\n\
        + Set-Cookie: short=RANDOM; Max-Age=3600; Path=/\n\
        + Set-Cookie: ending=RANDOM; Path=/\n\
        <!doctype html><title>Page</title><script>
        for (const name of ['brief', 'dated', 'short', 'ending']) document.cookie = `${name}=; max-age=0; path=/`
        </script>";
    let sites = Sites::start(&[("removing.localhost/", page.to_owned())]).await;
    let run = watch(&[&sites.url("removing.localhost/")]).await;
    run.ends_with(1);
    let expected =
        ["brief", "dated"].map(|name| ("removing.localhost".to_owned(), name.to_owned()));
    for visit in ["untouched", "gpc", "blocked"] {
        assert_eq!(hosts_and_names(&run, visit), BTreeSet::from(expected.clone()), "{visit}");
    }
}
