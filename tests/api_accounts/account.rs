//! The account of a key's holder: codes for one purpose, its name and address, who did what.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::account_codes::other_code;
use crate::support::tools::{call, done};
use crate::support::visitors::fields;
use crate::support::{Account, Answer, App, MailServer, fresh_address};

const CODES: &str = "/v1/account/codes";
pub const ACCOUNT: &str = "/v1/account";
pub const EVENTS: &str = "/v1/account/events";

async fn order(app: &App, key: &str, body: Value) -> Answer {
    app.call(Method::POST, CODES, key, body).await
}

pub async fn change(app: &App, key: &str, body: Value) -> Answer {
    app.call(Method::PATCH, ACCOUNT, key, body).await
}

pub async fn events(app: &App, key: &str) -> Vec<Value> {
    let page = app.call(Method::GET, EVENTS, key, Value::Null).await.expect(200);
    page["events"].as_array().unwrap().clone()
}

fn kinds(events: &[Value]) -> Vec<&str> {
    events.iter().map(|event| event["kind"].as_str().unwrap()).collect()
}

async fn two_accounts(app: &App) -> [Account; 2] {
    [
        app.mailed_account(&fresh_address("ann")).await,
        app.mailed_account(&fresh_address("eve")).await,
    ]
}

#[tokio::test]
async fn a_new_address_counts_once_a_code_from_it_was_given_and_the_old_one_is_notified() {
    let app = App::spawn_with_mail().await;
    let [ann, eve] = two_accounts(&app).await;
    let new = fresh_address("new");
    change(&app, &ann.key, json!({"email": new})).await.refused(400, "invalid code");
    let code = app.code_for(&ann.key, "change_email", &new).await;
    // Of another account the code is worth nothing.
    let theirs = change(&app, &eve.key, json!({"email": new, "code": code})).await;
    theirs.refused(400, "invalid code");
    let current = app.code_for(&ann.key, "change_email", &ann.email).await;
    let upper = format!(" {} ", new.to_uppercase());
    let body = json!({"email": upper, "code": code, "current_code": current});
    let changed = change(&app, &ann.key, body).await.expect(200);
    assert_eq!(changed["email"], new);
    assert_eq!(changed["email_verified"], true);
    let shown = app.show_account(&ann.account_id, &ann.signup_token).await.expect(200);
    assert_eq!(shown["email"], new);
    let mail = MailServer::shared().wait_for(&ann.email, 3).await.pop().unwrap();
    assert_eq!(mail.subject(), "The email of your Assent account was changed");
    assert!(mail.text().contains(&new) && mail.text().contains(&ann.account_id));
    // The old address is free again.
    app.sign_up(&ann.email).await;
}

#[tokio::test]
async fn codes_and_links_mailed_to_the_old_address_end_with_the_change() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let old = MailServer::shared().newest(&ann.email).await;
    let new = fresh_address("new");
    app.move_account(&ann, &ann.email, &new).await.expect(200);
    assert_eq!(app.get(&old.link()).await.status, 404);
    app.clock.advance(Duration::minutes(1));
    app.post("/v1/signup/resend-code", json!({"email": ann.email})).await.expect(200);
    app.post("/v1/signup/resend-code", json!({"email": new})).await.expect(200);
    MailServer::shared().wait_for(&new, 2).await;
    let mails = MailServer::shared().wait_for(&ann.email, 3).await;
    assert_eq!(mails.len(), 3, "the mail of the signup, the code, and the news");
}

#[tokio::test]
async fn a_code_serves_one_purpose_one_address_and_one_time() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let [first, second] = [fresh_address("first"), fresh_address("second")];
    for purpose in ["keys", "delete_account"] {
        let code = app.code_for(&ann.key, purpose, &ann.email).await;
        let body = json!({"email": first, "code": code});
        change(&app, &ann.key, body).await.refused(400, "invalid code");
    }
    let code = app.code_for(&ann.key, "change_email", &first).await;
    let elsewhere = change(&app, &ann.key, json!({"email": second, "code": code})).await;
    elsewhere.refused(400, "invalid code");
    let current = app.code_for(&ann.key, "change_email", &ann.email).await;
    let body = json!({"email": first, "code": code, "current_code": current});
    change(&app, &ann.key, body.clone()).await.expect(200);
    change(&app, &ann.key, json!({"email": second, "code": code}))
        .await
        .refused(400, "invalid code");
    // To the address that it has already nothing is to be shown.
    change(&app, &ann.key, body).await.expect(200);
}

#[tokio::test]
async fn a_code_lives_for_fifteen_minutes_and_five_wrong_tries() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let new = fresh_address("new");
    let try_it = |code: &str| change(&app, &ann.key, json!({"email": new, "code": code}));
    let code = app.code_for(&ann.key, "change_email", &new).await;
    app.clock.advance(Duration::minutes(15));
    try_it(&code).await.refused(400, "invalid code");
    let code = app.code_for(&ann.key, "change_email", &new).await;
    for _ in 0..5 {
        try_it(other_code(&code)).await.refused(400, "invalid code");
    }
    try_it(&code).await.refused(429, "too many attempts, request a new code");
    let newer = app.code_for(&ann.key, "change_email", &new).await;
    if newer != code {
        try_it(&code).await.refused(400, "invalid code");
    }
    app.clock.advance(Duration::minutes(15) - Duration::milliseconds(1));
    try_it(&newer).await.expect(202);
}

#[tokio::test]
async fn an_address_that_has_an_account_is_taken() {
    let app = App::spawn_with_mail().await;
    let [ann, eve] = two_accounts(&app).await;
    let asked = order(&app, &ann.key, json!({"purpose": "change_email", "email": eve.email})).await;
    asked.refused(409, "email already registered");
    // Two accounts that move to the same address at once, each with a code of its own.
    let new = fresh_address("new");
    let codes = [
        app.code_for(&ann.key, "change_email", &new).await,
        app.code_for(&eve.key, "change_email", &new).await,
    ];
    let present = [
        app.code_for(&ann.key, "change_email", &ann.email).await,
        app.code_for(&eve.key, "change_email", &eve.email).await,
    ];
    let codes = codes.iter().zip(&present);
    let moves = [&ann, &eve].into_iter().zip(codes).map(async |(account, (code, current))| {
        let body = json!({"email": new, "code": code, "current_code": current});
        change(&app, &account.key, body).await
    });
    let answers = join_all(moves).await;
    let mut statuses = answers.iter().map(|answer| answer.status).collect::<Vec<_>>();
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 409]);
    let lost = answers.iter().find(|answer| answer.status == 409).unwrap();
    lost.refused(409, "email already registered");
    let loser = if answers[0].status == 409 { &ann } else { &eve };
    assert!(!kinds(&events(&app, &loser.key).await).contains(&"address_changed"));
}

#[tokio::test]
async fn of_many_uses_of_a_code_at_once_one_counts() {
    let app = App::spawn_with_mail().await;
    let node = app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let new = fresh_address("new");
    let code = app.code_for(&ann.key, "change_email", &new).await;
    let current = app.code_for(&ann.key, "change_email", &ann.email).await;
    let body = json!({"email": new, "code": code, "current_code": current});
    let uses = (0..8).map(async |turn| {
        let node = if turn % 2 == 0 { &app } else { &node };
        change(node, &ann.key, body.clone()).await.expect(200);
    });
    join_all(uses).await;
    let changes = events(&app, &ann.key).await;
    let count = kinds(&changes).into_iter().filter(|kind| *kind == "address_changed").count();
    assert_eq!(count, 1);
}

#[tokio::test]
async fn a_name_is_changed_without_a_code() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    app.clock.advance(Duration::minutes(1));
    let changed = change(&app, &ann.key, json!({"display_name": "  Ann Lee "})).await.expect(200);
    assert_eq!(changed["display_name"], "Ann Lee");
    let expected =
        ["account_id", "created_at", "display_name", "email", "email_verified", "plan", "status"];
    assert_eq!(fields(&changed), expected);
    let same = change(&app, &ann.key, json!({})).await.expect(200);
    assert_eq!(same, changed);
    let long = change(&app, &ann.key, json!({"display_name": "x".repeat(201)})).await;
    assert_eq!(long.status, 400, "{}", long.text);
    change(&app, &ann.key, json!({"email": "no address"})).await.refused(400, "invalid email");
    change(&app, &ann.key, json!({"display_name": 7})).await.invalid(&["body", "display_name"]);
    assert_eq!(kinds(&events(&app, &ann.key).await), ["name_changed", "key_issued"]);
    assert_eq!(kinds(&events(&app, &eve.key).await), ["key_issued"]);
    let tool = call(&app, "change_account", json!({"api_key": ann.key, "display_name": "A"})).await;
    assert_eq!(done(&tool)["display_name"], "A");
}

#[tokio::test]
async fn without_a_mail_server_a_full_key_replaces_a_code() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let body = json!({"purpose": "change_email", "email": "new@example.com"});
    let ordered = order(&app, &ann.key, body).await.expect(202);
    assert_eq!(ordered, json!({"sent": false, "expires_at": null}));
    let lesser = json!({"scope": "operate"});
    let lesser = app.call(Method::POST, "/v1/api-keys", &ann.key, lesser).await.expect(201);
    for code in [json!("123456"), json!(eve.key), lesser["api_key"].clone(), json!(null)] {
        let body = json!({"email": "new@example.com", "code": code});
        change(&app, &ann.key, body).await.refused(400, "invalid code");
    }
    let body = json!({"email": "new@example.com", "code": ann.key});
    assert_eq!(change(&app, &ann.key, body).await.expect(200)["email"], "new@example.com");
}

#[tokio::test]
async fn codes_for_the_account_need_a_full_key_and_have_a_limit_of_their_own() {
    let app = App::spawn_with_mail().await;
    let [ann, eve] = two_accounts(&app).await;
    let keys = json!({"purpose": "keys"});
    let nobody = Answer::of(app.request(Method::POST, CODES).json(&keys)).await;
    nobody.refused(401, "api key required");
    order(&app, "px_unknown", keys.clone()).await.refused(401, "invalid api key");
    for body in [json!({}), json!({"purpose": "all"}), json!({"purpose": null}), json!([])] {
        assert_eq!(order(&app, &ann.key, body).await.status, 422);
    }
    for _ in 0..10 {
        order(&app, &ann.key, keys.clone()).await.expect(202);
    }
    let refused = order(&app, &ann.key, keys.clone()).await;
    refused.refused(429, "too many requests");
    assert_eq!(refused.header("retry-after"), Some("600"));
    order(&app, &eve.key, keys.clone()).await.expect(202);
    app.clock.advance(Duration::minutes(10));
    order(&app, &ann.key, keys).await.expect(202);
}

#[tokio::test]
async fn asking_to_sign_in_tells_nobody_who_has_an_account() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let unknown = fresh_address("unknown");
    for email in [&ann.email, &unknown] {
        let ask = async || app.post(CODES, json!({"purpose": "sign_in", "email": email})).await;
        for _ in 0..5 {
            let asked = ask().await.expect(202);
            assert_eq!(fields(&asked), ["expires_at", "sent", "token"]);
            assert_eq!(asked["expires_at"], "2026-03-10T12:15:00.000Z");
        }
        let refused = ask().await;
        refused.refused(429, "too many requests");
        assert_eq!(refused.header("retry-after"), Some("600"));
    }
    let mails = MailServer::shared().wait_for(&ann.email, 6).await;
    assert!(mails[1].subject().ends_with(" signs you in to Assent"));
    assert!(MailServer::shared().inbox(&unknown).is_empty());
    app.post(CODES, json!({"purpose": "sign_in"})).await.refused(400, "invalid email");
    // Codes that others request do not count against those that a key requests.
    order(&app, &ann.key, json!({"purpose": "keys"})).await.expect(202);
}

#[tokio::test]
async fn codes_that_are_over_are_forgotten() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    app.code_for(&ann.key, "keys", &ann.email).await;
    let count = async || {
        let count = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM account_codes");
        count.fetch_one(&app.pool).await.unwrap()
    };
    assert_eq!(count().await, 1);
    app.clock.advance(Duration::days(1));
    for _ in 0..400 {
        if count().await == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the code is still there");
}
