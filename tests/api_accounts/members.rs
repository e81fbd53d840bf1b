//! Members of an account.

use assent::accounts::members::member::{Membership, memberships_of};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::Browser;
use crate::support::tools::{call, done, refused};
use crate::support::{Account, Answer, App, MailServer, fresh_address};

const MEMBERS: &str = "/v1/account/members";

async fn invite(app: &App, account: &Account, email: &str, role: &str) -> Answer {
    // Without a mail server the key takes the place of a code.
    let body = json!({"email": email, "role": role, "code": account.key});
    app.call(Method::POST, MEMBERS, &account.key, body).await
}

async fn members(app: &App, key: &str) -> Vec<Value> {
    let list = app.call(Method::GET, MEMBERS, key, Value::Null).await.expect(200);
    list["members"].as_array().unwrap().clone()
}

fn path_of(member: &Value) -> String {
    format!("{MEMBERS}/{}", member["member_id"].as_str().expect("a member with an id"))
}

async fn memberships(app: &App, email: &str) -> Vec<Membership> {
    let mut connection = app.pool.acquire().await.unwrap();
    memberships_of(&mut connection, email).await.unwrap()
}

#[tokio::test]
async fn members_are_invited_changed_and_removed() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let bob = invite(&app, &ann, " BOB@example.com ", "read").await.expect(201);
    assert_eq!((&bob["email"], &bob["role"]), (&json!("bob@example.com"), &json!("read")));
    let listed = members(&app, &ann.key).await;
    let own = json!({"member_id": null, "email": "ann@example.com", "role": "full",
        "created_at": "2026-03-10T12:00:00.000Z", "pixels": null});
    assert_eq!(listed, [own, bob.clone()]);
    assert_eq!(members(&app, &eve.key).await.len(), 1);

    let change = json!({"role": "operate", "code": ann.key});
    let changed = app.call(Method::PATCH, &path_of(&bob), &ann.key, change).await.expect(200);
    assert_eq!(changed["role"], "operate");
    let found = memberships(&app, "bob@example.com").await;
    assert_eq!((found.len(), found[0].role.as_str()), (1, "operate"));
    app.call(Method::DELETE, &path_of(&bob), &ann.key, Value::Null).await.expect(204);
    assert!(memberships(&app, "bob@example.com").await.is_empty());
    let again = app.call(Method::DELETE, &path_of(&bob), &ann.key, Value::Null).await;
    again.refused(404, "member not found");

    let events = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await;
    let events = events.expect(200)["events"].as_array().unwrap().clone();
    let mut kinds = events.iter().filter(|event| event["subject"] == "bob@example.com");
    let mut kinds = kinds.by_ref().map(|event| event["kind"].as_str().unwrap()).collect::<Vec<_>>();
    kinds.sort_unstable();
    assert_eq!(kinds, ["member_changed", "member_invited", "member_removed"]);
}

#[tokio::test]
async fn an_invitation_needs_a_code_of_the_accounts_mailbox_and_is_mailed() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let bob = fresh_address("bob");
    let body = |code: &str| json!({"email": bob, "role": "full", "code": code});
    let ask = |code: &str| app.call(Method::POST, MEMBERS, &ann.key, body(code));
    ask(&ann.key).await.refused(400, "invalid code");
    let order = json!({"purpose": "keys"});
    app.call(Method::POST, "/v1/account/codes", &ann.key, order).await.expect(202);
    let code = MailServer::shared().wait_for(&ann.email, 2).await.pop().unwrap().code();
    ask(&code).await.expect(201);
    let mail = MailServer::shared().newest(&bob).await;
    assert_eq!(mail.subject(), "You are a member of an Assent account");
    for part in [&*ann.account_id, "Your role is Admin.", "Sign in:"] {
        assert!(mail.text().contains(part), "{part}: {}", mail.text());
    }
    let button = format!("<a href=\"{}/console/sign-in\"", app.base);
    assert!(mail.html().contains(&button), "{}", mail.html());
    ask(&code).await.refused(409, "already a member");
    let other = json!({"email": fresh_address("other"), "role": "full", "code": code});
    let used = app.call(Method::POST, MEMBERS, &ann.key, other).await;
    used.refused(400, "invalid code");
}

#[tokio::test]
async fn nobody_is_a_member_whose_mail_server_refuses_the_invitation() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let order = json!({"purpose": "keys"});
    app.call(Method::POST, "/v1/account/codes", &ann.key, order).await.expect(202);
    let code = MailServer::shared().wait_for(&ann.email, 2).await.pop().unwrap().code();
    let refusing = fresh_address("refuse");
    let body = json!({"email": refusing, "role": "read", "code": code});
    let answer = app.call(Method::POST, MEMBERS, &ann.key, body).await;
    answer.refused(502, "could not send the invitation");
    assert_eq!(members(&app, &ann.key).await.len(), 1);
}

#[tokio::test]
async fn an_account_has_five_members_at_most_however_many_are_invited_at_once() {
    let app = App::spawn().await;
    let node = app.another_node(&[]).await;
    let ann = app.account("ann@example.com").await;
    let invitations = (0..12).map(async |turn| {
        let node = if turn % 2 == 0 { &app } else { &node };
        invite(node, &ann, &format!("member-{}@example.com", turn % 6), "read").await
    });
    let answers = join_all(invitations).await;
    assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 4);
    for answer in answers.iter().filter(|answer| answer.status != 201) {
        assert!([403, 409].contains(&answer.status), "{}", answer.text);
    }
    let more = invite(&app, &ann, "more@example.com", "read").await;
    more.refused(403, "member allowance reached");
    let listed = members(&app, &ann.key).await;
    assert_eq!(listed.len(), 5);
    app.call(Method::DELETE, &path_of(&listed[1]), &ann.key, Value::Null).await.expect(204);
    invite(&app, &ann, "more@example.com", "read").await.expect(201);
}

#[tokio::test]
async fn an_address_may_be_a_member_of_several_accounts_and_have_its_own() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    invite(&app, &ann, "ann@example.com", "read").await.refused(409, "already a member");
    invite(&app, &ann, "eve@example.com", "read").await.expect(201);
    invite(&app, &ann, "eve@example.com", "full").await.refused(409, "already a member");
    let found = memberships(&app, "eve@example.com").await;
    let found = found.iter().map(|one| (one.account.account_id.as_str(), one.role.as_str()));
    let expected = [(eve.account_id.as_str(), "full"), (ann.account_id.as_str(), "read")];
    assert_eq!(found.collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn another_accounts_member_is_not_found() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let bob = invite(&app, &ann, "bob@example.com", "read").await.expect(201);
    let change = json!({"role": "full", "code": eve.key});
    for path in [path_of(&bob), format!("{MEMBERS}/unknown"), format!("{MEMBERS}/%00")] {
        let changed = app.call(Method::PATCH, &path, &eve.key, change.clone()).await;
        changed.refused(404, "member not found");
        let removed = app.call(Method::DELETE, &path, &eve.key, Value::Null).await;
        removed.refused(404, "member not found");
    }
    let wrong = json!({"role": "full", "code": eve.key});
    let wrong = app.call(Method::PATCH, &path_of(&bob), &ann.key, wrong).await;
    wrong.refused(400, "invalid code");
    assert_eq!(members(&app, &ann.key).await[1]["role"], "read");
}

#[tokio::test]
async fn invalid_inputs_about_members_are_refused() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    invite(&app, &ann, "no address", "read").await.refused(400, "invalid email");
    invite(&app, &ann, "bob@example.com", "owner").await.invalid(&["body", "role"]);
    let bare = app.call(Method::POST, MEMBERS, &ann.key, json!({})).await;
    bare.invalid(&["body", "role"]);
    let nobody = Answer::of(app.request(Method::GET, MEMBERS)).await;
    nobody.refused(401, "api key required");
    let arguments = json!({"api_key": ann.key, "email": "bob@example.com", "role": "read",
        "code": ann.key});
    let bob = done(&call(&app, "invite_member", arguments).await).clone();
    let id = json!({"api_key": ann.key, "member_id": bob["member_id"]});
    let listed = call(&app, "list_members", json!({"api_key": ann.key})).await;
    assert_eq!(done(&listed)["members"][1], bob);
    assert_eq!(done(&call(&app, "remove_member", id.clone()).await), &bob);
    refused(&call(&app, "remove_member", id).await, 404, "member not found");
}

#[tokio::test]
async fn a_member_who_becomes_the_accounts_address_is_no_other_member_any_more() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    invite(&app, &ann, "bob@example.com", "read").await.expect(201);
    let body = json!({"email": "bob@example.com", "code": ann.key});
    app.call(Method::PATCH, "/v1/account", &ann.key, body).await.expect(200);
    let listed = members(&app, &ann.key).await;
    assert_eq!((listed.len(), &listed[0]["email"]), (1, &json!("bob@example.com")));
}

#[tokio::test]
async fn a_member_sees_the_account_in_the_console_and_does_what_the_role_says() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    app.pixel(&ann.key, "shop.example").await;
    for (role, status) in [("read", 403), ("operate", 303)] {
        let bob = fresh_address(role);
        let id = uuid::Uuid::now_v7();
        let insert = "INSERT INTO members (member_id, account_id, email, role, created_at)
            VALUES ($1, $2, $3, $4, $5)";
        let insert = sqlx::query(insert).bind(id).bind(&ann.account_id).bind(&bob).bind(role);
        insert.bind(app.clock.now()).execute(&app.pool).await.unwrap();
        let mut browser = Browser::new(&app);
        browser.sign_in(&bob).await;
        assert!(browser.page("/console").await.contains("shop.example"));
        let fields = [("domain", &*format!("{role}.example"))];
        let added = browser.submit("/console/sites/new", "/console/sites", &fields).await;
        assert_eq!(added.status, status, "{role}: {}", added.text);
        let path = format!("{MEMBERS}/{id}");
        app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
        assert_eq!(browser.get("/console").await.status, 303, "{role}");
    }
    let events = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await;
    assert!(events.text.contains("signed_in") && events.text.contains("member_removed"));
}
