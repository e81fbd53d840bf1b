//! The list of an account's keys, their revocation, and their number.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::process::{program, run, said};
use crate::support::tools::{call, done, refused};
use crate::support::visitors::fields;
use crate::support::{Answer, App, MailServer, fresh_address};

const KEYS: &str = "/v1/api-keys";

async fn issue(app: &App, key: &str, body: Value) -> Answer {
    app.call(Method::POST, KEYS, key, body).await
}

async fn issued(app: &App, key: &str, body: Value) -> String {
    issue(app, key, body).await.expect(201)["api_key"].as_str().unwrap().to_owned()
}

async fn list(app: &App, key: &str) -> Vec<Value> {
    let listed = app.call(Method::GET, KEYS, key, Value::Null).await.expect(200);
    assert_eq!(fields(&listed), ["api_keys", "next"]);
    listed["api_keys"].as_array().unwrap().clone()
}

async fn revoke(app: &App, key: &str, prefix: &str) -> Answer {
    app.call(Method::DELETE, &format!("{KEYS}/{prefix}"), key, Value::Null).await
}

async fn who(app: &App, key: &str) -> Answer {
    app.call(Method::GET, "/v1/whoami", key, Value::Null).await
}

/// Fills the account up to its 20 keys; gives the new ones.
async fn fill(app: &App, key: &str) -> Vec<String> {
    let missing = 20 - list(app, key).await.len();
    let mut keys = Vec::new();
    for _ in 0..missing {
        keys.push(issued(app, key, Value::Null).await);
    }
    keys
}

async fn command(app: &App, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = program(&app.database.url);
    command.args(arguments);
    said(&run(command).await)
}

#[tokio::test]
async fn the_list_tells_keys_apart_without_their_secrets() {
    let app = App::spawn().await;
    let [ann, bob] = [app.account("ann@example.com").await, app.account("bob@example.com").await];
    app.clock.advance(Duration::minutes(1));
    let second = issued(&app, &ann.key, json!({"name": " shop server "})).await;
    app.clock.advance(Duration::minutes(1));
    let third = issued(&app, &ann.key, Value::Null).await;
    let listed = app.call(Method::GET, KEYS, &ann.key, Value::Null).await;
    for secret in [&ann.key, &second, &third, &bob.key] {
        assert!(!listed.text.contains(secret), "{}", listed.text);
    }
    assert!(!listed.text.contains(&bob.key[..12]));
    let keys = list(&app, &third).await;
    let column = |name: &str| keys.iter().map(|key| key[name].clone()).collect::<Vec<_>>();
    assert_eq!(
        fields(&keys[0]),
        [
            "created_at",
            "expired",
            "expires_at",
            "last_used_at",
            "made_by",
            "name",
            "pixels",
            "prefix",
            "scope"
        ]
    );
    assert_eq!(column("prefix"), [&ann.key[..12], &second[..12], &third[..12]]);
    assert_eq!(column("name"), [Value::Null, json!("shop server"), Value::Null]);
    let times =
        ["2026-03-10T12:00:00.000Z", "2026-03-10T12:01:00.000Z", "2026-03-10T12:02:00.000Z"];
    assert_eq!(column("created_at"), times);
}

#[tokio::test]
async fn a_key_may_be_asked_for_with_any_body_or_none() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let send = |body: &'static [u8], kind: &'static str| {
        let request = app.request(Method::POST, KEYS).bearer_auth(&ann.key);
        Answer::of(request.header("content-type", kind).body(body))
    };
    for (body, kind) in [
        (&b""[..], "application/json"),
        (b" ", "text/plain"),
        (b"{}", "application/json"),
        (b"null", "application/json"),
        (b"[1]", "application/json"),
        (b"name=shop", "application/x-www-form-urlencoded"),
        (b"\xff\x00", "application/octet-stream"),
        (b"{\"name\": null}", "text/plain"),
        (b"{\"name\": \"  \"}", "application/json"),
    ] {
        send(body, kind).await.expect(201);
    }
    // A broken object may have named restrictions.
    assert_eq!(send(b"{\"name\":", "application/json").await.status, 422);
    assert!(list(&app, &ann.key).await.iter().all(|key| key["name"].is_null()));
    app.clock.advance(Duration::minutes(1));
    send(b"{\"name\": \"shop\"}", "text/plain").await.expect(201);
    app.clock.advance(Duration::minutes(1));
    let by_token = app.request(Method::POST, &format!("{KEYS}?account_id={}", ann.account_id));
    let by_token = by_token.header("x-signup-token", &ann.signup_token);
    Answer::of(by_token.json(&json!({"name": "by token"}))).await.expect(201);
    let names = list(&app, &ann.key).await;
    let named = names.iter().filter_map(|key| key["name"].as_str()).collect::<Vec<_>>();
    assert_eq!(named, ["shop", "by token"]);
}

#[tokio::test]
async fn a_name_is_one_short_line() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let (longest, longer) = ("ü".repeat(100), "x".repeat(101));
    issue(&app, &ann.key, json!({"name": longest})).await.expect(201);
    for name in [json!(longer), json!("a\nb"), json!("\u{1b}[2J"), json!(7), json!({})] {
        issue(&app, &ann.key, json!({"name": name})).await.invalid(&["body", "name"]);
        // A caller without permission is not told about errors of the request.
        let stranger = issue(&app, "px_unknown", json!({"name": name})).await;
        stranger.refused(401, "invalid api key");
    }
    assert_eq!(list(&app, &ann.key).await.len(), 2);
}

#[tokio::test]
async fn a_revoked_key_ends_at_once_on_every_node_also_the_one_of_the_call() {
    let app = App::spawn().await;
    let node = app.another_node(&[]).await;
    let ann = app.account("ann@example.com").await;
    let second = issued(&app, &ann.key, Value::Null).await;
    who(&node, &ann.key).await.expect(200);
    let gone = revoke(&app, &second, &ann.key[..12]).await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    for node in [&app, &node] {
        who(node, &ann.key).await.refused(401, "api key revoked");
    }
    assert_eq!(list(&node, &second).await.len(), 1);
    revoke(&app, &second, &ann.key[..12]).await.refused(404, "api key not found");
    revoke(&app, &second, &second[..12]).await.expect(204);
    for node in [&node, &app] {
        who(node, &second).await.refused(401, "api key revoked");
    }
    revoke(&app, &second, &second[..12]).await.refused(401, "api key revoked");
}

#[tokio::test]
async fn another_accounts_key_is_not_found_to_the_word_like_one_that_nobody_has() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let operator = app.unlimited_account("operator@example.com").await;
    let unknown = revoke(&app, &eve.key, "px_000000000").await;
    unknown.refused(404, "api key not found");
    for key in [&eve.key, &operator.key] {
        let refused = revoke(&app, key, &ann.key[..12]).await;
        assert_eq!((refused.status, refused.lasting_text()), (404, unknown.lasting_text()));
        assert_eq!(list(&app, key).await.len(), 1);
    }
    for prefix in [&ann.key, "px_", "%25", "%00", "px_00000000%00", "px_%C3%BC%C3%BC%C3%BC%C3%BC"] {
        revoke(&app, &ann.key, prefix).await.refused(404, "api key not found");
    }
    who(&app, &ann.key).await.expect(200);
}

#[tokio::test]
async fn listing_and_revoking_need_a_key_that_does() {
    let app = App::spawn().await;
    let revoked = app.revoked_key().await;
    let (_, pending) = app.pending_account("pending@example.com").await;
    let suspended = app.suspended_key().await;
    let ann = app.account("ann@example.com").await;
    let path = format!("{KEYS}/{}", &ann.key[..12]);
    for (method, path) in [(Method::GET, KEYS), (Method::DELETE, path.as_str())] {
        let none = app.request(method.clone(), path).header("x-signup-token", &ann.signup_token);
        Answer::of(none).await.refused(401, "api key required");
        let with = |key: &str| app.request(method.clone(), path).header("x-api-key", key);
        Answer::of(with("px_unknown")).await.refused(401, "invalid api key");
        Answer::of(with(&revoked)).await.refused(401, "api key revoked");
        Answer::of(with(&pending)).await.refused(403, "account is not active");
        Answer::of(with(&suspended)).await.refused(403, "account is not active");
    }
    who(&app, &ann.key).await.expect(200);
}

#[tokio::test]
async fn an_account_has_twenty_keys_at_most_and_revoked_ones_make_room() {
    let app = App::spawn().await;
    let [ann, bob] = [app.account("ann@example.com").await, app.account("bob@example.com").await];
    let keys = fill(&app, &ann.key).await;
    issue(&app, &ann.key, Value::Null).await.refused(403, "key allowance reached");
    let by_token = app.issue_key(&ann.account_id, &ann.signup_token).await;
    by_token.refused(403, "key allowance reached");
    issue(&app, &bob.key, Value::Null).await.expect(201);
    revoke(&app, &ann.key, &keys[0][..12]).await.expect(204);
    issue(&app, &ann.key, Value::Null).await.expect(201);
    issue(&app, &ann.key, Value::Null).await.refused(403, "key allowance reached");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn requests_at_once_never_pass_twenty_keys_together() {
    let app = App::spawn().await;
    let node = app.another_node(&[]).await;
    let ann = app.account("ann@example.com").await;
    let ask = (0..32).map(async |turn| {
        let node = if turn % 2 == 0 { &app } else { &node };
        match turn % 4 {
            0 => node.issue_key(&ann.account_id, &ann.signup_token).await,
            _ => issue(node, &ann.key, Value::Null).await,
        }
    });
    let answers = join_all(ask).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 19);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        answer.refused(403, "key allowance reached");
    }
    assert_eq!(list(&app, &ann.key).await.len(), 20);
}

#[tokio::test]
async fn a_confirmation_brings_no_key_beyond_the_allowance() {
    let app = App::spawn_with_mail().await;
    let operator = app.another_node(&[]).await.unlimited_account("operator@example.com").await;
    let email = fresh_address("customer");
    let body = json!({"email": email, "display_name": "Customer"});
    let opened = app.call(Method::POST, "/v1/accounts", &operator.key, body).await.expect(201);
    let text = |name: &str| opened[name].as_str().unwrap().to_owned();
    app.set_status(&text("account_id"), "active").await;
    fill(&app, &text("api_key")).await;
    app.post("/v1/signup/resend-code", json!({"email": email})).await.expect(200);
    let code = MailServer::shared().newest(&email).await.code();
    let path = format!("/v1/accounts/{}/confirm", text("account_id"));
    let body = json!({"code": code, "signup_token": text("signup_token")});
    let confirmed = app.post(&path, body).await.expect(200);
    assert_eq!(confirmed["email_verified"], true);
    assert_eq!(confirmed.get("api_key"), None);
}

/// The last use of a key according to the list, as soon as it is as expected.
async fn is_last_used(app: &App, prefix: &str, when: Value) {
    let find = "SELECT last_used_at FROM api_keys WHERE prefix = $1";
    for _ in 0..1_200 {
        let found = sqlx::query_scalar::<_, Option<chrono::DateTime<chrono::Utc>>>(find);
        let found = found.bind(prefix).fetch_one(&app.pool).await.unwrap();
        if json!(found.map(assent::clock::rfc3339)) == when {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("{prefix} was not last used {when}");
}

#[tokio::test]
async fn when_a_key_was_last_used_is_shown_to_the_hour_for_one_write_an_hour() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let writes = "CREATE TABLE writes (n serial);
        CREATE FUNCTION count_write() RETURNS trigger LANGUAGE plpgsql AS
            $$BEGIN INSERT INTO writes DEFAULT VALUES; RETURN NULL; END$$;
        CREATE TRIGGER count_write AFTER UPDATE ON api_keys
            FOR EACH ROW EXECUTE FUNCTION count_write()";
    sqlx::raw_sql(writes).execute(&app.pool).await.unwrap();
    app.clock.advance(Duration::minutes(1));
    let unused = issued(&app, &ann.key, Value::Null).await;
    is_last_used(&app, &ann.key[..12], json!("2026-03-10T12:01:00.000Z")).await;
    assert_eq!(list(&app, &ann.key).await[1]["last_used_at"], Value::Null);
    for _ in 0..40 {
        app.clock.advance(Duration::minutes(1));
        app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await.expect(200);
    }
    assert_eq!(list(&app, &ann.key).await[0]["last_used_at"], "2026-03-10T12:01:00.000Z");
    app.clock.advance(Duration::minutes(20));
    // Over the tools it is a use like any other.
    done(&call(&app, "whoami", json!({"api_key": ann.key})).await);
    is_last_used(&app, &ann.key[..12], json!("2026-03-10T13:01:00.000Z")).await;
    let written = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM writes");
    assert_eq!(written.fetch_one(&app.pool).await.unwrap(), 2);
    // A key that is refused is not in use.
    app.set_status(&ann.account_id, "suspended").await;
    app.call(Method::GET, "/v1/pixels", &unused, Value::Null).await;
    app.set_status(&ann.account_id, "active").await;
    assert_eq!(list(&app, &ann.key).await[1]["last_used_at"], Value::Null);
}

#[tokio::test]
async fn agents_list_name_and_revoke_keys_with_the_same_sentences() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    app.clock.advance(Duration::minutes(1));
    let arguments = json!({"api_key": ann.key, "name": "agent"});
    let issued = done(&call(&app, "issue_api_key", arguments).await).clone();
    let listed = call(&app, "list_api_keys", json!({"api_key": ann.key})).await;
    assert_eq!(done(&listed)["api_keys"][1]["prefix"], issued["prefix"]);
    assert_eq!(done(&listed)["api_keys"][1]["name"], "agent");
    let arguments = |key: &str| json!({"api_key": key, "prefix": issued["prefix"]});
    let foreign = call(&app, "revoke_api_key", arguments(&eve.key)).await;
    refused(&foreign, 404, "api key not found");
    let ended = call(&app, "revoke_api_key", arguments(&ann.key)).await;
    assert_eq!(*done(&ended), json!({"prefix": issued["prefix"], "revoked": true}));
    let again = call(&app, "revoke_api_key", arguments(&ann.key)).await;
    refused(&again, 404, "api key not found");
    let nobody = call(&app, "list_api_keys", json!({})).await;
    refused(&nobody, 401, "api key required");
    fill(&app, &ann.key).await;
    let full = call(&app, "issue_api_key", json!({"api_key": ann.key})).await;
    refused(&full, 403, "key allowance reached");
}

#[tokio::test]
async fn the_operator_lists_and_ends_an_accounts_keys() {
    let app = App::spawn().await;
    let [ann, bob] = [app.account("ann@example.com").await, app.account("bob@example.com").await];
    app.clock.advance(Duration::minutes(1));
    issued(&app, &ann.key, json!({"name": "shop server"})).await;
    is_last_used(&app, &ann.key[..12], json!("2026-03-10T12:01:00.000Z")).await;
    let (code, output, complaint) = command(&app, &["keys", &ann.account_id]).await;
    assert_eq!((code, complaint.as_str()), (Some(0), ""));
    let lines = output.lines().collect::<Vec<_>>();
    assert_eq!(lines.len(), 2, "{output}");
    let first =
        format!("{}  full     issued 2026-03-10 12:00  used 2026-03-10 12:01", &ann.key[..12]);
    assert_eq!(lines[0], first);
    assert!(lines[1].contains("used never") && lines[1].ends_with("  shop server"), "{output}");
    assert!(!output.contains(&ann.key));

    let (code, output, complaint) = command(&app, &["revoke-keys", &ann.account_id]).await;
    assert_eq!((code, complaint.as_str()), (Some(0), ""));
    assert_eq!(output, "API keys: 2\nsignup tokens: 1\n");
    who(&app, &ann.key).await.refused(401, "api key revoked");
    let by_token = app.issue_key(&ann.account_id, &ann.signup_token).await;
    by_token.refused(401, "signup token required");
    who(&app, &bob.key).await.expect(200);
    let (code, output, _) = command(&app, &["keys", &ann.account_id]).await;
    assert_eq!((code, output.as_str()), (Some(0), ""));

    for name in ["keys", "revoke-keys"] {
        for id in ["acc_unknown", "no id"] {
            let (code, _, complaint) = command(&app, &[name, id]).await;
            assert_eq!(code, Some(1));
            assert_eq!(complaint, format!("assent: no account has the id {id}\n"));
        }
    }
}

#[tokio::test]
async fn the_operators_own_keys_are_twenty_at_most_too() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    fill(&app, &operator.key).await;
    let (code, output, complaint) = command(&app, &["unlimited-key", "operator@example.com"]).await;
    assert_eq!((code, output.as_str()), (Some(1), ""));
    assert!(complaint.contains(&format!("assent keys {}", operator.account_id)), "{complaint}");
}
