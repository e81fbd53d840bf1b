//! The makers of keys, and what happens to the keys of a removed member.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::tools::{call, done};
use crate::support::{Account, App, fresh_address};

const KEYS: &str = "/v1/api-keys";
const MEMBERS: &str = "/console/account/members";

async fn list(app: &App, key: &str) -> Vec<Value> {
    let list = app.call(Method::GET, KEYS, key, Value::Null).await.expect(200);
    list["api_keys"].as_array().unwrap().clone()
}

async fn issue(app: &App, key: &str) -> String {
    let issued = app.call(Method::POST, KEYS, key, Value::Null).await.expect(201);
    issued["api_key"].as_str().unwrap().to_owned()
}

async fn works(app: &App, key: &str) -> bool {
    app.call(Method::GET, "/v1/whoami", key, Value::Null).await.status == 200
}

/// A key issued in the console.
async fn made_in_console(app: &App, email: &str) -> String {
    let mut browser = Browser::new(app);
    browser.sign_in(email).await;
    let (page, form) = ("/console/account", "/console/account/keys");
    let made = browser.submit(page, form, &[("scope", "full")]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    made.text[made.text.find("px_").unwrap()..][..46].to_owned()
}

/// Ann's account, bob's membership in it, and three keys: bob's, one issued with it, and one issued with
/// that.
async fn account_with_bob(app: &App) -> (Account, String, String, [String; 3]) {
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let bob = fresh_address("bob");
    let member_id = app.member_of(&ann, &bob, "full").await;
    let first = made_in_console(app, &bob).await;
    let second = issue(app, &first).await;
    let third = issue(app, &second).await;
    (ann, bob, member_id, [first, second, third])
}

#[tokio::test]
async fn keys_name_who_made_them() {
    let app = App::spawn_with_mail().await;
    let (ann, bob, _, keys) = account_with_bob(&app).await;
    let before = "INSERT INTO api_keys (key_hash, account_id, prefix, scope, created_at)
        VALUES ('\\x00', $1, 'px_aaaaaaaaa', 'read', $2)";
    let before = sqlx::query(before).bind(&ann.account_id).bind(app.clock.now());
    before.execute(&app.pool).await.unwrap();
    let listed = list(&app, &ann.key).await;
    let made_by = |key: &str| {
        let found = listed.iter().find(|listed| listed["prefix"] == json!(key[..12]));
        found.expect("it is listed")["made_by"].clone()
    };
    assert_eq!(made_by(&ann.key), "signup token");
    assert_eq!(made_by(&keys[0]), json!(bob));
    assert_eq!(made_by(&keys[1]), json!(keys[0][..12]));
    assert_eq!(made_by("px_aaaaaaaaa"), Value::Null);
    let tool = call(&app, "list_api_keys", json!({"api_key": ann.key})).await;
    assert_eq!(done(&tool)["api_keys"], json!(listed));
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    let page = browser.page("/console/account").await;
    for maker in [&*bob, "signup token", &keys[0][..12], "unknown"] {
        assert!(page.contains(maker), "{maker}: {page}");
    }
    let bare = App::spawn().await;
    let operator = bare.unlimited_account("operator@example.com").await;
    let listed = list(&bare, &operator.key).await;
    assert!(listed.iter().all(|key| !key["made_by"].is_null()), "{listed:?}");
}

#[tokio::test]
async fn a_removed_members_keys_stay_valid_unless_they_are_revoked() {
    let app = App::spawn_with_mail().await;
    let (ann, _, member_id, keys) = account_with_bob(&app).await;
    let own = issue(&app, &ann.key).await;
    let path = format!("/v1/account/members/{member_id}");
    let wrong = format!("{path}?revoke_keys=perhaps");
    let refused = app.call(Method::DELETE, &wrong, &ann.key, Value::Null).await;
    refused.invalid(&["query", "revoke_keys"]);
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    for key in &keys {
        assert!(works(&app, key).await);
    }
    assert!(works(&app, &own).await);
}

#[tokio::test]
async fn a_removed_members_keys_end_with_those_made_with_them() {
    let app = App::spawn_with_mail().await;
    let (ann, bob, member_id, keys) = account_with_bob(&app).await;
    let own = issue(&app, &ann.key).await;
    let (eve, _, _, others) = account_with_bob(&app).await;
    let path = format!("/v1/account/members/{member_id}?revoke_keys=true");
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    for key in &keys {
        let refused = app.call(Method::GET, "/v1/whoami", key, Value::Null).await;
        refused.refused(401, "api key revoked");
    }
    for key in [&own, &ann.key, &eve.key, &others[0]] {
        assert!(works(&app, key).await);
    }
    let events = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await;
    let events = events.expect(200)["events"].as_array().unwrap().clone();
    let revoked = events.iter().filter(|event| event["kind"] == "key_revoked");
    assert_eq!(revoked.count(), 3);
    // The same with the tool.
    let member_id = app.member_of(&ann, &bob, "full").await;
    let key = made_in_console(&app, &bob).await;
    let arguments = json!({"api_key": ann.key, "member_id": member_id, "revoke_keys": true});
    assert_eq!(done(&call(&app, "remove_member", arguments).await)["email"], json!(bob));
    assert!(!works(&app, &key).await);
}

#[tokio::test]
async fn the_console_offers_to_end_a_members_keys_and_says_how_many() {
    let app = App::spawn_with_mail().await;
    let (ann, _, member_id, keys) = account_with_bob(&app).await;
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    let one = format!("{MEMBERS}/{member_id}");
    let page = browser.page(&one).await;
    assert!(
        page.contains("has created 3 keys") && page.contains("value=\"stay\" checked"),
        "{page}"
    );
    let fields = [("keys", "end")];
    let removed = browser.submit(&one, &format!("{one}/remove"), &fields).await;
    leads_to(&removed, &format!("{MEMBERS}?done=removed-with-keys"));
    for key in &keys {
        assert!(!works(&app, key).await);
    }
    let carl = fresh_address("carl");
    let member_id = app.member_of(&ann, &carl, "read").await;
    let page = browser.page(&format!("{MEMBERS}/{member_id}")).await;
    assert!(page.contains("created no active keys") && !page.contains("name=\"keys\""), "{page}");
}
