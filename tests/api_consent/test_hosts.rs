//! The hosts on which a pixel can be tried under its test id.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use super::test_pixels::tried;
use crate::support::setup::{demo_pixel, shown};
use crate::support::story::Site;
use crate::support::visitors::with;
use crate::support::waiting::wait_until;
use crate::support::{Account, Answer, App};

async fn shop() -> (App, Account, Site) {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    (app, ann, site)
}

fn policy(hosts: &Value) -> Value {
    json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"], "test_hosts": hosts})
}

/// The status of a choice under the test id on a page.
async fn status_on(app: &App, site: &Site, page: &str) -> u16 {
    let choice = with(&tried(site, &site.refusal("visitor", "declined")), "url", json!(page));
    app.record(&choice).await.status
}

async fn installed(app: &App, pixel: &str, host: &str) -> Value {
    let path = format!("/external_api/install-pixel/tag-pixel?pid={pixel}&host={host}");
    app.get(&path).await.expect(200)["pixel_id"].clone()
}

#[tokio::test]
async fn a_pixel_names_its_test_id_and_the_line_for_it() {
    let (app, ann, site) = shop().await;
    let test = format!("test_{}", site.pixel_id);
    let pixel = shown(&app, &ann.key, &site.pixel_id).await;
    assert_eq!(pixel["test_pixel_id"], test);
    let line = format!("<script async src=\"{}/px/{test}.js\"></script>", app.base);
    assert_eq!(pixel["test_snippet"], line);
    let again = json!({"domain": "shop.example"});
    let again = app.call(Method::POST, "/v1/pixels", &ann.key, again).await.json();
    assert_eq!((&again["test_pixel_id"], &again["test_snippet"]), (&json!(test), &json!(line)));
    let list = app.call(Method::GET, "/v1/pixels", &ann.key, Value::Null).await.expect(200);
    assert_eq!(list["pixels"][0]["test_pixel_id"], test);
}

#[tokio::test]
async fn the_test_id_works_on_local_hosts_only_and_the_pixels_own_id_on_its_site_only() {
    let (app, _, site) = shop().await;
    let test = format!("test_{}", site.pixel_id);
    for (host, is_local) in [
        ("localhost", true),
        ("localhost:5173", true),
        ("shop.localhost", true),
        ("127.0.0.1:8080", true),
        ("[::1]:3000", true),
        ("192.168.1.20", true),
        ("10.0.0.7", true),
        ("shop.test", true),
        ("shop.example", false),
        ("www.shop.example", false),
        ("localhost.example", false),
        ("8.8.8.8", false),
    ] {
        let page = format!("http://{host}/");
        let expected = if is_local { 202 } else { 403 };
        assert_eq!(status_on(&app, &site, &page).await, expected, "{host}");
        let bare = host.rsplit_once(':').map_or(host, |(bare, port)| {
            if port.bytes().all(|byte| byte.is_ascii_digit()) { bare } else { host }
        });
        let named = installed(&app, &test, bare).await;
        assert_eq!(named, if is_local { json!(test) } else { Value::Null }, "{host}");
        let real = with(&site.refusal("visitor", "declined"), "url", json!(page));
        let is_own = host.ends_with("shop.example");
        assert_eq!(app.record(&real).await.status, if is_own { 202 } else { 403 }, "{host}");
        assert_eq!(installed(&app, &site.pixel_id, bare).await.is_string(), is_own, "{host}");
    }
    // A page of another site names a local address.
    let choice = tried(&site, &site.acceptance("visitor"));
    let request = app.request(Method::POST, "/v1/consent/record").json(&choice);
    let answer = Answer::of(request.header("origin", "https://evil.example")).await.expect(403);
    assert_eq!(
        (&answer["reason"], &answer["domain"]),
        (&json!("site_mismatch"), &json!("shop.example"))
    );
}

#[tokio::test]
async fn scripts_notice_and_second_address_take_the_test_id() {
    let (app, ann, site) = shop().await;
    let test = format!("test_{}", site.pixel_id);
    let served = async |pixel: &str| app.get(&format!("/px/{pixel}.js?lang=en")).await;
    let (script, own) = (served(&test).await, served(&site.pixel_id).await);
    assert_eq!((script.status, own.status), (200, 200));
    assert!(script.text.contains(&format!("\"{test}\"")), "it records under the test id");
    assert!(script.text.contains("\"Test · Your privacy choice\""), "it is marked");
    assert!(!own.text.contains("Test · ") && !own.text.contains("test_"), "the other is not");
    assert_eq!(served(&format!("test_{test}")).await.status, 404);
    assert_eq!(served("test_unknown").await.status, 404);
    let notice = app.get(&format!("/v1/policy/{test}")).await;
    assert_eq!(notice.text, app.get(&format!("/v1/policy/{}", site.pixel_id)).await.text);
    assert_eq!(app.get(&format!("/api/v1/policy/{test}")).await.status, 200);
    let choice = tried(&site, &site.acceptance("visitor"));
    app.post("/api/v1/pixel/fire", choice).await.expect(202);
    let tag = app.get(&format!("/pixels/{test}/p.js")).await;
    assert_eq!(tag.header("location"), Some(&*format!("https://tags.example/pixels/{test}/p.js")));
    // An alias has no test id, and the tests do not show that the pixel is in use.
    app.add_alias(&site.pixel_id, "alias").await;
    assert_eq!(served("alias").await.status, 200);
    assert_eq!(served("test_alias").await.status, 404);
    let other = app.consent_site(&ann.key, "other.example").await;
    served(&format!("test_{}", other.pixel_id)).await;
    app.recorded(&tried(&other, &other.acceptance("visitor"))).await;
    tokio::time::sleep(std::time::Duration::from_millis(500)).await;
    let in_use = "SELECT in_use_since IS NOT NULL FROM pixels WHERE pixel_id = $1";
    let in_use = sqlx::query_scalar::<_, bool>(in_use).bind(&other.pixel_id);
    assert!(!in_use.fetch_one(&app.pool).await.unwrap());
}

#[tokio::test]
async fn test_hosts_are_kept_with_the_configuration_and_are_no_part_of_the_policy() {
    let (app, ann, site) = shop().await;
    let configure =
        async |body: Value| app.configure(&ann.key, &site.pixel_id, body).await.expect(200);
    assert_eq!(status_on(&app, &site, "https://staging.shop.dev/").await, 403);
    let hosts = json!(["www.Staging.shop.dev", "preview.example", "staging.shop.dev"]);
    let kept = json!(["preview.example", "staging.shop.dev"]);
    let configured = configure(policy(&hosts)).await;
    assert_eq!(configured["test_hosts"], kept);
    assert_eq!(
        (&configured["policy_hash"], &configured["policy_version"]),
        (&json!(site.policy_hash), &json!(1))
    );
    for (page, status) in [
        ("https://staging.shop.dev/", 202),
        ("https://www.staging.shop.dev/", 202),
        ("https://preview.example:8443/", 202),
        ("https://a.preview.example/", 403),
        ("https://example/", 403),
    ] {
        assert_eq!(status_on(&app, &site, page).await, status, "{page}");
    }
    // Left out, they stay; a list replaces them.
    let without = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
    assert_eq!(configure(without).await["test_hosts"], kept);
    let path = format!("/v1/pixels/{}/consent/configuration", site.pixel_id);
    assert_eq!(app.read(&ann.key, &path).await.expect(200)["test_hosts"], kept);
    assert_eq!(configure(policy(&json!([]))).await["test_hosts"], json!([]));
    assert_eq!(status_on(&app, &site, "https://preview.example/").await, 403);
}

#[tokio::test]
async fn what_is_no_host_is_refused_and_changes_nothing() {
    let (app, ann, site) = shop().await;
    app.configure(&ann.key, &site.pixel_id, policy(&json!(["kept.example"]))).await.expect(200);
    let many = (0..21).map(|number| format!("h{number}.example")).collect::<Vec<_>>();
    for (hosts, location, msg) in [
        (
            json!(["a.example", "https://b.example/x"]),
            json!(["body", "test_hosts", "1"]),
            "must be a host",
        ),
        (json!(["intranet"]), json!(["body", "test_hosts", "0"]), "must be a host"),
        (json!(["co.uk"]), json!(["body", "test_hosts", "0"]), "must be a host"),
        (json!([""]), json!(["body", "test_hosts", "0"]), "must be a host"),
        (json!(["10.0.0.1"]), json!(["body", "test_hosts", "0"]), "must be a host"),
        (json!(many), json!(["body", "test_hosts"]), "at most 20 hosts"),
    ] {
        let answer = app.configure(&ann.key, &site.pixel_id, policy(&hosts)).await;
        answer.refused(400, "invalid request");
        let wrong = &answer.json()["errors"][0];
        assert_eq!(wrong["loc"], location, "{hosts}");
        assert!(wrong["msg"].as_str().unwrap().contains(msg), "{wrong}");
    }
    let now = app.configure(&ann.key, &site.pixel_id, policy(&json!(many[..20]))).await.expect(200);
    assert_eq!(now["test_hosts"].as_array().unwrap().len(), 20);
}

#[tokio::test]
async fn a_host_of_another_account_is_never_a_test_host() {
    let (app, ann, site) = shop().await;
    let eve = app.account("eve@example.com").await;
    let eves = app.consent_site(&eve.key, "eve.example").await;
    let own = app.pixel(&ann.key, "own.example").await;
    demo_pixel(&app, "demo.example").await;
    for host in ["eve.example", "www.eve.example", "staging.eve.example"] {
        let answer = app.configure(&ann.key, &site.pixel_id, policy(&json!([host]))).await;
        answer.refused(400, "invalid request");
        let wrong = answer.json()["errors"][0]["msg"].as_str().unwrap().to_owned();
        assert!(wrong.contains("another account"), "{wrong}");
    }
    assert_eq!(status_on(&app, &site, "https://eve.example/").await, 403);
    // Of one's own pixels, and of the demo, which holds no hosts.
    let hosts = json!(["staging.own.example", "demo.example", "later.example"]);
    app.configure(&ann.key, &site.pixel_id, policy(&hosts)).await.expect(200);
    let on = async |host: &str| status_on(&app, &site, &format!("https://{host}/")).await;
    for host in ["staging.own.example", "demo.example", "later.example"] {
        assert_eq!(on(host).await, 202, "{host}");
    }
    // Later it belongs to another account.
    app.pixel(&eve.key, "later.example").await;
    app.clock.advance(Duration::seconds(5));
    wait_until("it is a test host no more", async || on("later.example").await == 403).await;
    assert_eq!(on("demo.example").await, 202);
    // Nobody changes the hosts of another account's pixel.
    let answer = app.configure(&eve.key, &site.pixel_id, policy(&json!(["x.example"]))).await;
    answer.refused(404, "pixel not found");
    let shown = app.read(&eve.key, &format!("/v1/pixels/{}", site.pixel_id)).await;
    shown.refused(404, "pixel not found");
    assert_eq!(status_on(&app, &eves, "https://staging.own.example/").await, 403);
    assert!(!own.is_empty());
}
