//! Checks: one test for each reason, in their order, and for each refusal.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::shop;
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::{Answer, App};

async fn check_purpose(app: &App, site: &Site, visitor: &str, purpose: &str) -> Answer {
    let pixel = &site.pixel_id;
    let query = format!("pixel_id={pixel}&visitor_id={visitor}&required_purpose={purpose}");
    app.get(&format!("/v1/consent/check?{query}")).await
}

async fn publish_another_policy(app: &App, key: &str, site: &Site) -> Value {
    let body = json!({"controller_name": "Other Ltd", "purposes": ["resolution"]});
    app.configure(key, &site.pixel_id, body).await.expect(200)["policy_hash"].clone()
}

#[tokio::test]
async fn an_accepted_current_policy_is_ok() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let answer = app.recorded(&site.acceptance("visitor-1")).await;
    let expected = json!({
        "permitted": true,
        "reason": "ok",
        "receipt_id": answer["receipt_id"],
        "policy_version_hash": site.policy_hash,
        "current_policy_hash": site.policy_hash,
        "purposes": ["resolution"],
        "recorded_at": "2026-03-10T12:00:00.000Z",
        "expires_at": "2026-09-08T12:00:00.000Z",
        "expired": false,
        "receipt": answer["receipt"],
        "signature": answer["signature"],
        "signature_alg": "hmac-sha256",
    });
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await, expected);
}

/// Writes into a receipt what only a newer version of the service would.
async fn written_by_a_newer_version(app: &App, visitor: &str, change: &str) {
    let statement = format!("UPDATE consent_receipts SET {change} WHERE visitor_id = $1");
    let statement = sqlx::query(sqlx::AssertSqlSafe(statement)).bind(visitor.to_owned());
    assert_eq!(statement.execute(&app.pool).await.unwrap().rows_affected(), 1);
}

#[tokio::test]
async fn a_purpose_of_a_newer_version_is_shown_and_permits_nothing_that_it_does_not_name() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    app.recorded(&site.acceptance("ann")).await;
    let newer = "purposes = '{levitation,resolution}'";
    written_by_a_newer_version(&app, "ann", newer).await;
    let check = app.check(&site.pixel_id, "ann").await;
    assert_eq!((&check["reason"], &check["permitted"]), (&json!("ok"), &json!(true)));
    assert_eq!(check["receipt"]["purposes"], json!(["levitation", "resolution"]));
    let reason = async |purpose| check_purpose(&app, &site, "ann", purpose).await;
    assert_eq!(reason("resolution").await.expect(200)["reason"], "ok");
    assert_eq!(reason("analytics").await.expect(200)["reason"], "purpose_not_granted");
    reason("levitation").await.refused(400, "invalid required_purpose");
    assert_eq!(app.log(&key, &site.pixel_id).await[0]["purposes"][0], "levitation");
    let stats = format!("/v1/pixels/{}/consent/stats", site.pixel_id);
    let stats = app.call(Method::GET, &stats, &key, Value::Null).await.expect(200);
    assert_eq!(stats["totals"]["purposes"]["resolution"], 1);
}

#[tokio::test]
async fn a_receipt_that_cannot_be_read_fails_its_own_check_and_no_other() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let visitors = (0..40).map(|number| format!("visitor-{number}")).collect::<Vec<_>>();
    for visitor in &visitors {
        app.recorded(&site.acceptance(visitor)).await;
    }
    let any_state =
        "ALTER TABLE consent_receipts DROP CONSTRAINT consent_receipts_consent_state_check";
    sqlx::query(any_state).execute(&app.pool).await.unwrap();
    written_by_a_newer_version(&app, "visitor-7", "consent_state = 'paused'").await;
    let path =
        |visitor| format!("/v1/consent/check?pixel_id={}&visitor_id={visitor}", site.pixel_id);
    // All at once, so that they are read together.
    let paths = visitors.iter().map(path).collect::<Vec<_>>();
    let answers = join_all(paths.iter().map(|path| app.get(path))).await;
    for (visitor, answer) in visitors.iter().zip(answers) {
        match visitor.as_str() {
            "visitor-7" => answer.refused(500, "internal error"),
            _ => assert_eq!(answer.expect(200)["reason"], "ok", "{visitor}"),
        }
    }
}

#[tokio::test]
async fn checks_that_are_read_together_are_answered_each_with_its_own() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let sites = [
        app.consent_site(&key, "one.example").await,
        app.consent_site(&key, "two.example").await,
        app.consent_site(&key, "off.example").await,
    ];
    app.add_alias(&sites[1].pixel_id, "till").await;
    let mut expected = Vec::new();
    for (site, names) in sites.iter().zip([&[0][..], &[1, 3], &[2]]) {
        for visitor in 0..12 {
            let visitor = format!("visitor-{visitor}");
            let (state, on) = (visitor.len() % 2, site.pixel_id != sites[2].pixel_id);
            let answer = match state {
                0 => app.recorded(&site.acceptance(&visitor)).await,
                _ => app.recorded(&site.refusal(&visitor, "declined")).await,
            };
            let reason = match (on, state) {
                (false, _) => "consent_off",
                (true, 0) => "ok",
                (true, _) => "declined_or_withdrawn",
            };
            for name in names {
                expected.push((*name, visitor.clone(), reason, answer["receipt"].clone()));
            }
        }
        expected.push((names[0], "nobody".to_owned(), "no_consent_record", Value::Null));
    }
    expected.push((4, "visitor-1".to_owned(), "no_consent_record", Value::Null));
    app.turn_consent_off(&sites[2].pixel_id).await;
    let [one, two, off] = sites.each_ref().map(|site| site.pixel_id.as_str());
    let names = [one, two, off, "till", "unknown"];
    // Mixed, and the same question more than once.
    expected.extend(expected.clone());
    expected.sort_by_key(|(name, visitor, ..)| (visitor.clone(), *name));
    let path = |name: usize, visitor: &str| {
        format!("/v1/consent/check?pixel_id={}&visitor_id={visitor}", names[name])
    };
    let paths = expected.iter().map(|(name, visitor, ..)| path(*name, visitor)).collect::<Vec<_>>();
    // While nobody can read receipts, they gather.
    let mut lock = app.pool.begin().await.unwrap();
    let locking = "LOCK TABLE consent_receipts IN ACCESS EXCLUSIVE MODE";
    sqlx::query(locking).execute(&mut *lock).await.unwrap();
    let release = async {
        // By then all requests wait for the lock.
        tokio::time::sleep(std::time::Duration::from_millis(500)).await;
        lock.rollback().await.unwrap();
    };
    let all = join_all(paths.iter().map(|path| app.get(path)));
    let (answers, ()) = tokio::join!(all, release);
    for ((name, visitor, reason, receipt), answer) in expected.iter().zip(answers) {
        let check = answer.expect(200);
        assert_eq!(
            (&check["reason"], &check["receipt"]),
            (&json!(reason), receipt),
            "{name} {visitor}"
        );
    }
}

#[tokio::test]
async fn without_a_record_there_is_no_consent_and_no_receipt() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let nothing = json!({"permitted": false, "reason": "no_consent_record"});
    assert_eq!(app.check(&site.pixel_id, "visitor-2").await, nothing);
    assert_eq!(app.check("unknown", "visitor-1").await, nothing);
    for (pixel, visitor) in
        [("no%20id", "v"), (&*site.pixel_id, "a%20b"), (&"x".repeat(81), "v"), ("%ff", "%00")]
    {
        assert_eq!(app.check(pixel, visitor).await, nothing);
    }
}

#[tokio::test]
async fn with_consent_off_nothing_is_permitted() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let answer = app.recorded(&site.acceptance("visitor-1")).await;
    app.recorded(&site.refusal("visitor-2", "declined")).await;
    app.turn_consent_off(&site.pixel_id).await;
    let check = app.check(&site.pixel_id, "visitor-1").await;
    assert_eq!((&check["permitted"], &check["reason"]), (&json!(false), &json!("consent_off")));
    assert_eq!(check["receipt"], answer["receipt"]);
    // Off comes before declined.
    assert_eq!(app.check(&site.pixel_id, "visitor-2").await["reason"], "consent_off");
}

#[tokio::test]
async fn a_check_for_a_suspended_account_answers_consent_off() {
    let app = App::spawn().await;
    let shop = app.account("shop@example.com").await;
    let site = app.consent_site(&shop.key, "shop.example").await;
    app.recorded(&site.acceptance("visitor-1")).await;
    app.set_status(&shop.account_id, "suspended").await;
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["reason"], "consent_off");
    assert_eq!(app.receipt(&site.pixel_id, "visitor-1").await.expect(200)["valid"], true);
}

#[tokio::test]
async fn a_decline_and_a_withdrawal_end_what_was_permitted() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    for state in ["declined", "withdrawn"] {
        app.recorded(&site.acceptance("visitor-1")).await;
        assert_eq!(app.check(&site.pixel_id, "visitor-1").await["permitted"], true);
        app.recorded(&site.refusal("visitor-1", state)).await;
        let check = app.check(&site.pixel_id, "visitor-1").await;
        assert_eq!(check["permitted"], false);
        assert_eq!(check["reason"], "declined_or_withdrawn");
        assert_eq!(check["purposes"], json!([]));
    }
    // Declined comes before stale and before a purpose that was not granted.
    publish_another_policy(&app, &key, &site).await;
    let check = check_purpose(&app, &site, "visitor-1", "newsletter").await.expect(200);
    assert_eq!(check["reason"], "declined_or_withdrawn");
}

#[tokio::test]
async fn an_earlier_policy_is_stale_until_it_is_the_current_again() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let current = publish_another_policy(&app, &key, &site).await;
    let check = app.check(&site.pixel_id, "visitor-1").await;
    assert_eq!(check["permitted"], false);
    assert_eq!(check["reason"], "policy_version_stale");
    assert_eq!(check["policy_version_hash"], json!(site.policy_hash));
    assert_eq!(check["current_policy_hash"], current);
    // Stale comes before a purpose that was not granted.
    let purpose = check_purpose(&app, &site, "visitor-1", "newsletter").await.expect(200);
    assert_eq!(purpose["reason"], "policy_version_stale");
    let first = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
    app.configure(&key, &site.pixel_id, first).await.expect(200);
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["reason"], "ok");
}

#[tokio::test]
async fn a_purpose_must_be_among_those_that_were_granted() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let granted = check_purpose(&app, &site, "visitor-1", "resolution").await.expect(200);
    assert_eq!((&granted["permitted"], &granted["reason"]), (&json!(true), &json!("ok")));
    for purpose in [
        "analytics",
        "newsletter",
        "email_sharing",
        "phone_sharing",
        "partner_email",
        "partner_calls",
        "partner_sms",
    ] {
        let check = check_purpose(&app, &site, "visitor-1", purpose).await.expect(200);
        assert_eq!(check["permitted"], false);
        assert_eq!(check["reason"], "purpose_not_granted");
        assert!(check["receipt"].is_object());
    }
    let nobody = check_purpose(&app, &site, "visitor-2", "resolution").await.expect(200);
    assert_eq!(nobody["reason"], "no_consent_record");
}

#[tokio::test]
async fn an_unknown_purpose_is_refused() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for purpose in ["", "unheard_of", "Resolution", "resolution,analytics", "%ff"] {
        let answer = check_purpose(&app, &site, "visitor-1", purpose).await;
        answer.refused(400, "invalid required_purpose");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    }
}

#[tokio::test]
async fn both_ids_must_be_sent() {
    let app = App::spawn().await;
    for path in ["/v1/consent/check", "/v1/consent/receipt", "/api/v1/consent/receipt"] {
        let nothing = app.get(path).await;
        nothing.invalid(&["query", "pixel_id"]);
        nothing.invalid(&["query", "visitor_id"]);
        app.get(&format!("{path}?pixel_id=p")).await.invalid(&["query", "visitor_id"]);
        app.get(&format!("{path}?visitor_id=v&pixel_id=")).await.invalid(&["query", "pixel_id"]);
    }
}

#[tokio::test]
async fn an_alias_stands_in_for_the_canonical_id() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.add_alias(&site.pixel_id, "shop-alias").await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let by_id = app.check(&site.pixel_id, "visitor-1").await;
    assert_eq!(app.check("shop-alias", "visitor-1").await, by_id);
    let by_alias = app.receipt("shop-alias", "visitor-1").await.expect(200);
    assert_eq!(by_alias["receipt"], by_id["receipt"]);
}

#[tokio::test]
async fn pixels_do_not_know_each_others_visitors() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let second = app.consent_site(&key, "second.example").await;
    app.recorded(&site.acceptance("visitor-1")).await;
    assert_eq!(app.check(&second.pixel_id, "visitor-1").await["reason"], "no_consent_record");
    app.recorded(&second.refusal("visitor-1", "declined")).await;
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["reason"], "ok");
}

#[tokio::test]
async fn a_receipt_is_the_check_and_its_validity() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let expected = with(&app.check(&site.pixel_id, "visitor-1").await, "valid", json!(true));
    let query = format!("pixel_id={}&visitor_id=visitor-1", site.pixel_id);
    for path in ["/v1/consent/receipt", "/api/v1/consent/receipt"] {
        assert_eq!(app.get(&format!("{path}?{query}")).await.expect(200), expected);
    }
    app.recorded(&site.refusal("visitor-1", "withdrawn")).await;
    let withdrawn = app.receipt(&site.pixel_id, "visitor-1").await.expect(200);
    assert_eq!(withdrawn["valid"], true);
    assert_eq!(withdrawn["permitted"], false);
    assert_eq!(withdrawn["receipt"]["consent_state"], "withdrawn");
}

#[tokio::test]
async fn without_a_record_there_is_no_receipt() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for (pixel, visitor) in
        [(&*site.pixel_id, "visitor-1"), ("unknown", "visitor-1"), ("no%20id", "a%20b")]
    {
        let query = format!("pixel_id={pixel}&visitor_id={visitor}");
        for path in ["/v1/consent/receipt", "/api/v1/consent/receipt"] {
            app.get(&format!("{path}?{query}")).await.refused(404, "no consent record");
        }
    }
}

#[tokio::test]
async fn a_receipt_that_was_tampered_with_in_the_database_is_not_valid() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.refusal("visitor-1", "declined")).await;
    sqlx::query(
        "UPDATE consent_receipts SET consent_state = 'accepted', purposes = '{resolution}'",
    )
    .execute(&app.pool)
    .await
    .unwrap();
    assert_eq!(app.receipt(&site.pixel_id, "visitor-1").await.expect(200)["valid"], false);
}

#[tokio::test]
async fn consent_outlives_the_trial() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.clock.advance(Duration::days(365));
    app.recorded(&site.acceptance("visitor-1")).await;
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["reason"], "ok");
}

#[tokio::test]
async fn a_withdrawal_on_one_node_is_known_to_the_other_at_once() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let node = app.another_node(&[]).await;
    app.recorded(&site.acceptance("visitor-1")).await;
    assert_eq!(node.check(&site.pixel_id, "visitor-1").await["permitted"], true);
    node.recorded(&site.refusal("visitor-1", "withdrawn")).await;
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await["permitted"], false);
}

#[tokio::test]
async fn looking_changes_nothing() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let path = format!("/v1/consent/check?pixel_id={}&visitor_id=visitor-1", site.pixel_id);
    let head = Answer::of(app.request(Method::HEAD, &path)).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
    assert_eq!(app.log(&key, &site.pixel_id).await.len(), 1);
}
