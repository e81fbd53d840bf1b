//! For every event of an account, which earlier credentials still work afterwards.
//!
//! The person is a full member, or the owner in the case of an address change. The credentials are a
//! session, an incomplete sign-in in another browser, a mailed code, a key that the person issued, and a
//! pending invitation of somebody else.

use std::fmt::Write;

use assent::types::ids::AccountId;
use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::{Account, Answer, App, MailServer, fresh_address};

/// `valid`: works as before. `ended`: never works again. `moved`: continues with another secret, in
/// another account or for another address. `on hold`: refused until the account is active again.
const EXPECTED: &str = "
event             session  sign-in  code     key      invitation
account switch    moved    valid    valid    valid    valid
role change       valid    valid    ended    valid    valid
removal           ended    ended    ended    valid    valid
removal and keys  ended    ended    ended    ended    valid
re-invitation     ended    ended    ended    valid    valid
sign-out          ended    valid    valid    valid    valid
address change    ended    ended    ended    valid    valid
suspension        ended    ended    ended    on hold  valid
deletion          ended    ended    ended    ended    ended
";

const END: &str = "/console/account/end";
const LEAVE: &str = "/console/account/leave";

/// The credentials that exist before the event.
struct Scene {
    app: App,
    ann: Account,
    /// Another account that the person belongs to.
    other: Account,
    person: String,
    member_id: Option<String>,
    session: String,
    pending: String,
    digits: String,
    code: String,
    key: String,
    invited: String,
}

impl Scene {
    async fn new(event: &str) -> Self {
        let app = App::spawn_with_mail().await;
        let ann = app.mailed_account(&fresh_address("ann")).await;
        let other = app.mailed_account(&fresh_address("other")).await;
        let is_owner = event == "address change";
        let person = if is_owner { ann.email.clone() } else { fresh_address("bob") };
        let member_id = match is_owner {
            true => None,
            false => Some(app.member_of(&ann, &person, "full").await),
        };
        app.clock.advance(Duration::seconds(1));
        app.member_of(&other, &person, "full").await;
        let invited = fresh_address("invited");
        app.member_of(&ann, &invited, "read").await;
        let mut browser = Browser::new(&app);
        let code = browser.ask_for_code(&person).await;
        browser.type_code(&code).await;
        let account = "/console/account";
        let made = browser.submit(account, "/console/account/keys", &[("scope", "full")]).await;
        assert_eq!(made.status, 201, "{}", made.text);
        let key = made.text[made.text.find("px_").unwrap()..][..46].to_owned();
        let code = match is_owner {
            // The code is for the same mailbox but another holder: the session of the new address requests
            // a new one.
            true => app.code_for(&key, "delete_account", &person).await,
            false => {
                let before = MailServer::shared().inbox(&person).len();
                let asked = browser.submit(LEAVE, END, &[("address", &ann.email)]).await;
                assert_eq!(asked.status, 200, "{}", asked.text);
                MailServer::shared().wait_for(&person, before + 1).await.pop().unwrap().code()
            }
        };
        let mut second = Browser::new(&app);
        let digits = second.ask_for_code(&person).await;
        let pending = second.cookies["assent-sign-in"].clone();
        let session = browser.session().unwrap().clone();
        Self { app, ann, other, person, member_id, session, pending, digits, code, key, invited }
    }

    fn browser_with(&self, cookie: &str, secret: &str) -> Browser<'_> {
        let mut browser = Browser::new(&self.app);
        browser.cookies.insert(cookie.to_owned(), secret.to_owned());
        browser
    }

    fn member_path(&self) -> String {
        format!("/v1/account/members/{}", self.member_id.as_ref().expect("a member"))
    }

    async fn with_key(&self, method: Method, path: &str, body: Value) -> Answer {
        self.app.call(method, path, &self.ann.key, body).await
    }

    async fn change_role(&self, role: &str) {
        let code = self.app.code_for(&self.ann.key, "keys", &self.ann.email).await;
        let body = json!({"role": role, "code": code});
        self.with_key(Method::PATCH, &self.member_path(), body).await.expect(200);
    }

    /// Triggers the event. Returns the session secret that replaces the old one, if there is one.
    async fn happen(&self, event: &str) -> Option<String> {
        let mut browser = self.browser_with("assent-session", &self.session);
        match event {
            "account switch" => {
                let choice = "/console/accounts";
                let fields = [("account_id", &*self.other.account_id)];
                leads_to(&browser.submit(choice, choice, &fields).await, "/console");
                return browser.session().cloned();
            }
            "role change" => {
                self.change_role("read").await;
                self.change_role("full").await;
            }
            "removal" | "re-invitation" => {
                self.with_key(Method::DELETE, &self.member_path(), Value::Null).await.expect(204);
            }
            "removal and keys" => {
                let path = format!("{}?revoke_keys=true", self.member_path());
                self.with_key(Method::DELETE, &path, Value::Null).await.expect(204);
            }
            "sign-out" => {
                let out = browser.submit("/console", "/console/sign-out", &[]).await;
                leads_to(&out, "/console/sign-in");
            }
            "address change" => {
                let new = fresh_address("new");
                self.app.move_account(&self.ann, &self.person, &new).await.expect(200);
            }
            "suspension" => self.operate(true).await,
            "deletion" => {
                let code =
                    self.app.code_for(&self.ann.key, "delete_account", &self.ann.email).await;
                let body = json!({"code": code});
                self.with_key(Method::DELETE, "/v1/account", body).await.expect(204);
            }
            other => panic!("no such event: {other}"),
        }
        if event == "re-invitation" {
            self.app.member_of(&self.ann, &self.person, "full").await;
        }
        None
    }

    async fn operate(&self, suspend: bool) {
        let (database, clock) = (&self.app.database, self.app.clock.clone());
        let infra = crate::support::server::infra(database, clock, &[]);
        let id = &AccountId::from(self.ann.account_id.clone());
        match suspend {
            true => assent::accounts::operator::suspend(&infra, id).await.unwrap(),
            false => assent::accounts::operator::resume(&infra, id).await.unwrap(),
        }
    }

    async fn is_in_account(&self, browser: &mut Browser<'_>) -> bool {
        let answer = browser.get("/console/account").await;
        answer.status == 200 && answer.text.contains(&*self.ann.account_id)
    }

    async fn session_now(&self, moved: Option<&String>) -> &'static str {
        let mut browser = self.browser_with("assent-session", &self.session);
        if self.is_in_account(&mut browser).await {
            return "valid";
        }
        let Some(secret) = moved else { return "ended" };
        let mut browser = self.browser_with("assent-session", secret);
        match browser.get("/console/account").await.text.contains(&*self.other.account_id) {
            true => "moved",
            false => "ended",
        }
    }

    /// Enters the digits of the incomplete sign-in.
    async fn sign_in_now(&self) -> (&'static str, Browser<'_>) {
        let mut browser = self.browser_with("assent-sign-in", &self.pending);
        browser.type_code(&self.digits).await;
        let is_in = browser.session().is_some() && self.is_in_account(&mut browser).await;
        (if is_in { "valid" } else { "ended" }, browser)
    }

    async fn key_now(&self) -> &'static str {
        let answer = self.app.call(Method::GET, "/v1/pixels", &self.key, Value::Null).await;
        match (answer.status, answer.text.contains("good standing")) {
            (200, _) => "valid",
            (403, true) => "on hold",
            _ => "ended",
        }
    }

    async fn invitation_now(&self) -> &'static str {
        let mut connection = self.app.pool.acquire().await.unwrap();
        let found =
            assent::accounts::members::member::memberships_of(&mut connection, &self.invited).await;
        if found.unwrap().is_empty() {
            return "ended";
        }
        let mut browser = Browser::new(&self.app);
        browser.sign_in(&self.invited).await;
        if self.is_in_account(&mut browser).await { "valid" } else { "ended" }
    }

    /// Uses the code as its recipient. This may close the account, so it comes last.
    async fn code_now(&self, signed_in: Option<Browser<'_>>) -> &'static str {
        if self.member_id.is_none() {
            let body = json!({"code": self.code});
            let answer = self.app.call(Method::DELETE, "/v1/account", &self.key, body).await;
            return if answer.status == 204 { "valid" } else { "ended" };
        }
        let mut browser = match signed_in {
            Some(browser) => browser,
            None => {
                let mut browser = Browser::new(&self.app);
                let code = browser.ask_for_code(&self.person).await;
                browser.type_code(&code).await;
                browser
            }
        };
        if !self.is_in_account(&mut browser).await {
            let (choice, fields) = ("/console/accounts", [("account_id", &*self.ann.account_id)]);
            browser.submit(choice, choice, &fields).await;
        }
        let fields = [("address", &*self.ann.email), ("step", "prove"), ("code", &*self.code)];
        let ended = browser.submit(LEAVE, END, &fields).await;
        if ended.header("location") == Some("/console/ended") { "valid" } else { "ended" }
    }

    async fn row(&self, event: &str) -> String {
        let moved = self.happen(event).await;
        let session = self.session_now(moved.as_ref()).await;
        let (sign_in, browser) = self.sign_in_now().await;
        let key = self.key_now().await;
        if event == "suspension" {
            self.operate(false).await;
            assert_eq!(self.session_now(None).await, session, "it does not come back");
            assert_eq!(self.key_now().await, "valid", "the account goes on");
        }
        let invitation = self.invitation_now().await;
        let code = self.code_now((sign_in == "valid").then_some(browser)).await;
        let mut row = String::new();
        write!(row, "{event:<18}").unwrap();
        for cell in [session, sign_in, code, key] {
            write!(row, "{cell:<9}").unwrap();
        }
        row + invitation
    }
}

#[tokio::test]
async fn each_event_ends_the_listed_credentials() {
    let mut lines = EXPECTED.trim().lines();
    let mut found = vec![lines.next().unwrap().to_owned()];
    for line in lines {
        let event = line[..18].trim();
        found.push(Scene::new(event).await.row(event).await);
    }
    assert_eq!(found.join("\n"), EXPECTED.trim());
}
