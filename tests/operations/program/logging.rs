//! The log of the real program, and data that it must never contain.

use reqwest::{Method, RequestBuilder};
use serde_json::{Value, json};
use sqlx::PgPool;

use crate::support::postgres::database::TestDatabase;
use crate::support::process::program;
use crate::support::server::client;
use crate::support::waiting::wait_until;
use crate::support::{Answer, App, MailServer, Process};

const SECRET: &str = "the-receipt-secret-of-the-log-test";

/// The program with JSON logs, its database, and all secrets that went through it.
struct Scene {
    service: Process,
    /// Length of the log before the first request.
    before: usize,
    client: reqwest::Client,
    pool: PgPool,
    answers: Vec<Answer>,
    secrets: Vec<String>,
    _database: TestDatabase,
}

impl Scene {
    async fn start() -> Self {
        let database = TestDatabase::create().await;
        let mut command = program(&database.url);
        command.env("RECEIPT_SECRETS", SECRET).env("LOG_FORMAT", "json");
        command.env("SMTP_URL", &MailServer::shared().url);
        let service = Process::start(command).await;
        let client = client();
        // The service's own work at the start belongs to no request.
        let is_at_work = async || service.log().contains("consent policy in force");
        wait_until("the policy is in force", is_at_work).await;
        let before = service.log().len();
        let secrets = vec![SECRET.to_owned()];
        let pool = database.pool();
        Self { service, before, client, pool, answers: Vec::new(), secrets, _database: database }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.client.request(method, self.service.url(path))
    }

    async fn send(&mut self, request: RequestBuilder) -> Value {
        let answer = Answer::of(request).await;
        let body = serde_json::from_str(&answer.text).unwrap_or(Value::Null);
        self.answers.push(answer);
        body
    }

    async fn post(&mut self, path: &str, body: Value) -> Value {
        let request = self.request(Method::POST, path).json(&body);
        self.send(request).await
    }

    async fn sql(&self, statement: &'static str) {
        sqlx::raw_sql(statement).execute(&self.pool).await.unwrap();
    }

    fn keep(&mut self, secret: impl Into<String>) {
        self.secrets.push(secret.into());
    }

    fn last(&self) -> &Answer {
        self.answers.last().unwrap()
    }

    /// A line that the last request has logged and that holds the text, waited for.
    #[track_caller]
    fn logged(&self, text: &str) -> Value {
        let id = self.last().header("x-request-id").unwrap();
        for _ in 0..200 {
            let log = self.service.log();
            let mut lines = log.lines().filter(|line| line.contains(text));
            if let Some(line) = lines.find(|line| line.contains(id)) {
                let line: Value = serde_json::from_str(line).unwrap();
                assert_eq!(line["span"]["request_id"], json!(id), "{line}");
                return line;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("{id} did not log {text:?}: {}", self.service.log());
    }

    /// An internal error: 500 with the id in the body, which a log line with the cause has too.
    #[track_caller]
    fn is_internal(&self, cause: &str) {
        let answer = self.last();
        answer.refused(500, "internal error");
        assert_eq!(answer.json()["request_id"], json!(answer.header("x-request-id").unwrap()));
        assert!(!answer.text.contains(cause), "{}", answer.text);
        assert_eq!(self.logged(cause)["level"], "ERROR");
    }
}

/// Signs up and confirms; everything secret on the way is kept for the comparison.
async fn sign_up(scene: &mut Scene, email: &str) -> (String, String) {
    scene.keep(email);
    let body = json!({"email": email, "display_name": "Test"});
    let opened = scene.post("/v1/accounts", body).await;
    scene.last().expect(201);
    scene.logged("account opened");
    let text = |name: &str| opened[name].as_str().unwrap().to_owned();
    let (id, token) = (text("account_id"), text("signup_token"));
    let mail = MailServer::shared().newest(email).await;
    scene.keep(token.clone());
    scene.keep(mail.code());
    scene.keep(mail.link().split_once('=').unwrap().1);
    let body = json!({"code": mail.code(), "signup_token": token});
    let confirmed = scene.post(&format!("/v1/accounts/{id}/confirm"), body).await;
    let key = confirmed["api_key"].as_str().unwrap().to_owned();
    scene.keep(key.clone());
    let request = scene.request(Method::GET, &mail.link());
    scene.send(request).await;
    assert_eq!(scene.last().status, 200);
    (id, key)
}

#[tokio::test(flavor = "multi_thread")]
async fn every_log_line_of_a_request_has_its_id_and_none_has_a_secret() {
    let mut scene = Scene::start().await;
    let (id, key) = sign_up(&mut scene, "ann@log.example").await;

    // Mails that fail: at signup, in a route; on request, in a task that runs on after the answer.
    let body = json!({"email": "refuse-log@log.example", "display_name": "Test"});
    scene.keep("refuse-log@log.example");
    scene.post("/v1/accounts", body).await;
    scene.last().refused(502, "could not send the confirmation email");
    let line = scene.logged("mail failed");
    assert_eq!(line["error"], "mail server: answered 550");
    scene
        .sql("UPDATE accounts SET email = 'later-log@log.example' WHERE email = 'ann@log.example'")
        .await;
    scene.keep("later-log@log.example");
    scene.post("/v1/signup/resend-code", json!({"email": "later-log@log.example"})).await;
    scene.last().expect(200);
    let line = scene.logged("mail server: answered 451");
    assert_eq!(line["message"], "mail failed");

    // Refusals of what was sent must not repeat it.
    scene.keep("654321");
    for body in [
        json!({"code": 654_321}),
        json!({"code": "654321", "signup_token": 654_321}),
        json!({"code": {"x": "654321"}}),
    ] {
        scene.post(&format!("/v1/accounts/{id}/confirm"), body).await;
    }
    let wrong = json!({"email": "ann@log.example", "code": "654321"});
    scene.post(&format!("/v1/accounts/{id}/signup-token"), wrong).await;
    scene.keep("px_somebodys-wrong-key");
    let request = scene.request(Method::GET, "/v1/whoami").bearer_auth("px_somebodys-wrong-key");
    scene.send(request).await;
    scene.keep("st_somebodys-wrong-token");
    let request = scene.request(Method::GET, &format!("/v1/accounts/{id}"));
    scene.send(request.header("x-signup-token", "st_somebodys-wrong-token")).await;
    let path = "/v1/email/verify?token=somebodys-wrong-link";
    scene.keep("somebodys-wrong-link");
    let request = scene.request(Method::GET, path);
    scene.send(request).await;
    let request = scene.request(Method::GET, "/nowhere?token=somebodys-wrong-link");
    scene.send(request).await;

    // A panic in a guard, an error in a guard, and an error in a route.
    scene.sql("ALTER TABLE accounts DROP CONSTRAINT accounts_plan_check").await;
    scene.sql("UPDATE accounts SET plan = 'odd'").await;
    let request = scene.request(Method::GET, "/v1/pixels").bearer_auth(&key);
    scene.send(request).await;
    scene.is_internal("a handler ended with 500");
    scene.logged("panicked");
    scene.sql("ALTER TABLE api_keys RENAME TO keys_elsewhere").await;
    let request = scene.request(Method::GET, "/v1/pixels").bearer_auth(&key);
    scene.send(request).await;
    scene.is_internal("api_keys");
    scene.sql("ALTER TABLE confirmation_codes RENAME TO codes_elsewhere").await;
    scene.keep("bob@log.example");
    let body = json!({"email": "bob@log.example", "display_name": "Test"});
    scene.post("/v1/accounts", body).await;
    scene.is_internal("confirmation_codes");

    are_clean(&scene);
}

/// No line and no problem document holds anything secret, and every line of the log is JSON.
fn are_clean(scene: &Scene) {
    let text = scene.service.log();
    let log = text[scene.before..].lines().filter(|line| !line.is_empty());
    // The welcome for the person at the terminal.
    let log = log.filter(|line| line.starts_with('{')).collect::<Vec<_>>();
    assert!(log.len() >= 7, "{text}");
    for line in log {
        let line: Value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}"));
        assert!(line["span"]["request_id"].is_string(), "{line}");
    }
    for secret in &scene.secrets {
        assert!(!text.contains(secret.as_str()), "{secret} in {text}");
        for answer in scene.answers.iter().filter(|answer| answer.status >= 400) {
            assert!(!answer.text.contains(secret.as_str()), "{secret} in {}", answer.text);
        }
    }
    assert!(scene.answers.iter().filter(|answer| answer.status >= 400).count() >= 10);
}

#[tokio::test]
async fn a_flood_that_is_refused_is_no_flood_of_lines() {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("RATE_LIMITS", "on");
    let service = Process::start(command).await;
    let ask = |method: Method, path: &str| client().request(method, service.url(path));
    for _ in 0..70 {
        let statuses = [
            Answer::of(ask(Method::POST, "/v1/api-keys")).await.status,
            Answer::of(ask(Method::POST, "/demo/provision").body("x".repeat(70_000))).await.status,
        ];
        assert!(statuses.iter().all(|status| [401, 413, 429].contains(status)), "{statuses:?}");
    }
    // The last line is there, so an earlier one would be there too.
    Answer::of(ask(Method::GET, "/v1/whoami").bearer_auth("px_wrong")).await;
    wait_until("the refusal is logged", async || service.log().contains("invalid api key")).await;
    let log = service.log();
    let warnings = log.lines().filter(|line| line.contains("WARN")).collect::<Vec<_>>();
    assert!(warnings.is_empty(), "{warnings:#?}");
}

#[tokio::test]
async fn an_unset_address_of_the_identification_tags_is_a_warning_at_the_start() {
    let database = TestDatabase::create().await;
    for (address, is_warned) in [("", true), ("https://tags.example", false)] {
        let mut command = program(&database.url);
        command.env("TAG_CDN_BASE", address);
        let service = Process::start(command).await;
        let log = service.log();
        let warning = log.lines().find(|line| line.contains("TAG_CDN_BASE is not set"));
        assert_eq!(warning.is_some_and(|line| line.contains("WARN")), is_warned, "{log}");
    }
}

#[tokio::test]
async fn a_client_cannot_choose_the_id() {
    let app = App::spawn().await;
    let request = app.request(Method::GET, "/healthz").header("x-request-id", "mine");
    assert_ne!(Answer::of(request).await.header("x-request-id"), Some("mine"));
}

#[tokio::test]
async fn an_invalid_client_header_is_logged_once_a_minute_without_its_value() {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("RATE_LIMITS", "on").env("CLIENT_IP_HEADER", "X-Real-IP");
    let service = Process::start(command).await;
    let ask = async |value: String| {
        let request = client().post(format!("{}/v1/accounts/acc_none/confirm", service.base));
        let request = request.header("X-Real-IP", value).json(&json!({"code": "123456"}));
        request.send().await.unwrap()
    };
    ask("192.0.2.1:4711".to_owned()).await;
    assert!(!service.log().contains("CLIENT_IP_HEADER"), "{}", service.log());
    for number in 0..20 {
        ask(format!("somebody-{number}.home.example")).await;
    }
    let log = service.log();
    let lines = log.matches("CLIENT_IP_HEADER names a header").count();
    assert!((1..=2).contains(&lines), "{log}");
    assert!(!log.contains("home.example"), "{log}");
}
