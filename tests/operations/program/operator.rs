//! The operator's commands, run as the real program on the database of a running service.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::process::{program, run, said};
use crate::support::{Account, Answer, App, Shop};

/// Runs a command on the database of the service; gives its exit code, output and complaint.
pub(super) async fn operate(app: &App, arguments: &[&str]) -> (Option<i32>, String, String) {
    let mut command = program(&app.database.url);
    command.args(arguments);
    said(&run(command).await)
}

/// Runs a command that must succeed and gives what it printed.
pub(super) async fn done(app: &App, arguments: &[&str]) -> String {
    let (code, output, complaint) = operate(app, arguments).await;
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{arguments:?}");
    output
}

/// Runs a command that must fail with one sentence.
pub(super) async fn refused(app: &App, arguments: &[&str], sentence: &str) {
    let (code, output, complaint) = operate(app, arguments).await;
    assert_eq!((code, output.as_str()), (Some(1), ""), "{arguments:?}: {complaint}");
    assert_eq!(complaint, format!("assent: {sentence}\n"));
}

async fn status_of(app: &App, account: &Account) -> Value {
    let who = app.call(Method::GET, "/v1/whoami", &account.key, Value::Null).await;
    who.expect(200)["status"].clone()
}

async fn count(app: &App, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(&app.pool).await.unwrap()
}

/// The tag's status must become this well before a node would read again by itself.
async fn tag_becomes(app: &App, pixel_id: &str, status: u16) {
    let path = format!("/px/{pixel_id}.js");
    for _ in 0..250 {
        if app.get(&path).await.status == status {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("the tag does not become {status}");
}

#[tokio::test]
async fn a_suspended_account_is_shut_out_and_its_receipts_stay_verifiable() {
    let app = App::spawn().await;
    let ann = app.account("ann@suspend.example").await;
    let bob = app.account("bob@suspend.example").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let bobs = app.consent_site(&bob.key, "bob.example").await;
    let saved = app.post("/v1/consent/record", site.acceptance("v1")).await.expect(202);
    tag_becomes(&app, &site.pixel_id, 200).await;

    assert_eq!(done(&app, &["suspend", &ann.account_id]).await, "");
    tag_becomes(&app, &site.pixel_id, 404).await;
    app.get(&format!("/px/{}.js", site.pixel_id)).await.refused(404, "consent tag not found");
    assert_eq!(status_of(&app, &ann).await, "suspended");
    let listed = app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await;
    listed.refused(403, "account is not in good standing");
    let log = format!("/v1/pixels/{}/consent", site.pixel_id);
    let log = app.call(Method::GET, &log, &ann.key, Value::Null).await;
    log.refused(403, "account is not active");
    assert_eq!(app.post("/v1/consent/record", site.refusal("v1", "withdrawn")).await.status, 204);
    let tag_pixel = "/external_api/install-pixel/tag-pixel?host=ann.example&pid=";
    let tag_pixel = app.get(&format!("{tag_pixel}{}", site.pixel_id)).await.expect(200);
    assert_eq!(tag_pixel, json!({"pixel_id": null}));

    let visitor = format!("?pixel_id={}&visitor_id=v1", site.pixel_id);
    let checked = app.get(&format!("/v1/consent/check{visitor}")).await.expect(200);
    assert_eq!(checked["reason"], "consent_off");
    let receipt = app.get(&format!("/v1/consent/receipt{visitor}")).await.expect(200);
    assert_eq!(receipt["valid"], true);
    let envelope = json!({"receipt": saved["receipt"], "signature": saved["signature"]});
    assert_eq!(app.post("/v1/consent/verify", envelope).await.expect(200)["valid"], true);

    tag_becomes(&app, &bobs.pixel_id, 200).await;
    assert_eq!(status_of(&app, &bob).await, "active");

    assert_eq!(done(&app, &["resume", &ann.account_id]).await, "");
    tag_becomes(&app, &site.pixel_id, 200).await;
    assert_eq!(status_of(&app, &ann).await, "active");
    app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await.expect(200);
    let checked = app.get(&format!("/v1/consent/check{visitor}")).await.expect(200);
    assert_eq!(checked["reason"], "ok");
}

#[tokio::test]
async fn a_resumed_account_has_the_status_that_it_had() {
    let app = App::spawn().await;
    let opened = app.sign_up("pending@suspend.example").await;
    let (id, token) = (opened["account_id"].as_str().unwrap(), opened["signup_token"].as_str());
    let status = async || {
        let request = app.request(Method::GET, &format!("/v1/accounts/{id}"));
        let request = request.header("x-signup-token", token.unwrap());
        Answer::of(request).await.expect(200)["status"].clone()
    };
    // Both may be repeated.
    for _ in 0..2 {
        done(&app, &["suspend", id]).await;
        assert_eq!(status().await, "suspended");
    }
    for _ in 0..2 {
        done(&app, &["resume", id]).await;
        assert_eq!(status().await, "pending_email");
    }
    // Confirming the address in the meantime counts, but does not end the suspension.
    done(&app, &["suspend", id]).await;
    let link = opened["verification_url"].as_str().unwrap();
    assert_eq!(app.get(link.strip_prefix(&app.base).unwrap()).await.status, 200);
    assert_eq!(status().await, "suspended");
    app.issue_key(id, token.unwrap()).await.refused(403, "account is not active");
    done(&app, &["resume", id]).await;
    assert_eq!(status().await, "active");
    app.issue_key(id, token.unwrap()).await.expect(201);
}

#[tokio::test]
async fn an_account_that_is_not_there_is_named() {
    let app = App::spawn().await;
    for command in ["suspend", "resume", "erase-account"] {
        for id in ["acc_none", "no id"] {
            refused(&app, &[command, id], &format!("no account has the id {id}")).await;
        }
    }
}

#[tokio::test]
async fn a_visitor_is_erased_at_one_pixel_and_nobody_else() {
    let app = App::spawn().await;
    let ann = app.account("ann@erase.example").await;
    let (site, other) = (
        app.consent_site(&ann.key, "one.example").await,
        app.consent_site(&ann.key, "two.example").await,
    );
    for (site, visitor) in [(&site, "v1"), (&site, "v2"), (&other, "v1")] {
        app.post("/v1/consent/record", site.acceptance(visitor)).await.expect(202);
        app.post("/v1/consent/record", site.refusal(visitor, "withdrawn")).await.expect(202);
        let shown = json!({
            "pixel_id": site.pixel_id,
            "visitor_id": visitor,
            "url": format!("https://{}/", site.domain),
        });
        assert_eq!(app.post("/v1/consent/shown", shown).await.status, 204);
    }
    let erased = done(&app, &["erase-visitor", &site.pixel_id, "v1"]).await;
    assert_eq!(erased, "receipts: 2\ncontacts: 0\ndays shown: 1\n");
    let receipt = |site: &str, visitor: &str| {
        let path = format!("/v1/consent/receipt?pixel_id={site}&visitor_id={visitor}");
        let app = &app;
        async move { app.get(&path).await }
    };
    receipt(&site.pixel_id, "v1").await.refused(404, "no consent record");
    receipt(&site.pixel_id, "v2").await.expect(200);
    receipt(&other.pixel_id, "v1").await.expect(200);
    assert_eq!(count(&app, "SELECT count(*) FROM consent_shown").await, 2);
    let again = done(&app, &["erase-visitor", &site.pixel_id, "v1"]).await;
    assert_eq!(again, "receipts: 0\ncontacts: 0\ndays shown: 0\n");
}

#[tokio::test]
async fn a_visitor_is_erased_under_an_alias_and_at_a_deleted_pixel() {
    let app = App::spawn().await;
    let ann = app.account("ann@alias.example").await;
    let site = app.consent_site(&ann.key, "alias.example").await;
    app.post("/v1/consent/record", site.acceptance("v1")).await.expect(202);
    app.post("/v1/consent/record", site.acceptance("v2")).await.expect(202);
    done(&app, &["alias", &site.pixel_id, "short"]).await;
    let erased = done(&app, &["erase-visitor", "short", "v1"]).await;
    assert_eq!(erased, "receipts: 1\ncontacts: 0\ndays shown: 0\n");
    sqlx::query("DELETE FROM pixels").execute(&app.pool).await.unwrap();
    let erased = done(&app, &["erase-visitor", &site.pixel_id, "v2"]).await;
    assert_eq!(erased, "receipts: 1\ncontacts: 0\ndays shown: 0\n");
}

#[tokio::test]
async fn a_visitor_that_cannot_be_is_refused() {
    let app = App::spawn().await;
    let ann = app.account("ann@refuse.example").await;
    let pixel_id = app.pixel(&ann.key, "refuse.example").await;
    refused(&app, &["erase-visitor", "none", "v1"], "no pixel has the id none").await;
    refused(&app, &["erase-visitor", "no pixel", "v1"], "no pixel has the id no pixel").await;
    let sentence = "a visitor id has 1 to 128 letters, digits, '-' or '_'";
    refused(&app, &["erase-visitor", &pixel_id, "no visitor"], sentence).await;
}

#[tokio::test]
async fn an_account_is_erased_with_all_that_is_stored_of_it() {
    let app = App::spawn().await;
    let ann = app.account("ann@all.example").await;
    let bob = app.account("bob@all.example").await;
    let (one, two) = (
        app.consent_site(&ann.key, "one.example").await,
        app.consent_site(&ann.key, "two.example").await,
    );
    let bobs = app.consent_site(&bob.key, "bob.example").await;
    for site in [&one, &two, &bobs] {
        app.post("/v1/consent/record", site.acceptance("v1")).await.expect(202);
    }
    // In a time zone an impression is stored twice.
    let zone = format!("/console/sites/{}/time-zone", one.pixel_id);
    let mut browser = app.browser_of(&ann.key).await;
    browser.submit(&zone, &zone, &[("time_zone", "Pacific/Auckland")]).await;
    let shown =
        json!({"pixel_id": one.pixel_id, "visitor_id": "v1", "url": "https://one.example/"});
    app.post("/v1/consent/shown", shown).await;
    assert_eq!(count(&app, "SELECT count(*) FROM consent_shown_local").await, 1);
    let look =
        json!({"controller_name": "Shop", "purposes": ["analytics"], "appearance": {"radius": 4}});
    let path = format!("/v1/pixels/{}/consent", one.pixel_id);
    app.call(Method::POST, &path, &ann.key, look).await.expect(200);
    // A pixel that is gone leaves its policies and receipts behind.
    let path = format!("/v1/pixels/{}", two.pixel_id);
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    let people = json!({"contacts": [{"hem": "a".repeat(64), "contact": {"name": "Pat"}}]});
    for (site, key) in [(&one, &ann.key), (&bobs, &bob.key)] {
        let path = format!("/v1/pixels/{}/contacts", site.pixel_id);
        app.call(Method::POST, &path, key, people.clone()).await.expect(200);
    }

    let path = format!("/v1/suppressions/{}", "b".repeat(64));
    app.call(Method::PUT, &path, &ann.key, Value::Null).await.expect(204);
    let wish = json!({"pixel_id": one.pixel_id, "visitor_id": "v1"});
    app.post("/v1/consent/erasure-requests", wish).await.expect(202);

    let erased = done(&app, &["erase-account", &ann.account_id]).await;
    let expected = [
        "accounts: 1",
        "API keys: 1",
        "members: 0",
        "events: 12",
        "signup tokens, links and codes: 3",
        "counts of requested codes: 1",
        "counts of mails: 0",
        "pixels: 1",
        "aliases: 1",
        "contacts: 1",
        "suppressions: 1",
        "requests for erasure: 1",
        "consent policies: 3",
        "appearances: 1",
        "receipts: 2",
        "days shown: 1",
    ];
    assert_eq!(erased.lines().collect::<Vec<_>>(), expected);

    tag_becomes(&app, &one.pixel_id, 404).await;
    let who = app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null).await;
    who.refused(401, "invalid api key");
    for site in [&one, &two] {
        let visitor = format!("?pixel_id={}&visitor_id=v1", site.pixel_id);
        let receipt = app.get(&format!("/v1/consent/receipt{visitor}")).await;
        receipt.refused(404, "no consent record");
        let policy = format!("/v1/policy/{}?hash={}", site.pixel_id, site.policy_hash);
        app.get(&policy).await.refused(404, "policy not found");
    }
    assert_eq!(tables_with(&app, "account_id", &ann.account_id).await, Vec::<String>::new());
    for site in [&one, &two] {
        assert_eq!(tables_with(&app, "pixel_id", &site.pixel_id).await, Vec::<String>::new());
    }

    assert_eq!(count(&app, "SELECT count(*) FROM contacts").await, 1);

    // Bob has all he had, and Ann may come back.
    tag_becomes(&app, &bobs.pixel_id, 200).await;
    let visitor = format!("?pixel_id={}&visitor_id=v1", bobs.pixel_id);
    let receipt = app.get(&format!("/v1/consent/receipt{visitor}")).await.expect(200);
    assert_eq!(receipt["valid"], true);
    assert_eq!(status_of(&app, &bob).await, "active");
    let again = app.account("ann@all.example").await;
    app.pixel(&again.key, "one.example").await;
    let gone = format!("no account has the id {}", ann.account_id);
    refused(&app, &["erase-account", &ann.account_id], &gone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn erasing_an_account_names_the_subscription_that_still_runs() {
    let shop = Shop::open().await;
    let (ann, bought) = shop.subscriber("ann@pays.example").await;
    let (bob, ended) = shop.subscriber("bob@paid.example").await;
    shop.provider.cancel(&ended.subscription);
    shop.report("customer.subscription.deleted", &ended.subscription).await;
    let erased = done(&shop.app, &["erase-account", &ann.account_id]).await;
    let (subscription, customer) = (&bought.subscription, &bought.customer);
    let note = format!(
        "subscription {subscription} of customer {customer} still runs at the payment provider: cancel it there"
    );
    assert_eq!(erased.lines().last(), Some(note.as_str()), "{erased}");
    let erased = done(&shop.app, &["erase-account", &bob.account_id]).await;
    assert!(!erased.contains("subscription"), "{erased}");
}

/// The tables that have the value in a column of this name. Every table with such a column is searched.
async fn tables_with(app: &App, column: &str, value: &str) -> Vec<String> {
    let tables = sqlx::query_scalar::<_, String>(
        "SELECT table_name::text FROM information_schema.columns
         WHERE table_schema = 'public' AND column_name = $1",
    )
    .bind(column)
    .fetch_all(&app.pool)
    .await
    .unwrap();
    assert!(tables.len() >= 6, "{tables:?}");
    let mut found = Vec::new();
    for table in tables {
        let statement = format!("SELECT count(*) FROM {table} WHERE {column} = $1");
        let rows = sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(statement))
            .bind(value)
            .fetch_one(&app.pool)
            .await
            .unwrap();
        if rows > 0 {
            found.push(table);
        }
    }
    found
}

#[tokio::test]
async fn the_demo_account_can_be_suspended_and_erased_like_any_other() {
    let app = App::spawn().await;
    let form = app.request(Method::POST, "/demo/provision").body("domain=demo.example");
    assert_eq!(Answer::of(form).await.status, 200);
    done(&app, &["suspend", "acc_demo"]).await;
    let erased = done(&app, &["erase-account", "acc_demo"]).await;
    assert!(erased.starts_with("accounts: 1\nAPI keys: 0\n"), "{erased}");
    assert_eq!(count(&app, "SELECT count(*) FROM pixels").await, 0);
}
