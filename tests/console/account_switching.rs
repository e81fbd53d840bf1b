//! One session in several accounts: switching is not a sign-in, and signing in again keeps the account.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to, token_of};
use crate::support::{Account, Answer, App, MailServer, fresh_address};

const ACCOUNT: &str = "/console/account";
const CHOICE: &str = "/console/accounts";
const KEYS: &str = "/console/account/keys";
const MEMBERS: &str = "/console/account/members";

/// Bob, a full member of ann's account and of eve's, without an account of his own.
struct Stage {
    app: App,
    ann: Account,
    eve: Account,
    bob: String,
    /// The id of his membership in ann's account.
    member_id: String,
}

impl Stage {
    async fn new() -> Self {
        let app = App::spawn_with_mail().await;
        let ann = app.mailed_account(&fresh_address("ann")).await;
        let eve = app.mailed_account(&fresh_address("eve")).await;
        let bob = fresh_address("bob");
        let member_id = app.member_of(&ann, &bob, "full").await;
        app.clock.advance(Duration::seconds(1));
        app.member_of(&eve, &bob, "full").await;
        Self { app, ann, eve, bob, member_id }
    }

    /// Bob's browser, signed in to ann's account.
    async fn browser(&self) -> Browser<'_> {
        let mut browser = Browser::new(&self.app);
        let code = browser.ask_for_code(&self.bob).await;
        leads_to(&browser.type_code(&code).await, CHOICE);
        assert!(is_in(&mut browser, &self.ann).await);
        browser
    }
}

async fn is_in(browser: &mut Browser<'_>, account: &Account) -> bool {
    let answer = browser.get(ACCOUNT).await;
    answer.status == 200 && answer.text.contains(&format!("<code>{}</code>", account.account_id))
}

async fn switch(browser: &mut Browser<'_>, account: &Account) -> Answer {
    browser.submit(CHOICE, CHOICE, &[("account_id", &account.account_id)]).await
}

/// The ids of the sessions that the account's screen lists, the newest first.
async fn session_ids(browser: &mut Browser<'_>) -> Vec<String> {
    let page = browser.page(ACCOUNT).await;
    let ends = page.split("/console/account/sessions/").skip(1);
    ends.map(|part| part.split('/').next().unwrap().to_owned()).collect()
}

async fn end(browser: &mut Browser<'_>, id: &str) -> Answer {
    browser.submit(ACCOUNT, &format!("/console/account/sessions/{id}/end"), &[]).await
}

#[tokio::test]
async fn switching_accounts_keeps_the_age_and_expiry_of_a_session() {
    let stage = Stage::new().await;
    let mut browser = stage.browser().await;
    let ids = session_ids(&mut browser).await;
    let app = &stage.app;
    app.clock.advance(Duration::days(20));
    for account in [&stage.eve, &stage.ann] {
        let before = browser.session().cloned().unwrap();
        leads_to(&switch(&mut browser, account).await, "/console");
        let after = browser.session().cloned().unwrap();
        assert_ne!(after, before, "another secret");
        assert!(is_in(&mut browser, account).await);
        let mut old = Browser::new(app);
        old.cookies.insert("assent-session".to_owned(), before);
        leads_to(&old.get("/console").await, "/console/sign-in");
        // Every action that needs a recent sign-in.
        let created = browser.submit(ACCOUNT, KEYS, &[("scope", "full")]).await;
        assert!(created.text.contains("Confirm it’s you"), "a code is asked for: {}", created.text);
        let invited = browser.submit(MEMBERS, MEMBERS, &[("email", "x@example.com")]).await;
        assert!(invited.text.contains("6-digit code"), "a code is asked for: {}", invited.text);
        assert_eq!(browser.get("/console/account/export").await.status, 403);
        assert_eq!(session_ids(&mut browser).await, ids, "the same session");
    }
    app.clock.advance(Duration::days(9) + Duration::hours(23));
    leads_to(&switch(&mut browser, &stage.eve).await, "/console");
    app.clock.advance(Duration::hours(1));
    assert_eq!(
        browser.get("/console").await.status,
        303,
        "thirty days after the sign-in it is over"
    );
}

#[tokio::test]
async fn a_session_keeps_the_freshness_of_its_sign_in_in_every_account() {
    let stage = Stage::new().await;
    let mut browser = stage.browser().await;
    stage.app.clock.advance(Duration::minutes(14));
    leads_to(&switch(&mut browser, &stage.eve).await, "/console");
    assert_eq!(browser.submit(ACCOUNT, KEYS, &[("scope", "read")]).await.status, 201);
    stage.app.clock.advance(Duration::minutes(1));
    let created = browser.submit(ACCOUNT, KEYS, &[("scope", "read")]).await;
    assert!(created.text.contains("Confirm it’s you"), "a code is asked for: {}", created.text);
}

#[tokio::test]
async fn a_session_that_was_ended_is_not_restored_by_a_switch() {
    let stage = Stage::new().await;
    let mut browser = stage.browser().await;
    let token = token_of(&browser.page(CHOICE).await);
    let mut thief = Browser { app: &stage.app, cookies: browser.cookies.clone() };
    let fields = [("account_id", &*stage.eve.account_id), ("form_token", &*token)];
    leads_to(&browser.post(CHOICE, &fields).await, "/console");
    // The old secret cannot be used to switch, however often it is sent.
    for _ in 0..2 {
        leads_to(&thief.post(CHOICE, &fields).await, "/console/sign-in");
    }
    // Of many concurrent switches one succeeds; the others leave no session behind.
    let token = token_of(&browser.page(CHOICE).await);
    let fields = [("account_id", &*stage.ann.account_id), ("form_token", &*token)];
    let switches = (0..6).map(|_| {
        let request = browser.request(Method::POST, CHOICE).header("origin", &stage.app.base);
        Answer::of(request.form(&fields))
    });
    futures_util::future::join_all(switches).await;
    let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM sessions");
    assert_eq!(count.fetch_one(&stage.app.pool).await.unwrap(), 1);
}

#[tokio::test]
async fn a_session_in_another_account_is_listed_to_its_address_and_ended_by_owners() {
    let stage = Stage::new().await;
    let mut owner = Browser::new(&stage.app);
    owner.sign_in(&stage.ann.email).await;
    let (mut away, mut own) = (stage.browser().await, stage.browser().await);
    let listed = session_ids(&mut owner).await;
    assert_eq!(listed.len(), 3);
    let away_id = this_one(&away.page(ACCOUNT).await);
    leads_to(&switch(&mut away, &stage.eve).await, "/console");
    // The address sees the session from every account.
    let page = own.page(ACCOUNT).await;
    assert!(page.contains("in another account") && page.contains(&away_id), "{page}");
    // The owner of the account that the session was in sees it.
    assert_eq!(session_ids(&mut owner).await.len(), 3);
    leads_to(&end(&mut owner, &away_id).await, "/console/account?done=ended");
    assert_eq!(away.get("/console").await.status, 303);
    assert!(is_in(&mut own, &stage.ann).await);
    // Ann sees no other session of eve's account.
    let mut eve = Browser::new(&stage.app);
    eve.sign_in(&stage.eve.email).await;
    let eves = session_ids(&mut eve).await;
    assert_eq!(eves.len(), 1);
    assert_eq!(end(&mut owner, &eves[0]).await.status, 404);
    // The address ends its own session from another account.
    let mut third = stage.browser().await;
    let third_id = this_one(&third.page(ACCOUNT).await);
    leads_to(&switch(&mut own, &stage.eve).await, "/console");
    leads_to(&end(&mut own, &third_id).await, "/console/account?done=ended");
    assert_eq!(third.get("/console").await.status, 303);
}

/// The id of the session that displays the page.
fn this_one(page: &str) -> String {
    let own = page.split("This device</span>").nth(1).expect("it is marked");
    own.split("/console/account/sessions/").nth(1).unwrap().split('/').next().unwrap().to_owned()
}

/// Starts another sign-in, and returns the digits of the mail.
async fn again(browser: &mut Browser<'_>, bob: &str, next: &str) -> String {
    let before = MailServer::shared().inbox(bob).len();
    let asked = browser.submit(ACCOUNT, "/console/sign-in/again", &[("next", next)]).await;
    assert_eq!(asked.status, 303, "{}", asked.text);
    let mail = MailServer::shared().wait_for(bob, before + 1).await.pop().unwrap();
    mail.code()
}

#[tokio::test]
async fn signing_in_again_stays_in_the_account_of_the_session() {
    let stage = Stage::new().await;
    let mut browser = stage.browser().await;
    leads_to(&switch(&mut browser, &stage.eve).await, "/console");
    stage.app.clock.advance(Duration::days(1));
    let code = again(&mut browser, &stage.bob, MEMBERS).await;
    leads_to(
        &browser.post("/console/sign-in/code", &[("code", &code), ("next", MEMBERS)]).await,
        MEMBERS,
    );
    assert!(is_in(&mut browser, &stage.eve).await);
    let fields = [("email", "new@example.com"), ("role", "read")];
    let invited = browser.submit(MEMBERS, MEMBERS, &fields).await;
    leads_to(&invited, &format!("{MEMBERS}?done=invited"));
    // Digits entered in another tab, which has no address to continue to, skip the choice of account too.
    let code = again(&mut browser, &stage.bob, MEMBERS).await;
    leads_to(&browser.type_code(&code).await, "/console");
    assert!(is_in(&mut browser, &stage.eve).await);
    // The sign-in page itself, in a browser that is signed in.
    let code = browser.ask_for_code(&stage.bob).await;
    leads_to(&browser.type_code(&code).await, "/console");
    assert!(is_in(&mut browser, &stage.eve).await);
    // Another tab has switched in the meantime: the sign-in keeps the account in which it began.
    let code = again(&mut browser, &stage.bob, ACCOUNT).await;
    leads_to(&switch(&mut browser, &stage.ann).await, "/console");
    let fields = [("code", &*code), ("next", ACCOUNT)];
    leads_to(&browser.post("/console/sign-in/code", &fields).await, ACCOUNT);
    assert!(is_in(&mut browser, &stage.eve).await);
    let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM sessions WHERE address = $1");
    let count = count.bind(&stage.bob).fetch_one(&stage.app.pool).await.unwrap();
    assert_eq!(count, 1, "a browser has one session");
}

#[tokio::test]
async fn a_sign_in_without_a_session_leads_to_the_first_account_and_asks_which() {
    let stage = Stage::new().await;
    let mut browser = stage.browser().await;
    leads_to(&switch(&mut browser, &stage.eve).await, "/console");
    browser.submit("/console", "/console/sign-out", &[]).await;
    // Only the known-browser cookie is left.
    let left = browser.cookies.keys().filter(|name| *name != "assent-browser").collect::<Vec<_>>();
    assert!(left.is_empty(), "{left:?}");
    let mut browser = stage.browser().await;
    // The session of another person has no influence.
    let code = browser.ask_for_code(&stage.eve.email).await;
    leads_to(&browser.type_code(&code).await, "/console");
    assert!(is_in(&mut browser, &stage.eve).await);
    let code = browser.ask_for_code(&stage.bob).await;
    leads_to(&browser.type_code(&code).await, CHOICE);
    assert!(is_in(&mut browser, &stage.ann).await);
}

#[tokio::test]
async fn digits_for_an_account_that_the_member_has_left_are_refused() {
    let stage = Stage::new().await;
    let mut browser = stage.browser().await;
    let code = again(&mut browser, &stage.bob, ACCOUNT).await;
    stage.app.remove_member(&stage.ann, &stage.member_id).await;
    assert_eq!(browser.type_code(&code).await.status, 400);
    assert_eq!(browser.get("/console").await.status, 303);
    let code = browser.ask_for_code(&stage.bob).await;
    leads_to(&browser.type_code(&code).await, "/console");
    assert!(is_in(&mut browser, &stage.eve).await);
}

#[tokio::test]
async fn switching_into_an_account_is_an_event_there_but_not_a_sign_in() {
    let stage = Stage::new().await;
    let mut browser = stage.browser().await;
    leads_to(&switch(&mut browser, &stage.eve).await, "/console");
    let path = "/v1/account/events";
    let events = stage.app.call(Method::GET, path, &stage.eve.key, Value::Null).await.expect(200);
    let events = events["events"].as_array().unwrap();
    let of_bob = events.iter().filter(|event| event["actor"] == json!(stage.bob));
    let kinds = of_bob.map(|event| event["kind"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(kinds, ["account_entered"]);
}
