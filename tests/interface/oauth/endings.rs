//! What ends a grant: people, apps and time.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to};
use crate::support::oauth::Tokens;
use crate::support::{App, fresh_address};

async fn grants(app: &App, key: &str) -> Vec<Value> {
    let list = app.call(Method::GET, "/v1/grants", key, Value::Null).await.expect(200);
    list["grants"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_grant_is_revoked_by_the_api_and_only_by_its_own_account() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let eve = app.account("eve@example.com").await;
    let (agent, tokens) = app.connected(&ann.key, "operate").await;
    let grant = grants(&app, &ann.key).await.pop().unwrap();
    let path = format!("/v1/grants/{}", grant["grant_id"].as_str().unwrap());
    assert!(grants(&app, &eve.key).await.is_empty());
    let foreign = app.call(Method::DELETE, &path, &eve.key, Value::Null).await;
    foreign.refused(404, "not found");
    let unknown = app.call(Method::DELETE, "/v1/grants/gr_unknown", &eve.key, Value::Null).await;
    assert_eq!(unknown.lasting_text(), foreign.lasting_text());
    for (scope, status) in [("read", 403), ("operate", 403)] {
        let body = json!({"scope": scope});
        let issued = app.call(Method::POST, "/v1/api-keys", &ann.key, body).await.expect(201);
        let key = issued["api_key"].as_str().unwrap();
        let answer = app.call(Method::DELETE, &path, key, Value::Null).await;
        answer.refused(status, "key scope does not allow this");
        let listed = app.call(Method::GET, "/v1/grants", key, Value::Null).await.status;
        assert_eq!(listed, if scope == "read" { 200 } else { 403 });
    }
    assert!(app.takes(&tokens.access).await);
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    assert!(!app.takes(&tokens.access).await);
    assert_eq!(agent.refresh(&tokens.refresh).await.status, 400);
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.refused(404, "not found");
    assert!(grants(&app, &ann.key).await.is_empty());
}

#[tokio::test]
async fn a_grant_is_shown_and_ended_in_the_console() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let eve = app.account("eve@example.com").await;
    let (_, tokens) = app.connected(&ann.key, "operate").await;
    let grant = grants(&app, &ann.key).await.pop().unwrap();
    let path = format!("/console/account/apps/{}/end", grant["grant_id"].as_str().unwrap());
    let mut eves = app.browser_of(&eve.key).await;
    assert!(!eves.page("/console/account").await.contains("Connected apps"));
    assert_eq!(eves.submit("/console/account", &path, &[]).await.status, 404);
    let mut browser = app.browser_of(&ann.key).await;
    let page = browser.page("/console/account").await;
    assert!(page.contains("Connected apps") && page.contains("Test agent"), "{page}");
    let ended = browser.submit("/console/account", &path, &[]).await;
    leads_to(&ended, "/console/account?done=disconnected");
    assert!(!app.takes(&tokens.access).await);
    assert!(!browser.page("/console/account").await.contains("Connected apps"));
    assert_eq!(browser.submit("/console/account", &path, &[]).await.status, 404);
}

#[tokio::test]
async fn an_app_that_asks_again_has_one_grant() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let (agent, first) = app.connected(&ann.key, "read").await;
    let mut browser = app.browser_of(&ann.key).await;
    let second = agent.connect(&mut browser, "full").await;
    assert!(!app.takes(&first.access).await && app.takes(&second.access).await);
    let all = grants(&app, &ann.key).await;
    assert_eq!((all.len(), &all[0]["scope"]), (1, &json!("full")));
    // Another installation of it has its own.
    app.connected(&ann.key, "read").await;
    assert_eq!(grants(&app, &ann.key).await.len(), 2);
}

#[tokio::test]
async fn an_app_gives_its_tokens_back() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for which in ["access", "refresh"] {
        let (agent, tokens) = app.connected(&ann.key, "operate").await;
        let other = app.agent().await;
        let token = if which == "access" { &tokens.access } else { &tokens.refresh };
        let foreign = [("token", &**token), ("client_id", &*other.client_id)];
        let answer = app.form("/oauth/revoke", &foreign).await;
        assert_eq!(answer.expect(401)["error"], "invalid_client");
        assert!(app.takes(&tokens.access).await);
        let own = [("token", &**token), ("client_id", &*agent.client_id)];
        app.form("/oauth/revoke", &own).await.expect(200);
        assert!(!app.takes(&tokens.access).await);
        assert_eq!(agent.refresh(&tokens.refresh).await.status, 400);
        app.form("/oauth/revoke", &own).await.expect(200);
    }
    app.form("/oauth/revoke", &[("token", "oat_unknown")]).await.expect(200);
    assert_eq!(app.form("/oauth/revoke", &[]).await.expect(400)["error"], "invalid_request");
}

#[tokio::test]
async fn tokens_stop_while_an_account_is_suspended() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let (agent, tokens) = app.connected(&ann.key, "operate").await;
    let mut browser = app.browser_of(&ann.key).await;
    let code = agent.code(&mut browser, "operate").await;
    app.set_status(&ann.account_id, "suspended").await;
    assert!(!app.takes(&tokens.access).await);
    assert_eq!(agent.refresh(&tokens.refresh).await.status, 400);
    assert_eq!(agent.redeem(&code).await.status, 400);
    let fields = [("answer", "allow"), ("scope", "read")];
    let allowed = agent.answered(&mut browser, &agent.query(&[]), &fields).await;
    assert_eq!((allowed.status, allowed.header("location")), (403, None));
}

/// A service with mail, an account, and a member of a role with a browser.
async fn with_member<'a>(app: &'a App, role: &str) -> (String, String, Browser<'a>) {
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let bob = fresh_address("bob");
    let mut owner = Browser::new(app);
    owner.sign_in(&ann.email).await;
    let members = "/console/account/members";
    // A recent sign-in needs no code.
    let invited = owner.submit(members, members, &[("email", &*bob), ("role", role)]).await;
    leads_to(&invited, &format!("{members}?done=invited"));
    let mut browser = Browser::new(app);
    browser.sign_in(&bob).await;
    let list = app.call(Method::GET, "/v1/account/members", &ann.key, Value::Null).await;
    let list = list.expect(200);
    let members = list["members"].as_array().unwrap();
    let member = members.iter().find(|member| member["email"] == *bob).unwrap();
    (ann.key, member["member_id"].as_str().unwrap().to_owned(), browser)
}

#[tokio::test]
async fn a_member_allows_no_more_than_the_role_does() {
    let app = App::spawn_with_mail().await;
    for (role, refused) in [("operate", ["full", "read"]), ("read", ["full", "operate"])] {
        let (_, _, mut browser) = with_member(&app, role).await;
        let agent = app.agent().await;
        for scope in refused {
            let fields = [("answer", "allow"), ("scope", scope)];
            let answer = agent.answered(&mut browser, &agent.query(&[]), &fields).await;
            assert_eq!((answer.status, answer.header("location")), (403, None), "{role} {scope}");
            assert!(answer.text.contains("Your role"), "{}", answer.text);
        }
        let tokens = agent.connect(&mut browser, role).await;
        assert_eq!(tokens.scope, role);
        // Whoever connected it may disconnect it.
        let page = browser.page("/console/account").await;
        let (_, rest) = page.split_once("/console/account/apps/").expect("the app is shown");
        let path = format!("/console/account/apps/{}", rest.split('"').next().unwrap());
        browser.submit("/console/account", &path, &[]).await;
        assert!(!app.takes(&tokens.access).await);
    }
}

#[tokio::test]
async fn tokens_end_with_the_membership_and_with_its_role() {
    let app = App::spawn_with_mail().await;
    for is_removed in [true, false] {
        let (key, member_id, mut browser) = with_member(&app, "operate").await;
        let agent = app.agent().await;
        let tokens = agent.connect(&mut browser, "operate").await;
        let code = agent.code(&mut browser, "operate").await;
        assert!(app.takes(&tokens.access).await);
        let path = format!("/v1/account/members/{member_id}");
        match is_removed {
            true => app.call(Method::DELETE, &path, &key, Value::Null).await.expect(204),
            // Written past the service, which would also end the session.
            false => {
                sqlx::query("UPDATE members SET role = 'read' WHERE member_id = $1::uuid")
                    .bind(&member_id)
                    .execute(&app.pool)
                    .await
                    .unwrap();
                Value::Null
            }
        };
        assert!(!app.takes(&tokens.access).await);
        assert_eq!(agent.refresh(&tokens.refresh).await.status, 400);
        assert_eq!(agent.redeem(&code).await.status, 400);
    }
}

#[tokio::test]
async fn ending_a_session_ends_what_was_allowed_in_it_and_signing_out_does_not() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let agent = app.agent().await;
    let mut own = app.browser_of(&ann.key).await;
    let kept = agent.connect(&mut own, "read").await;
    let code = agent.code(&mut own, "read").await;
    let mut stolen = app.browser_of(&ann.key).await;
    let ended = app.agent().await.connect(&mut stolen, "read").await;
    let secret: Vec<u8> = {
        use sha2::Digest;
        sha2::Sha256::digest(stolen.session().unwrap()).to_vec()
    };
    let session: String =
        sqlx::query_scalar("SELECT session_id::text FROM sessions WHERE token_hash = $1")
            .bind(secret)
            .fetch_one(&app.pool)
            .await
            .unwrap();
    let path = format!("/console/account/sessions/{session}/end");
    leads_to(&own.submit("/console/account", &path, &[]).await, "/console/account?done=ended");
    assert!(!app.takes(&ended.access).await && app.takes(&kept.access).await);
    own.submit("/console/account", "/console/sign-out", &[("sure", "yes")]).await;
    assert!(app.takes(&kept.access).await);
    assert_eq!(agent.redeem(&code).await.status, 400, "a code ends with its session");
}

#[tokio::test]
async fn what_is_over_is_deleted() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let (agent, tokens) = app.connected(&ann.key, "operate").await;
    app.agent().await;
    let count = async |table: &str| {
        let count = format!("SELECT count(*) FROM {table}");
        let count: i64 =
            sqlx::query_scalar(sqlx::AssertSqlSafe(count)).fetch_one(&app.pool).await.unwrap();
        count
    };
    let sweep = async || {
        let mut connection = app.pool.acquire().await.unwrap();
        assent::oauth::delete_expired(&mut connection, app.clock.now(), 100).await.unwrap();
    };
    app.clock.advance(Duration::days(2));
    sweep().await;
    assert_eq!(count("oauth_clients").await, 1, "the one that nobody used is forgotten");
    assert_eq!((count("oauth_codes").await, count("oauth_tokens").await), (0, 1));
    let tokens = Tokens::of(&agent.refresh(&tokens.refresh).await);
    assert!(app.takes(&tokens.access).await);
    app.clock.advance(Duration::days(190));
    sweep().await;
    sweep().await;
    assert_eq!(count("grants").await + count("oauth_tokens").await, 0);
    assert_eq!(count("oauth_clients").await, 0);
}
