//! The choice of the language of a page.

use reqwest::Method;

use crate::support::console::Browser;
use crate::support::{Answer, App};

const GERMAN: &str = "<html lang=\"de\"";
const ENGLISH: &str = "<html lang=\"en\"";

async fn read(app: &App, path: &str, headers: &[(&str, &str)]) -> Answer {
    let request = app.request(Method::GET, path);
    Answer::of(headers.iter().fold(request, |ask, (name, value)| ask.header(*name, *value))).await
}

/// The address in a `<link>` with these attributes before it.
fn address_of(page: &Answer, attributes: &str) -> String {
    let start = format!("{attributes} href=\"");
    let rest = page.text.split(&start).nth(1).unwrap_or_default();
    rest.split('"').next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn the_address_comes_before_the_choice_and_the_choice_before_the_browser() {
    let app = App::spawn().await;
    let german = ("accept-language", "fr;q=0.1, de-CH, en;q=0.8");
    let chosen =
        |tag| ("cookie", if tag == "en" { "assent_language=en" } else { "assent_language=de" });
    for (path, headers, expected) in [
        ("/contact", &[][..], ENGLISH),
        ("/contact", &[german], GERMAN),
        ("/contact", &[german, chosen("en")], ENGLISH),
        ("/contact", &[("accept-language", "en"), chosen("de")], GERMAN),
        ("/contact?lang=de", &[chosen("en")], GERMAN),
        ("/contact?lang=de-AT", &[], GERMAN),
        ("/contact?lang=en", &[german, chosen("de")], ENGLISH),
        ("/contact?lang=tlh", &[], ENGLISH),
        ("/contact?lang=tlh", &[german], GERMAN),
        ("/contact", &[("accept-language", "tlh, x;q=0.5")], ENGLISH),
        ("/contact", &[("cookie", "assent_language=tlh")], ENGLISH),
        ("/contact", &[("accept-language", "de;q=0, *")], ENGLISH),
    ] {
        let page = read(&app, path, headers).await;
        assert!(page.text.contains(expected), "{path} {headers:?}");
    }
}

#[tokio::test]
async fn caches_know_what_decides_about_the_language() {
    let app = App::spawn().await;
    for path in ["/", "/help", "/help/billing", "/terms", "/status"] {
        let pages =
            [read(&app, path, &[]).await, read(&app, path, &[("accept-language", "de")]).await];
        for page in &pages {
            let vary = page.headers.get_all("vary").iter().map(|value| value.to_str().unwrap());
            let vary = vary.collect::<Vec<_>>().join(", ");
            for name in ["Accept", "Accept-Language", "Cookie", "Accept-Encoding"] {
                assert!(vary.split(", ").any(|known| known == name), "{path}: {vary}");
            }
        }
        let [english, german] = &pages;
        if path != "/status" {
            assert!(english.header("etag").is_some(), "{path}");
            assert_ne!(english.header("etag"), german.header("etag"), "{path}");
        }
        let canonical = |page: &Answer| address_of(page, "rel=\"canonical\"");
        assert!(canonical(english).ends_with(path), "{path}: {}", english.text);
        assert!(canonical(german).ends_with(&format!("{path}?lang=de")), "{path}: {}", german.text);
        let other = address_of(english, "hreflang=\"de\"");
        assert!(
            other.starts_with("http") && other.ends_with(&format!("{path}?lang=de")),
            "{other}"
        );
    }
}

#[tokio::test]
async fn programs_that_read_markdown_get_english_unless_they_ask() {
    let app = App::spawn().await;
    let plain = read(&app, "/help/billing.md", &[("accept-language", "de")]).await;
    assert!(plain.text.starts_with("# Trial and billing"), "{}", plain.text);
    let german = read(&app, "/help/billing.md?lang=de", &[]).await;
    assert!(german.text.starts_with("# Testphase und Abrechnung"), "{}", german.text);
}

#[tokio::test]
async fn the_menu_keeps_a_language_and_leads_back() {
    let app = App::spawn().await;
    let mut browser = Browser::new(&app);
    let page = browser.get("/help?q=a+b&lang=en").await.text;
    assert!(page.contains("name=\"to\" value=\"&#x2F;help?q=a+b\""), "{page}");
    let menu = "name=\"lang\" value=\"de\" lang=\"de\">Deutsch</button>";
    assert!(page.contains(menu), "{page}");
    let answer = browser.post("/language", &[("lang", "de"), ("to", "/help?q=a+b")]).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/help?q=a+b")));
    let cookie = answer.header("set-cookie").unwrap();
    for part in ["assent_language=de", "HttpOnly", "SameSite=Lax", "Path=/", "Max-Age="] {
        assert!(cookie.contains(part), "{cookie}");
    }
    let page = browser.get("/contact").await.text;
    assert!(page.contains(GERMAN) && page.contains("lang=\"de\" aria-current=\"true\""), "{page}");
    let answer = browser.post("/language", &[("lang", "tlh"), ("to", "//evil.example/")]).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/")));
    assert!(answer.header("set-cookie").is_none());
}

#[tokio::test]
async fn a_signed_in_reader_gets_the_console_link_in_the_language() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let page = browser.get("/terms?lang=de").await.text;
    assert!(page.contains("<li><a href=\"/console\">Konsole</a></li>"), "{page}");
    assert!(!page.contains("/console/sign-in"), "{page}");
}
