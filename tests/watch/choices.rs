//! Pages with a consent tag that behave differently after a choice: each behaviour is named in the visits that have
//! it, and in no other.

use std::collections::BTreeSet;

use crate::runs::{Run, VISITS, watch};
use crate::tagged_pages::{ON_CHOICE, Tagged};

/// A name, its script, and the visits that must name it.
type Behaviour = (&'static str, &'static str, &'static [&'static str]);

const DECLINED: &[&str] = &["declined", "returning"];
const WITHDRAWN: &[&str] = &["accepted_then_withdrawn"];

/// Requests to a host of the behaviour's name.
const REQUESTS: &[Behaviour] = &[
    (
        "permitted",
        "on('accepted', () => { ask('permitted'); setTimeout(ask, 300, 'permitted') })",
        &[],
    ),
    ("going-on", "on('accepted', () => setInterval(ask, 200, 'going-on'))", WITHDRAWN),
    (
        "ending",
        "on('accepted', () => addEventListener('pagehide', () => navigator.sendBeacon(to('ending'))))",
        WITHDRAWN,
    ),
    ("at-once", "on('withdrawn', () => ask('at-once'))", WITHDRAWN),
    (
        "beacon",
        "on('withdrawn', () => setTimeout(() => navigator.sendBeacon(to('beacon')), 500))",
        WITHDRAWN,
    ),
    (
        "connected",
        "on('withdrawn', () => setTimeout(() => { const l = document.createElement('link');
        l.rel = 'preconnect'; l.href = to('connected'); document.head.append(l) }, 500))",
        WITHDRAWN,
    ),
    (
        "open-socket",
        "on('accepted', () => { const s = new WebSocket(to('open-socket').replace('http', 'ws'));
        s.onopen = () => setInterval(() => s.send('x'), 100) })",
        WITHDRAWN,
    ),
    (
        "clicked",
        "addEventListener('click', () => ask('clicked'), {once: true, capture: true})",
        DECLINED,
    ),
    // The tag keeps clicks in its popup from listeners that are called after its own.
    ("kept-click", "addEventListener('click', () => ask('kept-click'))", &[]),
    ("named", "icon('named')", &VISITS),
    ("named-later", "on('accepted', () => icon('named-later'))", &[]),
    ("refused", "on('declined', () => ask('refused'))", DECLINED),
    ("again", "if (localStorage.again) ask('again'); else localStorage.again = 1", &["returning"]),
    ("signal", "if (navigator.globalPrivacyControl) ask('signal')", &["gpc"]),
    ("without", "setTimeout(() => { if (!window.assent) ask('without') }, 800)", &["blocked"]),
];

/// Values under the behaviour's name.
const VALUES: &[Behaviour] = &[
    ("kept", "on('accepted', () => put('kept', hex()))", &[]),
    ("renewed", "on('accepted', () => put('renewed', hex())); later(() => put('renewed', hex()))", WITHDRAWN),
    (
        "restored",
        "on('accepted', () => put('restored', hex())); later(() => { const old = localStorage.restored;
        localStorage.removeItem('restored'); put('restored', old) })",
        WITHDRAWN,
    ),
    ("removed", "on('accepted', () => put('removed', hex())); later(() => localStorage.removeItem('removed'))", &[]),
    ("replaced", "put('replaced', 'pending'); on('accepted', () => put('replaced', hex()))", &[]),
    ("kept-cookie", "on('accepted', () => cookie('kept-cookie', hex(), '/kept'))", &[]),
    (
        "renewed-cookie",
        "on('accepted', () => cookie('renewed-cookie', hex(), '/r')); later(() => cookie('renewed-cookie', hex(), '/r'))",
        WITHDRAWN,
    ),
    (
        "sent-cookie",
        "on('accepted', () => cookie('sent-cookie', hex(), '/sent')); later(() => fetch('/sent/x.txt'))",
        WITHDRAWN,
    ),
    (
        "replaced-cookie",
        "cookie('replaced-cookie', 'pending', '/p'); on('accepted', () => cookie('replaced-cookie', hex(), '/p'))",
        &[],
    ),
    (
        "sent-in-address",
        "on('accepted', () => put('sent-in-address', JSON.stringify('+' + hex())));
        later(() => fetch('/i.png?id=' + encodeURIComponent(JSON.parse(localStorage['sent-in-address']))))",
        WITHDRAWN,
    ),
    ("new-at-once", "on('withdrawn', () => put('new-at-once', hex()))", WITHDRAWN),
    (
        "cookie-at-once",
        "on('withdrawn', () => cookie('cookie-at-once', hex(), '/at-once'))",
        WITHDRAWN,
    ),
    ("refused-id", "on('declined', () => put('refused-id', hex()))", DECLINED),
    ("refusal", "on('declined', () => put('refusal', 'declined ' + Date.now()))", &[]),
    ("group", "put('group', ['control', 'treatment'][Math.floor(Math.random() * 2)])", &[]),
    ("from-start", "if (!localStorage['from-start']) put('from-start', hex())", &VISITS),
];

const FUNCTIONS: &str = "<script>
    const to = (name) => `http://${name}.test:PORT/i.png`;
    const ask = (name) => { new Image().src = to(name) };
    const icon = (name) => { const l = document.createElement('link');
        l.rel = 'icon'; l.href = to(name); document.head.append(l) };
    const hex = () => [...crypto.getRandomValues(new Uint8Array(8))]
        .map((byte) => byte.toString(16).padStart(2, '0')).join('');
    const put = (name, value) => localStorage.setItem(name, value);
    const cookie = (name, value, path) => {
        document.cookie = `${name}=${value}; max-age=31536000; path=${path}` };
    const later = (then) => on('withdrawn', () => setTimeout(then, 600));
    </script>";

/// A page of its own, because the browser may load other icons again when one is added.
const LATE_ICON: &[Behaviour] =
    &[("late-icon", "on('withdrawn', () => icon('late-icon'))", WITHDRAWN)];

fn page(behaviours: &[Behaviour]) -> String {
    let scripts = behaviours.iter().map(|(_, text, _)| format!("<script>{{ {text} }}</script>"));
    [ON_CHOICE, FUNCTIONS].concat() + &scripts.collect::<Vec<_>>().join("\n")
}

/// Fails unless each behaviour is named in its visits only.
fn each_is_named(run: &Run, behaviours: &[Behaviour], names: impl Fn(&str) -> BTreeSet<String>) {
    let of_visits = VISITS.map(names);
    let mut problems = Vec::new();
    for (name, _, expected) in behaviours {
        let found = (0..VISITS.len()).filter(|&at| of_visits[at].contains(*name));
        let found = found.map(|at| VISITS[at]).collect::<Vec<_>>();
        if found != *expected {
            problems.push(format!("{name}: in {found:?} instead of {expected:?}"));
        }
    }
    assert!(problems.is_empty(), "{problems:?}");
    assert_eq!(run.visits_that_are(0, None), [""; 0]);
}

/// Watches a page with these behaviours, each of which must be named in its visits by its host.
async fn requests_are_named(behaviours: &[Behaviour]) -> Tagged {
    let page = Tagged::with(&page(behaviours)).await;
    let run = watch(&[&page.url()]).await;
    run.ends_with(1);
    each_is_named(&run, behaviours, |visit| {
        let hosts = run.listed(0, visit, "leaks").into_iter().map(|(_, host)| host);
        hosts.map(|host| host.trim_end_matches(".test").to_owned()).collect()
    });
    page
}

#[tokio::test]
async fn requests_that_depend_on_a_choice_are_named_in_their_visits() {
    let page = requests_are_named(REQUESTS).await;
    assert!(page.sites.was_asked_for("permitted.test/i.png"));
}

#[tokio::test]
async fn an_icon_that_a_page_adds_after_a_withdrawal_is_named() {
    requests_are_named(LATE_ICON).await;
}

#[tokio::test]
async fn values_that_depend_on_a_choice_are_named_in_their_visits() {
    let page = Tagged::with(&page(VALUES)).await;
    let run = watch(&[&page.url()]).await;
    run.ends_with(1);
    each_is_named(&run, VALUES, |visit| {
        let leaks = run.visit(0, visit)["leaks"].as_array().unwrap();
        leaks.iter().filter_map(|leak| leak["name"].as_str().map(str::to_owned)).collect()
    });
    let kept = run.visit(0, "accepted_then_withdrawn")["kept"].as_array().unwrap();
    let kept = kept.iter().map(|entry| entry["name"].as_str().unwrap()).collect::<BTreeSet<_>>();
    for name in ["kept", "kept-cookie", "replaced", "replaced-cookie"] {
        assert!(kept.contains(name), "{name}: {kept:?}");
    }
}
