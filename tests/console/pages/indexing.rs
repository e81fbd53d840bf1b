//! Every page either describes itself for search engines or forbids indexing.

use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::path::Path;

use chrono::Duration;
use regex::Regex;
use reqwest::Method;
use serde_json::json;
use url::{Position, Url};

use crate::support::consent::app_with_site;
use crate::support::console::Browser;
use crate::support::mail::Mail;
use crate::support::{Answer, App, MailServer, Shop, fresh_address};

const NOT_INDEXED: &str = r#"<meta name="robots" content="noindex">"#;

fn descriptions(page: &str) -> Vec<String> {
    let description = Regex::new(r#"<meta name="description" content="([^"]*)">"#).unwrap();
    description.captures_iter(page).map(|found| found[1].to_owned()).collect()
}

fn is_page(answer: &Answer) -> bool {
    answer.header("content-type").is_some_and(|kind| kind.starts_with("text/html"))
}

#[track_caller]
fn is_described_or_not_indexed(what: &str, answer: &Answer) {
    assert!(is_page(answer), "{what} is no page: {}", answer.text);
    let (head, _) = answer.text.split_once("</head>").expect("a head");
    let found = descriptions(head);
    assert!(found.len() <= 1 && found.iter().all(|text| text.len() > 15), "{what}: {found:?}");
    assert!(!found.is_empty() || head.contains(NOT_INDEXED), "{what}: {head}");
}

/// Follows every link from page to page, like a crawler with cookies.
struct Crawl<'a> {
    browser: Browser<'a>,
    found: Vec<String>,
    pages: BTreeSet<String>,
}

impl<'a> Crawl<'a> {
    fn new(browser: Browser<'a>) -> Self {
        Self { browser, found: Vec::new(), pages: BTreeSet::new() }
    }

    async fn from(&mut self, start: &[&str]) {
        let mut waiting = start.iter().map(|&path| path.to_owned()).collect::<Vec<_>>();
        while let Some(path) = waiting.pop() {
            if self.found.contains(&path) {
                continue;
            }
            self.found.push(path.clone());
            let answer = self.browser.get(&path).await;
            if let Some(next) = answer.header("location") {
                waiting.extend(self.own_path(&path, next));
            } else if is_page(&answer) {
                is_described_or_not_indexed(&path, &answer);
                waiting.extend(self.links(&path, &answer.text));
                self.pages.insert(path.split('?').next().unwrap().to_owned());
            }
        }
    }

    fn links(&self, at: &str, page: &str) -> Vec<String> {
        let links = page.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
        let links = links.map(|link| link.replace("&#x2F;", "/").replace("&amp;", "&"));
        links.filter_map(|link| self.own_path(at, &link)).collect()
    }

    /// Path and query of a link on the page at this path, if it leads to the service itself.
    fn own_path(&self, at: &str, link: &str) -> Option<String> {
        let base = Url::parse(&self.browser.app.base).unwrap();
        let target = base.join(at).unwrap().join(link).ok()?;
        let is_own = target.origin() == base.origin();
        is_own.then(|| target[Position::BeforePath..Position::AfterQuery].to_owned())
    }

    /// Whether a page with such a path was read; `{…}` matches any one segment.
    fn has_read(&self, pattern: &str) -> bool {
        let parts = pattern.split('/').collect::<Vec<_>>();
        self.pages.iter().any(|path| {
            let own = path.split('/').collect::<Vec<_>>();
            own.len() == parts.len()
                && own.iter().zip(&parts).all(|(own, part)| part.starts_with('{') || own == part)
        })
    }
}

#[tokio::test]
async fn every_public_page_has_a_description_or_noindex() {
    let (app, ann, site) = app_with_site().await;
    app.reconfigured(&ann.key, &site, "Another Shop").await;
    let domain = [("domain", "tea.example")];
    let made = Browser::new(&app).post("/demo/provision", &domain).await;
    is_described_or_not_indexed("a demo tag", &made);
    let confirmed = app.sign_up("eve@example.com").await;
    let link = confirmed["verification_url"].as_str().unwrap().to_owned();
    let earlier = format!("/v1/policy/{}?hash={}", site.pixel_id, site.policy_hash);
    let policy = format!("/v1/policy/{}", site.pixel_id);
    let second = format!("/api{policy}");
    let mut crawl = Crawl::new(Browser::new(&app));
    let demo = crawl.links("/demo/provision", &made.text);
    let starts = ["/", "/verify", "/your-data", "/v1/checkout/cancelled", &link[app.base.len()..]];
    crawl.from(&starts).await;
    let settings = format!("/v1/pixels/{}/watch", site.pixel_id);
    let public = json!({"public_page": true});
    app.call(Method::PATCH, &settings, &ann.key, public).await.expect(200);
    let watch = format!("/watch/{}", site.pixel_id);
    let links = format!("/v1/pixels/{}/shared-links", site.pixel_id);
    let link = app.call(Method::POST, &links, &ann.key, json!({})).await.expect(201);
    let shared = format!("/shared/{}", link["token"].as_str().unwrap());
    crawl.from(&[&policy, &second, &earlier, &watch, &shared]).await;
    crawl.from(&demo.iter().map(String::as_str).collect::<Vec<_>>()).await;
    // Links of mails and the way back from checkout are opened with what they need in other tests here.
    let elsewhere = [
        "/v1/email/address-change",
        "/v1/email/disown",
        "/v1/email/unsubscribe",
        "/v1/checkout/success",
    ];
    for (path, routes) in app.get("/openapi.json").await.expect(200)["paths"].as_object().unwrap() {
        let is_page = routes["get"]["responses"]["200"]["content"]["text/html"].is_object();
        assert!(
            !is_page || elsewhere.contains(&&**path) || crawl.has_read(path),
            "{path} is a page and was not read: {:?}",
            crawl.pages
        );
    }
}

#[tokio::test]
async fn the_front_page_of_each_host_is_described() {
    let hosts = [("PIXEL_SITE_HOST", "pixel.example"), ("PERMISSION_SITE_HOST", "yes.example")];
    let app = App::spawn_with(&hosts).await;
    let mut seen = BTreeSet::new();
    for host in ["pixel.example", "yes.example", "api.example"] {
        let page = Answer::of(app.request(Method::GET, "/").header("Host", host)).await;
        assert!(!page.text.contains(NOT_INDEXED), "{host}");
        seen.extend(descriptions(&page.text));
    }
    assert_eq!(seen.len(), 3, "{seen:?}");
}

#[tokio::test]
async fn every_screen_of_the_console_is_not_indexed() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let asks = json!({"pixel_id": site.pixel_id, "visitor_id": "visitor-1"});
    app.post("/v1/consent/erasure-requests", asks).await.expect(202);
    let hook = json!({"url": "https://hooks.example/a", "events": ["choice.recorded"]});
    app.call(Method::POST, "/v1/webhooks", &ann.key, hook).await.expect(201);
    let member = json!({"email": "bob@example.com", "role": "read", "code": ann.key});
    app.call(Method::POST, "/v1/account/members", &ann.key, member).await.expect(201);
    let mut crawl = Crawl::new(app.browser_of(&ann.key).await);
    let hem = "a".repeat(64);
    let person = format!("/console/sites/{}/contacts/find?hem={hem}", site.pixel_id);
    let refused = format!("/console/account/suppressed/person?hem={hem}");
    crawl.from(&["/console", "/console/accounts", &person, &refused]).await;
    let site_screens = ["overview", "choices", "choices/{receipt}", "choices/{receipt}/erase"]
        .into_iter()
        .chain([
            "popup",
            "popup/versions",
            "popup/preview",
            "popup/screenshots",
            "share",
            "install",
            "test",
            "contacts",
            "requests",
            "watch",
        ])
        .chain(["contacts/days", "contacts/find", "requests/{request}", "remove"])
        .map(|screen| format!("/console/sites/{{pixel}}/{screen}"));
    let account_screens = ["deliveries", "deliveries/{id}", "deliveries/{id}/delete", "events"]
        .into_iter()
        .chain(["keys/{prefix}/revoke", "leave", "mails", "members", "members/{id}", "profile"])
        .chain(["suppressed", "suppressed/person"])
        .map(|screen| format!("/console/account/{screen}"));
    for screen in site_screens.chain(account_screens) {
        assert!(crawl.has_read(&screen), "{screen} was not read: {:?}", crawl.pages);
    }
    let mut stranger = Crawl::new(Browser::new(&app));
    stranger.from(&["/console/sign-in", "/console/sign-up", "/console/ended"]).await;
    assert!(stranger.has_read("/console/ended"));
    for path in ["/console/sites/unknown/overview", "/console/nowhere"] {
        is_described_or_not_indexed(path, &crawl.browser.get(path).await);
    }
}

#[tokio::test]
async fn error_pages_are_not_indexed() {
    let app = App::spawn().await;
    let mut browser = Browser::new(&app);
    for path in [
        "/nowhere",
        "/px/unknown.js",
        "/v1/policy/unknown",
        "/v1/whoami",
        "/v1/accounts",
        "/v1/checkout/success",
        "/v1/email/verify?token=unknown",
        "/v1/email/disown?token=unknown",
        "/v1/email/unsubscribe?token=unknown",
        "/demo/preview/unknown",
    ] {
        let page = browser.get(path).await;
        assert!(page.status >= 400 && page.text.contains(NOT_INDEXED), "{path}: {}", page.text);
    }
    for (domain, status) in [("no host", 400), (&*"x".repeat(20_000), 413)] {
        let again = browser.post("/demo/provision", &[("domain", domain)]).await;
        assert_eq!(again.status, status, "{}", again.text);
        assert!(again.text.contains(NOT_INDEXED), "{}", again.text);
    }
}

/// The path, with this beginning, of the link in a mail.
fn link_in(mail: &Mail, path: &str) -> String {
    let (_, rest) = mail.text().split_once(path).expect("a link in the mail");
    format!("{path}{}", rest.split_whitespace().next().unwrap())
}

#[tokio::test]
async fn pages_opened_from_mails_are_not_indexed() {
    let app = App::spawn_with_mail().await;
    let victim = fresh_address("victim");
    let stranger = json!({"email": victim, "display_name": "Eve Stranger"});
    app.post("/v1/accounts", stranger).await.expect(201);
    let mail = MailServer::shared().newest(&victim).await;
    let mut browser = Browser::new(&app);
    let disown = link_in(&mail, "/v1/email/disown?token=");
    let token = disown.split_once('=').unwrap().1.to_owned();

    let ann = app.mailed_account(&fresh_address("ann")).await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let before = MailServer::shared().inbox(&ann.email).len();
    let asks = json!({"pixel_id": site.pixel_id, "visitor_id": "visitor-1"});
    app.post("/v1/consent/erasure-requests", asks).await.expect(202);
    app.clock.advance(Duration::days(1) + Duration::seconds(15));
    let news = MailServer::shared().wait_for(&ann.email, before + 1).await.pop().unwrap();
    let unsubscribe = link_in(&news, "/v1/email/unsubscribe?token=");

    for (path, status) in [(&*unsubscribe, 200), (&*disown, 200), (&*mail.link(), 400)] {
        // The confirmation link has expired after a day.
        let page = browser.get(path).await;
        assert_eq!(page.status, status, "{}", page.text);
        assert!(page.text.contains(NOT_INDEXED), "{path}: {}", page.text);
    }
    let before = MailServer::shared().inbox(&ann.email).len();
    app.ask_to_move(&ann, &fresh_address("new")).await.expect(202);
    let warned = MailServer::shared().wait_for(&ann.email, before + 1).await.pop().unwrap();
    let address_change = link_in(&warned, "/v1/email/address-change?token=");
    let page = browser.get(&address_change).await;
    assert!(page.status == 200 && page.text.contains(NOT_INDEXED), "{}", page.text);
    let done = browser.post(&unsubscribe, &[]).await;
    assert!(done.status == 200 && done.text.contains(NOT_INDEXED), "{}", done.text);
    let closed = browser.post("/v1/email/disown", &[("token", &*token)]).await;
    assert!(closed.status == 200 && closed.text.contains(NOT_INDEXED), "{}", closed.text);
}

#[tokio::test]
async fn the_return_page_of_the_checkout_is_not_indexed() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let session = shop.session(&ann).await;
    let unpaid = shop.complete_checkout(&session).await;
    assert!(unpaid.status == 402 && unpaid.text.contains(NOT_INDEXED), "{}", unpaid.text);
    let bought = shop.buy(&ann).await;
    let paid = shop.complete_checkout(&bought.session).await;
    assert!(paid.status == 200 && paid.text.contains(NOT_INDEXED), "{}", paid.text);
}

#[tokio::test]
async fn a_notice_is_described_in_the_readers_language_and_an_earlier_one_is_not_indexed() {
    let (app, ann, site) = app_with_site().await;
    let policy = format!("/v1/policy/{}", site.pixel_id);
    let named = r#"Tea & "Co" <b>"#;
    app.reconfigured(&ann.key, &site, named).await;
    let mut seen = BTreeSet::new();
    for lang in ["en", "de", "ar", "zh"] {
        let page = app.get(&format!("{policy}?lang={lang}")).await;
        assert!(!page.text.contains(NOT_INDEXED), "{}", page.text);
        let found = descriptions(&page.text);
        assert!(found[0].contains("Tea &amp; &quot;Co&quot; &lt;b&gt;"), "{found:?}");
        assert!(found[0].contains("ann.example"), "{found:?}");
        seen.extend(found);
    }
    assert_eq!(seen.len(), 4, "{seen:?}");
    let earlier = app.get(&format!("{policy}?hash={}", site.policy_hash)).await;
    assert!(earlier.text.contains(NOT_INDEXED) && descriptions(&earlier.text).is_empty());
}

/// The content of the layout's indexing block in a template, if it is a page.
fn indexing_of(template: &str) -> Option<&str> {
    let (_, rest) = template.split_once("{% block indexing %}")?;
    rest.split("{% endblock").next()
}

#[test]
fn no_template_removes_noindex_without_a_description() {
    let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("templates");
    let read = |name: &str| read_to_string(templates.join(name)).unwrap();
    assert!(indexing_of(&read("layout.html.tera")).unwrap().contains(NOT_INDEXED));
    let files = walkdir::WalkDir::new(&templates).into_iter().map(Result::unwrap);
    let mut pages = 0;
    for file in files.filter(|file| file.file_type().is_file()) {
        let name = file.path().strip_prefix(&templates).unwrap().to_str().unwrap().to_owned();
        let text = read(&name);
        let is_page = name.ends_with(".html.tera")
            && !name.starts_with("mail/")
            && !name.starts_with("texts/");
        if !is_page || name == "layout.html.tera" {
            continue;
        }
        assert!(!text.contains("<head>"), "{name} has a head of its own");
        assert!(!text.contains(NOT_INDEXED), "{name} says what the layout says already");
        pages += usize::from(text.contains("{% extends"));
        if let Some(block) = indexing_of(&text) {
            assert!(descriptions(block).len() == 1, "{name}: {block}");
        }
    }
    assert!(pages > 40, "{pages} pages");
}
