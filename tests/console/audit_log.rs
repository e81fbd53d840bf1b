//! The filter of the audit log.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::{Browser, leads_to, token_of};
use crate::support::{App, fresh_address};

const EVENTS: &str = "/console/account/events";
const FILE: &str = "/console/account/events.csv";

/// The value of a choice of a filter by its name.
fn choice(page: &str, name: &str) -> String {
    let option = page.split("<option value=\"").find(|rest| {
        let shown = rest.split_once('>').map(|(_, rest)| rest.split('<').next().unwrap());
        shown.is_some_and(|shown| shown.contains(name))
    });
    option.unwrap_or_else(|| panic!("{name}: {page}")).split('"').next().unwrap().to_owned()
}

/// The rows of a page.
fn rows(page: &str) -> Vec<&str> {
    page.split("<th scope=\"row\">").skip(1).map(|row| row.split("</tr>").next().unwrap()).collect()
}

async fn filtered(browser: &mut Browser<'_>, fields: &[(&str, &str)]) -> String {
    let page = browser.submit(EVENTS, EVENTS, fields).await;
    assert_eq!(page.status, 200, "{fields:?}: {}", page.text);
    page.text
}

async fn erase_visitors(app: &App, key: &str, pixel_id: &str, number: usize) {
    for number in 0..number {
        app.clock.advance(Duration::seconds(1));
        let path = format!("/v1/pixels/{pixel_id}/visitors/v{number}");
        app.call(Method::DELETE, &path, key, Value::Null).await.expect(200);
    }
}

#[tokio::test]
async fn the_log_is_filtered_by_kind_actor_and_days() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel_id = app.pixel(&ann.key, "shop.example").await;
    erase_visitors(&app, &ann.key, &pixel_id, 2).await;
    app.clock.advance(Duration::days(2));
    let mut browser = app.browser_of(&ann.key).await;
    let all = browser.page(EVENTS).await;
    assert!(rows(&all).len() > 3, "{all}");
    let key = choice(&all, &format!("the key {}", &ann.key[..12]));
    let own = choice(&all, "ann@example.com");
    assert!(!key.contains("px_") && !own.contains("ann"), "marks: {key} {own}");
    for (query, count, words) in [
        ("kind=contacts".to_owned(), 2, "Erased a visitor"),
        ("kind=sites".to_owned(), 1, "Added a site"),
        (format!("kind=contacts&actor={key}"), 2, "Erased a visitor"),
        (format!("kind=sign-ins&actor={own}"), 1, "Signed in"),
        (format!("kind=sign-ins&actor={key}"), 0, "No actions match this filter."),
        ("actor=0123456789abcdef".to_owned(), 0, "No actions match this filter."),
        ("kind=billing".to_owned(), 0, "No actions match this filter."),
        ("kind=contacts&to=2026-03-10".to_owned(), 2, "Erased a visitor"),
        ("kind=contacts&from=2026-03-11".to_owned(), 0, "No actions match this filter."),
        ("from=2026-03-12".to_owned(), 1, "Signed in"),
    ] {
        let page = browser.page(&format!("{EVENTS}?{query}")).await;
        assert_eq!(rows(&page).len(), count, "{query}: {page}");
        assert!(page.contains(words), "{query}: {page}");
        let table = browser.page(&format!("{FILE}?{query}")).await;
        assert_eq!(table.lines().count(), count + 1, "{query}: {table}");
    }
    let sent = browser.submit(EVENTS, EVENTS, &[("kind", "sites"), ("to", "2026-03-10")]).await;
    leads_to(&sent, &format!("{EVENTS}?kind=sites&to=2026-03-10"));
    for query in ["from=soon", "from=2026-03-12&to=2026-03-11", "before=x"] {
        assert_eq!(browser.get(&format!("{EVENTS}?{query}")).await.status, 422, "{query}");
    }
}

#[tokio::test]
async fn a_text_finds_what_people_know_by_a_name_and_is_in_no_address() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    app.consent_site(&ann.key, "shop.example").await;
    app.pixel(&ann.key, "news.example").await;
    let hook = json!({"url": "https://hooks.partner.example/a"});
    app.call(Method::POST, "/v1/webhooks", &ann.key, hook).await.expect(201);
    let bob = json!({"email": "bob@office.example", "role": "read", "code": ann.key});
    app.call(Method::POST, "/v1/account/members", &ann.key, bob).await.expect(201);
    let mut browser = app.browser_of(&ann.key).await;
    let named = [("name", "Till server"), ("scope", "read")];
    let made = browser.submit("/console/account", "/console/account/keys", &named).await;
    let start = made.text.find("px_").expect("a key on the page");
    let prefix = made.text[start..start + 12].to_owned();
    let revoke = format!("/console/account/keys/{prefix}/revoke");
    leads_to(&browser.submit(&revoke, &revoke, &[]).await, "/console/account?done=revoked");
    for (text, count, words) in [
        ("SHOP.example", 2, "version 1 of shop.example"),
        ("news", 1, "news.example"),
        ("till", 2, "Revoked an API key: <bdi"),
        (&*prefix.to_lowercase(), 2, "Till server ("),
        ("partner", 1, "hooks.partner.example"),
        ("bob@office", 1, "bob@office.example"),
        ("nobody%", 0, "No actions match this filter."),
    ] {
        let page = filtered(&mut browser, &[("text", text)]).await;
        assert_eq!(rows(&page).len(), count, "{text}: {page}");
        assert!(page.contains(words), "{text}: {page}");
        let addresses = page.split("=\"/").skip(1).map(|rest| rest.split('"').next().unwrap());
        assert!(addresses.clone().all(|address| !address.contains("office")), "{text}");
        let table = browser.submit(EVENTS, FILE, &[("text", text)]).await;
        assert_eq!(table.header("content-type"), Some("text/csv; charset=utf-8"));
        assert_eq!(table.text.lines().count(), count + 1, "{text}: {}", table.text);
    }
    let both = filtered(&mut browser, &[("text", "shop"), ("kind", "popup")]).await;
    assert_eq!(rows(&both).len(), 1, "{both}");
    let eve = app.account("eve@example.com").await;
    app.pixel(&eve.key, "eve.example").await;
    let mut stranger = app.browser_of(&eve.key).await;
    for text in ["shop", "till", "partner", "bob"] {
        let page = filtered(&mut stranger, &[("text", text)]).await;
        assert_eq!(rows(&page).len(), 0, "{text}: {page}");
        assert!(!page.contains("ann@example.com"), "{text}: {page}");
    }
}

#[tokio::test]
async fn pages_keep_the_filter() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel_id = app.pixel(&ann.key, "shop.example").await;
    erase_visitors(&app, &ann.key, &pixel_id, 55).await;
    let mut browser = app.browser_of(&ann.key).await;
    let first = browser.page(&format!("{EVENTS}?kind=contacts&from=2026-03-10")).await;
    assert_eq!(rows(&first).len(), 50);
    let next = first.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let second = browser.page(&next.replace("&amp;", "&")).await;
    assert_eq!(rows(&second).len(), 5);
    assert!(second.contains("?kind=contacts&amp;from=2026-03-10\">Newest"), "{second}");
    let table = browser.page(&format!("{FILE}?kind=contacts")).await;
    assert_eq!(table.lines().count(), 56, "{table}");

    let first = filtered(&mut browser, &[("text", "shop"), ("kind", "contacts")]).await;
    assert_eq!(rows(&first).len(), 50);
    let before = first.split("name=\"before\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    let token = token_of(&first);
    let fields =
        [("text", "shop"), ("kind", "contacts"), ("before", before), ("form_token", &*token)];
    let second = browser.post(EVENTS, &fields).await;
    assert_eq!((second.status, rows(&second.text).len()), (200, 5), "{}", second.text);
    assert!(second.text.contains("value=\"shop\""), "{}", second.text);
}

#[tokio::test]
async fn a_restricted_member_filters_the_events_of_the_own_sites() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let own = app.pixel(&ann.key, "own.example").await;
    let other = app.pixel(&ann.key, "other.example").await;
    for pixel_id in [&own, &other] {
        erase_visitors(&app, &ann.key, pixel_id, 1).await;
    }
    let bob = fresh_address("bob");
    let code = app.code_for(&ann.key, "keys", &ann.email).await;
    let body = json!({"email": bob, "role": "read", "pixels": [own], "code": code});
    app.call(Method::POST, "/v1/account/members", &ann.key, body).await.expect(201);
    let mut browser = Browser::new(&app);
    browser.sign_in(&bob).await;
    let page = browser.page(&format!("{EVENTS}?kind=contacts")).await;
    assert_eq!(rows(&page).len(), 1, "{page}");
    assert!(!page.contains("value=\"members\""), "{page}");
    for (text, count) in [("own", 2), ("other", 0), (&*other, 0)] {
        let page = filtered(&mut browser, &[("text", text)]).await;
        assert_eq!(rows(&page).len(), count, "{text}: {page}");
        let table = browser.submit(EVENTS, FILE, &[("text", text)]).await.text;
        assert_eq!(table.lines().count(), count + 1, "{text}: {table}");
    }
    let members = browser.page(&format!("{EVENTS}?kind=members")).await;
    assert_eq!(rows(&members).len(), 0, "{members}");
}
