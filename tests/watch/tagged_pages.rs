//! Pages with the consent tag of a real service.

use std::collections::BTreeSet;
use std::sync::Arc;

use assent::clock::Clock;
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::runs::{Run, VISITS, watch};
use crate::sites::{SOCKET, Sites};
use crate::support::App;
use crate::support::postgres::database::TestDatabase;
use crate::support::setup::aliases;
use crate::verification::every_change_is_found;

/// The tag of the pixel of `shop.test`.
pub const TAG: &str = r#"<script async src="BASE/px/PIXEL.js"></script>"#;

/// Pages on `shop.test` with the tag, of a service on this machine.
pub struct Tagged {
    pub app: App,
    pub pixel: String,
    pub key: String,
    pub sites: Sites,
}

impl Tagged {
    pub async fn with(body: &str) -> Self {
        let page = format!("<!doctype html><title>Shop</title>{TAG}<h1>Shop</h1>{body}");
        Self::serving(&[("shop.test/", &page), ("open-socket.test/i.png", SOCKET)]).await
    }

    /// Documents as of [`Sites`]. `BASE` in them is the service, `PIXEL` the pixel of `shop.test`, and `SHARING` that
    /// of `shop.localhost`, whose subdomains share one choice.
    pub async fn serving(documents: &[(&str, &str)]) -> Self {
        let database = Arc::new(TestDatabase::create().await);
        // The browser has the machine's clock.
        let app = App::spawn_on(database, Clock::System, &[]).await;
        let key = app.account("ann@example.com").await.key;
        let pixel = app.consent_site(&key, "shop.test").await.pixel_id;
        let sharing = match documents.iter().any(|(_, text)| text.contains("SHARING")) {
            true => sharing_pixel(&app, &key).await,
            false => String::new(),
        };
        let filled = |text: &str| {
            text.replace("BASE", &app.base).replace("PIXEL", &pixel).replace("SHARING", &sharing)
        };
        let documents = documents.iter().map(|(address, text)| (*address, filled(text)));
        let sites = Sites::start(&documents.collect::<Vec<_>>()).await;
        Self { app, pixel, key, sites }
    }

    pub fn url(&self) -> String {
        self.sites.url("shop.test/")
    }

    /// Watches the pages in as many runs as there are lists.
    pub async fn watch<const N: usize>(&self, addresses: [&[&str]; N]) -> [Run; N] {
        let runs = addresses.map(|addresses| {
            let urls = addresses.iter().map(|address| self.sites.url(address)).collect::<Vec<_>>();
            async move {
                let urls = urls.iter().map(String::as_str).collect::<Vec<_>>();
                watch(&short(&urls)).await
            }
        });
        let runs = join_all(runs).await;
        runs.try_into().ok().expect("a run for each list")
    }
}

/// Arguments of a run with a short observation.
pub fn short<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    [arguments, &["--seconds", "0.6"]].concat()
}

/// A pixel of a host on which browsers accept the shared cookie without TLS.
async fn sharing_pixel(app: &App, key: &str) -> String {
    let pixel = app.pixel(key, "sharing.test").await;
    sqlx::query("UPDATE pixels SET domain = 'shop.localhost' WHERE pixel_id = $1")
        .bind(&pixel)
        .execute(&app.pool)
        .await
        .unwrap();
    let body = json!({
        "controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"], "share_subdomains": true,
    });
    app.configure(key, &pixel, body).await.expect(200);
    pixel
}

/// Calls `then` once the tag has stored a choice of a state.
pub const ON_CHOICE: &str = "<script>const on = (state, then) => {
    const is = (key) => key.startsWith('assent:') && localStorage[key].includes(`\"${state}\"`);
    const timer = setInterval(() => {
        if (Object.keys(localStorage).some(is)) { clearInterval(timer); then() }
    }, 20) }</script>";

#[tokio::test]
async fn a_page_with_the_tag_that_waits_for_consent_is_silent_and_its_report_can_be_verified() {
    let page = Tagged::with(
        r#"<script type="text/plain" data-assent="analytics" src="http://gated.test:PORT/s.js"></script>
        <script>localStorage.setItem('theme', 'dark'); fetch('/data.txt')</script>"#,
    );
    let page = page.await;
    let run = watch(&[&page.url(), "--pixel", &page.pixel]).await;
    run.ends_with(0);
    assert_eq!(run.visits_that_are(0, Some(true)), VISITS);
    assert!(page.sites.was_asked_for("gated.test/s.js"), "it loads after the acceptance");
    let tag = &run.report["pages"][0]["tag"];
    assert_eq!(tag["pixel"], page.pixel.as_str());
    assert_eq!(run.report["pages"][0]["service"], "localhost");
    assert!(page.app.base.starts_with("http://localhost:"));
    every_change_is_found(&run.folder).await;
}

#[tokio::test]
async fn a_line_to_paste_names_a_purpose_of_the_popup_and_has_the_attributes_of_the_element() {
    let page = Tagged::with(
        r#"<script nonce="R4nd0m" type="module" id="stats" data-site="&quot;<b>" crossorigin
        src="http://module.test:PORT/m.js"></script>
        <iframe src="http://frame.test:PORT/#part" title="Map" width="560" onload="void 0"></iframe>
        <script>document.head.append(Object.assign(document.createElement('script'),
        {src: 'http://added.test:PORT/a.js', className: 'late'}))</script>"#,
    );
    let page = page.await;
    let popup = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "newsletter"]});
    page.app.configure(&page.key, &page.pixel, popup).await.expect(200);
    let run = watch(&short(&[&page.url()])).await;
    run.ends_with(1);
    let asked = &run.report["pages"][0]["tag"]["purposes"];
    assert_eq!(asked, &json!(["newsletter", "resolution"]));
    let (module, added) = (page.sites.url("module.test/m.js"), page.sites.url("added.test/a.js"));
    let start = "<script type=\"text/plain\" data-assent=\"newsletter\" src=";
    let lines = [
        format!(
            "{start}\"{module}\" crossorigin data-site=\"&quot;&lt;b&gt;\" id=\"stats\" \
             data-assent-type=\"module\"></script>"
        ),
        format!("{start}\"{added}\" class=\"late\"></script>"),
        "\" title=\"Map\" width=\"560\"></iframe>".to_owned(),
    ];
    let html = std::fs::read_to_string(run.folder.join("report.html")).unwrap();
    for line in lines {
        let shown = line.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let shown = shown.replace('"', "&quot;");
        assert!(html.contains(&shown), "{line}: {html}");
    }
    assert!(!html.contains("R4nd0m") && !run.report.to_string().contains("R4nd0m"), "{html}");
}

#[tokio::test]
async fn leaks_of_one_visit_only_are_named_in_it() {
    let script = r#"<script>
        const load = (host) => { new Image().src = `http://${host}.test:PORT/i.png` };
        on('declined', () => load('declined'));
        on('accepted', () => load('accepted'));
        on('withdrawn', () => setTimeout(() => load('withdrawn'), 1500));
        if (navigator.globalPrivacyControl) load('gpc');
        setTimeout(() => { if (!window.assent) load('blocked') }, 800);
        </script>"#;
    let page = Tagged::with(&[ON_CHOICE, script].concat()).await;
    // Long enough for the timers of the page on a busy machine.
    let run = watch(&[&page.url(), "--seconds", "3", "--service", &page.app.base]).await;
    run.ends_with(1);
    assert!(run.said.contains("not submitted: ASSENT_API_KEY is not set"), "{}", run.said);
    let expected: [(&str, &[&str]); 5] = [
        ("declined.test", &["declined", "returning"]),
        ("withdrawn.test", &["accepted_then_withdrawn"]),
        ("gpc.test", &["gpc"]),
        ("blocked.test", &["blocked"]),
        ("accepted.test", &[]),
    ];
    for (host, visits) in expected {
        assert_eq!(run.visits_with(0, "leaks", host), visits, "{host}: {}", run.report);
    }
    assert!(page.sites.was_asked_for("accepted.test/i.png"), "it was permitted");
    assert_eq!(run.visits_that_are(0, Some(true)), ["untouched"]);
    assert_eq!(run.visits_that_are(0, None), [""; 0]);
}

#[tokio::test]
async fn a_pixel_is_known_by_its_test_tag_and_by_an_alias() {
    let page = Tagged::serving(&[
        ("shop.test/", TAG),
        ("shop.test/test", r#"<script async src="BASE/px/test_PIXEL.js"></script>"#),
    ])
    .await;
    let alias = aliases(&page.app, &page.pixel).await.remove(0);
    let named = format!(r#"<script async src="{}/px/{alias}.js"></script>"#, page.app.base);
    let sites = Sites::start(&[("shop.test/alias", named)]).await;
    let (own, test) = (page.url(), page.sites.url("shop.test/test"));
    let by_alias = sites.url("shop.test/alias");
    let run = watch(&short(&[own.as_str(), &test, "--pixel", &page.pixel])).await;
    run.ends_with(0);
    let names = [by_alias.as_str(), "--pixel", &page.pixel, "--pixel", &alias];
    let run = watch(&short(&names)).await;
    run.ends_with(0);
    assert_eq!(run.report["pages"][0]["tag"]["pixel"], alias.as_str());
    // Another pixel of the service is no leak, but not the page that was to be watched.
    let run = watch(&short(&[own.as_str(), "--pixel", "another"])).await;
    run.ends_with(2);
    let reason = format!("the page has the tag of {}, not of another", page.pixel);
    assert_eq!(run.visit(0, "untouched")["unobserved"], reason);
}

/// A tracker whose script has the address of a tag, and sends to addresses of a service.
const PRETENDER: &str = r#"
    fetch("http://pretender.test:PORT/v1/consent/record?user=ann", {method: "POST", mode: "no-cors", body: "x"});
    fetch("BASE/v1/consent/check?pixel_id=PIXEL&visitor_id=v&user=ann").catch(() => {});
    new Image().src = "BASE/px/PIXEL.js?user=ann""#;

#[tokio::test]
async fn a_script_at_the_address_of_a_tag_is_a_leak_and_so_is_what_no_tag_requests() {
    let script = r#"<script async src="http://pretender.test:PORT/px/shop.js"></script>"#;
    let late = format!(
        "{script}<script>setTimeout(() => document.head.append(Object.assign(
        document.createElement('script'), {{src: 'BASE/px/PIXEL.js'}})), 300)</script>"
    );
    let page = Tagged::serving(&[
        ("shop.test/", &late),
        ("shop.test/alone", script),
        ("pretender.test/px/shop.js", PRETENDER),
    ])
    .await;
    let run = watch(&[&page.url(), &page.sites.url("shop.test/alone")]).await;
    run.ends_with(1);
    assert_eq!(run.report["pages"][0]["service"], "localhost");
    assert_eq!(run.report["pages"][1]["service"], Value::Null);
    assert_eq!(run.report["pages"][1]["tag"], Value::Null);
    let expected = [
        ("script", "pretender.test"),
        ("fetch", "pretender.test"),
        ("fetch", "localhost"),
        ("image", "localhost"),
    ];
    let expected = expected.map(|(kind, host)| (kind.to_owned(), host.to_owned()));
    for number in [0, 1] {
        let leaks = run.listed(number, "untouched", "leaks");
        assert_eq!(leaks, BTreeSet::from(expected.clone()), "page {number}");
    }
    assert_eq!(run.visits_that_are(0, None), [""; 0], "choices are made with the tag");
}
