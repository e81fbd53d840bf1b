//! Members for some sites of an account.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::contacts::hem;
use crate::support::story::Site;
use crate::support::{Account, App, MailServer, fresh_address};

const MEMBERS: &str = "/console/account/members";
const ID: &str = "019cd7a4-1f40-7b1d-8c53-2e9f4a7d6b10";

struct Story {
    app: App,
    ann: Account,
    own: Site,
    other: Site,
    /// The receipt of a choice on the other site.
    receipt_id: String,
    bob: String,
}

impl Story {
    /// An account with two sites, and a member with a role for the first one.
    async fn with(role: &str) -> Self {
        let app = App::spawn_with_mail().await;
        let ann = app.mailed_account(&fresh_address("ann")).await;
        let own = app.consent_site(&ann.key, "own.example").await;
        let other = app.consent_site(&ann.key, "other.example").await;
        let recorded = app.recorded(&other.acceptance("visitor-1")).await;
        let receipt_id = recorded["receipt_id"].as_str().unwrap().to_owned();
        let bob = fresh_address("bob");
        let code = app.code_for(&ann.key, "keys", &ann.email).await;
        let body = json!({"email": bob, "role": role, "pixels": [own.pixel_id], "code": code});
        app.call(Method::POST, MEMBERS_API, &ann.key, body).await.expect(201);
        Self { app, ann, own, other, receipt_id, bob }
    }

    async fn browser(&self) -> Browser<'_> {
        let mut browser = Browser::new(&self.app);
        browser.sign_in(&self.bob).await;
        browser
    }
}

const MEMBERS_API: &str = "/v1/account/members";

/// The screens and downloads of a site, below its address.
fn screens(receipt_id: &str) -> Vec<String> {
    let hem = hem(1);
    let fixed = [
        "",
        "/overview",
        "/overview.csv",
        "/choices",
        "/choices.csv",
        "/popup",
        "/popup/preview",
        "/popup/sample.js",
        "/popup/versions",
        "/popup/versions/1",
        "/popup/screenshots",
        "/contacts",
        "/contacts/days",
        "/move",
        "/share",
        "/time-zone",
        "/contacts/csv?from=2026-03-01&to=2026-03-10",
        "/requests",
        "/install",
        "/test",
        "/watch",
        "/remove",
    ];
    let found = ["", "/receipt.json", "/proof.json", "/record.jsonld", "/evidence.zip", "/erase"];
    let mut all = fixed.map(str::to_owned).to_vec();
    all.extend(found.map(|rest| format!("/choices/{receipt_id}{rest}")));
    all.push(format!("/contacts/find?hem={hem}"));
    all.push(format!("/requests/{ID}"));
    all.push(format!("/popup/screenshots/{ID}"));
    all.push(format!("/watch/{ID}"));
    all
}

fn forms(receipt_id: &str) -> Vec<String> {
    let hem = hem(1);
    let mut all =
        ["check", "popup", "mail", "watch", "remove", "popup/off", "test", "move", "share"]
            .map(|rest| format!("/{rest}"))
            .to_vec();
    all.extend(["complete", "refuse"].map(|rest| format!("/requests/{ID}/{rest}")));
    all.extend(["erase", "request", "suppress"].map(|rest| format!("/contacts/{hem}/{rest}")));
    all.push(format!("/choices/{receipt_id}/erase"));
    let more = [
        "move/end",
        "move/cancel",
        "share/sh_unknown00/revoke",
        "time-zone",
        "contacts",
        "contacts/csv",
    ];
    all.extend(more.map(|rest| format!("/{rest}")));
    all.extend(["selected", "selected/confirm"].map(|rest| format!("/contacts/{rest}")));
    all
}

#[tokio::test]
async fn every_screen_and_form_of_another_site_is_refused() {
    let story = Story::with("operate").await;
    let mut browser = story.browser().await;
    for rest in screens(&story.receipt_id) {
        let hidden = browser.get(&format!("/console/sites/{}{rest}", story.other.pixel_id)).await;
        let unknown = browser.get(&format!("/console/sites/unknown{rest}")).await;
        assert!(matches!(hidden.status, 403 | 404), "{rest}: {} {}", hidden.status, hidden.text);
        assert_eq!(hidden.status, unknown.status, "{rest}");
        assert!(!hidden.text.contains("other.example"), "{rest}: {}", hidden.text);
    }
    for rest in forms(&story.receipt_id) {
        let path = format!("/console/sites/{}{rest}", story.other.pixel_id);
        let fields = [("email", "dev@example.com"), ("reason", "x"), ("host", "other.example")];
        let refused = browser.submit("/console/account", &path, &fields).await;
        assert!(matches!(refused.status, 403 | 404), "{rest}: {}", refused.status);
    }
    let check = story.app.check(&story.other.pixel_id, "visitor-1").await;
    assert_eq!(check["reason"], "ok");
    for screen in ["overview", "choices", "popup", "contacts", "requests", "install", "watch"] {
        browser.page(&format!("/console/sites/{}/{screen}", story.own.pixel_id)).await;
    }
}

#[tokio::test]
async fn lists_show_the_own_sites_and_screens_of_the_account_are_refused() {
    let story = Story::with("read").await;
    let body = json!({"url": "https://hooks.example/all"});
    story.app.call(Method::POST, "/v1/webhooks", &story.ann.key, body).await.expect(201);
    let mut browser = story.browser().await;
    for path in [
        "/console",
        "/console/search?q=example",
        "/console/account",
        "/console/account/events",
        "/console/account/deliveries",
    ] {
        let page = browser.page(path).await;
        assert!(!page.contains("other.example") && !page.contains("hooks.example"), "{page}");
        assert!(!page.contains("API keys") && !page.contains("/console/sites/new"), "{page}");
    }
    assert!(browser.page("/console").await.contains("own.example"));
    assert!(browser.page("/console/account/events").await.contains("own.example"));
    for path in [
        "/console/account/members",
        "/console/account/mails",
        "/console/account/suppressed",
        "/console/account/leave",
        "/console/account/profile",
        "/console/account/export",
        "/console/sites/new",
    ] {
        let refused = browser.get(path).await;
        assert_eq!(refused.status, 403, "{path}: {}", refused.text);
        assert!(!browser.page("/console/account").await.contains(&format!("\"{path}\"")));
    }
    let table = browser.page("/console/account/events.csv").await;
    assert!(table.contains(&story.own.pixel_id) && !table.contains(&story.other.pixel_id));
    assert!(!table.contains("signed_in"), "{table}");
}

#[tokio::test]
async fn a_search_finds_nothing_of_another_site() {
    let story = Story::with("read").await;
    let people = json!([{"hem": hem(1), "contact": {"name": "Zoë", "email": "zoe@mail.example"}}]);
    for site in [&story.own, &story.other] {
        story.app.store(&story.ann.key, &site.pixel_id, people.clone()).await.expect(200);
    }
    let mut browser = story.browser().await;
    let other = &story.other.pixel_id;
    for text in ["other.example", other, &story.receipt_id, "visitor-1"] {
        let found = browser.submit("/console/search", "/console/search", &[("q", text)]).await;
        assert!(found.text.contains("Nothing found"), "{text}: {}", found.text);
    }
    for text in ["zoë", "zoe@mail.example", "example"] {
        let found = browser.submit("/console/search", "/console/search", &[("q", text)]).await;
        assert!(found.text.contains("own.example") && !found.text.contains(other), "{text}");
    }
    let own = browser.submit("/console/search", "/console/search", &[("q", &hem(1))]).await;
    leads_to(&own, &format!("/console/sites/{}/contacts/find?hem={}", story.own.pixel_id, hem(1)));
}

#[tokio::test]
async fn the_owner_chooses_sites_in_the_forms_of_members() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let own = app.consent_site(&ann.key, "own.example").await;
    app.consent_site(&ann.key, "other.example").await;
    let bob = fresh_address("bob");
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    let ticked = format!("site-{}", own.pixel_id);
    let fields = [("email", &*bob), ("role", "full"), ("sites", "some"), (&*ticked, "on")];
    let admin = browser.submit(MEMBERS, MEMBERS, &fields).await;
    assert_eq!(admin.status, 422);
    assert!(admin.text.contains("An Admin has all sites") && admin.text.contains(&bob));
    let fields = [("email", &*bob), ("role", "read"), ("sites", "some"), (&*ticked, "on")];
    // Digits are needed once the sign-in is 15 minutes old: the page that asks keeps the sites.
    app.clock.advance(chrono::Duration::minutes(15));
    let before = MailServer::shared().inbox(&ann.email).len();
    let asked = browser.submit(MEMBERS, MEMBERS, &fields).await;
    assert!(asked.text.contains("for one site") && asked.text.contains(&own.pixel_id));
    let code = MailServer::shared().wait_for(&ann.email, before + 1).await.pop().unwrap().code();
    let proof = [
        ("email", &*bob),
        ("role", "read"),
        ("sites", "some"),
        ("pixels", &*own.pixel_id),
        ("step", "prove"),
        ("code", &*code),
    ];
    let invited = browser.submit(MEMBERS, MEMBERS, &proof).await;
    leads_to(&invited, &format!("{MEMBERS}?done=invited"));
    let page = browser.page(MEMBERS).await;
    assert!(page.contains("own.example"), "{page}");

    let mut bobs = Browser::new(&app);
    bobs.sign_in(&bob).await;
    assert!(!bobs.page("/console").await.contains("other.example"));
    let list = app.call(Method::GET, MEMBERS_API, &ann.key, Value::Null).await.expect(200);
    let member = &list["members"][1];
    assert_eq!(member["pixels"], json!([own.pixel_id]));
    let one = format!("{MEMBERS}/{}", member["member_id"].as_str().unwrap());
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    let freed = browser.submit(&one, &format!("{one}/role"), &[("role", "read")]).await;
    leads_to(&freed, &format!("{MEMBERS}?done=changed"));
    assert!(bobs.page("/console").await.contains("other.example"));
}
