//! The visitor's own page, as it is before its script runs. What it does then is told in
//! `tests/browser/specs/your-data-page.spec.ts`.

use std::fs;
use std::path::Path;

use reqwest::Method;
use serde_json::Value;

use crate::support::{Answer, App};

/// The texts of every language for that page.
fn locales() -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts-src/locales");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    files.map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap()).collect()
}

#[tokio::test]
async fn it_is_there_in_every_language_and_tells_without_a_script_what_to_do() {
    let app = App::spawn().await;
    let locales = locales();
    assert_eq!(locales.len(), 39);
    for locale in locales {
        let said = |name: &str| locale[name].as_str().unwrap();
        let page = app.get(&format!("/your-data?lang={}", said("lang"))).await;
        assert_eq!(page.status, 200);
        let start = format!(r#"<html lang="{}" dir="{}">"#, said("lang"), said("dir"));
        assert!(page.text.contains(&start), "{start}");
        for text in ["title", "intro", "address", "needsScript", "download", "erase"] {
            let text = tera::escape_html(locale["yourData"][text].as_str().unwrap());
            assert!(page.text.contains(&text), "{}: {text}", said("lang"));
        }
    }
}

#[tokio::test]
async fn the_browsers_language_is_spoken_unless_the_address_names_one() {
    let app = App::spawn().await;
    for (path, language) in [("/your-data", "ar"), ("/your-data?lang=de-AT", "de")] {
        let request = app.request(Method::GET, path).header("Accept-Language", "ar-EG, en;q=0.5");
        let page = Answer::of(request).await;
        assert!(page.text.contains(&format!("<html lang=\"{language}\"")), "{path}");
        assert_eq!(page.header("vary"), Some("Accept-Language"));
    }
}

#[tokio::test]
async fn nobody_keeps_it_finds_it_or_learns_that_it_was_open() {
    let app = App::spawn().await;
    let page = app.get("/your-data").await;
    assert_eq!(page.header("cache-control"), Some("no-store"));
    assert_eq!(page.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(page.headers.get_all("referrer-policy").iter().count(), 1);
    assert!(page.text.contains(r#"<meta name="robots" content="noindex">"#));
    assert_eq!(page.header("access-control-allow-origin"), None);
}

#[tokio::test]
async fn its_script_is_an_asset_without_a_configuration() {
    let app = App::spawn().await;
    let script = app.get("/assets/your-data.js").await;
    assert_eq!(script.status, 200);
    assert_eq!(script.header("content-type"), Some("text/javascript; charset=utf-8"));
    assert!(!script.text.contains("__ASSENT_CONFIG__"));
}
