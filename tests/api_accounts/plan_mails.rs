//! Mails about the plan: the end of the trial, and a used allowance.

use std::time::Duration as RealTime;

use chrono::{DateTime, Duration, Utc};
use reqwest::Method;
use serde_json::json;

use crate::support::mail::Mail;
use crate::support::setup::set_plan;
use crate::support::waiting::wait_until;
use crate::support::{Account, App, MailServer, fresh_address};

/// The mails that come by themselves, of a subject.
fn sent(email: &str, subject: &str) -> Vec<Mail> {
    let all = MailServer::shared().everything(email);
    all.into_iter().filter(|mail| mail.subject().contains(subject)).collect()
}

const TRIAL: &str = "trial ends";
const CONTACTS: &str = "contacts of";

/// Moves the clock, and waits until every node has looked around once more: the service looks at its
/// clock once a second.
async fn rounds(app: &App, by: Duration) {
    app.clock.advance(by);
    tokio::time::sleep(RealTime::from_millis(1_300)).await;
    app.clock.advance(Duration::minutes(1));
    tokio::time::sleep(RealTime::from_millis(1_300)).await;
}

/// Waits for the mails of a subject, and that there are no more.
async fn are_sent(email: &str, subject: &str, count: usize) -> Vec<Mail> {
    for _ in 0..400 {
        if sent(email, subject).len() >= count {
            break;
        }
        tokio::time::sleep(RealTime::from_millis(50)).await;
    }
    let mails = sent(email, subject);
    assert_eq!(mails.len(), count, "{email}: {subject}");
    mails
}

async fn another_node(app: &App) -> App {
    app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await
}

async fn run(app: &App, statement: &'static str, account_id: &str) {
    sqlx::query(statement).bind(account_id).execute(&app.pool).await.unwrap();
}

/// Both texts of a mail say all this.
#[track_caller]
fn says(mail: &Mail, facts: &[&str]) {
    for part in [mail.text(), mail.html()] {
        let part = part.replace("&#x27;", "'").replace("&#x2F;", "/");
        for fact in facts {
            assert!(part.contains(fact), "{fact}: {part}");
        }
    }
}

/// Makes every mail to this account fail in the database.
async fn refuse_mails_to(app: &App, account_id: &str) {
    let function = format!(
        "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF NEW.account_id = '{account_id}' THEN RAISE EXCEPTION 'refused'; END IF;
             RETURN NEW; END $$"
    );
    let trigger = "CREATE TRIGGER refuse BEFORE INSERT ON outbox
         FOR EACH ROW EXECUTE FUNCTION refuse()";
    sqlx::raw_sql(sqlx::AssertSqlSafe(function)).execute(&app.pool).await.unwrap();
    sqlx::raw_sql(trigger).execute(&app.pool).await.unwrap();
}

#[tokio::test]
async fn an_owner_who_cannot_be_notified_does_not_delay_the_others() {
    let app = App::spawn_with_mail().await;
    // Ann comes first in every order of time.
    let ann = app.mailed_account(&fresh_address("ann")).await;
    app.clock.advance(Duration::seconds(1));
    let ben = app.mailed_account(&fresh_address("ben")).await;
    for account in [&ann, &ben] {
        let body = json!({"name": "CI", "expires_in_days": 33});
        app.call(Method::POST, "/v1/api-keys", &account.key, body).await.expect(201);
        app.clock.advance(Duration::seconds(1));
    }
    refuse_mails_to(&app, &ann.account_id).await;
    for (days, subject) in [(24, TRIAL), (3, "expires on"), (4, "Identification is paused")] {
        rounds(&app, Duration::days(days)).await;
        wait_until(subject, async || !sent(&ben.email, subject).is_empty()).await;
        assert!(sent(&ann.email, subject).is_empty(), "{subject}");
    }
}

// The trial ends

#[tokio::test]
async fn an_owner_hears_once_that_the_trial_or_the_subscription_has_ended() {
    const ENDED: &str = "Identification is paused";
    let app = App::spawn_with_mail().await;
    let _other = another_node(&app).await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    rounds(&app, Duration::days(30) - Duration::hours(1)).await;
    are_sent(&ann.email, ENDED, 0).await;
    rounds(&app, Duration::hours(1)).await;
    let mails = are_sent(&ann.email, ENDED, 1).await;
    assert_eq!(mails[0].subject(), "Identification is paused: your Assent trial has ended");
    says(&mails[0], &["9 April 2026, 12:00 UTC", "/console/account#plan", "1 US dollar"]);
    assert!(mails[0].0["headers"]["List-Unsubscribe"].is_string());
    rounds(&app, Duration::days(1)).await;
    are_sent(&ann.email, ENDED, 1).await;
    let paid = "UPDATE accounts SET plan = 'paid', paid_until = '2026-05-01T00:00:00Z' WHERE account_id = $1";
    run(&app, paid, &ann.account_id).await;
    rounds(&app, Duration::days(5)).await;
    are_sent(&ann.email, ENDED, 1).await;
    rounds(&app, Duration::days(20)).await;
    let mails = are_sent(&ann.email, ENDED, 2).await;
    assert!(mails[1].subject().ends_with("your Assent subscription has ended"));
    rounds(&app, Duration::days(3)).await;
    are_sent(&ann.email, ENDED, 2).await;
}

#[tokio::test]
async fn an_end_long_ago_is_no_news() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let long_ago =
        "UPDATE accounts SET trial_ends_at = '2026-01-01T00:00:00Z' WHERE account_id = $1";
    run(&app, long_ago, &ann.account_id).await;
    rounds(&app, Duration::hours(1)).await;
    are_sent(&ann.email, "Identification is paused", 0).await;
}

#[tokio::test]
async fn an_owner_hears_seven_days_and_one_day_before_the_trial_ends_once_each() {
    let app = App::spawn_with_mail().await;
    let _other = another_node(&app).await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    rounds(&app, Duration::days(23) - Duration::hours(1)).await;
    are_sent(&ann.email, TRIAL, 0).await;
    rounds(&app, Duration::hours(1)).await;
    let mails = are_sent(&ann.email, TRIAL, 1).await;
    assert_eq!(mails[0].subject(), "Your Assent trial ends on 9 April 2026");
    says(
        &mails[0],
        &[&ann.account_id, "9 April 2026, 12:00 UTC", "/console/account", "1 US dollar"],
    );
    assert!(mails[0].0["headers"]["List-Unsubscribe"].is_string());
    rounds(&app, Duration::days(5)).await;
    are_sent(&ann.email, TRIAL, 1).await;
    rounds(&app, Duration::days(1)).await;
    are_sent(&ann.email, TRIAL, 2).await;
    for wait in [Duration::hours(12), Duration::hours(12), Duration::days(20)] {
        rounds(&app, wait).await;
    }
    are_sent(&ann.email, TRIAL, 2).await;
}

#[tokio::test]
async fn a_late_confirmation_brings_only_mails_of_the_future() {
    let app = App::spawn_with_mail().await;
    let (late, later) = (fresh_address("ann"), fresh_address("bob"));
    let [ann, bob] = [app.mailed_account(&late).await, app.mailed_account(&later).await];
    let unconfirm = "UPDATE accounts SET email_verified_at = NULL WHERE account_id = $1";
    let confirm = "UPDATE accounts SET email_verified_at = created_at WHERE account_id = $1";
    for account in [&ann, &bob] {
        run(&app, unconfirm, &account.account_id).await;
    }
    rounds(&app, Duration::days(26)).await;
    run(&app, confirm, &ann.account_id).await;
    rounds(&app, Duration::zero()).await;
    are_sent(&late, TRIAL, 1).await;
    rounds(&app, Duration::days(3) + Duration::hours(1)).await;
    are_sent(&late, TRIAL, 2).await;
    are_sent(&later, TRIAL, 0).await;
    run(&app, confirm, &bob.account_id).await;
    rounds(&app, Duration::zero()).await;
    are_sent(&later, TRIAL, 1).await;
}

#[tokio::test]
async fn only_owners_in_their_trial_hear_of_its_end() {
    let app = App::spawn_with_mail().await;
    let account = async || app.mailed_account(&fresh_address("ann")).await;
    let [paid, unlimited, off] = [account().await, account().await, account().await];
    let [unverified, suspended, mailed_first] = [account().await, account().await, account().await];
    set_plan(&app, &paid.account_id, "paid").await;
    set_plan(&app, &unlimited.account_id, "unlimited").await;
    let no = json!({"trial_ending": false});
    app.call(Method::PATCH, "/v1/account/mails", &off.key, no).await.expect(200);
    let unconfirm = "UPDATE accounts SET email_verified_at = NULL WHERE account_id = $1";
    run(&app, unconfirm, &unverified.account_id).await;
    let suspend =
        "UPDATE accounts SET status = 'suspended', suspended_from = 'active' WHERE account_id = $1";
    run(&app, suspend, &suspended.account_id).await;
    rounds(&app, Duration::days(23)).await;
    are_sent(&mailed_first.email, TRIAL, 1).await;
    set_plan(&app, &mailed_first.account_id, "paid").await;
    rounds(&app, Duration::days(6)).await;
    rounds(&app, Duration::days(2)).await;
    are_sent(&mailed_first.email, TRIAL, 1).await;
    for account in [&paid, &unlimited, &off, &unverified, &suspended] {
        are_sent(&account.email, TRIAL, 0).await;
    }
    let demo = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM outbox").fetch_one(&app.pool);
    assert_eq!(demo.await.unwrap(), 0);
}

#[tokio::test]
async fn without_a_mail_server_nothing_is_noted_and_later_nobody_hears_old_news() {
    let app = App::spawn().await;
    let [early, late] =
        [app.account("ann@example.com").await, app.account("bob@example.com").await];
    let trial = "UPDATE accounts SET trial_ends_at = trial_ends_at + interval '25 days' WHERE account_id = $1";
    run(&app, trial, &late.account_id).await;
    app.store_until(&early, "shop.example", 400).await;
    rounds(&app, Duration::days(24)).await;
    let noted = "SELECT count(*) FROM accounts WHERE trial_told_days IS NOT NULL";
    let noted = sqlx::query_scalar::<_, i64>(noted).fetch_one(&app.pool).await.unwrap();
    let mailed = "SELECT count(*) FROM contact_usage WHERE told_percent > 0";
    let mailed_count = sqlx::query_scalar::<_, i64>(mailed).fetch_one(&app.pool).await.unwrap();
    let waiting = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM outbox");
    assert_eq!((noted, mailed_count, waiting.fetch_one(&app.pool).await.unwrap()), (0, 0, 0));
    // A mail server comes once the trial of one is over, and that of the other ends in five days.
    let set = "UPDATE accounts SET email = $2 WHERE account_id = $1";
    let (one, other) = (fresh_address("ann"), fresh_address("bob"));
    for (account, email) in [(&early, &one), (&late, &other)] {
        sqlx::query(set).bind(&account.account_id).bind(email).execute(&app.pool).await.unwrap();
    }
    app.clock.advance(Duration::days(26));
    let app = another_node(&app).await;
    rounds(&app, Duration::zero()).await;
    are_sent(&other, TRIAL, 1).await;
    assert!(MailServer::shared().everything(&one).is_empty());
}

#[tokio::test]
async fn an_odd_display_name_does_no_harm() {
    let app = App::spawn_with_mail().await;
    let long = "x".repeat(200);
    let set = "UPDATE accounts SET display_name = $2 WHERE account_id = $1";
    let names = [
        ("Zo\u{eb} \u{674e}\u{5c0f}\u{9f8d}", true),
        ("Ann\r\nBcc: eve@example.com", false),
        (long.as_str(), false),
        ("<script>alert(1)</script>", false),
        ("{{ base_url }}", false),
        ("Call evil.example now", false),
    ];
    let mut accounts = Vec::new();
    for (name, _) in &names {
        let account = app.mailed_account(&fresh_address("ann")).await;
        sqlx::query(set).bind(&account.account_id).bind(*name).execute(&app.pool).await.unwrap();
        accounts.push(account);
    }
    rounds(&app, Duration::days(23)).await;
    for (account, (name, is_shown)) in accounts.iter().zip(names) {
        let mail = are_sent(&account.email, TRIAL, 1).await.remove(0);
        for part in [mail.text(), mail.html()] {
            assert_eq!(part.contains(name), is_shown, "{name:?}: {part}");
        }
        assert!(mail.0["headers"]["Bcc"].is_null());
        assert_eq!(mail.0["to"], account.email.as_str());
        says(&mail, &[&account.account_id]);
    }
}

// The allowance is reached

impl App {
    /// Stores new people until the account has so many this month.
    async fn store_until(&self, account: &Account, domain: &str, count: usize) {
        let pixel = match self.own_pixel(account).await {
            Some(pixel) => pixel,
            None => self.pixel(&account.key, domain).await,
        };
        let used = "SELECT COALESCE(sum(stored), 0)::bigint FROM contact_usage
             WHERE account_id = $1 AND month = $2";
        let month = self.clock.now().format("%Y-%m-01").to_string();
        let month = month.parse::<chrono::NaiveDate>().unwrap();
        let used = sqlx::query_scalar::<_, i64>(used).bind(&account.account_id).bind(month);
        let used = usize::try_from(used.fetch_one(&self.pool).await.unwrap()).unwrap();
        // Other people each month.
        let from = if month.to_string() == "2026-03-01" { 0 } else { 1_000 };
        let people = from + used + 1..from + count + 1;
        self.store_people(&account.key, &pixel, people).await.expect(200);
    }

    async fn own_pixel(&self, account: &Account) -> Option<String> {
        let pixel = "SELECT pixel_id FROM pixels WHERE account_id = $1";
        let pixel = sqlx::query_scalar(pixel).bind(&account.account_id);
        pixel.fetch_optional(&self.pool).await.unwrap()
    }
}

#[tokio::test]
async fn an_owner_hears_once_a_month_that_eighty_and_a_hundred_percent_are_used() {
    let app = App::spawn_with_mail().await;
    let other = another_node(&app).await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    pay(&app, &ann).await;
    app.store_until(&ann, "shop.example", 399).await;
    rounds(&app, Duration::minutes(1)).await;
    are_sent(&ann.email, CONTACTS, 0).await;
    other.store_until(&ann, "shop.example", 400).await;
    rounds(&app, Duration::minutes(1)).await;
    let mails = are_sent(&ann.email, CONTACTS, 1).await;
    assert_eq!(mails[0].subject(), "80% of the contacts of March are used");
    says(&mails[0], &[&ann.account_id, "400 of 500", "1 April 2026", "/console/account"]);
    app.store_until(&ann, "shop.example", 450).await;
    rounds(&app, Duration::minutes(1)).await;
    are_sent(&ann.email, CONTACTS, 1).await;
    app.store_until(&ann, "shop.example", 500).await;
    rounds(&app, Duration::minutes(1)).await;
    let mails = are_sent(&ann.email, CONTACTS, 2).await;
    assert_eq!(mails[1].subject(), "All contacts of March are used");
    says(&mails[1], &["500 of 500", "no new contacts are stored", "1 April 2026"]);
    assert!(mails[1].0["headers"]["List-Unsubscribe"].is_string());
    rounds(&app, Duration::days(3)).await;
    are_sent(&ann.email, CONTACTS, 2).await;
    // The next month counts anew; all of it at once brings one mail.
    rounds(&app, Duration::days(22)).await;
    app.store_until(&ann, "shop.example", 500).await;
    rounds(&app, Duration::minutes(1)).await;
    let mails = are_sent(&ann.email, CONTACTS, 3).await;
    assert_eq!(mails[2].subject(), "All contacts of April are used");
}

async fn pay(app: &App, account: &Account) {
    let paid = "UPDATE accounts SET plan = 'paid', paid_until = created_at + interval '1 year'
         WHERE account_id = $1";
    run(app, paid, &account.account_id).await;
}

#[tokio::test]
async fn nobody_hears_of_an_allowance_who_has_none_or_turned_it_off() {
    let app = App::spawn_with_mail().await;
    let [unlimited, off] = [
        app.mailed_account(&fresh_address("ann")).await,
        app.mailed_account(&fresh_address("bob")).await,
    ];
    let mailed_one = app.mailed_account(&fresh_address("eve")).await;
    set_plan(&app, &unlimited.account_id, "unlimited").await;
    let no = json!({"allowance": false});
    app.call(Method::PATCH, "/v1/account/mails", &off.key, no).await.expect(200);
    for (account, domain) in
        [(&unlimited, "a.example"), (&off, "b.example"), (&mailed_one, "c.example")]
    {
        app.store_until(account, domain, 500).await;
    }
    rounds(&app, Duration::minutes(1)).await;
    are_sent(&mailed_one.email, CONTACTS, 1).await;
    for account in [&unlimited, &off] {
        are_sent(&account.email, CONTACTS, 0).await;
    }
}

/// When the tests begin, for those who read the dates above.
#[test]
fn the_tests_begin_in_march() {
    let start: DateTime<Utc> = crate::support::server::start_of_time();
    assert_eq!(start.to_rfc3339(), "2026-03-10T12:00:00+00:00");
}
