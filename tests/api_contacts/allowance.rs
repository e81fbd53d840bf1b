//! The allowance of a plan: concurrent requests, its limit, its month.

use assent::accounts::account::{Account as AccountRow, Plan, Status};
use assent::contacts::allowance;
use assent::types::ids::AccountId;
use chrono::{DateTime, Duration, TimeZone, Utc};
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::contacts::{hem, person};
use crate::support::{Account, Answer, App};

const INCLUDED: usize = 500;

/// An account that has used its month up.
async fn full_shop(app: &App) -> (Account, String) {
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 0..INCLUDED).await.expect(200);
    (ann, pixel)
}

async fn subscribe(app: &App, account: &Account, until: DateTime<Utc>) {
    sqlx::query("UPDATE accounts SET plan = 'paid', paid_until = $2 WHERE account_id = $1")
        .bind(&account.account_id)
        .bind(until)
        .execute(&app.pool)
        .await
        .unwrap();
}

async fn stored_rows(app: &App) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM contacts").fetch_one(&app.pool).await.unwrap()
}

#[track_caller]
fn refused_with(answer: &Answer, status: u16, detail: &str, remaining: i64) {
    answer.refused(status, detail);
    assert_eq!(answer.json()["remaining"], json!(remaining));
}

fn april() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 4, 1, 0, 0, 0).unwrap()
}

fn trial_end() -> DateTime<Utc> {
    Utc.with_ymd_and_hms(2026, 4, 9, 12, 0, 0).unwrap()
}

fn millisecond() -> Duration {
    Duration::milliseconds(1)
}

#[tokio::test]
async fn five_hundred_new_contacts_are_included_and_no_more() {
    let app = App::spawn().await;
    let (ann, pixel) = full_shop(&app).await;
    let refused = app.store(&ann.key, &pixel, json!([person(INCLUDED)])).await;
    refused_with(&refused, 403, "contact allowance reached", 0);
    assert_eq!(stored_rows(&app).await, 500);
}

#[tokio::test]
async fn a_request_over_the_limit_stores_nothing_and_says_what_is_left() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 0..497).await.expect(200);
    let mut items = (496..501).map(person).collect::<Vec<_>>();
    items[0] = json!({"hem": hem(496), "contact": {"updated": true}});
    let refused = app.store(&ann.key, &pixel, json!(items)).await;
    refused_with(&refused, 403, "contact allowance reached", 3);
    assert_eq!(stored_rows(&app).await, 497);
    let last = app.contacts(&ann.key, &pixel, "after=496").await.expect(200);
    assert_eq!(last["contacts"][0]["contact"], json!({"number": 496}), "the update is undone too");
    app.store_people(&ann.key, &pixel, 497..500).await.expect(200);
}

#[tokio::test]
async fn updates_work_when_the_allowance_is_used_up() {
    let app = App::spawn().await;
    let (ann, pixel) = full_shop(&app).await;
    let stored = app.store_people(&ann.key, &pixel, 0..INCLUDED).await.expect(200);
    assert_eq!(stored["stored"], 500);
    app.store(&ann.key, &pixel, json!([person(1), {"hem": hem(999), "contact": null}]))
        .await
        .expect(200);
}

#[tokio::test]
async fn all_pixels_of_an_account_share_its_allowance() {
    let app = App::spawn().await;
    let (ann, _) = full_shop(&app).await;
    let second = app.pixel(&ann.key, "second.example").await;
    let refused = app.store(&ann.key, &second, json!([person(1)])).await;
    refused_with(&refused, 403, "contact allowance reached", 0);
}

#[tokio::test]
async fn another_accounts_allowance_is_untouched() {
    let app = App::spawn().await;
    full_shop(&app).await;
    let bob = app.account("bob@example.com").await;
    let pixel = app.pixel(&bob.key, "bob.example").await;
    app.store_people(&bob.key, &pixel, 0..INCLUDED).await.expect(200);
}

#[tokio::test]
async fn an_unlimited_key_spends_the_allowance_of_the_pixels_owner() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let operator = app.unlimited_account("operator@example.com").await;
    app.store_people(&operator.key, &pixel, 0..499).await.expect(200);
    let refused = app.store_people(&operator.key, &pixel, 499..501).await;
    refused_with(&refused, 403, "contact allowance reached", 1);
    app.store_people(&ann.key, &pixel, 499..500).await.expect(200);
    let refused = app.store_people(&ann.key, &pixel, 500..501).await;
    refused_with(&refused, 403, "contact allowance reached", 0);
}

#[tokio::test]
async fn the_plan_unlimited_has_no_limit_and_no_end() {
    let app = App::spawn().await;
    let owner = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&owner.key, "operator.example").await;
    app.clock.advance(Duration::days(400));
    app.store_people(&owner.key, &pixel, 0..501).await.expect(200);
    app.store_people(&owner.key, &pixel, 501..1001).await.expect(200);
}

#[tokio::test]
async fn after_the_trial_a_subscription_is_required_for_new_contacts_only() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.clock.set(trial_end() - millisecond());
    app.store(&ann.key, &pixel, json!([person(1)])).await.expect(200);
    app.clock.set(trial_end());
    let refused = app.store(&ann.key, &pixel, json!([person(1), person(2)])).await;
    refused_with(&refused, 402, "subscription required", 0);
    app.store(&ann.key, &pixel, json!([person(1)])).await.expect(200);
    assert_eq!(stored_rows(&app).await, 1);
}

#[tokio::test]
async fn a_subscription_lasts_until_paid_until() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let end = trial_end() + Duration::days(20);
    subscribe(&app, &ann, end).await;
    app.clock.set(end - millisecond());
    app.store(&ann.key, &pixel, json!([person(1)])).await.expect(200);
    app.clock.set(end);
    let refused = app.store(&ann.key, &pixel, json!([person(2)])).await;
    refused_with(&refused, 402, "subscription required", 0);
    subscribe(&app, &ann, end + Duration::days(30)).await;
    app.store(&ann.key, &pixel, json!([person(2)])).await.expect(200);
}

#[tokio::test]
async fn a_paid_month_has_the_same_limit() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    subscribe(&app, &ann, trial_end()).await;
    let refused = app.store_people(&ann.key, &pixel, 0..501).await;
    refused_with(&refused, 403, "contact allowance reached", 500);
    app.store_people(&ann.key, &pixel, 0..500).await.expect(200);
}

#[tokio::test]
async fn the_month_ends_with_its_last_millisecond_in_utc() {
    let app = App::spawn().await;
    let (ann, pixel) = full_shop(&app).await;
    app.clock.set(april() - millisecond());
    let refused = app.store(&ann.key, &pixel, json!([person(500)])).await;
    refused_with(&refused, 403, "contact allowance reached", 0);
    app.clock.set(april());
    app.store_people(&ann.key, &pixel, 500..1000).await.expect(200);
    let refused = app.store(&ann.key, &pixel, json!([person(1000)])).await;
    refused_with(&refused, 403, "contact allowance reached", 0);
}

#[tokio::test]
async fn the_month_counts_in_which_contacts_are_stored_not_in_which_they_were_seen() {
    let app = App::spawn().await;
    let (ann, pixel) = full_shop(&app).await;
    let last_year = json!([{"hem": hem(900), "seen_at": "2025-01-01", "contact": {"a": 1}}]);
    let refused = app.store(&ann.key, &pixel, last_year).await;
    refused_with(&refused, 403, "contact allowance reached", 0);
}

#[tokio::test]
async fn erasing_and_storing_again_gives_nothing_back() {
    let app = App::spawn().await;
    let (ann, pixel) = full_shop(&app).await;
    let path = format!("/v1/pixels/{pixel}/contacts/{}", hem(1));
    app.call(Method::DELETE, &path, &ann.key, Value::Null).await.expect(204);
    let refused = app.store(&ann.key, &pixel, json!([person(1)])).await;
    refused_with(&refused, 403, "contact allowance reached", 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn thirty_two_requests_at_once_never_pass_the_limit_together() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let second = app.pixel(&ann.key, "second.example").await;
    let requests = (0..32).map(|number| {
        let (app, key) = (&app, &ann.key);
        let pixel = if number % 2 == 0 { &pixel } else { &second };
        async move { app.store_people(key, pixel, number * 20..(number + 1) * 20).await }
    });
    let answers = join_all(requests).await;
    let (stored, refused): (Vec<_>, Vec<_>) =
        answers.into_iter().partition(|answer| answer.status == 200);
    assert_eq!((stored.len(), refused.len()), (25, 7));
    for answer in &refused {
        refused_with(answer, 403, "contact allowance reached", 0);
    }
    assert_eq!(stored_rows(&app).await, 500);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_person_stored_by_many_at_once_counts_once() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let answers = join_all((0..16).map(|_| app.store_people(&ann.key, &pixel, 0..300))).await;
    assert!(answers.iter().all(|answer| answer.expect(200)["stored"] == 300));
    assert_eq!(stored_rows(&app).await, 300);
    app.store_people(&ann.key, &pixel, 300..500).await.expect(200);
}

// Answers to the account

/// The answer of `current` for an account whose only contacts are those of the test.
async fn allowance_of(
    app: &App,
    account: &Account,
    plan: Plan,
    paid: Option<DateTime<Utc>>,
) -> Value {
    let row = AccountRow {
        account_id: AccountId::parse(&account.account_id).unwrap(),
        email: account.email.clone(),
        display_name: "Test".to_owned(),
        external_user_id: None,
        status: Status::Active,
        plan,
        email_verified_at: None,
        created_at: app.clock.now(),
        trial_ends_at: trial_end(),
        paid_until: paid,
    };
    let mut connection = app.pool.acquire().await.unwrap();
    let now = app.clock.now();
    json!(allowance::current(&mut connection, now, &row).await.unwrap())
}

#[tokio::test]
async fn the_allowance_says_what_is_included_used_and_when_it_resets() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 0..7).await.expect(200);
    let expected = json!({
        "contacts_included": 500, "contacts_used": 7, "pixels_included": 3, "pixels_used": 1,
        "resets_at": "2026-04-01T00:00:00.000Z", "resolution": "active", "paused_because": null,
    });
    assert_eq!(allowance_of(&app, &ann, Plan::Free, None).await, expected);
    let mut unlimited = expected.clone();
    unlimited["contacts_included"] = Value::Null;
    unlimited["pixels_included"] = Value::Null;
    assert_eq!(allowance_of(&app, &ann, Plan::Unlimited, None).await, unlimited);
    app.clock.set(april());
    let next = allowance_of(&app, &ann, Plan::Free, None).await;
    assert_eq!(next["contacts_used"], 0);
    assert_eq!(next["resets_at"], "2026-05-01T00:00:00.000Z");
}

#[tokio::test]
async fn the_allowance_says_why_resolution_is_paused() {
    let app = App::spawn().await;
    let (ann, _) = full_shop(&app).await;
    let paused = async |plan, paid| {
        let allowance = allowance_of(&app, &ann, plan, paid).await;
        (allowance["resolution"].clone(), allowance["paused_because"].clone())
    };
    let because = |reason: &str| (json!("paused"), json!(reason));
    let active = (json!("active"), Value::Null);
    assert_eq!(paused(Plan::Free, None).await, because("contact_allowance_reached"));
    assert_eq!(paused(Plan::Unlimited, None).await, active);
    app.clock.set(april());
    assert_eq!(paused(Plan::Free, None).await, active);
    app.clock.set(trial_end());
    assert_eq!(paused(Plan::Free, None).await, because("trial_ended"));
    assert_eq!(paused(Plan::Paid, Some(trial_end())).await, because("subscription_ended"));
    assert_eq!(paused(Plan::Paid, Some(trial_end() + millisecond())).await, active);
}

// Answers to visitors' pages

async fn named(app: &App, pixel: &str) -> Value {
    let path = format!("/external_api/install-pixel/tag-pixel?pid={pixel}&host=ann.example");
    app.get(&path).await.expect(200)["pixel_id"].clone()
}

#[tokio::test]
async fn the_tag_is_not_named_from_the_moment_the_allowance_is_used_up_until_the_month_ends() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.store_people(&ann.key, &pixel, 0..499).await.expect(200);
    assert_eq!(named(&app, &pixel).await, json!(pixel));
    app.store_people(&ann.key, &pixel, 499..500).await.expect(200);
    assert_eq!(named(&app, &pixel).await, Value::Null);
    app.clock.set(april() - millisecond());
    assert_eq!(named(&app, &pixel).await, Value::Null);
    app.clock.set(april());
    assert_eq!(named(&app, &pixel).await, json!(pixel));
}

#[tokio::test]
async fn the_tag_is_not_named_after_the_trial() {
    let app = App::spawn().await;
    let (_, pixel) = app.shop().await;
    app.clock.set(trial_end() - millisecond());
    assert_eq!(named(&app, &pixel).await, json!(pixel));
    app.clock.set(trial_end());
    assert_eq!(named(&app, &pixel).await, Value::Null);
}

#[tokio::test]
async fn the_tag_is_named_while_a_subscription_runs() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let end = trial_end() + Duration::days(20);
    subscribe(&app, &ann, end).await;
    app.clock.set(end - millisecond());
    assert_eq!(named(&app, &pixel).await, json!(pixel));
    app.clock.set(end);
    assert_eq!(named(&app, &pixel).await, Value::Null);
}

#[tokio::test]
async fn a_subscription_starts_the_tag_again_within_seconds() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.clock.set(trial_end());
    assert_eq!(named(&app, &pixel).await, Value::Null);
    subscribe(&app, &ann, trial_end() + Duration::days(30)).await;
    let started = std::time::Instant::now();
    while named(&app, &pixel).await.is_null() {
        assert!(started.elapsed().as_secs() < 15, "still paused");
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
}

#[tokio::test]
async fn the_tag_of_an_unlimited_account_is_always_named() {
    let app = App::spawn().await;
    let owner = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&owner.key, "ann.example").await;
    app.store_people(&owner.key, &pixel, 0..501).await.expect(200);
    app.clock.advance(Duration::days(400));
    assert_eq!(named(&app, &pixel).await, json!(pixel));
}

#[tokio::test]
async fn a_used_up_allowance_pauses_the_tags_of_all_the_accounts_pixels() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let other = app.pixel(&ann.key, "other.example").await;
    let pixel = app.pixel(&ann.key, "ann.example").await;
    app.store_people(&ann.key, &other, 0..INCLUDED).await.expect(200);
    assert_eq!(named(&app, &pixel).await, Value::Null);
}

#[tokio::test]
async fn every_node_learns_at_once_that_the_allowance_is_used_up() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let other = app.another_node(&[]).await;
    other.listens().await;
    assert_eq!(named(&other, &pixel).await, json!(pixel));
    app.store_people(&ann.key, &pixel, 0..INCLUDED).await.expect(200);
    let started = std::time::Instant::now();
    while !named(&other, &pixel).await.is_null() {
        // Sooner than what it remembers would end by itself.
        assert!(started.elapsed().as_secs() < 3, "the other node does not know");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
}
