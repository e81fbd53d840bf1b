//! The activity log of an account.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use super::account::{EVENTS, change, events};
use crate::support::tools::{call, done, refused};
use crate::support::visitors::fields;
use crate::support::{Answer, App};

#[tokio::test]
async fn the_activity_log_names_each_action_and_its_actor() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let operator = app.unlimited_account("operator@example.com").await;
    let step = || app.clock.advance(Duration::minutes(1));
    step();
    app.pixel(&ann.key, "shop.example").await;
    step();
    // The pixel that is there is no new one.
    let site = app.consent_site(&ann.key, "shop.example").await;
    let path = format!("/v1/pixels/{}", site.pixel_id);
    let own = |kind: &str| json!([kind, ann.key[..12], site.pixel_id]);
    let mut expected = vec![json!(["key_issued", "signup token", ann.key[..12]])];
    expected.push(own("pixel_created"));
    expected.push(json!(["policy_published", ann.key[..12], site.policy_hash]));
    step();
    for _ in 0..2 {
        let body = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"],
            "appearance": {"radius": 3}});
        app.configure(&ann.key, &site.pixel_id, body).await.expect(200);
    }
    expected.push(own("appearance_changed"));
    step();
    for _ in 0..2 {
        let watch = json!({"watch_allow": ["cdn.example"]});
        app.call(Method::PATCH, &format!("{path}/watch"), &ann.key, watch).await.expect(200);
    }
    expected.push(own("watch_changed"));
    let suppression = format!("/v1/suppressions/{}", "ab".repeat(32));
    for (method, kind) in
        [(Method::PUT, "person_suppressed"), (Method::DELETE, "person_unsuppressed")]
    {
        step();
        for _ in 0..2 {
            app.call(method.clone(), &suppression, &ann.key, Value::Null).await.expect(204);
        }
        expected.push(json!([kind, ann.key[..12], null]));
    }
    step();
    let list = app.request(Method::POST, "/v1/suppressions/import").bearer_auth(&ann.key);
    let import = Answer::of(list.body(format!("hem\n{}\n", "cd".repeat(32)))).await.expect(202);
    expected.push(json!(["suppressions_imported", ann.key[..12], import["import_id"]]));

    step();
    let hem = "ab".repeat(32);
    let contact = format!("{path}/contacts/{hem}");
    app.call(Method::DELETE, &contact, &ann.key, Value::Null).await.expect(204);
    expected.push(own("contact_erased"));
    step();
    let visitor = format!("{path}/visitors/visitor-1");
    app.call(Method::DELETE, &visitor, &operator.key, Value::Null).await.expect(200);
    expected.push(json!(["visitor_erased", "operator", site.pixel_id]));
    step();
    let consent = format!("{path}/consent");
    for _ in 0..2 {
        app.call(Method::DELETE, &consent, &ann.key, Value::Null).await.expect(204);
    }
    expected.push(own("consent_turned_off"));
    step();
    let issued = app.call(Method::POST, "/v1/api-keys", &ann.key, Value::Null).await.expect(201);
    expected.push(json!(["key_issued", ann.key[..12], issued["prefix"]]));
    step();
    let ending = format!("/v1/api-keys/{}", issued["prefix"].as_str().unwrap());
    app.call(Method::DELETE, &ending, &ann.key, Value::Null).await.expect(204);
    // A refused call is not in the log.
    app.call(Method::DELETE, &ending, &ann.key, Value::Null).await.expect(404);
    app.call(Method::DELETE, &path, &eve.key, Value::Null).await.expect(404);
    expected.push(json!(["key_revoked", ann.key[..12], issued["prefix"]]));
    step();
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    expected.push(own("pixel_deleted"));

    let listed = events(&app, &ann.key).await;
    assert_eq!(fields(&listed[0]), ["actor", "event_id", "happened_at", "kind", "subject"]);
    let listed = listed.iter().rev();
    let listed = listed.map(|event| json!([event["kind"], event["actor"], event["subject"]]));
    assert_eq!(listed.collect::<Vec<_>>(), expected);
    assert_eq!(events(&app, &eve.key).await.len(), 1);
    // Whom an erasure was about is not kept.
    let kept = "SELECT count(*) FROM account_events AS event
        WHERE event::text LIKE '%visitor-1%' OR event::text LIKE '%abab%'";
    let kept = sqlx::query_scalar::<_, i64>(kept).fetch_one(&app.pool).await.unwrap();
    assert_eq!(kept, 0);
}

#[tokio::test]
async fn events_are_read_page_by_page() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for name in ["a", "b", "c", "d"] {
        app.clock.advance(Duration::minutes(1));
        change(&app, &ann.key, json!({"display_name": name})).await.expect(200);
    }
    let all = events(&app, &ann.key).await;
    let mut read = Vec::new();
    let mut path = format!("{EVENTS}?limit=2");
    loop {
        let page = app.call(Method::GET, &path, &ann.key, Value::Null).await.expect(200);
        read.extend(page["events"].as_array().unwrap().clone());
        let Some(next) = page["next_before"].as_str() else { break };
        path = format!("{EVENTS}?limit=2&before={next}");
    }
    assert_eq!((read.len(), &read), (5, &all));
    for query in ["limit=0", "limit=201", "limit=x", "before=x", "beforr=1"] {
        let path = format!("{EVENTS}?{query}");
        let refused = app.call(Method::GET, &path, &ann.key, Value::Null).await;
        assert_eq!(refused.status, 422, "{query}");
    }
    let tool = call(&app, "read_account_events", json!({"api_key": ann.key, "limit": 1})).await;
    assert_eq!(done(&tool)["events"][0], all[0]);
    let nobody = call(&app, "read_account_events", json!({})).await;
    refused(&nobody, 401, "api key required");
}

#[tokio::test]
async fn events_are_kept_for_400_days_and_go_with_the_account() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    app.clock.advance(Duration::days(200));
    change(&app, &ann.key, json!({"display_name": "A"})).await.expect(200);
    let comes_to = async |key: &str, expected: usize| {
        for _ in 0..400 {
            if events(&app, key).await.len() == expected {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(25)).await;
        }
        panic!("there are not {expected} events");
    };
    app.clock.advance(Duration::days(201));
    comes_to(&ann.key, 1).await;
    comes_to(&eve.key, 0).await;
    let mut command = crate::support::process::program(&app.database.url);
    command.args(["erase-account", &ann.account_id]);
    let (code, output, _) =
        crate::support::process::said(&crate::support::process::run(command).await);
    assert_eq!(code, Some(0));
    assert!(output.contains("\nevents: 2\n"), "{output}");
    let left = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM account_events");
    assert_eq!(left.fetch_one(&app.pool).await.unwrap(), 0);
}
