//! Keys, sessions and the link to the payment provider in the console.

use chrono::Duration;
use reqwest::Method;
use serde_json::Value;

use crate::support::console::{Browser, leads_to, token_of};
use crate::support::{App, MailServer, Shop, fresh_address};

const ACCOUNT: &str = "/console/account";

/// The key on the page that shows it this once.
fn key_of(page: &str) -> String {
    let start = page.find("px_").expect("a key on the page");
    page[start..]
        .chars()
        .take_while(|character| character.is_ascii_alphanumeric() || *character == '_')
        .collect()
}

#[tokio::test]
async fn a_key_is_shown_once_works_and_ends() {
    let app = App::spawn().await;
    let mut browser = Browser::new(&app);
    browser.sign_up("ann@example.com").await;
    let fields = [("name", "shop server"), ("scope", "operate")];
    let made = browser.submit(ACCOUNT, "/console/account/keys", &fields).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let key = key_of(&made.text);
    app.call(Method::GET, "/v1/whoami", &key, Value::Null).await.expect(200);
    let page = browser.page(ACCOUNT).await;
    let prefix = &key[..12];
    assert!(
        page.contains("shop server") && page.contains(prefix) && !page.contains(&key),
        "{page}"
    );
    let revoke = format!("/console/account/keys/{prefix}/revoke");
    assert!(browser.page(&revoke).await.contains("shop server"));
    leads_to(&browser.submit(&revoke, &revoke, &[]).await, "/console/account?done=revoked");
    app.call(Method::GET, "/v1/whoami", &key, Value::Null).await.refused(401, "api key revoked");
    assert_eq!(browser.get(&revoke).await.status, 404);
}

#[tokio::test]
async fn a_key_made_here_does_not_end_with_a_signup_token() {
    let app = App::spawn_with_mail().await;
    let email = fresh_address("ann");
    let mut browser = Browser::new(&app);
    browser.post("/console/sign-up", &[("email", &email), ("display_name", "Ann")]).await;
    let code = MailServer::shared().newest(&email).await.code();
    leads_to(&browser.type_code(&code).await, "/console");
    let made = browser.submit(ACCOUNT, "/console/account/keys", &[]).await;
    let key = key_of(&made.text);
    sqlx::query("UPDATE api_keys SET revoked_at = now() WHERE from_signup_token")
        .execute(&app.pool)
        .await
        .unwrap();
    app.call(Method::GET, "/v1/whoami", &key, Value::Null).await.expect(200);
}

#[tokio::test]
async fn a_key_is_made_shortly_after_a_sign_in_or_with_a_code_that_keeps_the_form() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let mut browser = Browser::new(&app);
    browser.sign_in(&ann.email).await;
    app.clock.advance(Duration::minutes(15));
    let (keys, former) = ("/console/account/keys", browser.session().cloned());
    let before = MailServer::shared().inbox(&ann.email).len();
    let typed = [("name", "shop server"), ("scope", "read"), ("days", "30")];
    let asked = browser.submit(ACCOUNT, keys, &typed).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    for kept in ["Confirm it’s you", "value=\"shop server\"", "value=\"read\"", "value=\"30\""] {
        assert!(asked.text.contains(kept), "{kept}: {}", asked.text);
    }
    let code = MailServer::shared().wait_for(&ann.email, before + 1).await.pop().unwrap().code();
    let wrong = if code == "000000" { "111111" } else { "000000" };
    let confirm = [("confirms", "yes"), ("step", "prove")];
    let fields = [&typed[..], &confirm, &[("code", wrong)]].concat();
    let refused = browser.submit(ACCOUNT, keys, &fields).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("value=\"shop server\""), "{}", refused.text);
    let fields = [&typed[..], &confirm, &[("code", &*code)]].concat();
    let made = browser.submit(ACCOUNT, keys, &fields).await;
    assert_eq!(made.status, 201, "{}", made.text);
    assert_ne!(browser.session().cloned(), former, "the secret is another one");
    let page = browser.page(ACCOUNT).await;
    assert!(page.contains("shop server") && page.contains("Read-only"), "{page}");
    let recent = browser.submit(ACCOUNT, keys, &[]).await;
    assert_eq!(recent.status, 201, "the sign-in is recent now: {}", recent.text);
}

#[tokio::test]
async fn without_a_mail_server_an_admin_key_confirms_the_sign_in() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let eve = app.account("eve@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    app.clock.advance(Duration::minutes(15));
    let keys = "/console/account/keys";
    let asked = browser.submit(ACCOUNT, keys, &[]).await;
    assert!(asked.text.contains("API key with the role Admin"), "{}", asked.text);
    for (key, status) in [(&eve.key, 400), (&ann.key, 201)] {
        let fields = [("confirms", "yes"), ("step", "prove"), ("code", &**key)];
        assert_eq!(browser.submit(ACCOUNT, keys, &fields).await.status, status);
    }
}

#[tokio::test]
async fn without_a_mail_server_the_key_is_asked_for_once_more() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    app.clock.advance(Duration::minutes(15));
    let again = browser.submit(ACCOUNT, "/console/sign-in/again", &[("next", ACCOUNT)]).await;
    let address = "/console/sign-in?next=%2Fconsole%2Faccount&again";
    leads_to(&again, address);
    assert!(browser.page(address).await.contains("API key"));
    let fields = [("api_key", &*ann.key), ("next", ACCOUNT)];
    leads_to(&browser.post("/console/sign-in/key", &fields).await, ACCOUNT);
    assert_eq!(browser.submit(ACCOUNT, "/console/account/keys", &[]).await.status, 201);
}

#[tokio::test]
async fn sessions_are_listed_and_ended_one_by_one() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut here = app.browser_of(&ann.key).await;
    let mut there = app.browser_of(&ann.key).await;
    let page = here.page(ACCOUNT).await;
    assert_eq!(page.matches("/end\"").count(), 2, "{page}");
    assert_eq!(page.matches("This device").count(), 1, "{page}");
    // The newest is the other one's.
    let end = page.split("action=\"").find(|part| part.starts_with("/console/account/sessions/"));
    let end = end.unwrap().split('"').next().unwrap().to_owned();
    let other =
        page.split("action=\"").filter(|part| part.starts_with("/console/account/sessions/"));
    let ends = other.map(|part| part.split('"').next().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(ends[0], end);
    let own = page.split("This device").nth(1).unwrap();
    let own = own.split("action=\"").nth(1).unwrap().split('"').next().unwrap();
    let other = ends.iter().find(|end| *end != own).unwrap();
    leads_to(&here.submit(ACCOUNT, other, &[]).await, "/console/account?done=ended");
    leads_to(&there.get(ACCOUNT).await, "/console/sign-in?next=%2Fconsole%2Faccount");
    here.page(ACCOUNT).await;
    assert_eq!(here.submit(ACCOUNT, other, &[]).await.status, 404);
}

#[tokio::test]
async fn nobody_ends_anothers_session_or_key() {
    let app = App::spawn().await;
    let [ann, eve] = [app.account("ann@example.com").await, app.account("eve@example.com").await];
    let mut victim = app.browser_of(&ann.key).await;
    let page = victim.page(ACCOUNT).await;
    let end = page.split("action=\"").find(|part| part.starts_with("/console/account/sessions/"));
    let end = end.unwrap().split('"').next().unwrap();
    let mut stranger = app.browser_of(&eve.key).await;
    let revoke = format!("/console/account/keys/{}/revoke", &ann.key[..12]);
    for form in [end, &revoke, "/console/account/sessions/nonsense/end"] {
        assert_eq!(stranger.submit(ACCOUNT, form, &[]).await.status, 404, "{form}");
    }
    assert_eq!(stranger.get(&revoke).await.status, 404);
    victim.page(ACCOUNT).await;
    app.call(Method::GET, "/v1/whoami", &ann.key, Value::Null).await.expect(200);
}

#[tokio::test]
async fn paying_leads_to_the_provider_by_a_link() {
    let shop = Shop::open().await;
    let ann = shop.app.account("ann@example.com").await;
    let mut browser = shop.app.browser_of(&ann.key).await;
    assert!(browser.page(ACCOUNT).await.contains("Trial until 9 April 2026"));
    let way = browser.submit(ACCOUNT, "/console/account/subscribe", &[]).await;
    assert_eq!(way.status, 200, "{}", way.text);
    assert!(way.text.contains("href=\"https:&#x2F;&#x2F;checkout.example"), "{}", way.text);
    let none = browser.submit(ACCOUNT, "/console/account/billing", &[]).await;
    assert_eq!(none.status, 409);
    assert!(none.text.contains("No subscription yet."), "{}", none.text);
}

#[tokio::test]
async fn without_a_payment_provider_the_screen_says_so() {
    let app = App::spawn().await;
    let mut browser = Browser::new(&app);
    browser.sign_up("ann@example.com").await;
    let token = token_of(&browser.page(ACCOUNT).await);
    let refused = browser.post("/console/account/subscribe", &[("form_token", &token)]).await;
    assert_eq!(refused.status, 502);
    assert!(refused.text.contains("is not configured"), "{}", refused.text);
}
