//! From which pages choices are recorded.

use reqwest::Method;
use serde_json::{Value, json};

use super::record::{ignored, nothing_is_stored};
use crate::support::consent::shop;
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::{Answer, App};

#[tokio::test]
async fn a_page_of_another_site_is_refused_with_the_site_it_must_be() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let urls = [
        "https://other.example/",
        "https://notshop.example/",
        "https://shop.example.evil.com/",
        "https://shop.example@evil.com/",
        "https://evil.com/?https://shop.example/",
        "https://evil.com\\@shop.example/",
        "https://example/",
        "https://127.0.0.1/",
        "https://[::1]/",
        "ftp://shop.example/",
        "file:///shop.example",
        "data:text/html,shop.example",
        "javascript:shop.example",
        "about:blank",
        "//shop.example/",
        "shop.example",
        "https://",
        "",
    ];
    let mismatch = json!({"recorded": false, "reason": "site_mismatch", "domain": "shop.example"});
    for url in urls.into_iter().map(|url| json!(url)).chain([Value::Null]) {
        for body in
            [site.acceptance("v"), site.refusal("v", "declined"), site.refusal("v", "withdrawn")]
        {
            let answer = app.record(&with(&body, "url", url.clone())).await;
            assert_eq!(answer.status, 403, "{url}: {}", answer.text);
            assert_eq!(answer.json(), mismatch, "{url}");
        }
    }
    nothing_is_stored(&app, &key, &site).await;
}

/// Records as a browser does on a page of this origin.
async fn record_from(app: &App, origin: &str, body: &Value) -> Answer {
    let request = app.request(Method::POST, "/v1/consent/record").header("origin", origin);
    Answer::of(request.json(body)).await
}

#[tokio::test]
async fn a_browser_on_a_page_of_another_site_cannot_record() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let mismatch = json!({"recorded": false, "reason": "site_mismatch", "domain": "shop.example"});
    let bodies =
        [site.acceptance("v"), site.refusal("v", "declined"), site.refusal("v", "withdrawn")];
    for origin in [
        "https://evil.example",
        "https://notshop.example",
        "https://shop.example.evil.com",
        "https://example",
        "null",
        "",
        "file://",
        "chrome-extension://abcdefgh",
        "https://127.0.0.1",
    ] {
        for body in &bodies {
            assert_eq!(record_from(&app, origin, body).await.expect(403), mismatch, "{origin}");
        }
    }
    // An ignored choice is ignored from every origin.
    for (field, value) in [
        ("policy_version_hash", json!("stale")),
        ("purposes", json!(["newsletter"])),
        ("affirmative", json!(false)),
        ("gpc", json!(true)),
        ("pixel_id", json!("unknown")),
        ("visitor_id", json!("a b")),
    ] {
        let body = with(&bodies[0], field, value);
        ignored(&record_from(&app, "https://evil.example", &body).await);
    }
    // A refused page learns nothing by the other path either.
    let fire = app.request(Method::POST, "/api/v1/pixel/fire").header("origin", "null");
    Answer::of(fire.json(&bodies[0])).await.expect(403);
    nothing_is_stored(&app, &key, &site).await;
}

#[tokio::test]
async fn a_browser_on_any_page_of_the_site_can_record() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for origin in [
        "https://shop.example",
        "https://www.shop.example",
        "https://a.b.shop.example:8443",
        "http://shop.example",
    ] {
        let saved = record_from(&app, origin, &site.acceptance("v")).await.expect(202);
        // The receipt names the page that was given.
        assert_eq!(saved["receipt"]["origin"], "https://shop.example");
    }
}

#[tokio::test]
async fn from_its_own_pages_the_service_takes_withdrawals_and_nothing_else() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    record_from(&app, &app.base, &site.acceptance("v")).await.expect(403);
    record_from(&app, &app.base, &site.refusal("v", "declined")).await.expect(403);
    record_from(&app, &app.base, &site.refusal("v", "withdrawn")).await.expect(202);
}

#[tokio::test]
async fn the_preview_records_for_demo_tags_only() {
    let app = App::spawn().await;
    let form = app.request(Method::POST, "/demo/provision").body("domain=demo.example");
    assert_eq!(Answer::of(form).await.status, 200);
    let (pixel_id, policy_hash) = sqlx::query_as::<_, (String, String)>(
        "SELECT pixel_id, policy_hash FROM pixels JOIN consent_policies USING (pixel_id)
         WHERE pixels.domain = 'demo.example'",
    )
    .fetch_one(&app.pool)
    .await
    .unwrap();
    let demo = Site { pixel_id, policy_hash, domain: "demo.example".to_owned() };
    let on_the_preview = |body| with(&body, "url", json!(format!("{}/demo/preview/x", app.base)));
    let decline = demo.refusal("v", "declined");
    record_from(&app, &app.base, &on_the_preview(decline.clone())).await.expect(202);
    record_from(&app, &app.base, &decline).await.expect(202);
    record_from(&app, "https://demo.example", &decline).await.expect(202);
    let (_, site) = shop(&app).await;
    let elsewhere = on_the_preview(site.refusal("v", "declined"));
    record_from(&app, &app.base, &elsewhere).await.expect(403);
}

#[tokio::test]
async fn every_page_of_the_site_and_its_subdomains_counts() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for (url, origin) in [
        ("https://shop.example", "https://shop.example"),
        ("https://www.shop.example/a?b#c", "https://www.shop.example"),
        ("https://a.b.shop.example/", "https://a.b.shop.example"),
        ("http://shop.example/", "http://shop.example"),
        ("https://shop.example:443/", "https://shop.example"),
        ("https://shop.example:8443/", "https://shop.example:8443"),
        ("HTTPS://Shop.EXAMPLE/", "https://shop.example"),
        ("https://user:secret@shop.example/", "https://shop.example"),
    ] {
        let answer = app.recorded(&with(&site.acceptance("v"), "url", json!(url))).await;
        assert_eq!(answer["receipt"]["origin"], origin, "{url}");
        assert!(!answer.to_string().contains("secret@"));
    }
    app.recorded(&with(&site.acceptance("v"), "url", json!("https://shop.example./"))).await;
}
