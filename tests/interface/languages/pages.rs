//! Every public page in every language.

use std::collections::BTreeSet;

use assent::infra::templates::language::{Language, all};
use assent::infra::templates::segments::{id_of, segments};
use assent::infra::templates::text;
use regex::Regex;

use crate::support::{Answer, App};

/// The pages, and the templates that they are made of besides the layout.
const PAGES: [(&str, &str); 24] = [
    ("/", "pages/home.html"),
    ("/site/pixel", "pages/site_pixel.html"),
    ("/site/permission", "pages/site_permission.html"),
    ("/help", "pages/help.html"),
    ("/help/getting-started", "pages/help_article.html"),
    ("/help/install", "pages/help_article.html"),
    ("/help/popup-does-not-appear", "pages/help_article.html"),
    ("/help/popup-and-notice", "pages/help_article.html"),
    ("/help/numbers", "pages/help_article.html"),
    ("/help/contacts", "pages/help_article.html"),
    ("/help/erasure-requests", "pages/help_article.html"),
    ("/help/evidence", "pages/help_article.html"),
    ("/help/members-and-keys", "pages/help_article.html"),
    ("/help/lost-mailbox", "pages/help_article.html"),
    ("/help/billing", "pages/help_article.html"),
    ("/contact", "pages/contact.html"),
    ("/status", "pages/status.html"),
    ("/privacy", "pages/paper.html"),
    ("/terms", "pages/paper.html"),
    ("/dpa", "pages/paper.html"),
    ("/subprocessors", "pages/paper.html"),
    ("/accessibility", "pages/paper.html"),
    ("/console/sign-in", "console/sign_in.html"),
    ("/console/sign-up", "console/sign_up.html"),
];

/// Pages whose title is the same word in some languages.
const INTERNATIONAL: [&str; 5] = ["/", "/status", "/help", "/contact", "/privacy"];

fn links(page: &str) -> Vec<String> {
    let link = Regex::new(r#"<a [^>]*?href="([^"]*)""#).unwrap();
    let mut links = link.captures_iter(page).map(|found| found[1].to_owned()).collect::<Vec<_>>();
    links.sort();
    links
}

fn title(page: &str) -> &str {
    page.split("<title>").nth(1).and_then(|rest| rest.split("</title>").next()).unwrap()
}

/// English texts of a template of several words, without values and tags.
fn english(template: &str) -> BTreeSet<String> {
    let texts = ["layout.html", template].into_iter().flat_map(|name| {
        let source = text(name);
        segments(source).into_iter().map(|range| id_of(&source[range]))
    });
    texts.filter(|text| !text.contains(['{', '<']) && text.split(' ').count() > 3).collect()
}

fn others() -> impl Iterator<Item = &'static Language> {
    all().iter().filter(|language| !language.is_english())
}

#[tokio::test]
async fn every_public_page_is_translated_into_every_language() {
    let app = App::spawn_with_mail().await;
    assert!(others().count() > 0);
    for (path, template) in PAGES {
        let source = app.get(path).await;
        assert_eq!(source.status, 200, "{path}");
        assert!(source.text.contains("<html lang=\"en\""), "{path}");
        assert_eq!(source.header("content-language"), Some("en"), "{path}");
        for language in others() {
            let tag = language.tag;
            let page = app.get(&format!("{path}?lang={tag}")).await;
            assert_eq!(page.status, 200, "{path} {tag}: {}", page.text);
            assert!(page.text.contains(&format!("<html lang=\"{tag}\"")), "{path} {tag}");
            assert_eq!(page.header("content-language"), Some(tag), "{path}");
            let differs = title(&page.text) != title(&source.text);
            assert!(
                differs || INTERNATIONAL.contains(&path),
                "{path} {tag}: {}",
                title(&page.text)
            );
            assert_eq!(links(&page.text), links(&source.text), "{path} {tag}");
            for text in english(template) {
                assert!(!page.text.contains(&text), "{path} {tag}: {text}");
            }
            assert_ne!(page.text, source.text, "{path} {tag}");
        }
    }
}

#[tokio::test]
async fn articles_and_papers_are_searched_and_read_in_the_language() {
    let app = App::spawn().await;
    let found = app.get("/help?q=wordpress&lang=de").await.text;
    assert!(found.contains("1 Artikel zu „wordpress“ gefunden"), "{found}");
    assert_eq!(found.matches("href=\"/help/").count(), 1, "{found}");
    let status = app.get("/status?lang=de").await.text;
    assert!(status.contains("10. März 2026, "), "{status}");
    let terms = app.get("/terms?lang=de").await.text;
    assert!(terms.contains("der englische Text"), "{terms}");
}

#[tokio::test]
async fn refusals_are_translated_and_keep_their_sentence() {
    let app = App::spawn().await;
    let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
    for method in [reqwest::Method::GET, reqwest::Method::HEAD] {
        let ask = app.request(method.clone(), "/nowhere").header("accept", browser);
        let page = Answer::of(ask.header("accept-language", "de-AT, en;q=0.5")).await;
        assert_eq!((page.status, page.header("content-language")), (404, Some("de")));
        if method == reqwest::Method::GET {
            assert!(page.text.contains("<h1>Seite nicht gefunden</h1>"), "{}", page.text);
            assert!(page.text.contains("<q>not found</q>"), "{}", page.text);
        }
    }
    let ask = app.request(reqwest::Method::GET, "/nowhere").header("accept-language", "de");
    Answer::of(ask).await.refused(404, "not found");
}

#[tokio::test]
async fn pages_without_a_translation_say_that_they_are_english() {
    let app = App::spawn().await;
    for path in ["/docs", "/guide", "/log", "/demo"] {
        let page = app.get(&format!("{path}?lang=de")).await;
        assert!(page.text.contains("<html lang=\"en\""), "{path}");
        assert!(!page.text.contains("class=\"languages\""), "{path}");
    }
}
