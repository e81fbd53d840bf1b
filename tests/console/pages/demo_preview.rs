//! The preview of the demo, on the service's own host.

use reqwest::Method;
use serde_json::{Value, json};

use super::demo::preview_path;
use crate::support::{Answer, App};

#[tokio::test]
async fn the_preview_carries_the_tag_of_the_demo_pixel() {
    let app = App::spawn().await;
    let tag = app.demo_tag("shop.example", "Shop").await;
    let preview = app.get(&preview_path(&tag.pixel_id)).await;
    assert_eq!(preview.status, 200);
    assert_eq!(preview.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(preview.text.contains("<title>Preview · Assent</title>"));
    let script = format!("<script async src=\"{}/px/{}.js\">", app.base, tag.pixel_id);
    assert!(preview.text.contains(&script), "{}", preview.text);
    assert!(preview.text.contains(&format!("data-pixel=\"{}\"", tag.pixel_id)));
    assert!(preview.text.contains("<meta name=\"robots\" content=\"noindex\">"));
    let head = Answer::of(app.request(Method::HEAD, &preview_path(&tag.pixel_id))).await;
    assert_eq!((head.status, head.text.as_str()), (200, ""));
}

#[tokio::test]
async fn only_pages_with_a_popup_may_load_the_identification_tag() {
    let app = App::spawn_with(&[("TAG_CDN_BASE", "https://tags.example:8443/v2")]).await;
    let tag = app.demo_tag("shop.example", "Shop").await;
    let preview = app.get(&preview_path(&tag.pixel_id)).await;
    let policy = preview.header("content-security-policy").unwrap();
    assert!(policy.contains("script-src 'self' https://tags.example:8443;"), "{policy}");
    assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"));
    for (path, may) in [("/demo", true), ("/", false), ("/log", false)] {
        let page = app.get(path).await;
        let policy = page.header("content-security-policy").unwrap();
        assert_eq!(policy.contains("tags.example"), may, "{path}");
    }
}

#[tokio::test]
async fn a_click_in_the_preview_makes_a_receipt_that_verifies() {
    let app = App::spawn().await;
    let tag = app.demo_tag("shop.example", "Shop").await;
    let page = format!("{}{}", app.base, preview_path(&tag.pixel_id));
    let saved = app.accept_on(&tag.pixel_id, &page).await.expect(202);
    assert_eq!(saved["receipt"]["origin"], json!(app.base));
    assert_eq!(saved["receipt"]["pixel_id"], json!(tag.pixel_id));
    let query = format!("?pixel_id={}&visitor_id=visitor-1", tag.pixel_id);
    let found = app.get(&format!("/v1/consent/receipt{query}")).await.expect(200);
    assert_eq!(found["valid"], true);
    let body = json!({"receipt": found["receipt"], "signature": found["signature"]});
    assert_eq!(app.post("/v1/consent/verify", body).await.expect(200)["valid"], true);
    let host = format!("/external_api/install-pixel/tag-pixel?pid={}&host=localhost", tag.pixel_id);
    assert_eq!(app.get(&host).await.expect(200)["pixel_id"], json!(tag.pixel_id));
    let shown = json!({"pixel_id": tag.pixel_id, "visitor_id": "visitor-1", "url": page});
    app.post("/v1/consent/shown", shown).await.expect(204);
    assert_eq!(app.count("SELECT count(*) FROM consent_shown").await, 1);
}

#[tokio::test]
async fn two_people_preview_their_own_tags_side_by_side() {
    let app = App::spawn().await;
    let ann = app.demo_tag("ann.example", "Ann").await;
    let bob = app.demo_tag("bob.example", "Bob").await;
    for (tag, name) in [(&ann, "Ann"), (&bob, "Bob")] {
        let preview = app.get(&preview_path(&tag.pixel_id)).await;
        assert!(preview.text.contains(&tag.pixel_id));
        assert!(app.tag(&tag.pixel_id).await.unwrap().contains(name));
        let page = format!("{}{}", app.base, preview_path(&tag.pixel_id));
        let saved = app.accept_on(&tag.pixel_id, &page).await.expect(202);
        assert_eq!(saved["receipt"]["pixel_id"], json!(tag.pixel_id));
    }
}

#[tokio::test]
async fn only_demo_tags_work_on_the_services_own_host() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let mut choice = site.acceptance("visitor-1");
    choice["url"] = json!(format!("{}/demo/preview/{}", app.base, site.pixel_id));
    assert_eq!(app.post("/v1/consent/record", choice).await.expect(403)["reason"], "site_mismatch");
    let mut shown = site.refusal("visitor-1", "declined");
    shown["url"] = json!(app.base);
    app.post("/v1/consent/shown", shown).await.expect(204);
    assert_eq!(app.count("SELECT count(*) FROM consent_shown").await, 0);
    let host =
        format!("/external_api/install-pixel/tag-pixel?pid={}&host=localhost", site.pixel_id);
    assert_eq!(app.get(&host).await.expect(200)["pixel_id"], Value::Null);
    let preview = app.get(&preview_path(&site.pixel_id)).await;
    assert_eq!(preview.status, 404);
    assert!(!preview.text.contains(&format!("/px/{}", site.pixel_id)));
}

#[tokio::test]
async fn a_preview_of_nothing_is_a_page_that_says_so() {
    let app = App::spawn().await;
    for id in ["unknown", "a%00b", "%ff", &"x".repeat(100), "..%2f"] {
        let answer = app.get(&preview_path(id)).await;
        assert_eq!(answer.status, 404, "{id}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"), "{id}");
        assert!(answer.text.contains("No such demo tag"), "{id}");
    }
}

#[tokio::test]
async fn the_service_previews_a_tag_of_its_own_before_a_site_is_named() {
    let app = App::spawn().await;
    let answer = app.get("/demo/preview").await;
    assert_eq!(answer.status, 303);
    let path = answer.header("location").unwrap().to_owned();
    let preview = app.get(&path).await;
    assert_eq!(preview.status, 200);
    let pixel_id = path.rsplit('/').next().unwrap();
    app.accept_on(pixel_id, &format!("{}{path}", app.base)).await.expect(202);
    let script = format!("<script async src=\"{}/px/{pixel_id}.js\">", app.base);
    assert!(app.get("/demo").await.text.contains(&script), "the first page asks too");
}

#[tokio::test]
async fn a_service_without_a_host_name_can_still_be_tried() {
    let app = App::spawn_with(&[("BASE_URL", "http://127.0.0.1:8000")]).await;
    assert_eq!(app.get("/demo/preview").await.status, 404);
    assert!(!app.get("/demo").await.text.contains("/px/"));
    let made = app.submit(&[("domain", "shop.example")]).await;
    assert_eq!(made.status, 200);
    let pixel_id = made.text.split("/px/").nth(1).unwrap().split(".js").next().unwrap();
    let page = format!("http://127.0.0.1:8000/demo/preview/{pixel_id}");
    app.accept_on(pixel_id, &page).await.expect(202);
}

#[tokio::test]
async fn the_demo_tag_of_the_own_host_keeps_that_host() {
    let app = App::spawn().await;
    let tag = app.demo_tag("localhost", "Me").await;
    assert_eq!(
        app.get("/demo/preview").await.header("location"),
        Some(&*preview_path(&tag.pixel_id))
    );
    assert!(tag.page.contains("As soon as an account makes a pixel for localhost"));
}
