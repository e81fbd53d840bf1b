//! Mail preferences: turned off with a key, in the console, and by the link in a mail.

use std::time::Duration as RealTime;

use chrono::Duration;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::mail::Mail;
use crate::support::story::Site;
use crate::support::tools::{call, done};
use crate::support::{Account, Answer, App, MailServer, fresh_address};

const MAILS: &str = "/v1/account/mails";
/// The mails that can be turned off.
const SWITCHES: [&str; 8] = [
    "trial_ending",
    "allowance",
    "payment_failed",
    "key_expiring",
    "tag_vanished",
    "pixel_ending",
    "erasure_requests",
    "silence",
];

async fn preferences(app: &App, key: &str) -> Value {
    app.call(Method::GET, MAILS, key, Value::Null).await.expect(200)
}

async fn change(app: &App, key: &str, body: Value) -> Answer {
    app.call(Method::PATCH, MAILS, key, body).await
}

async fn events(app: &App, key: &str) -> Vec<(String, Value)> {
    let page = app.call(Method::GET, "/v1/account/events", key, Value::Null).await.expect(200);
    let events = page["events"].as_array().unwrap().iter();
    events
        .map(|event| (event["kind"].as_str().unwrap().to_owned(), event["subject"].clone()))
        .filter(|(kind, _)| kind.starts_with("mail_"))
        .collect()
}

async fn key_of(app: &App, ann: &Account, scope: &str) -> String {
    let issued = app.call(Method::POST, "/v1/api-keys", &ann.key, json!({"scope": scope})).await;
    issued.expect(201)["api_key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_mail_is_on_until_it_is_turned_off_one_by_one() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let all = preferences(&app, &ann.key).await;
    assert_eq!(all.as_object().unwrap().len(), 11);
    let is_usual = |(name, on): (&String, &Value)| *on == json!(name != "weekly_digest");
    assert!(all.as_object().unwrap().iter().all(is_usual), "{all}");
    for switch in SWITCHES {
        let answer = change(&app, &ann.key, json!({switch: false})).await.expect(200);
        let mut expected = all.clone();
        expected[switch] = json!(false);
        assert_eq!(answer, expected);
        assert_eq!(preferences(&app, &ann.key).await, expected);
        assert_eq!(change(&app, &ann.key, json!({})).await.expect(200), expected);
        change(&app, &ann.key, json!({switch: false})).await.expect(200);
        app.clock.advance(Duration::seconds(1));
        assert_eq!(change(&app, &ann.key, json!({switch: true})).await.expect(200), all);
        app.clock.advance(Duration::seconds(1));
    }
    assert_eq!(preferences(&app, &eve.key).await, all);
    assert!(events(&app, &eve.key).await.is_empty());
    let recorded = events(&app, &ann.key).await;
    assert_eq!(recorded.len(), 2 * SWITCHES.len(), "only changes are recorded: {recorded:?}");
    assert_eq!(recorded[1], ("mail_turned_off".to_owned(), json!("silence")));
    assert_eq!(recorded[0], ("mail_turned_on".to_owned(), json!("silence")));
    let by_tool =
        call(&app, "change_mail_preferences", json!({"api_key": ann.key, "allowance": false}));
    assert_eq!(done(&by_tool.await)["allowance"], false);
    assert_eq!(preferences(&app, &ann.key).await["allowance"], false);
}

#[tokio::test]
async fn security_mails_cannot_be_turned_off() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for switch in ["new_key", "new_sign_in"] {
        let both = json!({"allowance": false, switch: false});
        change(&app, &ann.key, both).await.invalid(&["body", switch]);
        change(&app, &ann.key, json!({switch: true})).await.expect(200);
    }
    change(&app, &ann.key, json!({"allowance": "no"})).await.invalid(&["body", "allowance"]);
    assert_eq!(preferences(&app, &ann.key).await["allowance"], true, "all of it or nothing");
}

#[tokio::test]
async fn a_key_reads_and_changes_mails_as_its_scope_allows() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let refused = "key scope does not allow this";
    let [read, operate] = [key_of(&app, &ann, "read").await, key_of(&app, &ann, "operate").await];
    preferences(&app, &read).await;
    for key in [&read, &operate] {
        change(&app, key, json!({"allowance": false})).await.refused(403, refused);
    }
    app.call(Method::GET, MAILS, &operate, Value::Null).await.refused(403, refused);
    Answer::of(app.request(Method::GET, MAILS)).await.refused(401, "api key required");
}

#[tokio::test]
async fn the_export_has_what_is_turned_off() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    change(&app, &ann.key, json!({"tag_vanished": false})).await.expect(200);
    let export = app.call(Method::GET, "/v1/account/export", &ann.key, Value::Null).await.text;
    let line = export.lines().find(|line| line.contains("\"record\":\"mails\"")).unwrap();
    let line = serde_json::from_str::<Value>(line).unwrap();
    assert_eq!(line["data"]["tag_vanished"], false);
    assert_eq!(line["data"]["allowance"], true);
}

// The link of a mail

/// An account whose visitors ask to be erased.
struct Mailed {
    app: App,
    ann: Account,
    site: Site,
    visitors: usize,
}

impl Mailed {
    async fn new() -> Self {
        let app = App::spawn_with_mail().await;
        let ann = app.mailed_account(&fresh_address("ann")).await;
        change(&app, &ann.key, json!({"trial_ending": false})).await.expect(200);
        let site = app.consent_site(&ann.key, "shop.example").await;
        Self { app, ann, site, visitors: 0 }
    }

    /// One more visitor asks, a day later.
    async fn asked(&mut self) {
        self.visitors += 1;
        let visitor = format!("visitor-{}", self.visitors);
        self.app.recorded(&self.site.acceptance(&visitor)).await;
        let body = json!({"pixel_id": self.site.pixel_id, "visitor_id": visitor});
        self.app.post("/v1/consent/erasure-requests", body).await.expect(202);
        self.app.clock.advance(Duration::days(1) + Duration::seconds(15));
    }

    fn inbox(&self) -> usize {
        MailServer::shared().inbox(&self.ann.email).len()
    }

    /// The mail that says so.
    async fn mail(&mut self) -> Mail {
        let before = self.inbox();
        self.asked().await;
        MailServer::shared().wait_for(&self.ann.email, before + 1).await.pop().unwrap()
    }

    /// Nobody is mailed when one more visitor asks.
    async fn is_silent(&mut self) {
        let before = self.inbox();
        self.asked().await;
        for _ in 0..200 {
            let pending = "SELECT EXISTS (SELECT FROM erasure_requests WHERE told_at IS NULL)
                 OR EXISTS (SELECT FROM outbox)";
            let waits = sqlx::query_scalar::<_, bool>(pending).fetch_one(&self.app.pool);
            if !waits.await.unwrap() {
                assert_eq!(self.inbox(), before);
                return;
            }
            tokio::time::sleep(RealTime::from_millis(50)).await;
        }
        panic!("the round comes");
    }

    async fn is_on(&self) -> bool {
        preferences(&self.app, &self.ann.key).await["erasure_requests"] == true
    }
}

fn link_of(mail: &Mail) -> String {
    let header = mail.0["headers"]["List-Unsubscribe"].as_str().expect("the header is there");
    header.strip_prefix('<').and_then(|link| link.strip_suffix('>')).expect("one link").to_owned()
}

/// The request of a mail provider when its user clicks "unsubscribe" (RFC 8058).
async fn one_click(link: &str) -> reqwest::Response {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
    let sent = client.unwrap().post(link).form(&[("List-Unsubscribe", "One-Click")]);
    sent.send().await.unwrap()
}

#[tokio::test]
async fn a_mail_that_can_be_turned_off_says_how_in_its_head_and_in_both_texts() {
    let mut mailed = Mailed::new().await;
    let mail = mailed.mail().await;
    let link = link_of(&mail);
    assert!(
        link.starts_with(&format!("{}/v1/email/unsubscribe?token=", mailed.app.base)),
        "{link}"
    );
    let post = &mail.0["headers"]["List-Unsubscribe-Post"];
    assert_eq!(post, "List-Unsubscribe=One-Click");
    let console = format!("/console/sites/{}/requests", mailed.site.pixel_id);
    for part in [mail.text(), mail.html()] {
        for fact in [&*link, &console, &mailed.ann.account_id, "shop.example"] {
            assert!(part.contains(fact), "{fact}: {part}");
        }
    }
    let signup = MailServer::shared().inbox(&mailed.ann.email).remove(0);
    for name in ["List-Unsubscribe", "List-Unsubscribe-Post"] {
        assert!(signup.0["headers"][name].is_null(), "what was asked for cannot be turned off");
    }
}

#[tokio::test]
async fn one_click_turns_a_mail_off_at_once_and_no_other() {
    let mut mailed = Mailed::new().await;
    let link = link_of(&mailed.mail().await);
    for _ in 0..2 {
        let answer = one_click(&link).await;
        assert_eq!(answer.status(), StatusCode::OK, "neither a redirect nor a second question");
        assert!(answer.headers().get("set-cookie").is_none());
    }
    let now = preferences(&mailed.app, &mailed.ann.key).await;
    for switch in SWITCHES {
        let off = ["erasure_requests", "trial_ending"].contains(&switch);
        assert_eq!(now[switch], !off, "{switch}");
    }
    mailed.is_silent().await;
    let logged = events(&mailed.app, &mailed.ann.key).await;
    assert_eq!(logged[0], ("mail_turned_off".to_owned(), json!("erasure_requests")));
    assert_eq!(logged.len(), 2, "once, however often it is clicked: {logged:?}");
    change(&mailed.app, &mailed.ann.key, json!({"erasure_requests": true})).await.expect(200);
    mailed.mail().await;
}

#[tokio::test]
async fn the_one_click_link_turns_a_mail_off_with_any_body() {
    let mut mailed = Mailed::new().await;
    let link = link_of(&mailed.mail().await);
    let path = link.strip_prefix(&mailed.app.base).unwrap().to_owned();
    let boundary = "multipart/form-data; boundary=x";
    let part = "--x\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\nOne-Click\r\n--x--\r\n";
    for (kind, body) in [(boundary, part), ("text/plain", ""), ("application/json", "{")] {
        change(&mailed.app, &mailed.ann.key, json!({"erasure_requests": true})).await.expect(200);
        let request = mailed.app.request(Method::POST, &path).header("content-type", kind);
        assert_eq!(Answer::of(request.body(body)).await.status, 200, "{kind}");
        assert!(!mailed.is_on().await, "{kind}");
    }
}

#[tokio::test]
async fn opening_the_link_has_no_effect_and_shows_a_button_that_has() {
    let mut mailed = Mailed::new().await;
    let link = link_of(&mailed.mail().await);
    let path = link.strip_prefix(&mailed.app.base).unwrap().to_owned();
    for method in [Method::GET, Method::HEAD, Method::GET] {
        assert_eq!(Answer::of(mailed.app.request(method, &path)).await.status, 200);
    }
    assert!(mailed.is_on().await, "mail scanners open every link");
    let page = mailed.app.get(&path).await;
    assert!(page.text.contains("Turn these mails off?"), "{}", page.text);
    for part in [&*mailed.ann.account_id, "ask to be erased"] {
        assert!(page.text.contains(part), "{}", page.text);
    }
    let action = page.text.split("action=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(action.replace("&#x2F;", "/"), path);
    let off = Answer::of(mailed.app.request(Method::POST, &path)).await;
    assert!(
        off.text.contains("These mails are off") && !off.text.contains("<button"),
        "{}",
        off.text
    );
    assert!(!mailed.is_on().await);
    assert!(mailed.app.get(&path).await.text.contains("These mails are off"));
}

#[tokio::test]
async fn a_garbled_or_foreign_link_turns_nothing_off() {
    let mut mailed = Mailed::new().await;
    let eve = mailed.app.mailed_account(&fresh_address("eve")).await;
    let link = link_of(&mailed.mail().await);
    let token = link.split_once("token=").unwrap().1.to_owned();
    let (account, rest) = token.split_once('.').unwrap();
    let (kind, tag) = rest.split_once('.').unwrap();
    assert_eq!((account, kind), (&*mailed.ann.account_id, "erasure_requests"));
    let other = if tag.starts_with('0') { "1" } else { "0" };
    for wrong in [
        format!("{}.{kind}.{tag}", eve.account_id),
        format!("acc_unknown.{kind}.{tag}"),
        format!("{account}.allowance.{tag}"),
        format!("{account}.new_key.{tag}"),
        format!("{account}.{kind}.{other}{}", &tag[1..]),
        format!("{account}.{kind}.{}", &tag[..62]),
        format!("{account}.{kind}."),
        format!("{account}.{kind}.nonsense"),
        "nonsense".to_owned(),
        "..".to_owned(),
        "%00.%00.%00".to_owned(),
    ] {
        let path = format!("/v1/email/unsubscribe?token={wrong}");
        for method in [Method::GET, Method::POST] {
            let answer = Answer::of(mailed.app.request(method, &path)).await;
            answer.refused(404, "mail link not found");
        }
        let page = mailed.app.request(Method::GET, &path).header("accept", "text/html");
        let page = Answer::of(page).await;
        assert_eq!(page.status, 404);
        assert!(page.text.contains("<h1>We do not know this link</h1>"), "{}", page.text);
        assert!(page.text.contains("Email notifications"), "{}", page.text);
    }
    let none = mailed.app.get("/v1/email/unsubscribe").await;
    none.refused(400, "verification token required");
    assert!(mailed.is_on().await);
    assert_eq!(preferences(&mailed.app, &mailed.ann.key).await["allowance"], true);
    assert_eq!(preferences(&mailed.app, &eve.key).await["erasure_requests"], true);
}

#[tokio::test]
async fn a_link_ends_when_the_account_has_another_address_or_is_gone() {
    let mut mailed = Mailed::new().await;
    let link = link_of(&mailed.mail().await);
    let path = link.strip_prefix(&mailed.app.base).unwrap().to_owned();
    let set = "UPDATE accounts SET email = $2 WHERE account_id = $1";
    let id = &mailed.ann.account_id;
    let moved = sqlx::query(set).bind(id).bind(fresh_address("moved"));
    moved.execute(&mailed.app.pool).await.unwrap();
    let answer = Answer::of(mailed.app.request(Method::POST, &path)).await;
    answer.refused(404, "mail link not found");
    assert!(mailed.is_on().await, "who has the former mailbox turns nothing off");
}

#[tokio::test]
async fn a_mail_that_waits_is_not_sent_once_it_is_turned_off() {
    let mut mailed = Mailed::new().await;
    // Its mail server takes nothing now.
    let later = fresh_address("later");
    let set = "UPDATE accounts SET email = $2 WHERE account_id = $1";
    let id = mailed.ann.account_id.clone();
    sqlx::query(set).bind(&id).bind(&later).execute(&mailed.app.pool).await.unwrap();
    mailed.asked().await;
    let attempts = async || {
        let attempts = sqlx::query_scalar::<_, i32>("SELECT attempts FROM outbox");
        attempts.fetch_optional(&mailed.app.pool).await.unwrap()
    };
    for _ in 0..200 {
        if attempts().await.is_some_and(|attempts| attempts > 0) {
            break;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    assert!(attempts().await.is_some(), "it waits");
    change(&mailed.app, &mailed.ann.key, json!({"erasure_requests": false})).await.expect(200);
    // Now it would be taken.
    let email = &mailed.ann.email;
    let before = mailed.inbox();
    sqlx::query(set).bind(&id).bind(email).execute(&mailed.app.pool).await.unwrap();
    mailed.app.clock.advance(Duration::hours(1));
    for _ in 0..200 {
        if attempts().await.is_none() {
            assert_eq!(mailed.inbox(), before);
            return;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    panic!("the mail that nobody wants is taken out");
}

// The console

#[tokio::test]
async fn a_person_ticks_which_mails_to_get() {
    const SCREEN: &str = "/console/account/mails";
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    assert!(browser.page("/console/account").await.contains("href=\"/console/account/mails\""));
    let page = browser.page(SCREEN).await;
    assert_eq!(page.matches(" checked").count(), SWITCHES.len(), "{page}");
    assert!(page.contains("does not send email yet"), "{page}");
    let ticked = [("trial_ending", "on"), ("allowance", "on")];
    let saved = browser.submit(SCREEN, SCREEN, &ticked).await;
    leads_to(&saved, "/console/account/mails?done=saved");
    let page = browser.page("/console/account/mails?done=saved").await;
    assert!(page.contains("Saved.") && page.matches(" checked").count() == 2, "{page}");
    let now = preferences(&app, &ann.key).await;
    for switch in SWITCHES {
        assert_eq!(now[switch], ["trial_ending", "allowance"].contains(&switch), "{switch}");
    }
    leads_to(&browser.submit(SCREEN, SCREEN, &[]).await, "/console/account/mails?done=saved");
    assert_eq!(browser.page(SCREEN).await.matches(" checked").count(), 0);
    let sent = browser.post(SCREEN, &[("allowance", "on")]).await;
    assert_eq!(sent.status, 403, "only from the page itself");
    assert_eq!(preferences(&app, &ann.key).await["allowance"], false);
    let mut stranger = Browser::new(&app);
    leads_to(&stranger.get(SCREEN).await, "/console/sign-in?next=%2Fconsole%2Faccount%2Fmails");
}
