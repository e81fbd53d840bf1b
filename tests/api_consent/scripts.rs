//! The scripts that sites load, and what the tag asks: one test per row and per refusal.

use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::shop;
use crate::support::visitors::with;
use crate::support::{Answer, App};

#[track_caller]
fn is_script(answer: &Answer) {
    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(answer.header("content-type"), Some("application/javascript; charset=utf-8"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    assert_eq!(answer.header("cross-origin-resource-policy"), Some("cross-origin"));
    assert!(answer.header("vary").is_some_and(|vary| vary.contains("Accept-Encoding")));
    assert!(!answer.text.contains("__ASSENT_CONFIG__"));
}

#[tokio::test]
async fn the_consent_tag_carries_what_its_pixel_asks() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let script = app.get(&format!("/px/{}.js", site.pixel_id)).await;
    is_script(&script);
    for content in [
        site.pixel_id.as_str(),
        &site.policy_hash,
        "Shop Ltd",
        &app.base,
        "resolution",
        "analytics",
    ] {
        assert!(script.text.contains(content), "{content}");
    }
}

#[tokio::test]
async fn the_consent_tag_of_an_alias_names_the_canonical_id() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    app.add_alias(&site.pixel_id, "shop-alias").await;
    let script = app.get("/px/shop-alias.js").await;
    is_script(&script);
    assert!(script.text.contains(&site.pixel_id) && !script.text.contains("shop-alias"));
}

#[tokio::test]
async fn a_tag_from_memory_names_no_request_and_a_missing_one_does() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let tag = format!("/px/{}.js", site.pixel_id);
    let started = Instant::now();
    // News of the site's changes may come after the first answer, and it is forgotten again.
    let kept = loop {
        let answer = app.get(&tag).await;
        is_script(&answer);
        if answer.header("x-request-id").is_none() {
            break answer;
        }
        assert!(started.elapsed() < Duration::from_secs(30), "it is never kept in memory");
    };
    assert!(kept.text.contains(&site.policy_hash));
    assert!(app.get("/px/unknown.js").await.header("x-request-id").is_some());
}

#[tokio::test]
async fn there_is_no_consent_tag_without_pixel_consent_or_policy() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let never = app.pixel(&key, "never.example").await;
    app.turn_consent_off(&site.pixel_id).await;
    let node = app.another_node(&[]).await;
    let too_long = "x".repeat(81);
    for name in [site.pixel_id.as_str(), &never, "unknown", "no%20id", &too_long, ""] {
        let answer = node.get(&format!("/px/{name}.js")).await;
        answer.refused(404, "consent tag not found");
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    }
    node.get(&format!("/px/{}", site.pixel_id)).await.refused(404, "consent tag not found");
    // Enabled by hand, but nothing was ever published to be asked.
    sqlx::query("UPDATE pixels SET consent_enabled = true WHERE pixel_id = $1")
        .bind(&never)
        .execute(&app.pool)
        .await
        .unwrap();
    let fresh = app.another_node(&[]).await;
    fresh.get(&format!("/px/{never}.js")).await.refused(404, "consent tag not found");
}

#[tokio::test]
async fn a_suspended_account_has_no_consent_tag() {
    let app = App::spawn().await;
    let shop = app.account("shop@example.com").await;
    let site = app.consent_site(&shop.key, "shop.example").await;
    app.set_status(&shop.account_id, "suspended").await;
    let node = app.another_node(&[]).await;
    let answer = node.get(&format!("/px/{}.js", site.pixel_id)).await;
    answer.refused(404, "consent tag not found");
}

#[tokio::test]
async fn a_changed_policy_is_in_the_next_consent_tag() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let path = format!("/px/{}.js", site.pixel_id);
    assert!(app.get(&path).await.text.contains(&site.policy_hash));
    let body = json!({"controller_name": "Other Ltd", "purposes": ["newsletter"]});
    let hash = app.configure(&key, &site.pixel_id, body).await.expect(200)["policy_hash"].clone();
    let script = app.get(&path).await;
    assert!(script.text.contains(hash.as_str().unwrap()) && script.text.contains("Other Ltd"));
    assert!(!script.text.contains(&site.policy_hash));
}

#[tokio::test]
async fn a_changed_appearance_is_in_the_next_consent_tag() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let path = format!("/px/{}.js", site.pixel_id);
    let before = app.get(&path).await.text;
    let body = json!({
        "controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"],
        "appearance": {"font": "Comic Relief"},
    });
    app.configure(&key, &site.pixel_id, body.clone()).await.expect(200);
    let after = app.get(&path).await.text;
    assert!(!before.contains("Comic Relief") && after.contains("Comic Relief"));
    // Saved without a look, the present one stays.
    app.configure(&key, &site.pixel_id, with(&body, "appearance", Value::Null)).await.expect(200);
    assert!(app.get(&path).await.text.contains("Comic Relief"));
}

#[tokio::test]
async fn configured_texts_cannot_leave_the_script() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let hostile = "</script><!--\u{2028}\"+alert(1)+\"";
    let body = json!({"controller_name": hostile, "purposes": ["resolution"]});
    app.configure(&key, &site.pixel_id, body).await.expect(200);
    let script = app.get(&format!("/px/{}.js", site.pixel_id)).await;
    is_script(&script);
    assert!(!script.text.contains("</script") && !script.text.contains("<!--"));
    assert!(!script.text.contains('\u{2028}') && !script.text.contains("\"+alert(1)+\""));
}

#[tokio::test]
async fn the_consent_tag_speaks_the_visitors_language() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let path = format!("/px/{}.js", site.pixel_id);
    let get = |query: &str, accepted: &'static str| {
        let request = app.request(Method::GET, &format!("{path}{query}"));
        Answer::of(request.header("accept-language", accepted))
    };
    for (query, accepted) in [("", "de"), ("?lang=de", "en")] {
        let script = get(query, accepted).await;
        is_script(&script);
        assert!(script.text.contains("Ihre Datenschutz-Auswahl"));
        assert!(script.header("vary").unwrap().contains("Accept-Language"));
    }
    assert!(!get("", "en").await.text.contains("Ihre Datenschutz-Auswahl"));
}

#[tokio::test]
async fn the_scripts_of_the_immediate_snippet_are_served() {
    let app = App::spawn().await;
    for path in ["/pixel.js", "/pixel.dev.js", "/pixel_popup.js"] {
        let script = app.get(path).await;
        is_script(&script);
        assert!(script.text.contains(&app.base), "{path}");
        let head = Answer::of(app.request(Method::HEAD, path)).await;
        assert_eq!((head.status, head.text.as_str()), (200, ""), "{path}");
    }
}

#[tokio::test]
async fn the_reopened_popup_is_a_script_of_its_own_in_every_language() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for (language, content) in [("en", "Your data"), ("de", "Ihre Daten"), ("ja", "あなたのデータ")]
    {
        let script = app.get(&format!("/preferences.js?lang={language}")).await;
        is_script(&script);
        assert!(script.text.contains(content), "{language}");
        // The module that every page loads does not contain these texts.
        let tag = app.get(&format!("/px/{}.js?lang={language}", site.pixel_id)).await;
        let explained = "Global Privacy Control";
        assert!(script.text.contains(explained) && !tag.text.contains(explained), "{language}");
    }
}

#[tokio::test]
async fn modules_with_texts_use_the_visitors_language() {
    let app = App::spawn().await;
    for (module, language, content) in [
        ("recheck", "en", "Please reload the page."),
        ("recheck", "de", "Bitte laden Sie die Seite neu."),
        ("placeholders", "en", "Always allow"),
        ("placeholders", "de", "Immer erlauben"),
    ] {
        let script = app.get(&format!("/{module}.js?lang={language}")).await;
        is_module(&script);
        assert!(script.text.contains(content), "{module} {language}");
    }
}

#[tokio::test]
async fn other_modules_are_the_same_in_every_language() {
    let app = App::spawn().await;
    for module in ["extras", "signals", "compat", "hints", "controls", "share"] {
        let script = app.get(&format!("/{module}.js?lang=de")).await;
        is_module(&script);
        assert_eq!(script.text, app.get(&format!("/{module}.js?lang=ar")).await.text, "{module}");
    }
}

fn is_module(script: &Answer) {
    is_script(script);
    assert!(script.text.contains("export{"), "it is imported");
    assert!(!script.text.contains("__ASSENT_CONFIG__"));
    assert_eq!(script.header("access-control-allow-origin"), Some("*"));
}

#[tokio::test]
async fn the_types_of_the_tag_are_served_as_text() {
    let app = App::spawn().await;
    let types = app.get("/assent.d.ts").await;
    assert_eq!(types.status, 200);
    assert_eq!(types.header("content-type"), Some("text/plain; charset=utf-8"));
    assert_eq!(types.header("access-control-allow-origin"), Some("*"));
    assert!(types.text.contains("assent: Assent.Api;"));
}

#[tokio::test]
async fn the_first_visitor_of_a_pixel_and_language_gets_a_compressed_tag() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    for language in ["en", "de", "ja"] {
        let path = format!("/px/{}.js?lang={language}", site.pixel_id);
        let request =
            app.request(Method::GET, &path).header("accept-encoding", "gzip, deflate, br");
        let first = request.send().await.unwrap();
        assert!(first.headers().contains_key("content-encoding"), "{language}");
        let (small, plain) = (first.bytes().await.unwrap().len(), app.get(&path).await.text.len());
        assert!(2 * small < plain, "{language}: {small} of {plain} bytes");
    }
}

#[tokio::test]
async fn scripts_are_compressed_for_who_accepts_it() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let path = format!("/px/{}.js", site.pixel_id);
    let plain = app.get(&path).await;
    assert_eq!(plain.header("content-encoding"), None);
    for encoding in ["br", "gzip"] {
        let mut served = None;
        // The first answers are gzip: the smallest form is made aside, while nobody else is in a hurry.
        for _ in 0..1_200 {
            let request = app.request(Method::GET, &path).header("accept-encoding", encoding);
            let response = request.send().await.unwrap();
            if response.headers().get("content-encoding").is_some_and(|named| named == encoding) {
                served = Some(response.bytes().await.unwrap());
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let served = served.unwrap_or_else(|| panic!("never served as {encoding}"));
        assert!(served.len() * 2 < plain.text.len(), "{encoding}: {} bytes", served.len());
        let mut text = Vec::new();
        match encoding {
            "br" => brotli::BrotliDecompress(&mut &served[..], &mut text).unwrap(),
            _ => {
                let mut reader = flate2::read::GzDecoder::new(&served[..]);
                std::io::copy(&mut reader, &mut text).unwrap();
            }
        }
        assert_eq!(String::from_utf8(text).unwrap(), plain.text);
    }
}

#[tokio::test]
async fn the_identification_tag_lies_on_its_delivery_network() {
    let app = App::spawn().await;
    for id in ["abc", "a-b_C9", &"x".repeat(80)] {
        let answer = app.get(&format!("/pixels/{id}/p.js")).await;
        assert_eq!(answer.status, 302);
        let there = format!("https://tags.example/pixels/{id}/p.js");
        assert_eq!(answer.header("location"), Some(there.as_str()));
    }
}

#[tokio::test]
async fn an_id_that_cannot_be_one_has_no_identification_tag() {
    let app = App::spawn().await;
    for id in ["a.b", "a%20b", "a%2Fb", "%C3%A4", "a%0D%0ASet-Cookie:x", "..%2f..", &"x".repeat(81)]
    {
        app.get(&format!("/pixels/{id}/p.js")).await.refused(404, "pixel not found");
    }
}

#[tokio::test]
async fn the_tag_may_run_on_its_pixels_hosts_only() {
    let app = App::spawn().await;
    let key = app.account("shop@example.com").await.key;
    let pixel = app.pixel(&key, "shop.example").await;
    app.add_alias(&pixel, "shop-alias").await;
    let ask = async |query: String| {
        let answer = app.get(&format!("/external_api/install-pixel/tag-pixel?{query}")).await;
        assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
        answer.expect(200)
    };
    let named = json!({"pixel_id": pixel});
    for host in
        ["shop.example", "www.shop.example", "a.b.shop.example", "SHOP.example", "shop.example."]
    {
        for name in [format!("pid={pixel}"), format!("dpid={pixel}"), "pid=shop-alias".to_owned()] {
            assert_eq!(ask(format!("{name}&host={host}")).await, named, "{name} {host}");
        }
    }
    let nobody = json!({"pixel_id": null});
    for query in [
        format!("pid={pixel}&host=other.example"),
        format!("pid={pixel}&host=notshop.example"),
        format!("pid={pixel}&host=shop.example.evil.com"),
        format!("pid={pixel}&host=example"),
        format!("pid={pixel}&host="),
        format!("pid={pixel}"),
        "pid=unknown&host=shop.example".to_owned(),
        "pid=no%20id&host=shop.example".to_owned(),
        "host=shop.example".to_owned(),
        String::new(),
    ] {
        assert_eq!(ask(query.clone()).await, nobody, "{query}");
    }
}

#[tokio::test]
async fn the_tag_of_a_suspended_or_pending_account_does_not_run() {
    let app = App::spawn().await;
    let shop = app.account("shop@example.com").await;
    let pixel = app.pixel(&shop.key, "shop.example").await;
    let path = format!("/external_api/install-pixel/tag-pixel?pid={pixel}&host=shop.example");
    for status in ["suspended", "pending_email"] {
        app.set_status(&shop.account_id, status).await;
        let node = app.another_node(&[]).await;
        assert_eq!(node.get(&path).await.expect(200), json!({"pixel_id": null}));
    }
}
