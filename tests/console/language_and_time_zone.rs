//! The language and the time zone that people choose for themselves.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to, token_of};
use crate::support::{Account, App, fresh_address};

const PREFERENCES: &str = "/console/account/preferences";
const SAVED: &str = "/console/account/preferences?done=saved";
const EVENTS: &str = "/console/account/events";
const CHOICE: &str = "/console/accounts";
const COOKIE: &str = "assent_language";

async fn save(browser: &mut Browser<'_>, language: &str, time_zone: &str) {
    let fields = [("language", language), ("time_zone", time_zone)];
    leads_to(&browser.submit(PREFERENCES, PREFERENCES, &fields).await, SAVED);
}

/// The language of a screen for a browser that prefers French.
async fn language_of(browser: &mut Browser<'_>, path: &str) -> String {
    let request = browser.request(Method::GET, path).header("accept-language", "fr");
    let page = browser.send(request).await;
    assert_eq!(page.status, 200, "{path}: {}", page.text);
    let (_, rest) = page.text.split_once("<html lang=\"").expect("a language");
    rest.split('"').next().unwrap().to_owned()
}

/// What the form shows as chosen.
async fn is_chosen(browser: &mut Browser<'_>, language: &str, time_zone: &str) -> bool {
    let page = browser.page(PREFERENCES).await;
    let is_selected = |value: &str| {
        let (_, rest) = page.split_once(&format!("<option value=\"{value}\"")).expect(value);
        rest.split('>').next().unwrap().ends_with(" selected")
    };
    is_selected(language) && is_selected(time_zone)
}

async fn stored(app: &App) -> i64 {
    let count = "SELECT count(*) FROM person_preferences";
    sqlx::query_scalar(count).fetch_one(&app.pool).await.unwrap()
}

/// Bob, a member of two accounts, without one of his own.
async fn bob_in_two_accounts(app: &App) -> (Account, Account, String) {
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let eve = app.mailed_account(&fresh_address("eve")).await;
    let bob = fresh_address("bob");
    app.member_of(&ann, &bob, "read").await;
    app.clock.advance(Duration::seconds(1));
    app.member_of(&eve, &bob, "operate").await;
    (ann, eve, bob)
}

async fn bobs_browser<'a>(app: &'a App, bob: &str) -> Browser<'a> {
    let mut browser = Browser::new(app);
    let code = browser.ask_for_code(bob).await;
    leads_to(&browser.type_code(&code).await, CHOICE);
    browser
}

#[tokio::test]
async fn a_stored_language_follows_the_person_into_accounts_and_browsers() {
    let app = App::spawn_with_mail().await;
    let (ann, eve, bob) = bob_in_two_accounts(&app).await;
    let mut browser = bobs_browser(&app, &bob).await;
    assert_eq!(language_of(&mut browser, PREFERENCES).await, "fr");
    browser.cookies.insert(COOKIE.to_owned(), "it".to_owned());
    assert_eq!(language_of(&mut browser, PREFERENCES).await, "it");

    save(&mut browser, "de", "Europe/Berlin").await;
    assert_eq!(browser.cookies[COOKIE], "de");
    assert!(browser.page(SAVED).await.contains("class=\"note\" role=\"status\""));
    browser.cookies.insert(COOKIE.to_owned(), "it".to_owned());
    assert_eq!(language_of(&mut browser, PREFERENCES).await, "de");
    assert_eq!(language_of(&mut browser, &format!("{PREFERENCES}?lang=es")).await, "es");
    assert_eq!(language_of(&mut browser, PREFERENCES).await, "de");

    let fields = [("account_id", &*eve.account_id)];
    leads_to(&browser.submit(CHOICE, CHOICE, &fields).await, "/console");
    assert_eq!(language_of(&mut browser, "/console").await, "de");
    let mut other = bobs_browser(&app, &bob).await;
    assert_eq!(language_of(&mut other, "/console").await, "de");
    assert!(is_chosen(&mut other, "de", "Europe/Berlin").await);
    assert_eq!(language_of(&mut other, "/contact").await, "de", "pages for everybody too");

    let mut anns = Browser::new(&app);
    anns.sign_in(&ann.email).await;
    assert_eq!(language_of(&mut anns, "/console").await, "fr");
}

#[tokio::test]
async fn without_a_choice_the_browser_decides() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    save(&mut browser, "de", "Asia/Tokyo").await;
    assert!(browser.cookies.contains_key(COOKIE));
    save(&mut browser, "", "UTC").await;
    assert!(!browser.cookies.contains_key(COOKIE));
    assert_eq!(language_of(&mut browser, PREFERENCES).await, "fr");
    let page = browser.page(EVENTS).await;
    assert!(page.contains("10 March 2026, 12:00 UTC"), "{page}");
}

#[tokio::test]
async fn times_are_in_the_time_zone_of_the_person() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    for (zone, time) in [
        ("Asia/Tokyo", "10 March 2026, 21:00 JST"),
        ("Asia/Kolkata", "10 March 2026, 17:30 IST"),
        ("Pacific/Kiritimati", "11 March 2026, 02:00"),
        ("UTC", "10 March 2026, 12:00 UTC"),
    ] {
        save(&mut browser, "en", zone).await;
        let page = browser.page(EVENTS).await;
        assert!(page.contains(time), "{zone}: {page}");
    }
    save(&mut browser, "de", "America/Argentina/Buenos_Aires").await;
    let page = browser.page(EVENTS).await;
    assert!(page.contains("10. März 2026, 09:00"), "{page}");
}

#[tokio::test]
async fn unknown_values_are_refused_at_their_fields() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    save(&mut browser, "en", "Europe/Paris").await;
    for zone in ["Mars/Olympus", "US/Eastern", "Etc/GMT+1", "Asia/Calcutta", "CET", "europe/paris"]
    {
        let fields = [("language", "de"), ("time_zone", zone)];
        let refused = browser.submit(PREFERENCES, PREFERENCES, &fields).await;
        assert_eq!(refused.status, 400, "{zone}");
        let error = "<p class=\"wrong\" id=\"time_zone-error\">Choose a time zone of the list.</p>";
        assert!(refused.text.contains(error), "{}", refused.text);
        assert!(!refused.text.contains("language-error"), "{}", refused.text);
    }
    for language in ["tlh", "de-AT", "DE", "<b>"] {
        let fields = [("language", language), ("time_zone", "UTC")];
        let refused = browser.submit(PREFERENCES, PREFERENCES, &fields).await;
        assert_eq!(refused.status, 400, "{language}");
        let error = "<p class=\"wrong\" id=\"language-error\">Choose a language of the list.</p>";
        assert!(refused.text.contains(error), "{}", refused.text);
    }
    assert!(is_chosen(&mut browser, "en", "Europe/Paris").await);
}

#[tokio::test]
async fn forms_of_others_store_nothing() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let token = token_of(&browser.page(PREFERENCES).await);
    let fields = [("language", "de"), ("time_zone", "UTC"), ("form_token", &*token)];
    let request = browser.request(Method::POST, PREFERENCES);
    let request = request.header("origin", "https://evil.example").form(&fields);
    assert_eq!(browser.send(request).await.status, 403);
    for token in ["", &*"0".repeat(128)] {
        let fields = [("language", "de"), ("time_zone", "UTC"), ("form_token", token)];
        assert_eq!(browser.post(PREFERENCES, &fields).await.status, 403);
    }
    let request = browser.request(Method::POST, "/language");
    let request = request.header("origin", "https://evil.example").form(&[("lang", "de")]);
    assert_eq!(browser.send(request).await.status, 303);
    leads_to(&Browser::new(&app).post("/language", &[("lang", "de")]).await, "/");
    let nobody = Browser::new(&app).get(PREFERENCES).await;
    assert!(nobody.header("location").is_some_and(|to| to.starts_with("/console/sign-in?next=")));
    assert_eq!(stored(&app).await, 0);
}

#[tokio::test]
async fn the_menu_of_languages_stores_the_language_of_a_signed_in_person() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    save(&mut browser, "en", "Asia/Tokyo").await;
    let page = browser.page(EVENTS).await;
    assert!(page.contains("action=\"/language\""), "{page}");
    assert!(
        page.contains("name=\"to\" value=\"&#x2F;console&#x2F;account&#x2F;events\""),
        "{page}"
    );
    let chosen = browser.post("/language", &[("lang", "nl"), ("to", EVENTS)]).await;
    leads_to(&chosen, EVENTS);
    assert_eq!(browser.cookies[COOKIE], "nl");
    let mut other = app.browser_of(&ann.key).await;
    assert_eq!(language_of(&mut other, "/console").await, "nl");
    assert!(is_chosen(&mut other, "nl", "Asia/Tokyo").await, "the time zone stays");
}

#[tokio::test]
async fn every_member_has_preferences_which_the_export_contains() {
    let app = App::spawn_with_mail().await;
    let (ann, _, bob) = bob_in_two_accounts(&app).await;
    let carl = fresh_address("carl");
    let site = app.consent_site(&ann.key, "carl.example").await;
    let code = app.code_for(&ann.key, "keys", &ann.email).await;
    let body = json!({"email": carl, "role": "read", "code": code, "pixels": [site.pixel_id]});
    app.call(Method::POST, "/v1/account/members", &ann.key, body).await.expect(201);
    let mut carls = Browser::new(&app);
    carls.sign_in(&carl).await;
    let link = format!("href=\"{PREFERENCES}\"");
    assert!(carls.page("/console/account").await.contains(&link));
    save(&mut carls, "pl", "Europe/Warsaw").await;
    save(&mut bobs_browser(&app, &bob).await, "", "Asia/Tokyo").await;

    let export = app.call(Method::GET, "/v1/account/export", &ann.key, Value::Null).await.text;
    let lines = export.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let mut lines = lines.filter(|line| line["record"] == "preferences").collect::<Vec<_>>();
    lines.sort_by_key(|line| line["data"]["email"].to_string());
    let line = |email: &str, language: Value, time_zone: &str| {
        let data = json!({"email": email, "language": language, "time_zone": time_zone});
        json!({"record": "preferences", "data": data})
    };
    let expected =
        [line(&bob, Value::Null, "Asia/Tokyo"), line(&carl, json!("pl"), "Europe/Warsaw")];
    assert_eq!(lines, expected);
}

#[tokio::test]
async fn preferences_end_with_the_last_account_and_follow_a_new_address() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let (bob, new) = (fresh_address("bob"), fresh_address("ann"));
    let member_id = app.member_of(&ann, &bob, "read").await;
    let mut bobs = Browser::new(&app);
    bobs.sign_in(&bob).await;
    save(&mut bobs, "it", "Europe/Rome").await;
    let mut anns = Browser::new(&app);
    anns.sign_in(&ann.email).await;
    save(&mut anns, "es", "Europe/Madrid").await;
    app.move_account(&ann, &ann.email, &new).await.expect(200);
    let mut moved = Browser::new(&app);
    moved.sign_in(&new).await;
    assert!(is_chosen(&mut moved, "es", "Europe/Madrid").await);
    app.remove_member(&ann, &member_id).await;
    app.clock.advance(Duration::hours(1));
    for _ in 0..400 {
        if stored(&app).await == 1 {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("preferences of nobody are left");
}
