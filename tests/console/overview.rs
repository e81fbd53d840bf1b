//! The overview of a site's popup in the console.

use chrono::Duration;
use serde_json::json;

use crate::support::App;
use crate::support::consent::app_with_site;
use crate::support::console::{Browser, leads_to};
use crate::support::story::{Account, Site};
use crate::support::visitors::with;

async fn signed_in<'a>(app: &'a App, account: &Account) -> Browser<'a> {
    let mut browser = Browser::new(app);
    let key = [("api_key", &*account.key)];
    leads_to(&browser.post("/console/sign-in/key", &key).await, "/console");
    browser
}

fn screen(site: &Site, query: &str) -> String {
    format!("/console/sites/{}/overview{query}", site.pixel_id)
}

/// Whether the page says this, however its lines are broken.
#[track_caller]
fn says(page: &str, text: &str) {
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(text), "{text:?} is not in {page}");
}

/// Two days with choices in two languages and on two versions of the notice.
async fn two_days(app: &App, key: &str, site: &Site) {
    for visitor in ["one", "two", "three", "four"] {
        app.post("/v1/consent/shown", site.refusal(visitor, "declined")).await.expect(204);
    }
    let shown = json!({"language": "de"});
    app.recorded(&with(&site.acceptance("one"), "shown", shown)).await;
    app.recorded(&site.refusal("two", "declined")).await;
    app.clock.advance(Duration::days(1));
    app.reconfigured(key, site, "Another Shop").await;
    app.recorded(&site.refusal("one", "withdrawn")).await;
}

#[tokio::test]
async fn each_number_stands_beside_what_it_means() {
    let (app, ann, site) = app_with_site().await;
    two_days(&app, &ann.key, &site).await;
    let page = signed_in(&app, &ann).await.page(&screen(&site, "")).await;
    for (name, count, meaning) in [
        (
            "Acceptance rate",
            "50%",
            "of acceptances and refusals: 2 responses. Not enough responses",
        ),
        ("Impressions", "4", "visitors who saw the popup, counted once a day"),
        ("Accepted", "1", "acceptances of at least one purpose"),
        ("Declined", "1", "refusals of all purposes"),
        ("Withdrawn", "1", "withdrawals of an earlier acceptance"),
        ("No response", "2", "who saw the popup and made no choice that day: 50% of impressions"),
    ] {
        says(&page, &format!("{name}</dt><dd class=\"figure\">{count}</dd><dd>"));
        says(&page, meaning);
    }
    says(&page, "10 February to 11 March 2026");
    says(&page, "Version 1</a> <span class=\"soft\">since 10 March 2026");
    says(&page, "11 March 2026: <a href=\"popup/versions/2\">version 2 of the notice</a>");
    says(&page, "Deutsch");
    says(&page, "<code>resolution</code></th><td>1</td><td>100%</td>");
}

#[tokio::test]
async fn the_acceptance_rate_is_compared_with_the_previous_period() {
    let (app, ann, site) = app_with_site().await;
    two_days(&app, &ann.key, &site).await;
    let mut browser = signed_in(&app, &ann).await;
    let page = browser.page(&screen(&site, "?from=2026-03-12&to=2026-03-13")).await;
    says(&page, "–</dd><dd>of acceptances and refusals: no responses. No responses.");
    says(&page, "In the previous period, 10 to 11 March 2026: 50% of 2 responses.");
    let page = browser.page(&screen(&site, "?from=2026-03-10&to=2026-03-11")).await;
    says(&page, "In the previous period, 8 to 9 March 2026: no responses.");
    // There is no day before the first one.
    let first = browser.page(&screen(&site, "?from=0001-01-01&to=0001-01-02")).await;
    assert!(!first.contains("previous period"), "{first}");
}

#[tokio::test]
async fn languages_are_compared_on_each_version() {
    let (app, ann, site) = app_with_site().await;
    let german =
        |visitor: &str| with(&site.acceptance(visitor), "shown", json!({"language": "de"}));
    app.recorded(&german("one")).await;
    app.recorded(&site.refusal("two", "declined")).await;
    let mut browser = signed_in(&app, &ann).await;
    let page = browser.page(&screen(&site, "")).await;
    assert!(!page.contains("By language and version"), "there is one version");
    let second = app.reconfigured(&ann.key, &site, "Another Shop").await;
    let mut newer = german("three");
    newer["policy_version_hash"] = second["policy_hash"].clone();
    app.recorded(&newer).await;
    let page = browser.page(&screen(&site, "")).await;
    says(&page, "By language and version");
    says(&page, "<th scope=\"col\">Version 2</th><th scope=\"col\">Version 1</th>");
    let one = "<td>(100%) <span class=\"soft small\">one response</span></td>";
    says(&page, &format!("<bdi lang=\"de\">Deutsch</bdi></th>{one}{one}"));
    says(&page, "Unknown</th><td>–</td><td>(0%) <span");
}

#[tokio::test]
async fn the_plot_and_the_table_show_the_same() {
    let (app, ann, site) = app_with_site().await;
    two_days(&app, &ann.key, &site).await;
    let mut browser = signed_in(&app, &ann).await;
    let page = browser.page(&screen(&site, "?from=2026-03-10&to=2026-03-11")).await;
    let title = "10 March 2026: shown 4, accepted 1, declined 1, withdrawn 0, unanswered 2";
    says(&page, &format!("<title>{title}</title>"));
    let row = "10 March 2026</th><td>4</td><td>1</td><td>1</td><td>0</td><td>2</td>";
    says(&page, row);
    assert_eq!(page.matches("<g><title>").count(), 4, "two bars, and a mark for each version");
    for (kind, parts) in [("accepted", 1), ("declined", 1), ("withdrawn", 1), ("unanswered", 1)] {
        assert_eq!(page.matches(&format!("<rect class=\"{kind}\"")).count(), parts, "{kind}");
    }
}

#[tokio::test]
async fn a_year_is_shown_in_weeks_and_fits_into_a_page() {
    let (app, ann, site) = app_with_site().await;
    two_days(&app, &ann.key, &site).await;
    let mut browser = signed_in(&app, &ann).await;
    for (days, bars) in [(7, 7), (30, 30), (90, 90), (365, 53)] {
        let page = browser.page(&screen(&site, &format!("?days={days}"))).await;
        assert_eq!(page.matches("class=\"whole\"").count(), bars, "{days}");
        assert!(page.len() < 60_000, "{days}: {}", page.len());
        says(&page, &format!("<a href=\"?days={days}\" aria-current=\"true\">"));
    }
}

#[tokio::test]
async fn days_that_are_none_are_named_and_the_last_thirty_shown() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = signed_in(&app, &ann).await;
    for query in ["?from=2026-03-11&to=2026-03-10", "?from=%3Cb%3E", "?from=2020-01-01"] {
        let answer = browser.get(&screen(&site, query)).await;
        assert_eq!(answer.status, 422, "{query}");
        says(&answer.text, "Below are the last 30 days.");
        says(&answer.text, "9 February to 10 March 2026");
        assert!(!answer.text.contains("<b>"), "{}", answer.text);
    }
    let page = browser.page(&screen(&site, "?days=12345")).await;
    says(&page, "9 February to 10 March 2026");
}

#[tokio::test]
async fn the_days_are_a_table_for_programs_too() {
    let (app, ann, site) = app_with_site().await;
    two_days(&app, &ann.key, &site).await;
    let mut browser = signed_in(&app, &ann).await;
    let query = "from=2026-03-10&to=2026-03-11";
    let address = format!("/console/sites/{}/overview.csv?{query}", site.pixel_id);
    let table = browser.get(&address).await;
    let same = app.read(&ann.key, &site.path(&format!("/stats?{query}&format=csv"))).await;
    assert_eq!((table.status, &table.text), (200, &same.text));
    assert!(table.header("content-disposition").unwrap().starts_with("attachment"));
}

#[tokio::test]
async fn nobody_sees_the_days_of_another_account() {
    let (app, _ann, site) = app_with_site().await;
    let bob = app.account("bob@example.com").await;
    let mut browser = signed_in(&app, &bob).await;
    for part in ["overview", "overview.csv"] {
        let address = format!("/console/sites/{}/{part}", site.pixel_id);
        let answer = browser.get(&address).await;
        assert_eq!(answer.status, 404, "{part}");
        assert!(!answer.text.contains(&site.domain), "{}", answer.text);
        let stranger = Browser::new(&app).get(&address).await;
        assert_eq!(stranger.status, 303, "{part}");
    }
}

#[tokio::test]
async fn months_of_the_calendar_are_one_click_away() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = signed_in(&app, &ann).await;
    for (query, days) in
        [("?month=this", "1 to 10 March 2026"), ("?month=last", "1 to 28 February 2026")]
    {
        let page = browser.page(&screen(&site, query)).await;
        says(&page, days);
        says(&page, &format!("<a href=\"{query}\" aria-current=\"true\">"));
    }
    let page = browser.page(&screen(&site, "?month=next")).await;
    says(&page, "<a href=\"?days=30\" aria-current=\"true\">30 days");
}
