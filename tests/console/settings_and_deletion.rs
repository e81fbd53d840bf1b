//! Name, address, export and deletion of an account in the console.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::account_codes::other_code;
use crate::support::consent::app_with_site;
use crate::support::console::{Browser, leads_to};
use crate::support::{App, MailServer, Shop, fresh_address};

const PROFILE: &str = "/console/account/profile";
const ADDRESS: &str = "/console/account/address";
const LEAVE: &str = "/console/account/leave";
const END: &str = "/console/account/end";
const DELETED: &str = "Your Assent account was deleted";

#[tokio::test]
async fn the_name_is_changed_and_a_wrong_one_is_reported_beside_its_field() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let name = "/console/account/name";
    for odd in ["", " ", &"x".repeat(201)] {
        let refused = browser.submit(PROFILE, name, &[("display_name", odd)]).await;
        assert!([400, 422].contains(&refused.status), "{}: {}", refused.status, refused.text);
        assert!(refused.text.contains("id=\"name-error\""), "{}", refused.text);
    }
    let renamed = browser.submit(PROFILE, name, &[("display_name", "<b>Ann</b> & Co")]).await;
    leads_to(&renamed, "/console/account?done=renamed");
    assert!(browser.page("/console/account").await.contains("&lt;b&gt;Ann"));
}

#[tokio::test]
async fn the_address_changes_with_both_codes_and_the_session_continues() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let new = fresh_address("new");
    let (mut browser, mut other) = (Browser::new(&app), Browser::new(&app));
    browser.sign_in(&ann.email).await;
    other.sign_in(&ann.email).await;
    let refused = browser.submit(PROFILE, ADDRESS, &[("email", "nonsense")]).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("id=\"email-error\""), "{}", refused.text);
    let mails = MailServer::shared().inbox(&ann.email).len();
    let asked = browser.submit(PROFILE, ADDRESS, &[("email", &new)]).await;
    assert!(asked.text.contains(&new) && asked.text.contains(&ann.email), "{}", asked.text);
    let code = MailServer::shared().newest(&new).await.code();
    let current = MailServer::shared().wait_for(&ann.email, mails + 1).await.pop().unwrap().code();
    let prove =
        |code| [("email", &*new), ("step", "prove"), ("code", code), ("current_code", &*current)];
    assert_eq!(browser.submit(PROFILE, ADDRESS, &prove(other_code(&code))).await.status, 400);
    let before = browser.session().cloned();
    let moved = browser.submit(PROFILE, ADDRESS, &prove(&code)).await;
    leads_to(&moved, "/console/account?done=moved");
    assert_ne!(browser.session().cloned(), before, "it has another secret");
    assert!(browser.page("/console/account").await.contains(&new));
    assert_eq!(other.get("/console/account").await.status, 303, "other browsers are signed out");
}

#[tokio::test]
async fn the_account_is_exported_only_shortly_after_a_sign_in() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("v1")).await;
    let mut browser = app.browser_of(&ann.key).await;
    let page = browser.page(LEAVE).await;
    for part in ["one site", "one receipt of a choice", "one key", "ann.example"] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("no contacts"), "what is not there is not listed: {page}");
    let file = browser.get("/console/account/export").await;
    assert_eq!(file.status, 200);
    assert_eq!(file.header("content-type"), Some("application/x-ndjson"));
    let name = "attachment; filename=\"assent-2026-03-10.ndjson\"";
    assert_eq!(file.header("content-disposition"), Some(name));
    let records = file.text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let records = records.map(|line| line["record"].clone()).collect::<Vec<_>>();
    assert!(records.contains(&json!("receipt")), "{records:?}");
    assert_eq!(records.last(), Some(&json!("end")));
    app.clock.advance(Duration::minutes(15));
    let refused = browser.get("/console/account/export").await;
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("action=\"/console/account/export\""), "{}", refused.text);
    assert!(!refused.text.contains("\"record\""), "{}", refused.text);
    let by_key = app.call(Method::GET, "/v1/account/export", &ann.key, Value::Null).await;
    assert_eq!(by_key.status, 200, "a key has no sign-in");
    let asked = browser.submit(LEAVE, "/console/account/export", &[]).await;
    assert!(asked.text.contains("API key with the role Admin"), "{}", asked.text);
    let confirm = [("confirms", "yes"), ("step", "prove"), ("code", &*ann.key)];
    let confirmed = browser.submit(LEAVE, "/console/account/export", &confirm).await;
    leads_to(&confirmed, &format!("{LEAVE}?done=confirmed"));
    assert_eq!(browser.get("/console/account/export").await.status, 200);
    let nobody = Browser::new(&app).get("/console/account/export").await;
    leads_to(&nobody, "/console/sign-in?next=%2Fconsole%2Faccount%2Fexport");
}

#[tokio::test]
async fn an_account_ends_by_its_address_and_digits_from_the_mailbox() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    app.pixel(&ann.key, "shop.example").await;
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    let before = MailServer::shared().inbox(&ann.email).len();
    for odd in ["", "shop.example", "eve@example.com"] {
        let refused = browser.submit(LEAVE, END, &[("address", odd)]).await;
        assert_eq!(refused.status, 400, "{odd}");
        assert!(refused.text.contains(&format!("Type {}", ann.email)), "{}", refused.text);
    }
    assert_eq!(MailServer::shared().inbox(&ann.email).len(), before, "nothing was mailed");
    let asked = browser.submit(LEAVE, END, &[("address", &ann.email)]).await;
    assert!(asked.text.contains("Delete account permanently"), "{}", asked.text);
    let code = MailServer::shared().wait_for(&ann.email, before + 1).await.pop().unwrap().code();
    let wrong = if code == "000000" { "111111" } else { "000000" };
    let prove = |code| [("address", &*ann.email), ("step", "prove"), ("code", code)];
    assert_eq!(browser.submit(LEAVE, END, &prove(wrong)).await.status, 400);
    app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null).await.expect(200);
    let ended = browser.submit(LEAVE, END, &prove(&code)).await;
    leads_to(&ended, "/console/ended");
    assert!(browser.session().is_none());
    assert!(browser.page("/console/ended").await.contains("Account deleted"));
    let mut mails = Vec::new();
    for _ in 0..400 {
        mails = MailServer::shared().everything(&ann.email);
        if mails.iter().any(|mail| mail.subject() == DELETED) {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(25)).await;
    }
    let mail = mails.iter().find(|mail| mail.subject() == DELETED).expect("a mail says so");
    assert!(mail.text().contains(&*ann.account_id), "{}", mail.text());
    app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null)
        .await
        .refused(401, "invalid api key");
}

#[tokio::test]
async fn a_paying_account_is_informed_that_its_subscription_ends_and_where_its_invoices_are() {
    let shop = Shop::open().await;
    let (ann, _) = shop.subscriber("ann@example.com").await;
    let mut browser = shop.app.browser_of(&ann.key).await;
    let account = browser.page("/console/account").await;
    assert!(account.contains("Manage billing"), "{account}");
    assert!(account.contains("Paid until"), "{account}");
    assert!(browser.page(LEAVE).await.contains("The subscription ends at the payment provider"));
    let way = browser.submit("/console/account", "/console/account/billing", &[]).await;
    assert_eq!(way.status, 200, "{}", way.text);
    assert!(way.text.contains("See invoices"), "{}", way.text);
}
