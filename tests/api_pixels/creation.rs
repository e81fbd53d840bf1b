//! Creating, listing and showing pixels: one test per row and per refusal.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::setup::create;
use crate::support::tools::{call, refused};
use crate::support::visitors::fields;
use crate::support::{Answer, App};

async fn show(app: &App, key: &str, pixel: &str) -> Answer {
    app.call(Method::GET, &format!("/v1/pixels/{pixel}"), key, Value::Null).await
}

async fn list(app: &App, key: &str) -> Vec<Value> {
    let list = app.call(Method::GET, "/v1/pixels", key, Value::Null).await.expect(200);
    assert_eq!(fields(&list), ["next", "pixels"]);
    list["pixels"].as_array().unwrap().clone()
}

#[tokio::test]
async fn a_new_pixel_is_not_checked_and_comes_with_the_immediate_snippet() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let created = create(&app, &ann.key, json!({"domain": "ann.example"})).await.expect(201);
    let id = created["pixel_id"].as_str().unwrap();
    assert!((8..=40).contains(&id.len()) && !id.starts_with("px_"), "{id}");
    let snippet =
        format!(r#"<script async src="{}/pixel.js" data-pixel="{id}"></script>"#, app.base);
    let test_snippet = format!(r#"<script async src="{}/px/test_{id}.js"></script>"#, app.base);
    let expected = json!({
        "pixel_id": id, "test_pixel_id": format!("test_{id}"), "test_snippet": test_snippet,
        "domain": "ann.example", "install_status": "not_checked",
        "checked_at": null, "snippet": snippet, "consent_enabled": false, "check_error": null,
    });
    assert_eq!(created, expected);
    assert_eq!(show(&app, &ann.key, id).await.expect(200), expected);
}

#[tokio::test]
async fn a_pixel_with_consent_on_comes_with_the_consent_tag() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let shown = show(&app, &ann.key, &site.pixel_id).await.expect(200);
    let tag = format!(r#"<script async src="{}/px/{}.js"></script>"#, app.base, site.pixel_id);
    assert_eq!(shown["snippet"], json!(tag));
    assert_eq!(shown["consent_enabled"], true);
    // Posted again it is the same pixel, with its present setting.
    let again = create(&app, &ann.key, json!({"domain": "ann.example"})).await.expect(201);
    assert_eq!(again, shown);
}

#[tokio::test]
async fn a_host_is_taken_the_way_people_write_it() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    for (given, kept) in [
        (" https://www.Shop.Example ", "shop.example"),
        ("https://shop2.example.", "shop2.example"),
        ("www.shop3.example", "shop3.example"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("a.b.co.uk", "a.b.co.uk"),
        ("me.github.io", "me.github.io"),
        ("localhost", "localhost"),
    ] {
        let created = create(&app, &operator.key, json!({"domain": given})).await.expect(201);
        assert_eq!(created["domain"], kept, "{given}");
    }
}

#[tokio::test]
async fn a_domain_is_required() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    create(&app, &ann.key, json!({})).await.refused(400, "domain is required");
    for domain in [json!(null), json!(""), json!("  ")] {
        let answer = create(&app, &ann.key, json!({"domain": domain})).await;
        answer.refused(400, "domain is required");
    }
}

#[tokio::test]
async fn a_page_is_no_domain() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for page in [
        "https://ann.example/",
        "ann.example/shop",
        "ann.example?a=1",
        "ann.example#top",
        "http://ann.example",
        "ann.example\\shop",
    ] {
        let answer = create(&app, &ann.key, json!({"domain": page})).await;
        answer.refused(400, "domain must be a host, not a page");
    }
}

#[tokio::test]
async fn an_invalid_host_is_no_domain() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for bad in [
        "ann.example:443",
        "ann@ann.example",
        "ann .example",
        "127.0.0.1",
        "[::1]",
        "2130706433",
        "0x7f.1",
        "intranet",
        "com",
        "co.uk",
        "github.io",
        "www.co.uk",
        "a_b.example",
        "-a.example",
        "a..example",
        ".",
        "www.",
        "https://",
        "ann%2eexample",
        &format!("{}.example", "x".repeat(64)),
        &format!("{}example", "abcdefgh.".repeat(30)),
    ] {
        let answer = create(&app, &ann.key, json!({"domain": bad})).await;
        assert_eq!(answer.status, 400, "{bad}: {}", answer.text);
        answer.refused(400, "domain must be a host");
    }
    assert!(list(&app, &ann.key).await.is_empty());
}

#[tokio::test]
async fn three_install_methods_are_not_available_and_every_other_word_is() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "ann.example").await;
    let refusal = "that install method is not available";
    for method in ["cms", "gtm", "utm"] {
        let body = json!({"domain": "new.example", "method": method});
        create(&app, &ann.key, body).await.refused(400, refusal);
        for (verb, path) in [
            (Method::POST, "/v1/pixels".to_owned()),
            (Method::GET, "/v1/pixels".to_owned()),
            (Method::GET, format!("/v1/pixels/{pixel}")),
        ] {
            let path = format!("{path}?method={method}");
            let body = json!({"domain": "new.example"});
            app.call(verb, &path, &ann.key, body).await.refused(400, refusal);
        }
    }
    for method in [json!("snippet"), json!(""), json!(null), json!("cmsx")] {
        let body = json!({"domain": "ann.example", "method": method});
        create(&app, &ann.key, body).await.expect(201);
    }
    app.call(Method::GET, "/v1/pixels?method=snippet", &ann.key, Value::Null).await.expect(200);
    assert_eq!(list(&app, &ann.key).await.len(), 1);
}

#[tokio::test]
async fn a_body_of_the_wrong_shape_names_what_is_wrong() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for domain in [json!(1), json!(["ann.example"]), json!({}), json!(true)] {
        create(&app, &ann.key, json!({"domain": domain})).await.invalid(&["body", "domain"]);
    }
    let body = json!({"domain": "ann.example", "method": 1});
    create(&app, &ann.key, body).await.invalid(&["body", "method"]);
    create(&app, &ann.key, json!(["ann.example"])).await.invalid(&["body"]);
    for text in ["", "{", "no json", r#"{"domain":"a.example","domain":"b.example"}"#] {
        let request = app.request(Method::POST, "/v1/pixels").bearer_auth(&ann.key);
        let answer = Answer::of(request.body(text)).await;
        answer.invalid(&["body"]);
        assert_eq!(answer.header("content-type"), Some("application/problem+json"));
    }
}

#[tokio::test]
async fn a_host_belongs_to_one_account() {
    let app = App::spawn().await;
    let [ann, bob] = [app.account("ann@example.com").await, app.account("bob@example.com").await];
    app.pixel(&ann.key, "shop.example").await;
    for domain in ["shop.example", "www.SHOP.example", "https://shop.example."] {
        let answer = create(&app, &bob.key, json!({"domain": domain})).await;
        answer.refused(409, "domain already registered");
    }
    // Another host of the same site is another host.
    app.pixel(&bob.key, "blog.shop.example").await;
}

#[tokio::test]
async fn a_pixel_that_cannot_be_written_could_not_be_created() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    sqlx::query("ALTER TABLE pixel_aliases RENAME TO out_of_reach")
        .execute(&app.pool)
        .await
        .unwrap();
    let answer = create(&app, &ann.key, json!({"domain": "ann.example"})).await;
    answer.refused(502, "pixel could not be created");
    assert!(list(&app, &ann.key).await.is_empty());
}

#[tokio::test]
async fn a_fourth_pixel_passes_the_allowance() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let first = app.pixel(&ann.key, "one.example").await;
    for domain in ["two.example", "three.example"] {
        app.pixel(&ann.key, domain).await;
    }
    let answer = create(&app, &ann.key, json!({"domain": "four.example"})).await;
    answer.refused(403, "pixel allowance reached");
    assert_eq!(answer.json()["remaining"], 0);
    assert_eq!(app.pixel(&ann.key, "one.example").await, first);
    assert_eq!(list(&app, &ann.key).await.len(), 3);
}

#[tokio::test]
async fn the_plan_unlimited_has_no_allowance() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    for number in 0..5 {
        app.pixel(&operator.key, &format!("site{number}.example")).await;
    }
}

#[tokio::test]
async fn pixels_are_listed_oldest_first_without_snippets() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    assert!(list(&app, &ann.key).await.is_empty());
    for domain in ["one.example", "two.example", "a.example"] {
        app.pixel(&ann.key, domain).await;
        app.clock.advance(Duration::seconds(1));
    }
    let pixels = list(&app, &ann.key).await;
    let domains = pixels.iter().map(|pixel| pixel["domain"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(domains, ["one.example", "two.example", "a.example"]);
    for pixel in &pixels {
        assert_eq!(
            fields(pixel),
            ["checked_at", "domain", "install_status", "pixel_id", "test_pixel_id"]
        );
    }
}

#[tokio::test]
async fn a_pixel_is_shown_by_its_canonical_id_only() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "ann.example").await;
    app.add_alias(&pixel, "ann-alias").await;
    for unknown in ["ann-alias", "unknown", "no%20id", "%ff", &"x".repeat(41), &pixel[1..]] {
        show(&app, &ann.key, unknown).await.refused(404, "pixel not found");
    }
}

#[tokio::test]
async fn a_malformed_pixel_id_is_refused_like_an_unknown_one_and_after_other_mistakes() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for pixel in ["unknown", "no%20id", &"x".repeat(41)] {
        let counts = format!("/v1/pixels/{pixel}/contact-counts");
        let wrong = format!("{counts}?from=never");
        let wrong = app.call(Method::GET, &wrong, &ann.key, Value::Null).await;
        assert_eq!(wrong.status, 422, "{pixel}");
        let asked = app.call(Method::GET, &counts, &ann.key, Value::Null);
        asked.await.refused(404, "pixel not found");
        let path = format!("/v1/pixels/{pixel}");
        let rename = async |body: Value| app.call(Method::PATCH, &path, &ann.key, body).await;
        rename(json!({"domain": ""})).await.refused(400, "domain is required");
        rename(json!({"domain": "b.example"})).await.refused(404, "pixel not found");
    }
    for pixel in ["unknown", "no id", "../a"] {
        let shown = call(&app, "show_pixel", json!({"pixel_id": pixel, "api_key": ann.key})).await;
        refused(&shown, 404, "pixel not found");
        let wrong = json!({"pixel_id": pixel, "api_key": ann.key, "domain": ""});
        refused(&call(&app, "rename_pixel", wrong).await, 400, "domain is required");
    }
    let number = call(&app, "show_pixel", json!({"pixel_id": 7, "api_key": ann.key})).await;
    assert_eq!(number["content"][0]["text"], "pixel_id: must be a string", "{number}");
}

#[tokio::test]
async fn an_unlimited_key_reads_every_pixel() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let operator = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&ann.key, "ann.example").await;
    assert_eq!(show(&app, &operator.key, &pixel).await.expect(200)["domain"], "ann.example");
    assert!(list(&app, &operator.key).await.is_empty());
}

#[tokio::test]
async fn creating_needs_good_standing() {
    App::spawn().await.refuses_all_but_good_standing(Method::POST, "/v1/pixels").await;
}

#[tokio::test]
async fn listing_needs_good_standing() {
    App::spawn().await.refuses_all_but_good_standing(Method::GET, "/v1/pixels").await;
}

#[tokio::test]
async fn showing_needs_good_standing() {
    App::spawn().await.refuses_all_but_good_standing(Method::GET, "/v1/pixels/unknown").await;
}
