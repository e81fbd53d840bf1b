//! The history of a popup in the console: versions, their differences, and changes of the appearance.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;
use crate::support::console::leads_to;

/// The fields of the form with the text that a site of the tests begins with.
const SAME_TEXT: &[(&str, &str)] = &[
    ("controller_name", "Shop Ltd"),
    ("controller_type", "company"),
    ("purpose_analytics", "on"),
    ("purpose_resolution", "on"),
    ("consent_days", "182"),
    ("incomplete", "on"),
];
const DARK: &[(&str, &str)] = &[
    ("own_dark", "on"),
    ("dark_background", "#000000"),
    ("dark_text", "#ffffff"),
    ("dark_button", "#dddddd"),
    ("dark_button_text", "#000000"),
    ("dark_link", "#ccccff"),
];

#[tokio::test]
async fn two_versions_are_compared_word_by_word_in_each_language() {
    let (app, ann, site) = app_with_site().await;
    app.reconfigured(&ann.key, &site, "Another Shop").await;
    let mut browser = app.browser_of(&ann.key).await;
    let versions = format!("/console/sites/{}/popup/versions", site.pixel_id);
    let list = browser.page(&versions).await;
    assert!(list.contains(&format!("href=\"{versions}/2\"")), "{list}");
    let page = browser.page(&format!("{versions}/2")).await;
    for part in [
        "compared with version 1",
        "Name of the data controller",
        "<bdi>Shop Ltd</bdi>",
        "<bdi>Another Shop</bdi>",
        "<del><span class=\"visually-hidden\" lang=\"en\" dir=\"ltr\">[removed: </span>",
        "<ins><span class=\"visually-hidden\" lang=\"en\" dir=\"ltr\">[added: </span>",
        "With version 1: no responses.",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    let german = browser.page(&format!("{versions}/2?language=de&with=1")).await;
    assert!(german.contains("lang=\"de\" dir=\"ltr\">"), "{german}");
    assert!(german.contains("<del>") && german.contains("selected>Deutsch<"), "{german}");
    let first = browser.page(&format!("{versions}/1")).await;
    assert!(first.contains("There is no earlier version") && !first.contains("<ins>"), "{first}");

    let eve = app.account("eve@example.com").await;
    let mut stranger = app.browser_of(&eve.key).await;
    assert_eq!(stranger.get(&format!("{versions}/2")).await.status, 404);
    for odd in ["3", "x", "-1"] {
        assert_eq!(browser.get(&format!("{versions}/{odd}")).await.status, 404, "{odd}");
    }
}

#[tokio::test]
async fn a_publication_of_colours_alone_is_announced_and_stays_visible() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = app.browser_of(&ann.key).await;
    let screen = format!("/console/sites/{}", site.pixel_id);
    let popup = format!("{screen}/popup");
    let look = [SAME_TEXT, &[("step", "look")]].concat();
    let same = browser.submit(&popup, &popup, &look).await.text;
    assert!(same.contains("Nothing changes."), "{same}");
    let look = [SAME_TEXT, DARK, &[("step", "look")]].concat();
    let looked = browser.submit(&popup, &popup, &look).await.text;
    assert!(looked.contains("Only colours change."), "{looked}");
    assert!(looked.contains("Visitors will not be asked again"), "{looked}");
    assert!(looked.contains("Background, dark") && looked.contains("<bdi>#000000</bdi>"));

    app.clock.advance(chrono::Duration::days(1));
    let publish = [SAME_TEXT, DARK, &[("step", "publish")]].concat();
    for _ in 0..2 {
        leads_to(
            &browser.submit(&popup, &popup, &publish).await,
            &format!("{popup}?done=published"),
        );
    }
    let history = browser.page(&format!("{popup}/versions")).await;
    assert_eq!(history.matches("Only colours change.").count(), 1, "{history}");
    assert!(history.contains("11 March 2026, 12:00 UTC, version 1"), "{history}");
    let overview = browser.page(&format!("{screen}/overview")).await;
    assert!(overview.contains("11 March 2026: appearance or settings of the popup"), "{overview}");
    let path = format!("/v1/pixels/{}/consent/configuration", site.pixel_id);
    let now = app.call(Method::GET, &path, &ann.key, Value::Null).await.expect(200);
    assert_eq!(now["versions"].as_array().unwrap().len(), 1);
    let events = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await;
    let events = events.expect(200)["events"].as_array().unwrap().clone();
    let changes = events.iter().filter(|event| event["kind"] == json!("appearance_changed"));
    assert_eq!(changes.count(), 1);
}

#[tokio::test]
async fn versions_are_listed_with_what_was_answered_to_each() {
    let (app, ann, site) = app_with_site().await;
    for visitor in ["a", "b", "c"] {
        app.recorded(&site.acceptance(visitor)).await;
    }
    app.recorded(&site.refusal("d", "declined")).await;
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/popup", site.pixel_id);
    let second = [
        ("controller_name", "Other Ltd"),
        ("purpose_analytics", "on"),
        ("incomplete", "on"),
        ("step", "publish"),
    ];
    leads_to(
        &browser.submit(&address, &address, &second).await,
        &format!("{address}?done=published"),
    );
    let page = browser.page(&format!("{address}/versions")).await;
    assert!(page.contains("<strong>75%</strong>") && page.contains("of 4 responses"), "{page}");
    assert!(page.contains("of no responses") && page.contains("Other Ltd"), "{page}");
    assert!(page.contains("Restore"), "{page}");
}
