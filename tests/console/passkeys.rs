//! Passkeys: adding, signing in, removing, and everything that is refused.

use chrono::Duration;

use crate::support::console::{Browser, leads_to};
use crate::support::passkeys::{ADD, PRESENT, Passkey, SIGN_IN, Stated};
use crate::support::{Answer, App, MailServer, fresh_address};

const ACCOUNT: &str = "/console/account";
const NOT_ACCEPTED: &str = "The passkey was not accepted.";

#[track_caller]
fn is_refused(answer: &Answer) {
    assert_eq!(answer.status, 403, "{}", answer.text);
    assert!(answer.text.contains(NOT_ACCEPTED), "{}", answer.text);
}

async fn signed_in<'a>(app: &'a App, email: &str) -> Browser<'a> {
    let mut browser = Browser::new(app);
    browser.sign_in(email).await;
    browser
}

fn removal_of(page: &str) -> String {
    let forms = page
        .split("action=\"")
        .find(|part| part.starts_with("/console/account/passkeys/") && part.contains("/remove\""));
    forms.expect("a passkey on the page").split('"').next().unwrap().to_owned()
}

async fn wait_for_mail(address: &str, subject: &str) {
    for _ in 0..1_200 {
        let mails = MailServer::shared().everything(address);
        if mails.iter().any(|mail| mail.subject() == subject) {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("no mail: {subject}");
}

#[tokio::test]
async fn a_passkey_signs_in_until_it_is_removed() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = signed_in(&app, &ann.email).await;
    let passkey = browser.add_passkey().await;
    wait_for_mail(&ann.email, "A passkey was added to your sign-in").await;
    let mut other = Browser::new(&app);
    leads_to(&other.sign_in_with(&passkey, 0).await, "/console");
    leads_to(&other.sign_in_with(&passkey, 7).await, "/console");
    let page = other.page(ACCOUNT).await;
    let (_, listed) = page.split_once("id=\"passkeys\"").unwrap();
    assert!(page.contains(&ann.email) && !listed.contains(">never<"), "{page}");
    let remove = removal_of(&page);
    leads_to(&browser.submit(ACCOUNT, &remove, &[]).await, "/console/account?done=passkey-removed");
    wait_for_mail(&ann.email, "A passkey was removed from your sign-in").await;
    assert_eq!(browser.submit(ACCOUNT, &remove, &[]).await.status, 404);
    is_refused(&Browser::new(&app).sign_in_with(&passkey, 8).await);
    let events = browser.page("/console/account/events").await;
    assert!(events.contains("Added a passkey:") && events.contains("Removed a passkey:"));
}

#[tokio::test]
async fn a_challenge_is_valid_once_and_for_five_minutes() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let passkey = signed_in(&app, &ann.email).await.add_passkey().await;
    let mut browser = Browser::new(&app);
    let stated = Stated::by(&browser, "webauthn.get");
    let used = passkey.answer(&browser.passkey_options().await, &stated);
    leads_to(&browser.send_answer(&used).await, "/console");
    is_refused(&browser.send_answer(&used).await);
    let late = passkey.answer(&browser.passkey_options().await, &stated);
    app.clock.advance(Duration::minutes(5));
    is_refused(&browser.send_answer(&late).await);
    let made_up = serde_json::json!({ "challenge": "AAAA" });
    is_refused(&browser.send_answer(&passkey.answer(&made_up, &stated)).await);
}

#[tokio::test]
async fn what_is_not_for_this_service_or_verifies_nobody_is_refused() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = signed_in(&app, &ann.email).await;
    let passkey = browser.add_passkey().await;
    let mut other = Browser::new(&app);
    let right = Stated::by(&other, "webauthn.get");
    for wrong in [
        Stated { origin: "https://evil.example".to_owned(), ..right.clone() },
        Stated { origin: format!("{}.evil.example", right.origin), ..right.clone() },
        Stated { party: "evil.example".to_owned(), ..right.clone() },
        Stated { kind: "webauthn.create", ..right.clone() },
        Stated { flags: PRESENT, ..right.clone() },
        Stated { flags: 0, ..right.clone() },
    ] {
        let options = other.passkey_options().await;
        is_refused(&other.send_answer(&passkey.answer(&options, &wrong)).await);
        let new = Stated {
            kind: if wrong.kind == right.kind { "webauthn.create" } else { right.kind },
            ..wrong
        };
        let options = browser.new_passkey_options().await;
        let (_, fields) = Passkey::create(&options, &new);
        assert_eq!(browser.send_new_passkey(&fields).await.status, 422);
    }
    let page = browser.page(ACCOUNT).await;
    assert_eq!(page.matches("/remove\"").count(), 1, "{page}");
}

#[tokio::test]
async fn an_unknown_passkey_and_a_wrong_signature_are_refused_alike() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = signed_in(&app, &ann.email).await;
    let passkey = browser.add_passkey().await;
    let options = browser.new_passkey_options().await;
    let (unknown, _) = Passkey::create(&options, &Stated::by(&browser, "webauthn.create"));
    let mut other = Browser::new(&app);
    is_refused(&other.sign_in_with(&unknown, 0).await);
    let stated = Stated::by(&other, "webauthn.get");
    let options = other.passkey_options().await;
    let mut forged = passkey.answer(&options, &stated);
    forged[3] = unknown.answer(&options, &stated).swap_remove(3);
    is_refused(&other.send_answer(&forged).await);
    is_refused(&other.send_answer(&vec![("signature", "!".to_owned())]).await);
}

#[tokio::test]
async fn a_counter_that_goes_back_is_refused() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let passkey = signed_in(&app, &ann.email).await.add_passkey().await;
    let mut browser = Browser::new(&app);
    leads_to(&browser.sign_in_with(&passkey, 5).await, "/console");
    for count in [5, 4, 0] {
        is_refused(&browser.sign_in_with(&passkey, count).await);
    }
    leads_to(&browser.sign_in_with(&passkey, 6).await, "/console");
}

#[tokio::test]
async fn a_passkey_is_of_one_person_and_ends_with_the_last_account() {
    let app = App::spawn_with_mail().await;
    let [ann, bob] = [fresh_address("ann"), fresh_address("bob")];
    app.mailed_account(&ann).await;
    let account = app.mailed_account(&bob).await;
    let mut anns = signed_in(&app, &ann).await;
    let mut bobs = signed_in(&app, &bob).await;
    let passkey = bobs.add_passkey().await;
    let remove = removal_of(&bobs.page(ACCOUNT).await);
    assert!(!anns.page(ACCOUNT).await.contains("/remove\""));
    assert_eq!(anns.submit(ACCOUNT, &remove, &[]).await.status, 404);
    // A challenge for adding belongs to the session that asked for it.
    let stated = Stated::by(&anns, "webauthn.create");
    let (_, fields) = Passkey::create(&bobs.new_passkey_options().await, &stated);
    assert_eq!(anns.send_new_passkey(&fields).await.status, 422);
    let mut other = Browser::new(&app);
    leads_to(&other.sign_in_with(&passkey, 0).await, "/console");
    assert!(other.page(ACCOUNT).await.contains(&bob));
    sqlx::query("UPDATE accounts SET email = 'gone@example.com' WHERE account_id = $1")
        .bind(&account.account_id)
        .execute(&app.pool)
        .await
        .unwrap();
    is_refused(&Browser::new(&app).sign_in_with(&passkey, 0).await);
    app.clock.advance(Duration::days(30));
    for _ in 0..400 {
        let left =
            "SELECT (SELECT count(*) FROM passkeys) + (SELECT count(*) FROM passkey_challenges)";
        let left: i64 = sqlx::query_scalar(left).fetch_one(&app.pool).await.unwrap();
        if left == 0 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("something is left");
}

#[tokio::test]
async fn another_node_accepts_the_answer() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let passkey = signed_in(&app, &ann.email).await.add_passkey().await;
    let options = Browser::new(&app).passkey_options().await;
    let node = app.another_node(&[("SMTP_URL", &MailServer::shared().url)]).await;
    let mut browser = Browser::new(&node);
    let stated = Stated::by(&browser, "webauthn.get");
    leads_to(&browser.send_answer(&passkey.answer(&options, &stated)).await, "/console");
}

#[tokio::test]
async fn a_passkey_is_added_and_confirms_only_shortly_after_a_sign_in() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = signed_in(&app, &ann.email).await;
    let passkey = browser.add_passkey().await;
    let options = browser.new_passkey_options().await;
    app.clock.advance(Duration::minutes(15));
    let page = browser.page(ACCOUNT).await;
    assert!(page.contains("Confirm with a passkey") && !page.contains("Add passkey"), "{page}");
    let (_, fields) = Passkey::create(&options, &Stated::by(&browser, "webauthn.create"));
    assert_eq!(browser.send_new_passkey(&fields).await.status, 403);
    assert_eq!(browser.submit(ACCOUNT, &format!("{ADD}/options"), &[]).await.status, 401);
    leads_to(&browser.sign_in_with(&passkey, 0).await, "/console");
    assert!(browser.page(ACCOUNT).await.contains("Add passkey"));
}

#[tokio::test]
async fn forms_of_other_origins_are_refused_and_nothing_is_offered_without_mails() {
    let app = App::spawn_with_mail().await;
    for path in [SIGN_IN.to_owned(), format!("{SIGN_IN}/options")] {
        let request = Browser::new(&app).request(reqwest::Method::POST, &path);
        let request = request.header("origin", "https://evil.example").form(&[("a", "b")]);
        assert_eq!(Browser::new(&app).send(request).await.status, 403, "{path}");
    }
    let plain = App::spawn().await;
    let mut browser = Browser::new(&plain);
    assert_eq!(browser.post(&format!("{SIGN_IN}/options"), &[]).await.status, 404);
    assert!(!browser.page("/console/sign-in").await.contains("passkey\""));
    browser.sign_up("ann@example.com").await;
    assert!(!browser.page(ACCOUNT).await.contains("Add passkey"));
    assert_eq!(browser.submit(ACCOUNT, &format!("{ADD}/options"), &[]).await.status, 404);
}

#[tokio::test]
async fn a_person_has_ten_passkeys_at_most() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = signed_in(&app, &ann.email).await;
    for _ in 0..10 {
        browser.add_passkey().await;
    }
    assert!(!browser.page(ACCOUNT).await.contains("Add passkey"));
    let options = browser.new_passkey_options().await;
    assert_eq!(options["excludeCredentials"].as_array().map(Vec::len), Some(10));
    let (_, fields) = Passkey::create(&options, &Stated::by(&browser, "webauthn.create"));
    assert_eq!(browser.send_new_passkey(&fields).await.status, 422);
}
