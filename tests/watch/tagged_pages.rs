//! Pages with the consent tag of a real service.

use std::sync::Arc;

use assent::clock::Clock;

use crate::runs::{VISITS, watch};
use crate::sites::{SOCKET, Sites};
use crate::support::App;
use crate::support::postgres::database::TestDatabase;
use crate::verification::every_change_is_found;

/// A page on `shop.test` with the tag, of a service on this machine.
pub struct Tagged {
    pub app: App,
    pub pixel: String,
    pub key: String,
    pub sites: Sites,
}

impl Tagged {
    pub async fn with(body: &str) -> Self {
        let database = Arc::new(TestDatabase::create().await);
        // The browser has the machine's clock.
        let app = App::spawn_on(database, Clock::System, &[]).await;
        let key = app.account("ann@example.com").await.key;
        let pixel = app.consent_site(&key, "shop.test").await.pixel_id;
        let tag = format!(r#"<script async src="{}/px/{pixel}.js"></script>"#, app.base);
        let page = format!("<!doctype html><title>Shop</title>{tag}<h1>Shop</h1>{body}");
        let socket = ("open-socket.test/i.png", SOCKET.to_owned());
        let sites = Sites::start(&[("shop.test/", page), socket]).await;
        Self { app, pixel, key, sites }
    }

    pub fn url(&self) -> String {
        self.sites.url("shop.test/")
    }
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
