//! An acceptance ends after the period of its own policy, independent of later policies.

use chrono::{DateTime, Duration, Utc};
use serde_json::{Value, json};

use crate::support::App;
use crate::support::consent::shop;
use crate::support::server::start_of_time;
use crate::support::story::Site;
use crate::support::visitors::with;

fn lasting(days: Value) -> Value {
    let plain = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
    with(&plain, "consent_days", days)
}

async fn publish(app: &App, key: &str, site: &mut Site, days: Value) {
    let configured = app.configure(key, &site.pixel_id, lasting(days)).await.expect(200);
    site.policy_hash = configured["policy_hash"].as_str().unwrap().to_owned();
}

fn timestamp(moment: DateTime<Utc>) -> Value {
    json!(moment.to_rfc3339_opts(chrono::SecondsFormat::Millis, true))
}

/// The state of a visitor: permitted, reason, and whether the period is over; by both routes.
async fn standing(app: &App, site: &Site, visitor: &str) -> (Value, Value) {
    let check = app.check(&site.pixel_id, visitor).await;
    let receipt = app.receipt(&site.pixel_id, visitor).await.expect(200);
    assert_eq!(with(&receipt, "valid", Value::Null), check);
    assert_eq!(receipt["valid"], true);
    assert_eq!(check["permitted"], json!(check["reason"] == "ok"));
    (check["reason"].clone(), check["expired"].clone())
}

#[tokio::test]
async fn an_acceptance_lasts_as_many_days_as_its_policy_says() {
    // Without install checks no pixel ends while the clock moves by years.
    let app = App::spawn_with(&[("INSTALL_CHECK", "off")]).await;
    let (key, mut site) = shop(&app).await;
    let (mut accepted, hour) = (Vec::new(), Duration::hours(1));
    for (configured, days) in
        [(json!(1), 1), (json!(30), 30), (Value::Null, 182), (json!(182), 182), (json!(365), 365)]
    {
        app.clock.advance(hour);
        publish(&app, &key, &mut site, configured).await;
        let visitor = format!("visitor-{}", accepted.len());
        app.recorded(&site.acceptance(&visitor)).await;
        accepted.push((visitor, site.policy_hash.clone(), days, app.clock.now()));
    }
    for (visitor, hash, days, at) in accepted {
        // Visitors are asked for the policy that this one has accepted.
        app.clock.set(at);
        let of_policy = json!(days);
        publish(&app, &key, &mut site, of_policy).await;
        assert_eq!(site.policy_hash, hash, "{days}");
        let ends_at = at + Duration::days(days);
        assert_eq!(app.check(&site.pixel_id, &visitor).await["expires_at"], timestamp(ends_at));
        let moment = Duration::milliseconds(1);
        for (now, reason, expired) in [
            (at, "ok", false),
            (ends_at - moment, "ok", false),
            (ends_at, "policy_version_stale", true),
            (ends_at + Duration::days(1_000), "policy_version_stale", true),
        ] {
            app.clock.set(now);
            let said = standing(&app, &site, &visitor).await;
            assert_eq!(said, (json!(reason), json!(expired)), "{days} days, {now}");
        }
    }
}

#[tokio::test]
async fn the_days_are_those_of_the_version_that_was_accepted() {
    let app = App::spawn().await;
    let (key, mut site) = shop(&app).await;
    publish(&app, &key, &mut site, json!(30)).await;
    app.recorded(&site.acceptance("ann")).await;
    let stale = json!("policy_version_stale");
    for (day, published, expected) in [
        (10, json!(90), (stale.clone(), json!(false))),
        (29, json!(30), (json!("ok"), json!(false))),
        (30, json!(30), (stale.clone(), json!(true))),
        (31, json!(90), (stale, json!(true))),
    ] {
        app.clock.set(start_of_time() + Duration::days(day));
        publish(&app, &key, &mut site, published).await;
        assert_eq!(standing(&app, &site, "ann").await, expected, "day {day}");
    }
    app.recorded(&site.acceptance("ann")).await;
    assert_eq!(standing(&app, &site, "ann").await, (json!("ok"), json!(false)));
}

#[tokio::test]
async fn a_refusal_never_ends_and_precedes_an_ended_acceptance() {
    let app = App::spawn().await;
    let (key, mut site) = shop(&app).await;
    publish(&app, &key, &mut site, json!(1)).await;
    app.recorded(&site.acceptance("ann")).await;
    for (visitor, state) in [("bob", "declined"), ("cid", "withdrawn")] {
        app.recorded(&site.refusal(visitor, state)).await;
    }
    app.clock.advance(Duration::days(2));
    for visitor in ["bob", "cid"] {
        let said = standing(&app, &site, visitor).await;
        assert_eq!(said, (json!("declined_or_withdrawn"), json!(false)));
        let check = app.check(&site.pixel_id, visitor).await;
        assert_eq!(check.get("expires_at"), Some(&Value::Null));
    }
    // The end of an acceptance comes before a purpose that was not granted, and after a popup that is
    // off.
    let asked = format!("pixel_id={}&visitor_id=ann&required_purpose=newsletter", site.pixel_id);
    let check = app.get(&format!("/v1/consent/check?{asked}")).await.expect(200);
    assert_eq!(check["reason"], "policy_version_stale");
    app.turn_consent_off(&site.pixel_id).await;
    assert_eq!(standing(&app, &site, "ann").await, (json!("consent_off"), json!(true)));
}

/// A receipt as a node stores it whose program knows nothing of an end.
async fn recorded_by_an_older_node(app: &App, saved: &Value) {
    let (receipt, signature) = (&saved["receipt"], saved["signature"].as_str().unwrap());
    let text = |field: &str| receipt[field].as_str().unwrap().to_owned();
    sqlx::query("DELETE FROM consent_receipts WHERE receipt_id = $1::uuid")
        .bind(text("receipt_id"))
        .execute(&app.pool)
        .await
        .unwrap();
    sqlx::query(
        "INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature, choice_id)
         SELECT pixel_id, receipt_id, visitor_id, origin, consent_state, policy_hash,
             string_to_array(purposes, ','), recorded_at, signature, choice_id
         FROM (
             WITH recordable AS MATERIALIZED (SELECT recordable_pixels($12) AS pixel_id)
             SELECT job.*
             FROM unnest($1::text[], $2::uuid[], $3::text[], $4::text[], $5::text[], $6::text[],
                 $7::text[], $8::timestamptz[], $9::bytea[], $10::uuid[], $11::timestamptz[])
                 WITH ORDINALITY AS job (pixel_id, receipt_id, visitor_id, origin, consent_state,
                 policy_hash, purposes, recorded_at, signature, choice_id, deadline, position)
             WHERE job.pixel_id IN (SELECT pixel_id FROM recordable)
             ORDER BY position OFFSET 0
         ) AS job
         WHERE clock_timestamp() < deadline
         ON CONFLICT (pixel_id, choice_id) WHERE choice_id IS NOT NULL DO NOTHING",
    )
    .bind([text("pixel_id")])
    .bind([text("receipt_id").parse::<uuid::Uuid>().unwrap()])
    .bind([text("visitor_id")])
    .bind([text("origin")])
    .bind([text("consent_state")])
    .bind([text("policy_hash")])
    .bind(["resolution".to_owned()])
    .bind([text("recorded_at").parse::<DateTime<Utc>>().unwrap()])
    .bind([hex::decode(signature).unwrap()])
    .bind([None::<uuid::Uuid>])
    .bind(["9999-01-01T00:00:00Z".parse::<DateTime<Utc>>().unwrap()])
    .bind([text("pixel_id")])
    .execute(&app.pool)
    .await
    .unwrap();
}

#[tokio::test]
async fn a_receipt_of_an_older_node_ends_by_the_policy_that_it_names() {
    let app = App::spawn().await;
    let (key, mut site) = shop(&app).await;
    for (visitor, days) in [("ann", 182), ("bob", 30)] {
        publish(&app, &key, &mut site, json!(days)).await;
        let saved = app.recorded(&site.acceptance(visitor)).await;
        recorded_by_an_older_node(&app, &saved).await;
        let ends_at = start_of_time() + Duration::days(days);
        let check = app.check(&site.pixel_id, visitor).await;
        assert_eq!((&check["reason"], &check["expires_at"]), (&json!("ok"), &timestamp(ends_at)));
        assert_eq!(check["receipt"], saved["receipt"]);
        assert_eq!(app.log(&key, &site.pixel_id).await[0]["shown"], Value::Null);
    }
    app.clock.advance(Duration::days(30));
    assert_eq!(standing(&app, &site, "bob").await.1, true);
    assert_eq!(standing(&app, &site, "ann").await.1, false);
}

#[tokio::test]
async fn tag_and_notice_state_the_days() {
    let app = App::spawn().await;
    let (key, mut site) = shop(&app).await;
    for days in [182, 1, 365] {
        publish(&app, &key, &mut site, json!(days)).await;
        let tag = app.get(&format!("/px/{}.js", site.pixel_id)).await.text;
        assert!(tag.contains(&format!(r#""days":{days},"#)), "{days}");
        for (lang, sentence) in [
            ("en", format!("Your permission lasts this many days: {days}.")),
            ("de", format!("Dauer Ihrer Erlaubnis in Tagen: {days}.")),
            ("ar", format!("مدة سريان إذنك بالأيام: {days}.")),
        ] {
            let path = format!("/v1/policy/{}?lang={lang}", site.pixel_id);
            let page = app.get(&path).await.text;
            assert!(page.contains(&sentence), "{page}");
        }
    }
}
