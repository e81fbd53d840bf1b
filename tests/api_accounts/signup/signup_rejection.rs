//! The link "This was not me" closes an account that somebody opened with another's address.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::mail::Mail;
use crate::support::tools::{call, done, refused};
use crate::support::{Answer, App, MailServer, Shop, fresh_address};

/// An account that a stranger opened with the victim's address, and the mail that the victim got.
struct Stolen {
    email: String,
    account_id: String,
    token: String,
    mail: Mail,
}

impl Stolen {
    async fn open(app: &App) -> Self {
        let email = fresh_address("victim");
        let body = json!({"email": email, "display_name": "Eve Stranger"});
        let opened = app.post("/v1/accounts", body).await.expect(201);
        let text = |name: &str| opened[name].as_str().unwrap().to_owned();
        let mail = MailServer::shared().newest(&email).await;
        Self { account_id: text("account_id"), token: text("signup_token"), email, mail }
    }

    /// Path and query of the link "This was not me".
    fn link(&self) -> String {
        let text = self.mail.text();
        let start = text.find("/v1/email/disown?token=").expect("a link in the mail");
        text[start..].split_whitespace().next().unwrap().to_owned()
    }

    fn link_token(&self) -> String {
        self.link().split_once("token=").unwrap().1.to_owned()
    }

    /// The request of the page's button.
    async fn disown(&self, app: &App) -> Answer {
        post(app, &self.link_token()).await
    }

    /// The victim, or a scanner, follows the first link; the stranger takes a key.
    async fn confirmed_by_mistake(&self, app: &App) -> String {
        assert_eq!(app.get(&self.mail.link()).await.status, 200);
        let issued = app.issue_key(&self.account_id, &self.token).await.expect(201);
        issued["api_key"].as_str().unwrap().to_owned()
    }

    async fn is_there(&self, app: &App) -> bool {
        app.show_account(&self.account_id, &self.token).await.status == 200
    }

    /// A fresh code, once the pause since the last mail is over.
    async fn fresh_code(&self, app: &App) -> Mail {
        app.clock.advance(Duration::minutes(1));
        let before = MailServer::shared().inbox(&self.email).len();
        app.post("/v1/signup/resend-code", json!({"email": self.email})).await.expect(200);
        MailServer::shared().wait_for(&self.email, before + 1).await.pop().unwrap()
    }

    async fn renew(&self, app: &App, code: &str) -> String {
        let path = format!("/v1/accounts/{}/signup-token", self.account_id);
        let body = json!({"email": self.email, "code": code});
        let renewed = app.post(&path, body).await.expect(200);
        renewed["signup_token"].as_str().unwrap().to_owned()
    }
}

async fn post(app: &App, token: &str) -> Answer {
    let form = [("token", token)];
    let body = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    Answer::of(app.request(Method::POST, "/v1/email/disown").body(body)).await
}

async fn who(app: &App, key: &str) -> Answer {
    app.call(Method::GET, "/v1/whoami", key, Value::Null).await
}

async fn another_key(app: &App, key: &str) -> String {
    let issued = app.call(Method::POST, "/v1/api-keys", key, Value::Null).await.expect(201);
    issued["api_key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn mail_and_page_name_the_account_and_lead_to_this_was_not_me() {
    let app = App::spawn_with_mail().await;
    let stolen = Stolen::open(&app).await;
    let page = app.get(&stolen.mail.link()).await;
    assert!(page.text.contains("Email confirmed"), "{}", page.text);
    for part in [stolen.mail.text(), stolen.mail.html(), &page.text] {
        assert!(part.contains(&stolen.account_id), "{part}");
        assert!(part.contains("Eve Stranger"), "{part}");
        assert!(part.contains("10 March 2026, 12:00 UTC"), "{part}");
        assert!(part.contains(&stolen.link()), "{part}");
    }
    let asks = app.get(&stolen.link()).await;
    assert_eq!(asks.status, 200);
    assert!(asks.text.contains(&stolen.account_id) && asks.text.contains("Close the account"));
    let button = format!("name=\"token\" value=\"{}\"", stolen.link_token());
    assert!(asks.text.contains(&button), "{}", asks.text);
}

#[tokio::test]
async fn looking_at_the_link_closes_nothing() {
    let app = App::spawn_with_mail().await;
    let stolen = Stolen::open(&app).await;
    for method in [Method::GET, Method::HEAD, Method::GET] {
        assert_eq!(Answer::of(app.request(method, &stolen.link())).await.status, 200);
    }
    assert!(stolen.is_there(&app).await);
}

#[tokio::test]
async fn closing_ends_the_strangers_credentials_and_frees_the_address() {
    for confirmed in [false, true] {
        let app = App::spawn_with_mail().await;
        let stolen = Stolen::open(&app).await;
        let key = match confirmed {
            true => Some(stolen.confirmed_by_mistake(&app).await),
            false => None,
        };
        let closed = stolen.disown(&app).await;
        assert_eq!(closed.status, 200, "{}", closed.text);
        assert_eq!(closed.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(closed.text.contains("Account closed"), "{}", closed.text);
        if let Some(key) = key {
            who(&app, &key).await.refused(401, "invalid api key");
        }
        let shown = app.show_account(&stolen.account_id, &stolen.token).await;
        shown.refused(401, "signup token required");
        app.get(&stolen.mail.link()).await.refused(404, "verification link not found");
        stolen.disown(&app).await.refused(404, "verification link not found");
        // The owner of the mailbox is a customer like any other.
        let opened = app.sign_up(&stolen.email).await;
        assert_ne!(opened["account_id"], json!(stolen.account_id));
    }
}

#[tokio::test]
async fn a_mail_that_is_read_late_still_closes_what_it_can_no_longer_confirm() {
    let app = App::spawn_with_mail().await;
    let stolen = Stolen::open(&app).await;
    app.clock.advance(Duration::days(3));
    app.get(&stolen.mail.link()).await.refused(400, "verification link expired");
    assert_eq!(app.get(&stolen.link()).await.status, 200);
    assert_eq!(stolen.disown(&app).await.status, 200);
}

#[tokio::test]
async fn an_account_that_has_done_something_is_not_closed() {
    let app = App::spawn_with_mail().await;
    let quiet = app.another_node(&[]).await;
    let operator = quiet.unlimited_account("operator@example.com").await;
    let deed = async |stolen: &Stolen, what: &str| match what {
        "pixel" => {
            let key = stolen.confirmed_by_mistake(&app).await;
            app.pixel(&key, "shop.example").await;
        }
        "former site" => {
            let key = stolen.confirmed_by_mistake(&app).await;
            let site = app.consent_site(&key, "former.example").await;
            let path = format!("/v1/pixels/{}", site.pixel_id);
            app.call(Method::DELETE, &path, &key, Value::Null).await.expect(204);
        }
        "activated" => {
            let path = format!("/v1/accounts/{}/activate", stolen.account_id);
            app.call(Method::POST, &path, &operator.key, Value::Null).await.expect(200);
        }
        "suspended" => app.set_status(&stolen.account_id, "suspended").await,
        _ => {
            let paid = "UPDATE accounts SET paid_until = created_at WHERE account_id = $1";
            sqlx::query(paid).bind(&stolen.account_id).execute(&app.pool).await.unwrap();
        }
    };
    for what in ["pixel", "former site", "activated", "suspended", "paid"] {
        let stolen = Stolen::open(&app).await;
        deed(&stolen, what).await;
        stolen.disown(&app).await.refused(409, "account is in use");
        assert!(stolen.is_there(&app).await, "{what}");
        // The page explains how to get access to the account.
        for request in [
            app.request(Method::GET, &stolen.link()),
            app.request(Method::POST, "/v1/email/disown")
                .body(format!("token={}", stolen.link_token())),
        ] {
            let page = Answer::of(request.header("accept", "text/html")).await;
            assert!([200, 409].contains(&page.status), "{}", page.text);
            let way_in = format!("/v1/accounts/{}/signup-token", stolen.account_id);
            assert!(page.text.contains(&way_in), "{}", page.text);
            assert!(!page.text.contains("action=\"/v1/email/disown\""), "{}", page.text);
        }
    }
}

#[tokio::test]
async fn a_checkout_that_may_still_be_paid_keeps_its_account() {
    let shop = Shop::open_with(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let app = &shop.app;
    let stolen = Stolen::open(app).await;
    let path = format!("/v1/accounts/{}/checkout", stolen.account_id);
    let request = app.request(Method::POST, &path).header("x-signup-token", &stolen.token);
    Answer::of(request).await.expect(200);
    stolen.disown(app).await.refused(409, "account is in use");
    app.clock.advance(Duration::hours(48));
    assert_eq!(stolen.disown(app).await.status, 200);
}

#[tokio::test]
async fn an_invalid_link_closes_nothing_and_is_explained() {
    let app = App::spawn_with_mail().await;
    let stolen = Stolen::open(&app).await;
    for token in ["", " "] {
        post(&app, token).await.refused(400, "verification token required");
    }
    let none = Answer::of(app.request(Method::POST, "/v1/email/disown")).await;
    none.refused(400, "verification token required");
    app.get("/v1/email/disown").await.refused(400, "verification token required");
    for token in ["unknown", &stolen.token, "\0", &stolen.account_id] {
        post(&app, token).await.refused(404, "verification link not found");
        let asked = app.get(&format!("/v1/email/disown?token={}", hex::encode(token))).await;
        asked.refused(404, "verification link not found");
    }
    let request = app.request(Method::GET, "/v1/email/disown?token=unknown");
    let page = Answer::of(request.header("accept", "text/html")).await;
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(page.status, 404);
    assert!(stolen.is_there(&app).await);
}

#[tokio::test]
async fn agents_close_it_by_either_link() {
    let app = App::spawn_with_mail().await;
    let [one, two] = [Stolen::open(&app).await, Stolen::open(&app).await];
    for (stolen, link) in [(&one, one.link()), (&two, two.mail.link())] {
        let arguments = json!({"verification_url": format!("{}{link}", app.base)});
        let closed = call(&app, "disown_account", arguments.clone()).await;
        assert_eq!(*done(&closed), json!({"account_id": stolen.account_id, "closed": true}));
        let again = call(&app, "disown_account", arguments).await;
        refused(&again, 404, "verification link not found");
    }
    let busy = Stolen::open(&app).await;
    app.pixel(&busy.confirmed_by_mistake(&app).await, "busy.example").await;
    let arguments = json!({"verification_url": format!("{}{}", app.base, busy.link())});
    let again = call(&app, "disown_account", arguments).await;
    refused(&again, 409, "account is in use");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_pixel_made_while_the_account_is_closed_is_never_lost() {
    let app = App::spawn_with_mail().await;
    for turn in 0..8 {
        let stolen = Stolen::open(&app).await;
        let key = stolen.confirmed_by_mistake(&app).await;
        let body = json!({"domain": format!("race{turn}.example")});
        let create = app.call(Method::POST, "/v1/pixels", &key, body);
        let (created, closed) = tokio::join!(create, stolen.disown(&app));
        match created.status {
            201 => closed.refused(409, "account is in use"),
            _ => assert_eq!((created.status, closed.status), (403, 200), "{}", created.text),
        }
    }
}

#[tokio::test]
async fn a_token_renewed_by_code_ends_all_keys_that_stem_from_the_earlier_one() {
    let app = App::spawn_with_mail().await;
    let node = app.another_node(&[]).await;
    let stolen = Stolen::open(&app).await;
    let first = stolen.confirmed_by_mistake(&app).await;
    let second = another_key(&app, &first).await;
    let third = another_key(&node, &second).await;
    app.pixel(&third, "shop.example").await;
    // The mail of the code names the account.
    let mail = stolen.fresh_code(&app).await;
    assert!(mail.text().contains(&stolen.account_id), "{}", mail.text());
    let token = stolen.renew(&app, &mail.code()).await;
    for key in [&first, &second, &third] {
        for node in [&app, &node] {
            who(node, key).await.refused(401, "api key revoked");
        }
    }
    app.issue_key(&stolen.account_id, &stolen.token).await.refused(401, "signup token required");
    let own = app.issue_key(&stolen.account_id, &token).await.expect(201)["api_key"].clone();
    let own = own.as_str().unwrap();
    let pixels = app.call(Method::GET, "/v1/pixels", own, Value::Null).await.expect(200);
    assert_eq!(pixels["pixels"].as_array().unwrap().len(), 1);
    // The keys of the new token end with the next one.
    let token = stolen.renew(&app, &stolen.fresh_code(&app).await.code()).await;
    who(&app, own).await.refused(401, "api key revoked");
    app.issue_key(&stolen.account_id, &token).await.expect(201);
}

#[tokio::test]
async fn a_renewal_ends_no_key_of_another_account_and_none_of_an_operator() {
    let app = App::spawn_with_mail().await;
    let quiet = app.another_node(&[]).await;
    let operator = quiet.unlimited_account("operator@example.com").await;
    let bob = quiet.account("bob@example.com").await;
    let email = fresh_address("customer");
    let body = json!({"email": email, "display_name": "Customer"});
    let opened = app.call(Method::POST, "/v1/accounts", &operator.key, body).await.expect(201);
    let text = |name: &str| opened[name].as_str().unwrap().to_owned();
    let given = text("api_key");
    app.set_status(&text("account_id"), "active").await;
    let another = another_key(&app, &given).await;
    app.post("/v1/signup/resend-code", json!({"email": email})).await.expect(200);
    let code = MailServer::shared().newest(&email).await.code();
    let path = format!("/v1/accounts/{}/signup-token", text("account_id"));
    app.post(&path, json!({"email": email, "code": code})).await.expect(200);
    for key in [&given, &another, &bob.key, &operator.key] {
        who(&app, key).await.expect(200);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn no_key_survives_that_is_issued_while_the_token_is_renewed() {
    let app = App::spawn_with_mail().await;
    let stolen = Stolen::open(&app).await;
    let first = stolen.confirmed_by_mistake(&app).await;
    let code = stolen.fresh_code(&app).await.code();
    let by_key =
        (0..6).map(async |_| app.call(Method::POST, "/v1/api-keys", &first, Value::Null).await);
    let by_token = (0..6).map(async |_| app.issue_key(&stolen.account_id, &stolen.token).await);
    let (by_key, by_token, _) = tokio::join!(
        futures_util::future::join_all(by_key),
        futures_util::future::join_all(by_token),
        stolen.renew(&app, &code),
    );
    for issued in by_key.iter().chain(&by_token).filter(|answer| answer.status == 201) {
        let key = issued.json()["api_key"].as_str().unwrap().to_owned();
        who(&app, &key).await.refused(401, "api key revoked");
    }
    let live = "SELECT count(*) FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL";
    let live = sqlx::query_scalar::<_, i64>(live).bind(&stolen.account_id);
    assert_eq!(live.fetch_one(&app.pool).await.unwrap(), 0);
}

#[tokio::test]
async fn a_second_use_of_the_link_says_that_nothing_is_left_to_do() {
    let app = App::spawn_with_mail().await;
    let stolen = Stolen::open(&app).await;
    assert_eq!(stolen.disown(&app).await.status, 200);
    let page = Answer::of(app.request(Method::GET, &stolen.link()).header("accept", "text/html"));
    let page = page.await;
    assert_eq!(page.status, 404);
    assert!(page.text.contains("There is no account to close"), "{}", page.text);
    assert!(!page.text.contains("six digits"), "{}", page.text);
    app.get(&stolen.link()).await.refused(404, "verification link not found");
}
