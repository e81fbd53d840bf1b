//! Changes of an account's address: with a code from the current mailbox, or after seven days in which
//! that mailbox can cancel.

use assent::types::ids::AccountId;
use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::account_codes::{cancel_link, other_code};
use crate::support::console::{Browser, leads_to};
use crate::support::tools::{call, done};
use crate::support::{Account, App, MailServer, fresh_address};

const CODES: &str = "/v1/account/codes";
const LINK: &str = "/v1/email/address-change";
const ASKED: &str = "A change of your Assent account’s email was requested";

async fn present_address(app: &App, account: &Account) -> String {
    let account = app.change_account(&account.key, json!({})).await.expect(200);
    account["email"].as_str().unwrap().to_owned()
}

/// Waits until the account has the address.
async fn becomes(app: &App, account: &Account, email: &str) {
    for _ in 0..400 {
        if present_address(app, account).await == email {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("the account does not get the address");
}

/// The newest mail to an address with this subject.
async fn mail_about(address: &str, subject: &str) -> String {
    for _ in 0..1_200 {
        let mails = MailServer::shared().inbox(address);
        if let Some(mail) = mails.iter().rev().find(|mail| mail.subject() == subject) {
            return mail.text().to_owned();
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("{address} has no mail: {subject}");
}

async fn cancel(app: &App, link: &str, fields: &[(&str, &str)]) -> crate::support::Answer {
    let token = link.split("token=").nth(1).unwrap();
    let fields = [fields, &[("token", token)]].concat();
    let request = app.request(Method::POST, LINK).header("accept", "text/html");
    crate::support::Answer::of(request.form(&fields)).await
}

#[tokio::test]
async fn a_stolen_key_alone_cannot_change_the_address_within_seven_days() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let thief = fresh_address("thief");
    app.change_account(&ann.key, json!({"email": thief})).await.refused(400, "invalid code");
    let asked = app.ask_to_move(&ann, &thief).await.expect(202);
    assert_eq!((&asked["email"], &asked["status"]), (&json!(ann.email), &json!("active")));
    let pending = json!({"email": thief, "takes_effect_at": "2026-03-17T12:00:00.000Z"});
    assert_eq!(asked["pending"], pending);
    let mail = mail_about(&ann.email, ASKED).await;
    for part in [&*thief, &ann.account_id, &ann.key[..12], "17 March 2026, 12:00 UTC"] {
        assert!(mail.contains(part), "{part}: {mail}");
    }
    let new = mail_about(&thief, "This address becomes the email of an Assent account").await;
    assert!(new.contains(&ann.account_id) && !new.contains("token="), "{new}");

    app.clock.advance(Duration::days(7) - Duration::minutes(2));
    assert_eq!(present_address(&app, &ann).await, ann.email);
    // Until then codes go to the current mailbox, including the codes that the attacker needs.
    let inbox = MailServer::shared().inbox(&thief).len();
    for purpose in ["keys", "delete_account"] {
        app.code_for(&ann.key, purpose, &ann.email).await;
    }
    assert_eq!(MailServer::shared().inbox(&thief).len(), inbox);
    app.clock.advance(Duration::minutes(3));
    becomes(&app, &ann, &thief).await;
    mail_about(&ann.email, "The email of your Assent account was changed").await;
    let changed = app.change_account(&ann.key, json!({})).await.expect(200);
    assert_eq!((changed.get("pending"), &changed["email_verified"]), (None, &json!(true)));
    let events = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await;
    let events = events.expect(200)["events"].as_array().unwrap().clone();
    let of = |kind: &str| {
        let found = events.iter().find(|event| event["kind"] == kind);
        found.map(|event| event["actor"].clone())
    };
    assert_eq!(of("address_change_requested"), Some(json!(ann.key[..12])));
    assert_eq!(of("address_changed"), Some(json!("service")));
}

#[tokio::test]
async fn the_codes_of_both_mailboxes_change_the_address_at_once() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let [first, second] = [fresh_address("first"), fresh_address("second")];
    let moved = app.move_account(&ann, &ann.email, &first).await.expect(200);
    assert_eq!((&moved["email"], moved.get("pending")), (&json!(first), None));
    // A request without an address sends the code to the current mailbox as well.
    let before = MailServer::shared().inbox(&first).len();
    let order = json!({"purpose": "change_email"});
    app.call(Method::POST, CODES, &ann.key, order).await.expect(202);
    let current = MailServer::shared().wait_for(&first, before + 1).await.pop().unwrap().code();
    let code = app.code_for(&ann.key, "change_email", &second).await;
    let body =
        |code: &str, current: &str| json!({"email": second, "code": code, "current_code": current});
    // A wrong code from the current mailbox is not treated as a missing one, and does not use up the
    // other code.
    let wrong = app.change_account(&ann.key, body(&code, other_code(&current))).await;
    wrong.refused(400, "invalid code");
    let swapped = app.change_account(&ann.key, body(&current, &code)).await;
    if code != current {
        swapped.refused(400, "invalid code");
    }
    assert_eq!(present_address(&app, &ann).await, first);
    app.change_account(&ann.key, body(&code, &current)).await.expect(200);
    assert_eq!(present_address(&app, &ann).await, second);
    let tool = call(&app, "change_account", json!({"api_key": ann.key, "display_name": "A"})).await;
    assert_eq!(done(&tool)["email"], second);
}

#[tokio::test]
async fn codes_for_other_purposes_or_members_do_not_prove_the_current_mailbox() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let new = fresh_address("new");
    for purpose in ["keys", "delete_account"] {
        let current = app.code_for(&ann.key, purpose, &ann.email).await;
        let code = app.code_for(&ann.key, "change_email", &new).await;
        let body = json!({"email": new, "code": code, "current_code": current});
        app.change_account(&ann.key, body).await.refused(400, "invalid code");
    }
    // Two codes from the new mailbox do not replace one from the current mailbox.
    let code = app.code_for(&ann.key, "change_email", &new).await;
    let body = json!({"email": new, "code": code, "current_code": code});
    app.change_account(&ann.key, body).await.refused(400, "invalid code");
}

#[tokio::test]
async fn the_link_cancels_the_change_and_revokes_what_was_created_since() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let old_key = app.call(Method::POST, "/v1/api-keys", &ann.key, Value::Null).await.expect(201);
    let mut before = Browser::new(&app);
    before.sign_in(&ann.email).await;
    app.clock.advance(Duration::minutes(1));
    app.ask_to_move(&ann, &fresh_address("thief")).await.expect(202);
    let link = cancel_link(&mail_about(&ann.email, ASKED).await);
    app.clock.advance(Duration::minutes(1));
    let key = app.call(Method::POST, "/v1/api-keys", &ann.key, Value::Null).await.expect(201);
    app.member_of(&ann, &fresh_address("since"), "full").await;
    let mut since = Browser::new(&app);
    since.sign_in(&ann.email).await;

    for _ in 0..2 {
        let page = app.get(&link).await;
        assert_eq!(page.status, 200);
        assert!(page.text.contains(key["prefix"].as_str().unwrap()), "{}", page.text);
        assert!(page.text.contains("noindex") && page.text.contains("Cancel the change"));
    }
    let whoami = |key: &Value| {
        let key = key["api_key"].as_str().unwrap().to_owned();
        let app = &app;
        async move { app.call(Method::GET, "/v1/whoami", &key, Value::Null).await }
    };
    whoami(&key).await.expect(200);
    let cancelled = cancel(&app, &link, &[]).await;
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    assert!(cancelled.text.contains("1 key, 1 member, 1 session"), "{}", cancelled.text);
    whoami(&key).await.refused(401, "api key revoked");
    whoami(&old_key).await.expect(200);
    assert_eq!(since.get("/console").await.status, 303);
    before.page("/console").await;
    let members = app.call(Method::GET, "/v1/account/members", &ann.key, Value::Null).await;
    assert_eq!(members.expect(200)["members"].as_array().unwrap().len(), 1);
    assert_eq!(app.get(&link).await.status, 404);
    assert_eq!(cancel(&app, &link, &[]).await.status, 404);
    app.clock.advance(Duration::days(8));
    // A change that is due would take effect within this time.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(present_address(&app, &ann).await, ann.email);
}

#[tokio::test]
async fn the_key_that_requested_the_change_is_revoked_on_request() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    app.clock.advance(Duration::minutes(1));
    app.ask_to_move(&ann, &fresh_address("thief")).await.expect(202);
    let link = cancel_link(&mail_about(&ann.email, ASKED).await);
    assert_eq!(cancel(&app, &link, &[("end_asker", "yes")]).await.status, 200);
    let ended = app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null).await;
    ended.refused(401, "api key revoked");
}

#[tokio::test]
async fn a_second_request_restarts_the_days_and_every_link_cancels_it() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let [first, second] = [fresh_address("first"), fresh_address("second")];
    // Credentials created before the first request are not revoked.
    app.clock.advance(Duration::seconds(1));
    app.ask_to_move(&ann, &first).await.expect(202);
    let link = cancel_link(&mail_about(&ann.email, ASKED).await);
    app.clock.advance(Duration::days(6));
    let asked = app.ask_to_move(&ann, &second).await.expect(202);
    assert_eq!(asked["pending"]["takes_effect_at"], "2026-03-23T12:00:01.000Z");
    app.clock.advance(Duration::days(2));
    // A change that is due would take effect within this time.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(present_address(&app, &ann).await, ann.email);
    assert!(app.get(&link).await.text.contains(&second), "the first link shows the second request");
    assert_eq!(cancel(&app, &link, &[]).await.status, 200);
    let kept = app.change_account(&ann.key, json!({})).await.expect(200);
    assert_eq!(kept.get("pending"), None);
}

#[tokio::test]
async fn a_change_that_was_withdrawn_is_still_cancelled_with_what_was_made_since() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    app.clock.advance(Duration::seconds(1));
    app.ask_to_move(&ann, &fresh_address("thief")).await.expect(202);
    let link = cancel_link(&mail_about(&ann.email, ASKED).await);
    app.clock.advance(Duration::seconds(1));
    let made = app.call(Method::POST, "/v1/api-keys", &ann.key, Value::Null).await.expect(201);
    let made = made["api_key"].as_str().unwrap();
    app.change_account(made, json!({"email": ann.email})).await.expect(200);
    assert!(app.get(&link).await.text.contains("The request was withdrawn"));
    // Neither does another request make the earlier link worthless, or its days shorter.
    app.ask_to_move(&ann, &fresh_address("thief")).await.expect(202);
    app.change_account(made, json!({"email": ann.email})).await.expect(200);
    assert_eq!(cancel(&app, &link, &[]).await.status, 200);
    let ended = app.call(Method::GET, "/v1/whoami", made, Value::Null).await;
    ended.refused(401, "api key revoked");
    assert_eq!(app.get(&link).await.status, 404);
    // The links end with the days of the change.
    app.ask_to_move(&ann, &fresh_address("other")).await.expect(202);
    app.change_account(&ann.key, json!({"email": ann.email})).await.expect(200);
    app.clock.advance(Duration::days(8));
    app.until(async || {
        let rows = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM address_changes");
        rows.fetch_one(&app.pool).await.unwrap() == 0
    })
    .await;
    assert_eq!(present_address(&app, &ann).await, ann.email);
}

#[tokio::test]
async fn the_present_address_or_both_codes_end_a_change_that_waits() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let [first, second] = [fresh_address("first"), fresh_address("second")];
    app.ask_to_move(&ann, &first).await.expect(202);
    let kept = app.change_account(&ann.key, json!({"email": ann.email})).await.expect(200);
    assert_eq!(kept.get("pending"), None);
    app.ask_to_move(&ann, &first).await.expect(202);
    let moved = app.move_account(&ann, &ann.email, &second).await.expect(200);
    assert_eq!(moved.get("pending"), None);
    app.clock.advance(Duration::days(8));
    // A change that is due would take effect within this time.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    assert_eq!(present_address(&app, &ann).await, second);
}

#[tokio::test]
async fn a_new_address_with_an_account_of_its_own_is_not_taken_over() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let new = fresh_address("new");
    app.ask_to_move(&ann, &new).await.expect(202);
    let theirs = app.sign_up(&new).await;
    app.clock.advance(Duration::days(7) + Duration::minutes(1));
    mail_about(&ann.email, "The email of your Assent account is unchanged").await;
    let kept = app.change_account(&ann.key, json!({})).await.expect(200);
    assert_eq!((&kept["email"], kept.get("pending")), (&json!(ann.email), None));
    assert_ne!(theirs["account_id"], json!(ann.account_id));
    let taken = app.ask_to_move(&ann, &fresh_address("free")).await;
    taken.expect(202);
}

#[tokio::test]
async fn a_suspended_or_deleted_account_does_not_change_its_address() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    app.ask_to_move(&ann, &fresh_address("new")).await.expect(202);
    let infra = crate::support::server::infra(&app.database, app.clock.clone(), &[]);
    let account_id = AccountId::from(ann.account_id.clone());
    assent::accounts::operator::suspend(&infra, &account_id).await.unwrap();
    app.clock.advance(Duration::days(8));
    assent::accounts::operator::resume(&infra, &account_id).await.unwrap();
    // A change that is due would take effect within this time.
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    let kept = app.change_account(&ann.key, json!({})).await.expect(200);
    assert_eq!((&kept["email"], kept.get("pending")), (&json!(ann.email), None));

    app.ask_to_move(&ann, &fresh_address("newer")).await.expect(202);
    let code = app.code_for(&ann.key, "delete_account", &ann.email).await;
    let gone = app.call(Method::DELETE, "/v1/account", &ann.key, json!({"code": code})).await;
    gone.expect(204);
    let left = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM address_changes");
    assert_eq!(left.fetch_one(&app.pool).await.unwrap(), 0);
}

#[tokio::test]
async fn a_full_member_moves_the_account_only_with_a_code_of_its_own_mailbox() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let bob = fresh_address("bob");
    app.member_of(&ann, &bob, "full").await;
    let mut browser = Browser::new(&app);
    browser.sign_in(&bob).await;
    let (profile, address) = ("/console/account/profile", "/console/account/address");
    let asked = browser.submit(profile, address, &[("email", &bob)]).await;
    assert!(asked.text.contains(&ann.email), "its mailbox gets a code: {}", asked.text);
    let code = mail_code(&bob, "code").await;
    let prove = |current| {
        [("email", &*bob), ("step", "prove"), ("code", &*code), ("current_code", current)]
    };
    // A code mailed to bob's own address is not valid for the account.
    assert_eq!(browser.submit(profile, address, &prove(other_code(&code))).await.status, 400);
    let waits = browser.submit(profile, address, &prove("")).await;
    leads_to(&waits, "/console/account?done=waiting");
    assert_eq!(present_address(&app, &ann).await, ann.email);
    assert!(browser.page("/console/account").await.contains(&format!("{bob} from 17 March 2026")));
    let kept = browser.submit(profile, "/console/account/address/keep", &[]).await;
    leads_to(&kept, "/console/account?done=kept");
}

/// The digits of the newest mail with a code for one purpose.
async fn mail_code(address: &str, what: &str) -> String {
    let subject = format!(" is your Assent {what}");
    for _ in 0..1_200 {
        let mails = MailServer::shared().inbox(address);
        if let Some(mail) = mails.iter().rev().find(|mail| mail.subject().ends_with(&subject)) {
            return mail.code();
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    panic!("{address} has no code");
}

#[tokio::test]
async fn the_console_asks_for_a_recent_sign_in_and_both_codes() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let new = fresh_address("new");
    let (profile, address) = ("/console/account/profile", "/console/account/address");
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    app.clock.advance(Duration::minutes(15));
    let mails = MailServer::shared().inbox(&ann.email).len();
    let prove = [("email", &*new), ("step", "prove"), ("code", "123456")];
    assert_eq!(browser.submit(profile, address, &prove).await.status, 403);
    assert_eq!(MailServer::shared().inbox(&ann.email).len(), mails, "nothing was mailed");
    let asked = browser.submit(profile, address, &[("email", &new)]).await;
    assert!(asked.text.contains("Confirm it’s you") && asked.text.contains(&new), "{}", asked.text);
    let code = MailServer::shared().wait_for(&ann.email, mails + 1).await.pop().unwrap().code();
    assert!(MailServer::shared().inbox(&new).is_empty());
    let confirm = [("email", &*new), ("confirms", "yes"), ("step", "prove"), ("code", &code)];
    let both = browser.submit(profile, address, &confirm).await;
    assert!(both.text.contains("name=\"current_code\""), "{}", both.text);
    MailServer::shared().newest(&new).await.code();
}
