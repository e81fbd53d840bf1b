//! Deletion by age.

use std::time::{Duration as RealTime, Instant};

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection, PgConnection};

use crate::support::story::Site;
use crate::support::{Account, App, MailServer, Shop, fresh_address};

/// As in `src/retention/store.rs`.
const TURN: i64 = 0x0a55_e117_de1e;

async fn count(app: &App, what: &'static str) -> i64 {
    let statement = format!("SELECT count(*) FROM {what}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(statement)).fetch_one(&app.pool).await.unwrap()
}

/// Waits until a count is what it should come to.
async fn comes_to(app: &App, what: &'static str, wanted: i64) {
    let started = Instant::now();
    loop {
        let found = count(app, what).await;
        if found == wanted {
            return;
        }
        assert!(started.elapsed() < RealTime::from_secs(15), "{what}: {found}, not {wanted}");
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
}

/// Long enough for a round that must delete nothing to have come and gone: the service looks at
/// its clock every second.
async fn a_round_passes(app: &App) {
    app.sign_up_with_expired_proof().await;
    comes_to(app, "signup_tokens WHERE token_hash = '\\x00'", 0).await;
}

impl App {
    /// Something that the next round takes away after everything else.
    async fn sign_up_with_expired_proof(&self) {
        sqlx::query(
            "WITH account AS (
                 INSERT INTO accounts (account_id, email, display_name, status, plan,
                     email_verified_at, created_at, trial_ends_at)
                 VALUES ($1, $1, 'Marker', 'active', 'free', $2, $2, $2) RETURNING account_id)
             INSERT INTO signup_tokens SELECT account_id, '\\x00', $2 - interval '1 year' FROM account",
        )
        .bind(assent::types::ids::random_text(20))
        .bind(self.clock.now())
        .execute(&self.pool)
        .await
        .unwrap();
        self.clock.advance(Duration::hours(1));
    }

    async fn show(&self, site: &Site, visitor: &str) {
        let body = json!({"pixel_id": site.pixel_id, "visitor_id": visitor,
            "url": format!("https://{}/", site.domain)});
        assert_eq!(self.post("/v1/consent/shown", body).await.status, 204);
    }

    /// Adds 6,000 copies of every receipt, more than a batch: of a visitor, with another state when
    /// one is given, so many days older.
    async fn copy_receipts(&self, visitor: &str, state: Option<&str>, days: i32) {
        sqlx::query(
            "INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
                 policy_hash, purposes, recorded_at, signature)
             SELECT pixel_id, gen_random_uuid(), $1, origin, COALESCE($2, consent_state),
                 policy_hash, purposes, recorded_at - make_interval(days => $3), signature
             FROM consent_receipts, generate_series(1, 6000)",
        )
        .bind(visitor)
        .bind(state)
        .bind(days)
        .execute(&self.pool)
        .await
        .unwrap();
    }
}

async fn shop(app: &App, name: &str) -> (Account, Site) {
    let account = app.account(&format!("{name}@example.com")).await;
    let site = app.consent_site(&account.key, &format!("{name}.example")).await;
    (account, site)
}

#[tokio::test]
async fn counts_of_shown_popups_go_after_their_days_and_younger_ones_stay() {
    let app = App::spawn_with(&[("RETENTION_DAYS_SHOWN", "10")]).await;
    let ((_, first), (owner, second)) = (shop(&app, "one").await, shop(&app, "two").await);
    let zone = format!("/console/sites/{}/time-zone", second.pixel_id);
    let mut browser = app.browser_of(&owner.key).await;
    browser.submit(&zone, &zone, &[("time_zone", "Pacific/Auckland")]).await;
    app.show(&first, "early").await;
    app.show(&second, "early").await;
    assert_eq!(count(&app, "consent_shown_local").await, 1);
    app.clock.advance(Duration::days(1));
    app.show(&first, "late").await;
    app.clock.advance(Duration::days(9));
    a_round_passes(&app).await;
    assert_eq!(count(&app, "consent_shown").await, 3, "ten days are not over yet");
    app.clock.advance(Duration::days(1));
    comes_to(&app, "consent_shown", 1).await;
    assert_eq!(count(&app, "consent_shown WHERE visitor_id = 'late'").await, 1);
    // The local day may be the one after the UTC day.
    app.clock.advance(Duration::days(1));
    comes_to(&app, "consent_shown_local", 0).await;
}

#[tokio::test]
async fn more_than_a_batch_goes_in_one_round() {
    let app = App::spawn().await;
    let insert = "INSERT INTO consent_shown SELECT 'pixel-' || n % 3, $1, 'visitor-' || n
                  FROM generate_series(1, 20000) AS n";
    let day = app.clock.now().date_naive();
    sqlx::query(insert).bind(day).execute(&app.pool).await.unwrap();
    app.clock.advance(Duration::days(401));
    comes_to(&app, "consent_shown", 0).await;
}

#[tokio::test]
async fn receipts_are_kept_for_good_unless_a_period_is_set() {
    let app = App::spawn().await;
    let (_, site) = shop(&app, "kept").await;
    app.recorded(&site.acceptance("ann")).await;
    app.clock.advance(Duration::days(36_000));
    a_round_passes(&app).await;
    assert_eq!(app.check(&site.pixel_id, "ann").await["receipt"]["visitor_id"], "ann");
}

#[tokio::test]
async fn receipts_go_after_their_period_whosever_they_are() {
    let app = App::spawn_with(&[("RETENTION_DAYS_RECEIPTS", "30")]).await;
    let ((_, first), (_, second)) = (shop(&app, "one").await, shop(&app, "two").await);
    app.recorded(&first.acceptance("ann")).await;
    app.recorded(&second.acceptance("bob")).await;
    app.clock.advance(Duration::days(29));
    app.recorded(&first.refusal("ann", "withdrawn")).await;
    app.recorded(&second.acceptance("cid")).await;
    a_round_passes(&app).await;
    assert_eq!(count(&app, "consent_receipts").await, 4, "thirty days are not over yet");
    app.clock.advance(Duration::days(1));
    comes_to(&app, "consent_receipts", 2).await;
    assert_eq!(app.check(&first.pixel_id, "ann").await["reason"], "declined_or_withdrawn");
    assert_eq!(app.check(&second.pixel_id, "bob").await["reason"], "no_consent_record");
    assert_eq!(app.check(&second.pixel_id, "cid").await["reason"], "ok");
    // Policies outlive them: another copy of the receipt may still name one.
    assert_eq!(count(&app, "consent_policies WHERE domain = 'two.example'").await, 1);
}

#[tokio::test]
async fn receipts_of_every_answer_go_however_many_there_are() {
    let app = App::spawn_with(&[("RETENTION_DAYS_RECEIPTS", "30")]).await;
    let (_, site) = shop(&app, "busy").await;
    let answers = [
        site.acceptance("young"),
        site.refusal("young", "declined"),
        site.refusal("young", "withdrawn"),
    ];
    for answer in &answers {
        app.recorded(answer).await;
    }
    app.copy_receipts("old", None, 30).await;
    app.clock.advance(Duration::hours(2));
    comes_to(&app, "consent_receipts", 3).await;
    assert_eq!(count(&app, "consent_receipts WHERE visitor_id = 'young'").await, 3);
}

#[tokio::test]
async fn a_withdrawal_never_goes_before_the_acceptance_that_it_ended() {
    let app = App::spawn_with(&[("RETENTION_DAYS_RECEIPTS", "30")]).await;
    let (_, site) = shop(&app, "busy").await;
    app.recorded(&site.refusal("ann", "withdrawn")).await;
    app.copy_receipts("ann", Some("accepted"), 0).await;
    // The first batch goes, the second breaks off.
    let refuse = [
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
            $$BEGIN RAISE 'not this one'; END$$",
        "CREATE TRIGGER refuse BEFORE DELETE ON consent_receipts
            FOR EACH ROW WHEN (OLD.consent_state = 'withdrawn') EXECUTE FUNCTION refuse()",
    ];
    for statement in refuse {
        sqlx::raw_sql(statement).execute(&app.pool).await.unwrap();
    }
    app.clock.advance(Duration::days(31));
    comes_to(&app, "consent_receipts", 1_001).await;
    assert_eq!(count(&app, "consent_receipts WHERE consent_state = 'withdrawn'").await, 1);
}

#[tokio::test]
async fn an_address_that_nobody_confirmed_is_free_again_after_thirty_days() {
    let app = App::spawn().await;
    let body = json!({"email": "ann@example.com", "display_name": "Ann"});
    app.post("/v1/accounts", body.clone()).await.expect(201);
    app.clock.advance(Duration::days(29));
    a_round_passes(&app).await;
    app.post("/v1/accounts", body.clone()).await.refused(409, "email already registered");
    app.clock.advance(Duration::days(1));
    comes_to(&app, "accounts WHERE email = 'ann@example.com'", 0).await;
    assert_eq!(count(&app, "confirmation_links").await, 0);
    app.post("/v1/accounts", body).await.expect(201);
}

#[tokio::test]
async fn an_address_is_free_after_thirty_days_also_when_somebody_asks_for_codes_every_day() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("kept");
    app.sign_up(&email).await;
    for mails in 1..=30 {
        // A mail that is still waiting a day later is given up.
        MailServer::shared().wait_for(&email, mails).await;
        app.clock.advance(if mails < 30 { Duration::days(1) } else { Duration::hours(23) });
        app.post("/v1/signup/resend-code", json!({"email": email})).await.expect(200);
    }
    // The newest link is valid for another day.
    MailServer::shared().wait_for(&email, 31).await;
    app.clock.advance(Duration::hours(2));
    // A round leaves out an account whose row is locked at that moment; the next one deletes it.
    for _ in 0..2 {
        a_round_passes(&app).await;
    }
    comes_to(&app, "accounts WHERE email LIKE 'kept-%'", 0).await;
    app.sign_up(&email).await;
}

#[tokio::test]
async fn the_mail_count_of_a_mailbox_is_deleted_once_its_limit_is_restored() {
    let app = App::spawn_with_mail().await;
    for name in ["one", "two"] {
        let email = fresh_address(name);
        app.post("/v1/signup/resend-code", json!({"email": email})).await.expect(200);
        app.clock.advance(Duration::hours(2));
    }
    comes_to(&app, "mailboxes", 1).await;
    app.clock.advance(Duration::hours(1));
    comes_to(&app, "mailboxes", 0).await;
}

#[tokio::test]
async fn accounts_that_were_confirmed_activated_suspended_or_paid_for_never_go() {
    let shop = Shop::open().await;
    let app = &shop.app;
    let operator = app.unlimited_account("operator@example.com").await;
    app.account("confirmed@example.com").await;
    let activated = app.sign_up("activated@example.com").await;
    let path = format!("/v1/accounts/{}/activate", activated["account_id"].as_str().unwrap());
    app.call(Method::POST, &path, &operator.key, Value::Null).await.expect(200);
    let suspended = app.sign_up("suspended@example.com").await;
    app.set_status(suspended["account_id"].as_str().unwrap(), "suspended").await;
    // Each mark of a payment alone is enough, whatever became of the status.
    for (email, mark) in [
        ("paid@example.com", "UPDATE accounts SET paid_until = created_at WHERE account_id = $1"),
        (
            "subscribed@example.com",
            "INSERT INTO subscriptions SELECT 'sub_1', account_id, NULL, true, created_at
             FROM accounts WHERE account_id = $1",
        ),
        (
            "checked-out@example.com",
            "INSERT INTO paid_checkouts SELECT 'cs_1', account_id, created_at
             FROM accounts WHERE account_id = $1",
        ),
        (
            "paying-now@example.com",
            "INSERT INTO checkout_attempts SELECT account_id, 'key', NULL,
                 created_at + interval '200 days' FROM accounts WHERE account_id = $1",
        ),
    ] {
        let opened = app.sign_up(email).await;
        let id = opened["account_id"].as_str().unwrap();
        assert_eq!(sqlx::query(mark).bind(id).execute(&app.pool).await.unwrap().rows_affected(), 1);
    }
    app.sign_up("nobody@example.com").await;
    app.clock.advance(Duration::days(200));
    comes_to(app, "accounts WHERE email = 'nobody@example.com'", 0).await;
    assert_eq!(count(app, "accounts WHERE email LIKE '%@example.com'").await, 8);
}

#[tokio::test]
async fn an_expired_token_is_distinguished_from_an_unknown_one_for_a_while_and_then_forgotten() {
    let app = App::spawn().await;
    let account = app.account("ann@example.com").await;
    app.post("/v1/signup/resend-code", json!({"email": "ann@example.com"})).await;
    app.clock.advance(Duration::days(30));
    a_round_passes(&app).await;
    app.show_account(&account.account_id, &account.signup_token)
        .await
        .refused(401, "signup token expired");
    app.clock.advance(Duration::days(2));
    comes_to(&app, "signup_tokens", 0).await;
    comes_to(&app, "confirmation_links", 0).await;
    comes_to(&app, "confirmation_codes", 0).await;
    app.show_account(&account.account_id, &account.signup_token)
        .await
        .refused(401, "signup token required");
}

#[tokio::test]
async fn records_of_requested_codes_are_deleted_after_the_daily_limits_end() {
    let app = App::spawn().await;
    let ask =
        async || app.post("/v1/signup/resend-code", json!({"email": "ann@example.com"})).await;
    ask().await.expect(200);
    assert_eq!(count(&app, "code_requests").await, 1);
    a_round_passes(&app).await;
    assert_eq!(count(&app, "code_requests").await, 1);
    app.clock.advance(Duration::days(3));
    comes_to(&app, "code_requests", 0).await;
    for _ in 0..5 {
        ask().await.expect(200);
        app.clock.advance(Duration::minutes(1));
    }
    ask().await.refused(429, "too many codes today");
}

#[tokio::test]
async fn one_node_deletes_at_a_time() {
    let app = App::spawn().await;
    let mut other = PgConnection::connect(&app.database.url).await.unwrap();
    sqlx::query("SELECT pg_advisory_lock($1)").bind(TURN).execute(&mut other).await.unwrap();
    app.sign_up("ann@example.com").await;
    app.clock.advance(Duration::days(31));
    // Rounds pass in which nothing must be deleted.
    tokio::time::sleep(RealTime::from_millis(2_500)).await;
    assert_eq!(count(&app, "accounts WHERE email = 'ann@example.com'").await, 1);
    // The other node dies; its turn ends with its connection.
    other.close().await.unwrap();
    app.clock.advance(Duration::hours(1));
    comes_to(&app, "accounts WHERE email = 'ann@example.com'", 0).await;
}

#[tokio::test]
async fn nodes_that_start_together_delete_each_thing_once_and_none_fails() {
    let app = App::spawn().await;
    for visitor in 0..20 {
        app.sign_up(&format!("visitor-{visitor}@example.com")).await;
    }
    app.clock.advance(Duration::days(31));
    let _nodes = [app.another_node(&[]).await, app.another_node(&[]).await];
    comes_to(&app, "accounts WHERE email LIKE 'visitor-%'", 0).await;
}
