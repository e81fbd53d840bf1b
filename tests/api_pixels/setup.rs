//! The table "Pixel setup routes": setup, create, list and show, and what all its routes share.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::setup::{
    aliases, create, create_host, field_names, send_raw, set_install_status, setup, shown,
};
use crate::support::{Answer, App};

/// Every route of the table, for a pixel, with a body that it takes.
fn table(pixel: &str) -> Vec<(Method, String, Value)> {
    let path = format!("/v1/pixels/{pixel}");
    vec![
        (Method::GET, "/v1/setup".to_owned(), Value::Null),
        (Method::POST, "/v1/pixels".to_owned(), json!({"domain": "more.example"})),
        (Method::GET, "/v1/pixels".to_owned(), Value::Null),
        (Method::GET, path.clone(), Value::Null),
        (Method::PATCH, path.clone(), json!({"domain": "new.example"})),
        (Method::DELETE, path.clone(), Value::Null),
        (Method::POST, format!("{path}/check"), Value::Null),
        (Method::GET, format!("{path}/snippets/add_to_cart"), Value::Null),
        (Method::POST, format!("{path}/email-snippet"), json!({"email": "dev@example.com"})),
    ]
}

#[tokio::test]
async fn setup_counts_the_accounts_pixels_and_installs() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let counts = |pixels, installed, complete| {
        json!({
            "good_standing": true,
            "pixel_count": pixels,
            "installed_count": installed,
            "setup_complete": complete,
        })
    };
    assert_eq!(setup(&app, &ann.key).await, counts(0, 0, false));
    let pixel = app.pixel(&ann.key, "a.example").await;
    app.pixel(&ann.key, "b.example").await;
    assert_eq!(setup(&app, &ann.key).await, counts(2, 0, false));
    set_install_status(&app, &pixel, "installed").await;
    assert_eq!(setup(&app, &ann.key).await, counts(2, 1, true));
    assert_eq!(setup(&app, &bob.key).await, counts(0, 0, false));
    for status in ["not_installed", "unreachable"] {
        set_install_status(&app, &pixel, status).await;
        assert_eq!(setup(&app, &ann.key).await, counts(2, 0, false));
    }
}

#[tokio::test]
async fn a_new_pixel_has_all_its_fields() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = create_host(&app, &ann.key, "shop.example").await.expect(201);
    assert_eq!(
        field_names(&pixel),
        [
            "check_error",
            "checked_at",
            "consent_enabled",
            "domain",
            "install_status",
            "pixel_id",
            "snippet",
            "test_pixel_id",
            "test_snippet"
        ]
    );
    let id = pixel["pixel_id"].as_str().unwrap();
    assert!(id.len() <= 40 && !id.starts_with("px_"));
    assert_eq!(pixel["domain"], "shop.example");
    assert_eq!(pixel["install_status"], "not_checked");
    assert_eq!(pixel["checked_at"], Value::Null);
    assert_eq!(pixel["check_error"], Value::Null);
    assert_eq!(pixel["consent_enabled"], false);
    let snippet =
        format!("<script async src=\"{}/pixel.js\" data-pixel=\"{id}\"></script>", app.base);
    assert_eq!(pixel["snippet"], json!(snippet));
    assert_eq!(aliases(&app, id).await.len(), 1);
}

#[tokio::test]
async fn posting_a_host_again_gives_the_pixel_it_has() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let first = create_host(&app, &ann.key, "shop.example").await.expect(201);
    for again in ["shop.example", "https://www.SHOP.example", "shop.example."] {
        assert_eq!(create_host(&app, &ann.key, again).await.expect(201), first, "{again}");
    }
    set_install_status(&app, first["pixel_id"].as_str().unwrap(), "installed").await;
    let again = create_host(&app, &ann.key, "shop.example").await.expect(201);
    assert_eq!(again["install_status"], "installed");
}

#[tokio::test]
async fn the_snippet_is_the_consent_tag_once_consent_is_on() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let again = create_host(&app, &ann.key, "shop.example").await.expect(201);
    assert_eq!(again["consent_enabled"], true);
    let tag = format!("<script async src=\"{}/px/{}.js\"></script>", app.base, site.pixel_id);
    assert_eq!(again["snippet"], json!(tag));
    assert_eq!(shown(&app, &ann.key, &site.pixel_id).await["snippet"], json!(tag));
}

#[tokio::test]
async fn a_pixel_without_a_domain_is_refused() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for body in
        [json!({}), json!({"domain": null}), json!({"domain": ""}), json!({"domain": " \t"})]
    {
        create(&app, &ann.key, body).await.refused(400, "domain is required");
    }
}

#[tokio::test]
async fn a_page_is_refused() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for page in [
        "https://shop.example/",
        "shop.example/cart",
        "shop.example?a=1",
        "shop.example#top",
        "http://shop.example",
        "ftp://shop.example",
        "https://https://shop.example",
        "shop.example\\cart",
    ] {
        create_host(&app, &ann.key, page).await.refused(400, "domain must be a host, not a page");
    }
}

#[tokio::test]
async fn an_invalid_host_is_refused() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let long_label = format!("{}.example", "x".repeat(64));
    let long_host = format!("{}example", "abcdefgh.".repeat(30));
    for host in [
        "shop.example:443",
        "ann@shop.example",
        "shop example.com",
        "shop\u{a0}x.example",
        "shop_x.example",
        "127.0.0.1",
        "[::1]",
        "2130706433",
        "0x7f.0.0.1",
        "intranet",
        "com",
        "co.uk",
        "www.co.uk",
        "github.io",
        "-shop.example",
        "shop-.example",
        "shop..example",
        ".shop.example",
        "shop.example..",
        ".",
        "shop%2eexample",
        "xn--a.example",
        "*.shop.example",
        &long_label,
        &long_host,
    ] {
        create_host(&app, &ann.key, host).await.refused(400, "domain must be a host");
    }
}

#[tokio::test]
async fn a_host_is_kept_in_one_form_however_it_is_written() {
    let app = App::spawn().await;
    let operator = app.unlimited_account("operator@example.com").await;
    for (given, kept) in [
        (" Shop.Example ", "shop.example"),
        ("https://www.Other.example", "other.example"),
        ("HTTPS://WWW.THIRD.EXAMPLE.", "third.example"),
        ("sub.www.example.com", "sub.www.example.com"),
        ("bücher.example", "xn--bcher-kva.example"),
        ("BÜCHER.example", "xn--bcher-kva.example"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
        ("日本語.jp", "xn--wgv71a119e.jp"),
        ("me.github.io", "me.github.io"),
        ("shop.co.uk", "shop.co.uk"),
        ("1.example.com", "1.example.com"),
    ] {
        let pixel = create_host(&app, &operator.key, given).await.expect(201);
        assert_eq!(pixel["domain"], kept, "{given}");
    }
}

#[tokio::test]
async fn the_services_own_host_may_be_tried_even_as_a_single_label() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = create_host(&app, &ann.key, "LOCALHOST.").await.expect(201);
    assert_eq!(pixel["domain"], "localhost");
    create_host(&app, &ann.key, "localhost:8000").await.refused(400, "domain must be a host");
}

#[tokio::test]
async fn install_methods_that_are_not_offered_are_refused_in_the_body() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    for (method, path, body) in table(&pixel).into_iter().filter(|row| row.0 != Method::GET) {
        for name in ["cms", "gtm", "utm", "GTM", " cms "] {
            let mut body = if body.is_null() { json!({}) } else { body.clone() };
            body["method"] = json!(name);
            let answer = app.call(method.clone(), &path, &ann.key, body).await;
            answer.refused(400, "that install method is not available");
        }
    }
    assert_eq!(shown(&app, &ann.key, &pixel).await["domain"], "shop.example");
    assert_eq!(setup(&app, &ann.key).await["pixel_count"], 1);
}

#[tokio::test]
async fn install_methods_that_are_not_offered_are_refused_in_the_query_of_every_route() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    for (method, path, body) in table(&pixel) {
        for name in ["cms", "gtm", "utm", "Cms", "%20utm"] {
            let path = format!("{path}?method={name}");
            let answer = app.call(method.clone(), &path, &ann.key, body.clone()).await;
            answer.refused(400, "that install method is not available");
        }
    }
    assert_eq!(setup(&app, &ann.key).await["pixel_count"], 1);
}

#[tokio::test]
async fn every_other_install_method_is_accepted() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    for name in [json!("paste"), json!(""), json!("cms2"), json!(null)] {
        let body = json!({"domain": "shop.example", "method": name});
        create(&app, &ann.key, body).await.expect(201);
    }
    app.call(Method::GET, "/v1/setup?method=paste&method2=cms", &ann.key, Value::Null)
        .await
        .expect(200);
}

#[tokio::test]
async fn bodies_of_a_wrong_shape_are_listed() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let path = format!("/v1/pixels/{pixel}");
    for (method, path, field) in [
        (Method::POST, "/v1/pixels".to_owned(), "domain"),
        (Method::PATCH, path.clone(), "domain"),
        (Method::POST, format!("{path}/email-snippet"), "email"),
    ] {
        for wrong in [json!(5), json!(true), json!(["a.example"]), json!({})] {
            let answer = app.call(method.clone(), &path, &ann.key, json!({field: wrong})).await;
            answer.invalid(&["body", field]);
        }
        let body = json!({field: "a.example", "method": 5});
        app.call(method.clone(), &path, &ann.key, body).await.invalid(&["body", "method"]);
        for body in
            ["", "no json", "[]", "\"shop.example\"", "null", "{\"domain\":\"a\",\"domain\":\"a\"}"]
        {
            send_raw(&app, method.clone(), &path, &ann.key, body).await.invalid(&["body"]);
        }
    }
}

#[tokio::test]
async fn every_route_refuses_a_key_that_does_not_do() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let cyd = app.account("cyd@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    app.set_status(&bob.account_id, "suspended").await;
    sqlx::query("UPDATE api_keys SET revoked_at = $2 WHERE account_id = $1")
        .bind(&cyd.account_id)
        .bind(app.clock.now())
        .execute(&app.pool)
        .await
        .unwrap();
    for (method, path, body) in table(&pixel) {
        let keyless = app.request(method.clone(), &path).json(&body);
        Answer::of(keyless).await.refused(401, "api key required");
        let call = |key| app.call(method.clone(), &path, key, body.clone());
        call("px_wrong").await.refused(403, "invalid api key");
        call(&cyd.key).await.refused(403, "api key revoked");
        call(&bob.key).await.refused(403, "account is not in good standing");
    }
}

#[tokio::test]
async fn a_key_is_looked_at_before_the_method_and_the_body() {
    let app = App::spawn().await;
    let answer = app.post("/v1/pixels?method=cms", json!({"domain": 5})).await;
    answer.refused(401, "api key required");
}

#[tokio::test]
async fn every_route_of_a_pixel_is_not_found_for_another_account() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let alias = aliases(&app, &pixel).await.remove(0);
    let of_pixel =
        |name: &str| table(name).into_iter().filter(|row| row.1.matches('/').count() > 2);
    for (method, path, body) in of_pixel(&pixel) {
        app.call(method, &path, &bob.key, body).await.refused(404, "pixel not found");
    }
    for (method, path, body) in
        of_pixel("unknown").chain(of_pixel("n%00ul")).chain(of_pixel(&alias))
    {
        app.call(method, &path, &ann.key, body).await.refused(404, "pixel not found");
    }
    assert_eq!(shown(&app, &ann.key, &pixel).await["domain"], "shop.example");
}

#[tokio::test]
async fn the_list_has_the_accounts_pixels_oldest_first_without_snippets() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let bob = app.account("bob@example.com").await;
    app.pixel(&bob.key, "bob.example").await;
    for host in ["c.example", "a.example", "b.example"] {
        app.pixel(&ann.key, host).await;
        app.clock.advance(chrono::Duration::seconds(1));
    }
    let list = app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await.expect(200);
    let pixels = list["pixels"].as_array().unwrap();
    let hosts = pixels.iter().map(|pixel| pixel["domain"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(hosts, ["c.example", "a.example", "b.example"]);
    for pixel in pixels {
        assert_eq!(
            field_names(pixel),
            ["checked_at", "domain", "install_status", "pixel_id", "test_pixel_id"]
        );
    }
}

#[tokio::test]
async fn an_unlimited_key_reads_any_pixel() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let operator = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    assert_eq!(shown(&app, &operator.key, &pixel).await, shown(&app, &ann.key, &pixel).await);
}
