//! The privacy notice: what it says, in which language, and when there is none.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::{app_with_site, shop};
use crate::support::visitors::with;
use crate::support::{Answer, App, tools};

fn full() -> Value {
    json!({
        "controller_name": "Shop & Sons Ltd",
        "controller_type": "organization",
        "controller_contact": "privacy@shop.example",
        "controller_jurisdiction": "Republic of Utopia",
        "rule_version": "Rules of 2026",
        "purposes": ["resolution", "newsletter", "partner_sms"],
        "data_sharing": true,
        "contact_channels": ["email", "agentic"],
        "disclosed_parties": ["Partner One", "Partner Two"],
    })
}

async fn page(app: &App, path: &str) -> String {
    let page = app.get(path).await;
    assert_eq!(page.status, 200, "{}", page.text);
    assert_eq!(page.header("content-type"), Some("text/html; charset=utf-8"));
    page.text
}

#[tokio::test]
async fn the_notice_says_all_that_was_configured() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let configured = app.configure(&key, &site.pixel_id, full()).await.expect(200);
    let text = page(&app, &format!("/v1/policy/{}", site.pixel_id)).await;
    for said in [
        "Shop &amp; Sons Ltd",
        "privacy@shop.example",
        "Republic of Utopia",
        "Rules of 2026",
        "Partner One",
        "Partner Two",
        "shop.example",
        "2026-03-10",
        configured["policy_hash"].as_str().unwrap(),
        "<dd>2</dd>",
        r#"<html lang="en" dir="ltr">"#,
    ] {
        assert!(text.contains(said), "{said} is not in {text}");
    }
    assert_eq!(text.matches(r#"<section class="purpose">"#).count(), 3);
}

#[tokio::test]
async fn the_second_path_is_served_by_the_same_handler() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let first = page(&app, &format!("/v1/policy/{}", site.pixel_id)).await;
    assert_eq!(page(&app, &format!("/api/v1/policy/{}", site.pixel_id)).await, first);
}

#[tokio::test]
async fn an_alias_shows_the_canonical_pixels_notice() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.add_alias(&site.pixel_id, "shop-alias").await;
    let by_id = page(&app, &format!("/v1/policy/{}", site.pixel_id)).await;
    assert_eq!(page(&app, "/v1/policy/shop-alias").await, by_id);
}

#[tokio::test]
async fn the_readers_language_is_the_one_asked_for_then_the_browsers() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let path = format!("/v1/policy/{}", site.pixel_id);
    let read = |query: &str, accepted: &'static str| {
        let request = app.request(Method::GET, &format!("{path}{query}"));
        Answer::of(request.header("accept-language", accepted))
    };
    for (query, accepted, language, title) in [
        ("", "de-AT,de;q=0.9,en;q=0.5", r#"lang="de" dir="ltr""#, "Datenschutzhinweis"),
        ("?lang=de", "en", r#"lang="de" dir="ltr""#, "Datenschutzhinweis"),
        ("?lang=ar", "en", r#"lang="ar" dir="rtl""#, "shop.example"),
        ("?lang=xx", "xx", r#"lang="en" dir="ltr""#, "shop.example"),
    ] {
        let answer = read(query, accepted).await;
        assert_eq!(answer.status, 200);
        assert!(answer.text.contains(language) && answer.text.contains(title), "{}", answer.text);
        assert_eq!(answer.header("vary"), Some("Accept-Language"));
    }
}

#[tokio::test]
async fn every_version_stays_readable_by_its_hash() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let path = format!("/v1/policy/{}", site.pixel_id);
    let second = app.configure(&key, &site.pixel_id, full()).await.expect(200);
    let current = page(&app, &path).await;
    assert!(current.contains("Shop &amp; Sons Ltd"));
    let named =
        page(&app, &format!("{path}?hash={}", second["policy_hash"].as_str().unwrap())).await;
    assert_eq!(named, current);
    let first = page(&app, &format!("{path}?hash={}", site.policy_hash)).await;
    assert!(first.contains("Shop Ltd") && first.contains(&site.policy_hash));
    assert!(!first.contains("Shop &amp; Sons Ltd"));
    assert!(first.contains("noindex"), "an earlier version is not for search engines");
    let upper = site.policy_hash.to_uppercase();
    for unknown in ["unknown", "%00", "%ff", &upper, &"0".repeat(64), &"a".repeat(5000)] {
        app.get(&format!("{path}?hash={unknown}")).await.refused(404, "policy not found");
    }
}

#[tokio::test]
async fn another_pixels_version_is_not_shown_under_this_one() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let second = app.pixel(&key, "second.example").await;
    let configured = app.configure(&key, &second, full()).await.expect(200);
    let hash = configured["policy_hash"].as_str().unwrap();
    let path = format!("/v1/policy/{}?hash={hash}", site.pixel_id);
    app.get(&path).await.refused(404, "policy not found");
}

#[tokio::test]
async fn with_a_policy_of_the_sites_own_the_notice_is_short_and_links_to_it() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let own = with(&full(), "site_policy_url", json!("https://shop.example/privacy?a=1&b=2"));
    app.configure(&key, &site.pixel_id, own).await.expect(200);
    let text = page(&app, &format!("/v1/policy/{}", site.pixel_id)).await;
    assert!(text.contains(r#"href="https://shop.example/privacy?a=1&amp;b=2""#), "{text}");
}

#[tokio::test]
async fn configured_texts_cannot_become_markup() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7 * 7 }}";
    let body = json!({
        "controller_name": hostile,
        "controller_contact": format!("javascript:{hostile}"),
        "controller_jurisdiction": hostile,
        "rule_version": hostile,
        "purposes": ["resolution"],
        "disclosed_parties": [hostile],
        "data_sharing": true,
    });
    app.configure(&key, &site.pixel_id, body).await.expect(200);
    let text = page(&app, &format!("/v1/policy/{}", site.pixel_id)).await;
    assert!(text.contains("&lt;script&gt;alert(1)"), "{text}");
    assert!(text.contains("{{ 7 * 7 }}"), "{text}");
    for markup in ["<script>alert", "<img src=x", "href=\"javascript:"] {
        assert!(!text.contains(markup), "{markup} is in {text}");
    }
}

#[tokio::test]
async fn without_a_policy_in_force_there_is_no_notice() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let never = app.pixel(&key, "never.example").await;
    app.turn_consent_off(&site.pixel_id).await;
    let node = app.another_node(&[]).await;
    for pixel in [site.pixel_id.as_str(), &never, "unknown", "no%20id", &"x".repeat(81)] {
        for prefix in ["/v1", "/api/v1"] {
            let answer = node.get(&format!("{prefix}/policy/{pixel}")).await;
            answer.refused(404, "policy not found");
            assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        }
    }
    // Receipts name it still.
    page(&node, &format!("/v1/policy/{}?hash={}", site.pixel_id, site.policy_hash)).await;
}

#[tokio::test]
async fn the_notice_may_load_nothing_from_elsewhere() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let answer = app.get(&format!("/v1/policy/{}", site.pixel_id)).await;
    let policy = answer.header("content-security-policy").expect("a policy for the page");
    assert!(policy.starts_with("default-src 'none'"), "{policy}");
    assert!(policy.contains("frame-ancestors 'none'"), "{policy}");
}

#[tokio::test]
async fn names_in_a_notice_are_set_apart_in_every_language() {
    let (app, _, site) = app_with_site().await;
    for (lang, dir) in [("ar", "rtl"), ("he", "rtl"), ("fa", "rtl"), ("de", "ltr"), ("en", "ltr")] {
        let text = page(&app, &format!("/v1/policy/{}?lang={lang}", site.pixel_id)).await;
        assert!(text.contains(&format!("dir=\"{dir}\"")), "{lang}");
        assert!(text.contains("\u{2068}Shop Ltd\u{2069}"), "{lang}");
        assert!(text.contains("\u{2068}ann.example\u{2069}"), "{lang}");
    }
}

#[tokio::test]
async fn configured_texts_cannot_reverse_the_text_around_them() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    const APART: [&str; 9] = [
        "Shop Ltd",
        "ask us",
        "Utopia",
        "Main Street",
        "Rules",
        "Partner",
        "Email",
        "Atlantis",
        "a while",
    ];
    // Ends what it is set apart by, then turns what follows.
    let hostile = |text: &str| format!("{text}\u{2069}\u{202e}\u{2067}");
    let body = json!({
        "controller_name": hostile("Shop Ltd"),
        "controller_contact": hostile("ask us"),
        "controller_jurisdiction": hostile("Utopia"),
        "controller_address": hostile("Main Street"),
        "rule_version": hostile("Rules"),
        "purposes": ["resolution"],
        "personal_data": [hostile("Email")],
        "storage_places": [hostile("Atlantis")],
        "retention": hostile("a while"),
        "disclosed_parties": [hostile("Partner")],
        "data_sharing": true,
        "site_policy_url": format!("https://shop.example/{}", hostile("privacy")),
    });
    let configured = app.configure(&key, &site.pixel_id, body).await.expect(200);
    let read = json!({"uri": configured["policy_url"]});
    let read = Answer::of(tools::post(&app).json(&tools::message("resources/read", read))).await;
    let plain = read.json()["result"]["contents"][0]["text"].as_str().unwrap().to_owned();
    let tag = app.get(&format!("/px/{}.js", site.pixel_id)).await.text;
    for lang in ["en", "ar"] {
        let text = page(&app, &format!("/v1/policy/{}?lang={lang}", site.pixel_id)).await;
        assert!(text.contains("\u{2068}Shop Ltd\u{2069}"), "{text}");
        for apart in APART {
            assert!(text.contains(&format!("<bdi>{apart}</bdi>")), "{apart}: {text}");
        }
        assert!(!text.contains(['\u{202e}', '\u{2067}']), "{text}");
    }
    for text in [&plain, &tag] {
        assert!(text.contains("Shop Ltd") && text.contains("Partner"), "{text}");
        assert!(!text.contains(['\u{202e}', '\u{2067}']), "{text}");
    }
    for apart in APART {
        assert!(plain.contains(&format!("\u{2068}{apart}\u{2069}")), "{apart}: {plain}");
    }
}
