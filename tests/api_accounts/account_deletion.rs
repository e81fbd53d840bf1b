//! The export of an account, and its deletion.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::shop::Shop;
use crate::support::stripe::Fault;
use crate::support::tools::{call, done, refused};
use crate::support::waiting::wait_until;
use crate::support::watch_reports::ReportMade;
use crate::support::{Account, Answer, App, MailServer, fresh_address};

const ACCOUNT: &str = "/v1/account";
const EXPORT: &str = "/v1/account/export";

async fn export(app: &App, key: &str) -> Vec<Value> {
    let answer = app.call(Method::GET, EXPORT, key, Value::Null).await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/x-ndjson")));
    answer.text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn count(lines: &[Value], record: &str) -> usize {
    lines.iter().filter(|line| line["record"] == record).count()
}

async fn delete(app: &App, key: &str, code: &str) -> Answer {
    app.call(Method::DELETE, ACCOUNT, key, json!({"code": code})).await
}

async fn who(app: &App, key: &str) -> Answer {
    app.call(Method::GET, "/v1/whoami", key, Value::Null).await
}

/// A site with a visitor who has agreed, one who asks to be erased, people, and some not to be stored.
async fn furnish(app: &App, account: &Account, host: &str) -> String {
    let site = app.consent_site(&account.key, host).await;
    app.recorded(&site.acceptance("visitor-1")).await;
    app.recorded(&site.refusal("visitor-2", "declined")).await;
    app.store_people(&account.key, &site.pixel_id, 1..4).await.expect(200);
    let asked = json!({"pixel_id": site.pixel_id, "visitor_id": "visitor-2"});
    app.post("/v1/consent/erasure-requests", asked).await.expect(202);
    let hem = format!("/v1/suppressions/{}", "ab".repeat(32));
    app.call(Method::PUT, &hem, &account.key, Value::Null).await.expect(204);
    for time in ["2026-03-09T08:00:00.000Z", "2026-03-10T08:00:00.000Z"] {
        let reports = format!("/v1/pixels/{}/watch-reports", site.pixel_id);
        let report = ReportMade::of(host).at(time).body();
        app.call(Method::POST, &reports, &account.key, report).await.expect(201);
    }
    for device in ["desktop", "phone"] {
        app.store_picture(&site.pixel_id, (1, "en", device)).await;
    }
    site.pixel_id
}

/// Tables with rows in which the account, or one of its pixels, is named.
async fn left_of(app: &App, names: &[&str]) -> Vec<String> {
    let tables = "SELECT relname::text FROM pg_class
        WHERE relkind IN ('r', 'p') AND relnamespace = 'public'::regnamespace";
    let tables = sqlx::query_scalar::<_, String>(tables).fetch_all(&app.pool).await.unwrap();
    let mut left = Vec::new();
    for table in tables {
        for name in names {
            let find =
                format!("SELECT EXISTS (SELECT 1 FROM {table} AS row WHERE row::text LIKE $1)");
            let found = sqlx::query_scalar::<_, bool>(sqlx::AssertSqlSafe(find));
            if found.bind(format!("%{name}%")).fetch_one(&app.pool).await.unwrap() {
                left.push(format!("{name} in {table}"));
            }
        }
    }
    left
}

#[tokio::test]
async fn the_export_has_everything_of_the_account_and_nothing_of_another() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let pixel_id = furnish(&app, &ann, "ann.example").await;
    furnish(&app, &eve, "eve.example").await;
    let lines = export(&app, &ann.key).await;
    for (record, expected) in [
        ("account", 1),
        ("api_key", 1),
        ("event", 5),
        ("suppression", 1),
        ("pixel", 1),
        ("policy", 1),
        ("receipt", 2),
        ("contact", 3),
        ("erasure_request", 1),
        ("watch_report", 2),
        ("screenshot", 2),
        ("end", 1),
    ] {
        assert_eq!(count(&lines, record), expected, "{record}");
    }
    assert_eq!(lines[0]["data"]["email"], "ann@example.com");
    assert_eq!(lines.last().unwrap(), &json!({"record": "end"}));
    let receipt = lines.iter().find(|line| line["record"] == "receipt").unwrap();
    assert_eq!(receipt["pixel_id"], json!(pixel_id));
    let data = &receipt["data"];
    assert!(app.verifies(&data["receipt"], data["signature"].as_str().unwrap()).await);
    let text = json!(lines).to_string();
    for foreign in ["eve.example", "eve@example.com", &eve.account_id, &ann.key, &eve.key[..12]] {
        assert!(!text.contains(foreign), "{foreign}");
    }
    // A deleted pixel leaves receipts, and they are its owner's too; who asked to be erased is.
    let path = format!("/v1/pixels/{pixel_id}");
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    let lines = export(&app, &ann.key).await;
    assert_eq!((count(&lines, "pixel"), count(&lines, "receipt")), (0, 1));
    assert_eq!(lines.iter().filter(|line| line["data"]["kind"] == "account_exported").count(), 2);
}

#[tokio::test]
async fn a_long_export_comes_whole() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel_id = app.pixel(&ann.key, "ann.example").await;
    crate::support::contacts::insert_contacts(&app.pool, &pixel_id, 1_203, 20).await;
    let fill = "INSERT INTO account_events (event_id, account_id, happened_at, kind, actor)
        SELECT gen_random_uuid(), $1, $2, 'key_issued', 'test' FROM generate_series(1, 1203)";
    sqlx::query(fill).bind(&ann.account_id).bind(app.clock.now()).execute(&app.pool).await.unwrap();
    let lines = export(&app, &ann.key).await;
    assert_eq!((count(&lines, "contact"), count(&lines, "event")), (1_203, 1_206));
}

#[tokio::test]
async fn an_account_ends_with_a_code_from_its_mailbox_and_nothing_of_it_is_left() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let eve = app.mailed_account(&fresh_address("eve")).await;
    let pixel_id = furnish(&app, &ann, "ann.example").await;
    let theirs = furnish(&app, &eve, "eve.example").await;
    let order = json!({"purpose": "delete_account"});
    app.call(Method::POST, "/v1/account/codes", &ann.key, order).await.expect(202);
    let code = MailServer::shared().wait_for(&ann.email, 2).await.pop().unwrap().code();
    for wrong in ["", "no code"] {
        delete(&app, &ann.key, wrong).await.refused(400, "invalid code");
    }
    delete(&app, &eve.key, &code).await.refused(400, "invalid code");
    let gone = delete(&app, &ann.key, &code).await;
    assert_eq!((gone.status, gone.text.as_str()), (204, ""));
    who(&app, &ann.key).await.refused(401, "invalid api key");
    assert_eq!(
        left_of(&app, &[&ann.account_id, &pixel_id, &ann.email]).await,
        Vec::<String>::new()
    );
    assert_eq!(app.get(&format!("/tags/{pixel_id}/main.js")).await.status, 404);
    // Everybody else's is where it was, and the address may sign up anew.
    assert_eq!(count(&export(&app, &eve.key).await, "receipt"), 2);
    assert!(!left_of(&app, &[&theirs]).await.is_empty());
    app.clock.advance(Duration::minutes(1));
    app.sign_up(&ann.email).await;
}

#[tokio::test]
async fn without_a_mail_server_a_full_key_deletes() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    for code in [&eve.key, "123456"] {
        delete(&app, &ann.key, code).await.refused(400, "invalid code");
    }
    app.call(Method::DELETE, ACCOUNT, &ann.key, json!({})).await.refused(400, "invalid code");
    delete(&app, &ann.key, &ann.key).await.expect(204);
    who(&app, &ann.key).await.refused(401, "invalid api key");
    who(&app, &eve.key).await.expect(200);
}

#[tokio::test]
async fn the_subscription_ends_at_the_provider_or_nothing_is_deleted() {
    let shop = Shop::open().await;
    let app = &shop.app;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    let (_, others) = shop.subscriber("eve@example.com").await;
    shop.provider.fail_next(&[Fault::Status(500)]);
    let refused = delete(app, &ann.key, &ann.key).await;
    refused.refused(502, "payment provider failed");
    who(app, &ann.key).await.expect(200);
    assert_eq!(shop.provider.object(&bought.subscription)["status"], "active");
    delete(app, &ann.key, &ann.key).await.expect(204);
    assert_eq!(shop.provider.object(&bought.subscription)["status"], "canceled");
    assert_eq!(shop.provider.object(&others.subscription)["status"], "active");
    assert_eq!(left_of(app, &[&ann.account_id, &bought.subscription]).await, Vec::<String>::new());
}

#[tokio::test]
async fn a_deletion_that_is_cut_off_is_finished_by_any_node() {
    let shop = Shop::open().await;
    let app = &shop.app;
    let (ann, bought) = shop.subscriber("ann@example.com").await;
    // As a node leaves it that dies after the account was marked.
    let mark =
        "UPDATE accounts SET deleting_since = $2, status = 'suspended' WHERE account_id = $1";
    let marked = sqlx::query(mark).bind(&ann.account_id).bind(app.clock.now());
    marked.execute(&app.pool).await.unwrap();
    app.clock.advance(Duration::hours(2));
    for _ in 0..400 {
        if left_of(app, &[&ann.account_id]).await.is_empty() {
            assert_eq!(shop.provider.object(&bought.subscription)["status"], "canceled");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("the account is still there");
}

#[tokio::test]
async fn a_deletion_that_keeps_failing_does_not_delay_the_others() {
    let app = App::spawn().await;
    let [ann, ben] = [app.account("ann@example.com").await, app.account("ben@example.com").await];
    let refuse = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF OLD.email LIKE 'ann@%' THEN RAISE EXCEPTION 'refused'; END IF; RETURN OLD; END $$;
         CREATE TRIGGER refuse BEFORE DELETE ON accounts FOR EACH ROW EXECUTE FUNCTION refuse()";
    sqlx::raw_sql(refuse).execute(&app.pool).await.unwrap();
    for account in [&ann, &ben] {
        let mark =
            "UPDATE accounts SET deleting_since = $2, status = 'suspended' WHERE account_id = $1";
        let marked = sqlx::query(mark).bind(&account.account_id).bind(app.clock.now());
        marked.execute(&app.pool).await.unwrap();
        app.clock.advance(Duration::seconds(1));
    }
    app.clock.advance(Duration::hours(2));
    wait_until("the second is deleted", async || {
        left_of(&app, &[&ben.account_id]).await.is_empty()
    })
    .await;
    assert!(!left_of(&app, &[&ann.account_id]).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn deleting_twice_at_once_while_visitors_choose_leaves_nothing() {
    let app = App::spawn().await;
    let node = app.another_node(&[]).await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let choices = (0..20).map(async |turn| {
        let node = if turn % 2 == 0 { &app } else { &node };
        node.record(&site.acceptance(&format!("visitor-{turn}"))).await;
    });
    let ends = join_all([delete(&app, &ann.key, &ann.key), delete(&node, &ann.key, &ann.key)]);
    let (_, ends) = futures_util::future::join(join_all(choices), ends).await;
    assert!(ends.iter().any(|end| end.status == 204), "{ends:?}");
    assert_eq!(left_of(&app, &[&ann.account_id, &site.pixel_id]).await, Vec::<String>::new());
}

#[tokio::test]
async fn export_and_deletion_need_a_full_key_of_an_active_account() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for (method, path) in [(Method::GET, EXPORT), (Method::DELETE, ACCOUNT)] {
        let body = json!({"code": "123456"});
        let nobody = Answer::of(app.request(method.clone(), path).json(&body)).await;
        nobody.refused(401, "api key required");
        let suspended = app.account(&fresh_address("suspended")).await;
        app.set_status(&suspended.account_id, "suspended").await;
        let refused = app.call(method.clone(), path, &suspended.key, body).await;
        refused.refused(403, "account is not active");
    }
    let nobody = call(&app, "delete_account", json!({"code": "123456"})).await;
    refused(&nobody, 401, "api key required");
    let gone = json!({"api_key": ann.key, "code": ann.key});
    assert_eq!(done(&call(&app, "delete_account", gone).await)["deleted"], true);
    who(&app, &ann.key).await.refused(401, "invalid api key");
}
