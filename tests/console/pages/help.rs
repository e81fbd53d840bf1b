//! Help, contact, status and what search engines and previews of links read.

use chrono::Duration;

use crate::support::App;
use crate::support::waiting::wait_until;

#[tokio::test]
async fn eleven_articles_are_listed_searched_and_read() {
    let app = App::spawn().await;
    let list = app.get("/help").await;
    assert_eq!(list.status, 200);
    let slugs =
        list.text.split("href=\"/help/").skip(1).map(|rest| rest.split('"').next().unwrap());
    let slugs = slugs.map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(slugs.len(), 11);
    for slug in &slugs {
        let page = app.get(&format!("/help/{slug}")).await;
        assert!(page.status == 200 && page.text.matches("<h1>").count() == 1, "{slug}");
        assert!(page.text.len() < 20_000, "{slug}");
    }
    let found = app.get("/help?q=wordpress+caching").await.text;
    assert_eq!(found.matches("href=\"/help/").count(), 1);
    assert!(found.contains("1 article found") && found.contains("/help/install"), "{found}");
    let odd = app.get("/help?q=%3Cscript%3E%22").await.text;
    assert!(odd.contains("0 articles found") && !odd.contains("<script>\""), "{odd}");
    assert_eq!(app.get("/help/nothing").await.status, 404);
}

#[tokio::test]
async fn the_operator_can_be_reached() {
    let named = [("OPERATOR_NAME", "Assent & Co"), ("OPERATOR_EMAIL", "help@assent.example")];
    let app = App::spawn_with(&named).await;
    let page = app.get("/contact").await.text;
    assert!(
        page.contains("mailto:help@assent.example") && page.contains("Assent &amp; Co"),
        "{page}"
    );
    let page = App::spawn().await.get("/contact").await.text;
    assert!(page.contains("has not named an email address"), "{page}");
}

#[tokio::test]
async fn the_status_page_has_a_history_of_days() {
    let app = App::spawn().await;
    assert!(app.get("/status").await.text.contains("The service works."));
    app.clock.advance(Duration::minutes(1));
    wait_until("a minute is counted", async || {
        app.get("/status").await.text.contains("10 March 2026</th>")
    })
    .await;
    sqlx::query("UPDATE uptime_days SET day = '2026-03-08', minutes = 360, first_minute = '2026-03-08T12:00Z', last_minute = first_minute")
        .execute(&app.pool)
        .await
        .unwrap();
    let page = app.get("/status").await.text;
    let (_, row) = page.split_once("8 March 2026</th>").unwrap();
    assert!(row.contains(">50.00%<"), "{row}");
    let (_, row) = page.split_once("9 March 2026</th>").unwrap();
    assert!(row.contains(">0.00%<"), "{row}");
}

#[tokio::test]
async fn search_engines_and_previews_find_what_they_need() {
    let app = App::spawn().await;
    let sitemap = app.get("/sitemap.xml").await;
    let addresses = sitemap.text.split("<loc>").skip(1).map(|rest| rest.split('<').next().unwrap());
    let addresses = addresses.map(str::to_owned).collect::<Vec<_>>();
    assert!(addresses.len() > 20);
    for address in addresses {
        let path = address.strip_prefix(&*app.base).expect("an address of this service");
        let page = app.get(path).await;
        assert!(page.status == 200 && !page.text.contains("noindex"), "{path}");
    }
    assert!(app.get("/robots.txt").await.text.contains("/sitemap.xml\n"));
    let home = app.get("/").await.text;
    assert!(home.contains("property=\"og:title\" content=\"Assent\""), "{home}");
    assert!(home.contains(&format!("property=\"og:image\" content=\"{}/og.png\"", app.base)));
    for picture in ["/og.png", "/apple-touch-icon.png"] {
        let answer = app.get(picture).await;
        assert_eq!(answer.header("content-type"), Some("image/png"), "{picture}");
    }
    for link in ["/dpa", "/subprocessors", "/help", "/contact", "/status"] {
        assert!(home.contains(&format!("href=\"{link}\"")), "{link}");
    }
    let sign_up = app.get("/console/sign-up").await.text;
    assert!(sign_up.contains("href=\"/terms\"") && sign_up.contains("href=\"/dpa\""), "{sign_up}");
}
