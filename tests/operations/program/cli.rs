//! The command line: what is printed, what it does, and with which exit code it ends.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::ports::free_port;
use crate::support::postgres::database::TestDatabase;
use crate::support::postgres::outage::Road;
use crate::support::process::{bare_program, program, run, said};
use crate::support::server::client;
use crate::support::{Answer, App, Process};

/// Runs a command on a test's database; gives its exit code, output and complaint.
async fn assent(database: &TestDatabase, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = program(&database.url);
    command.args(arguments);
    said(&run(command).await)
}

/// Runs a command that must succeed and complain of nothing; gives what it printed.
async fn succeeds(database: &TestDatabase, arguments: &[&str]) -> String {
    let (code, output, complaint) = assent(database, arguments).await;
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{arguments:?}");
    output
}

/// Runs a command that must fail with just this sentence.
async fn fails(database: &TestDatabase, arguments: &[&str], sentence: &str) {
    let (code, output, complaint) = assent(database, arguments).await;
    assert_eq!((code, output.as_str()), (Some(1), ""), "{arguments:?}: {complaint}");
    assert_eq!(complaint, format!("assent: {sentence}\n"));
}

async fn who(app: &App, key: &str) -> Value {
    app.call(Method::GET, "/v1/whoami", key, Value::Null).await.expect(200)
}

#[tokio::test]
async fn unlimited_key_prints_a_key_and_nothing_else() {
    let app = App::spawn().await;
    let output = succeeds(&app.database, &["unlimited-key", "Operator@Example.com"]).await;
    let key = output.strip_suffix('\n').expect("a line");
    assert!(key.starts_with("px_") && key.len() >= 43, "{output:?}");
    assert!(key[3..].bytes().all(|byte| byte.is_ascii_alphanumeric()), "{output:?}");
    let first = who(&app, key).await;
    assert_eq!((&first["plan"], &first["status"]), (&json!("unlimited"), &json!("active")));

    let second = succeeds(&app.database, &["unlimited-key", "operator@example.com"]).await;
    assert_ne!(second.trim(), key);
    assert_eq!(who(&app, second.trim()).await["account_id"], first["account_id"]);
    who(&app, key).await;
}

#[tokio::test]
async fn unlimited_key_takes_an_account_of_another_plan_only_with_upgrade() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let refusal =
        "ann@example.com has an account of plan free; pass --upgrade to make it unlimited";
    fails(&app.database, &["unlimited-key", "ann@example.com"], refusal).await;
    assert_eq!(who(&app, &ann.key).await["plan"], "free");
    let key = succeeds(&app.database, &["unlimited-key", "--upgrade", "ann@example.com"]).await;
    let upgraded = who(&app, key.trim()).await;
    assert_eq!(upgraded["account_id"], json!(ann.account_id));
    assert_eq!(upgraded["plan"], "unlimited");
    // A key from the sign-up is not an operator's key.
    let old = app.request(Method::GET, "/v1/whoami").bearer_auth(&ann.key);
    Answer::of(old).await.refused(401, "api key revoked");
}

#[tokio::test]
async fn unlimited_key_with_upgrade_activates_a_pending_account() {
    let app = App::spawn().await;
    app.sign_up("ann@example.com").await;
    let key = succeeds(&app.database, &["unlimited-key", "ann@example.com", "--upgrade"]).await;
    assert_eq!(who(&app, key.trim()).await["status"], "active");
}

#[tokio::test]
async fn unlimited_key_refuses_what_is_no_address() {
    let database = TestDatabase::create().await;
    fails(&database, &["unlimited-key", "operator"], "invalid email").await;
}

#[tokio::test]
async fn revoke_key_ends_the_key_of_a_prefix() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let other = app.issue_key(&ann.account_id, &ann.signup_token).await.expect(201);
    for _ in 0..2 {
        assert_eq!(succeeds(&app.database, &["revoke-key", &ann.key[..12]]).await, "");
        let answer = app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null).await;
        answer.refused(401, "api key revoked");
    }
    who(&app, other["api_key"].as_str().unwrap()).await;
}

#[tokio::test]
async fn revoke_key_says_when_no_key_has_the_prefix() {
    let database = TestDatabase::create().await;
    fails(&database, &["revoke-key", "px_123456789"], "no API key has the prefix px_123456789")
        .await;
}

#[tokio::test]
async fn an_alias_works_on_a_running_service_at_once() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let site = app.consent_site(&key, "shop.example").await;
    // Asked for before, so that the service remembers that nobody has the name.
    app.get("/px/my_Alias-1.js").await.refused(404, "consent tag not found");
    assert_eq!(succeeds(&app.database, &["alias", &site.pixel_id, "my_Alias-1"]).await, "");
    let added = Instant::now();
    while app.get("/px/my_Alias-1.js").await.status != 200 {
        // Sooner than what it remembers would end by itself.
        assert!(added.elapsed() < Duration::from_secs(3), "the service does not know the alias");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    app.recorded(&site.acceptance("visitor-1")).await;
    assert_eq!(app.check("my_Alias-1", "visitor-1").await["permitted"], true);
    assert!(app.get("/v1/policy/my_Alias-1").await.text.contains(&site.policy_hash));
}

#[tokio::test]
async fn an_alias_is_unique_over_ids_and_aliases_and_well_formed() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let (one, two) = (app.pixel(&key, "one.example").await, app.pixel(&key, "two.example").await);
    succeeds(&app.database, &["alias", &one, &"x".repeat(80)]).await;
    let taken = format!("{} is taken", "x".repeat(80));
    fails(&app.database, &["alias", &two, &"x".repeat(80)], &taken).await;
    fails(&app.database, &["alias", &two, &one], &format!("{one} is taken")).await;
    let form = "an alias has 1 to 80 letters, digits, '_' or '-'";
    for alias in ["", "a b", "a.b", "ä", &"x".repeat(81)] {
        fails(&app.database, &["alias", &two, alias], form).await;
    }
    let reserved = format!("test_{one}");
    let sentence = format!("{reserved} is reserved for a test id");
    fails(&app.database, &["alias", &two, &reserved], &sentence).await;
    fails(&app.database, &["alias", "unknown", "fine"], "no pixel has the id unknown").await;
    fails(&app.database, &["alias", "no id", "fine"], "no pixel has the id no id").await;
}

#[tokio::test]
async fn migrate_makes_the_tables_once_however_many_do_it_at_once() {
    let database = TestDatabase::empty().await;
    let migrate = || succeeds(&database, &["migrate"]);
    let outputs = tokio::join!(migrate(), migrate(), migrate());
    assert_eq!(outputs, (String::new(), String::new(), String::new()));
    assert_eq!(migrate().await, "");
    let pool = database.pool();
    let accounts = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM accounts");
    assert_eq!(accounts.fetch_one(&pool).await.unwrap(), 0);
    pool.close().await;
}

#[tokio::test]
async fn two_nodes_that_start_at_once_on_an_empty_database_both_serve() {
    let database = TestDatabase::empty().await;
    let start = || Process::start(program(&database.url));
    let (one, two) = tokio::join!(start(), start());
    for node in [one, two] {
        let health = client().get(node.url("/healthz")).send().await.unwrap();
        assert_eq!(health.json::<Value>().await.unwrap(), json!({"ok": true}));
    }
}

#[tokio::test]
async fn healthcheck_ends_with_zero_while_the_service_is_well() {
    let database = TestDatabase::create().await;
    let road = Road::to(&database.url).await;
    let service = Process::start(program(&road.url)).await;
    let ask = || {
        let mut command = bare_program();
        command.arg("healthcheck").env("ROCKET_PORT", service.port());
        run(command)
    };
    assert_eq!(said(&ask().await), (Some(0), String::new(), String::new()));
    road.cut();
    let (code, _, complaint) = said(&ask().await);
    assert_eq!(code, Some(1));
    assert!(
        complaint.starts_with("assent: unwell: HTTP/1.") && complaint.contains(" 503 "),
        "{complaint}"
    );
}

#[tokio::test]
async fn healthcheck_ends_with_one_when_nobody_listens() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let ask = |variable: &str| {
        let mut command = bare_program();
        command.arg("healthcheck").env(variable, &port);
        run(command)
    };
    // Somebody who never answers, then nobody.
    assert_eq!(
        said(&ask("PORT").await),
        (Some(1), String::new(), "assent: no answer within 3 seconds\n".into())
    );
    drop(listener);
    let (code, _, complaint) = said(&ask("ROCKET_PORT").await);
    assert_eq!(code, Some(1));
    assert!(
        complaint.starts_with(&format!("assent: 127.0.0.1:{port} does not answer: ")),
        "{complaint}"
    );
}

#[tokio::test]
async fn a_bad_setting_stops_the_start_with_a_sentence_that_names_it() {
    for (variable, value, sentence) in [
        ("RATE_LIMITS", "maybe", "RATE_LIMITS: must be on or off"),
        ("PORT", "70000", "PORT: must be a port, a number from 0 to 65535"),
        (
            "DATABASE_URL",
            "mysql://secret-password@host/db",
            "DATABASE_URL: must be a postgres:// address",
        ),
        (
            "RECEIPT_SECRETS",
            "secret-password",
            "RECEIPT_SECRETS: must be a comma-separated list of secrets of at least 16 characters each",
        ),
        (
            "SMTP_URL",
            "http://secret-password@host",
            "SMTP_URL: must begin with smtp:// or smtps://",
        ),
    ] {
        for arguments in [&[][..], &["serve"], &["migrate"], &["healthcheck"]] {
            let mut command = bare_program();
            command.args(arguments).env(variable, value);
            let (code, output, complaint) = said(&run(command).await);
            assert_eq!((code, output.as_str()), (Some(1), ""));
            assert_eq!(complaint, format!("assent: {sentence}\n"));
            assert!(!complaint.contains("secret-password"));
        }
    }
}

#[tokio::test]
async fn a_database_of_ones_own_needs_receipt_secrets_of_ones_own() {
    let database = TestDatabase::create().await;
    let without_secrets = |argument: &str| {
        let mut command = program(&database.url);
        command.arg(argument).env_remove("RECEIPT_SECRETS");
        run(command)
    };
    let (code, _, complaint) = said(&without_secrets("serve").await);
    assert_eq!(code, Some(1));
    let sentence = "assent: RECEIPT_SECRETS: must be set when DATABASE_URL is, ";
    assert!(complaint.starts_with(sentence), "{complaint}");
    // A command that signs nothing needs no secret.
    assert_eq!(said(&without_secrets("migrate").await).0, Some(0));
}

#[tokio::test]
async fn secrets_may_be_files() {
    let database = TestDatabase::create().await;
    let folder = tempfile::tempdir().unwrap();
    let kept = |name: &str, value: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, format!("{value}\n")).unwrap();
        file
    };
    let mut command = program("");
    command
        .env_remove("DATABASE_URL")
        .env_remove("RECEIPT_SECRETS")
        .env("DATABASE_URL_FILE", kept("url", &database.url))
        .env("RECEIPT_SECRETS_FILE", kept("secrets", "receipt-secret-of-the-tests"));
    let service = Process::start(command).await;
    assert_eq!(client().get(service.url("/healthz")).send().await.unwrap().status(), 200);
}

#[tokio::test]
async fn a_database_that_is_not_there_stops_the_start() {
    let start = |arguments: &'static [&'static str]| {
        let mut command = program("postgres://secret-password@127.0.0.1:9/nowhere");
        command.args(arguments);
        run(command)
    };
    let (serving, migrating) = tokio::join!(start(&["serve"]), start(&["migrate"]));
    for output in [serving, migrating] {
        let (code, output, complaint) = said(&output);
        assert_eq!((code, output.as_str()), (Some(1), ""), "{complaint}");
        assert!(complaint.starts_with("assent: the database cannot be used: "), "{complaint}");
        assert_eq!(complaint.lines().count(), 1, "{complaint}");
        assert!(!complaint.contains("secret-password"), "{complaint}");
    }
}

#[tokio::test]
async fn a_port_that_is_taken_stops_the_start() {
    let database = TestDatabase::create().await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut command = program(&database.url);
    command.env("ROCKET_PORT", listener.local_addr().unwrap().port().to_string());
    let (code, _, complaint) = said(&run(command).await);
    assert_eq!(code, Some(1));
    assert!(complaint.contains("assent: cannot serve: "), "{complaint}");
}

#[tokio::test]
async fn an_unknown_command_is_a_mistake_and_help_is_none() {
    for (arguments, expected) in
        [(&["frobnicate"][..], 2), (&["revoke-key"], 2), (&["--help"], 0), (&["--version"], 0)]
    {
        let mut command = bare_program();
        command.args(arguments);
        assert_eq!(said(&run(command).await).0, Some(expected), "{arguments:?}");
    }
}

#[tokio::test]
async fn the_port_of_container_platforms_counts_and_rockets_own_wins() {
    let database = TestDatabase::create().await;
    let free = free_port();
    let mut command = program(&database.url);
    command.env_remove("ROCKET_PORT").env("PORT", free.to_string());
    assert_eq!(Process::start(command).await.port(), free.to_string());
    let mut command = program(&database.url);
    command.env("PORT", "1");
    assert_ne!(Process::start(command).await.port(), "1");
}

#[tokio::test]
async fn the_log_names_requests_and_never_people_or_secrets() {
    let database = TestDatabase::create().await;
    let mut command = program(&database.url);
    command.env("LOG_FORMAT", "json").env("SMTP_URL", "smtp://127.0.0.1:9");
    let service = Process::start(command).await;
    let client = client();
    let key = succeeds(&database, &["unlimited-key", "operator@example.com"]).await;
    let body = json!({"email": "ann.lee@example.com", "display_name": "Ann Lee"});
    let by_operator = client.post(service.url("/v1/accounts")).header("x-api-key", key.trim());
    let opened = by_operator.json(&body).send().await.unwrap().json::<Value>().await.unwrap();
    let body = json!({"email": "bob.ray@example.com", "display_name": "Bob Ray"});
    let failed = client.post(service.url("/v1/accounts")).json(&body).send().await.unwrap();
    assert_eq!(failed.status(), 502);
    let request_id = failed.headers()["x-request-id"].to_str().unwrap().to_owned();

    let started = Instant::now();
    while !service.log().contains(&request_id) {
        assert!(started.elapsed() < Duration::from_secs(30), "{}", service.log());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let log = service.log();
    for line in log.lines().filter(|line| line.starts_with('{')) {
        assert!(serde_json::from_str::<Value>(line).is_ok(), "{line}");
    }
    let secrets = ["api_key", "signup_token"].map(|field| opened[field].as_str().unwrap());
    for private in ["ann.lee", "bob.ray", "Ann Lee", "Bob Ray", key.trim(), "receipt-secret"]
        .iter()
        .chain(&secrets)
    {
        assert!(!log.contains(private), "{private} is in {log}");
    }
}
