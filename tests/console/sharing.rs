//! Links that show the overview of a site without a sign-in.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;
use crate::support::console::{Browser, leads_to};
use crate::support::{Account, Answer, App, MailServer, fresh_address};

fn links(pixel_id: &str) -> String {
    format!("/v1/pixels/{pixel_id}/shared-links")
}

async fn created(app: &App, key: &str, pixel_id: &str, days: i64) -> Value {
    app.call(Method::POST, &links(pixel_id), key, json!({"days": days})).await.expect(201)
}

fn page_of(link: &Value) -> String {
    format!("/shared/{}", link["token"].as_str().unwrap())
}

async fn opened(app: &App, page: &str) -> Answer {
    Browser::new(app).get(page).await
}

/// The page of every link that does not work.
async fn has_ended(app: &App, page: &str) {
    let [ended, unknown] = [opened(app, page).await, opened(app, "/shared/sh_unknown").await];
    assert_eq!((ended.status, unknown.status), (404, 404), "{}", ended.text);
    // The language menu names the page to return to.
    let of_any =
        |answer: &Answer, link: &str| answer.text.replace(link.trim_start_matches("/shared/"), "");
    assert_eq!(of_any(&ended, page), of_any(&unknown, "/shared/sh_unknown"));
    for answer in [ended, unknown] {
        is_unlisted(&answer);
    }
}

#[track_caller]
fn is_unlisted(answer: &Answer) {
    assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-robots-tag"), Some("noindex"));
    assert!(answer.text.contains("<meta name=\"robots\" content=\"noindex\">"), "{}", answer.text);
}

#[tokio::test]
async fn a_link_from_the_console_shows_the_numbers_until_it_expires() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("visitor-1")).await;
    app.recorded(&site.refusal("visitor-2", "declined")).await;
    let mut browser = app.browser_of(&ann.key).await;
    let overview = browser.page(&format!("/console/sites/{}/overview", site.pixel_id)).await;
    assert!(overview.contains("href=\"share\""), "{overview}");
    let share = format!("/console/sites/{}/share", site.pixel_id);
    for typed in ["0", "366", "soon"] {
        let refused = browser.submit(&share, &share, &[("days", typed)]).await;
        assert_eq!(refused.status, 422, "{typed}");
        assert!(refused.text.contains(&format!("value=\"{typed}\"")), "{}", refused.text);
    }
    assert!(browser.page(&share).await.contains("value=\"30\""));
    let made = browser.submit(&share, &share, &[("days", "7")]).await;
    assert_eq!(made.status, 201, "{}", made.text);
    let (_, rest) = made.text.split_once("sh_").expect("the link");
    let token = format!("sh_{}", &rest[..43]);
    let list = browser.page(&share).await;
    assert!(list.contains(&token[..12]) && !list.contains(&token), "{list}");
    assert!(list.contains("17 March 2026") && list.contains(&ann.email), "{list}");
    let kept = "SELECT count(*) FROM shared_links WHERE shared_links::text LIKE '%' || $1 || '%'";
    let kept = sqlx::query_scalar::<_, i64>(kept).bind(&token).fetch_one(&app.pool).await.unwrap();
    assert_eq!(kept, 0, "the token is stored");

    let page = format!("/shared/{token}");
    let shown = opened(&app, &page).await;
    assert_eq!(shown.status, 200, "{}", shown.text);
    is_unlisted(&shown);
    for text in ["<bdi>ann.example</bdi>", "50%", "Version 1", "17 March 2026", "<title>"] {
        assert!(shown.text.contains(text), "{text}: {}", shown.text);
    }
    let private = ["visitor-", &*ann.email, "href=\"/console", "overview.csv", "choices?"];
    for text in private.into_iter().chain(["href=\"install\"", "href=\"share\"", "form_token"]) {
        assert!(!shown.text.contains(text), "{text}: {}", shown.text);
    }
    assert_eq!(opened(&app, &format!("{page}?days=7")).await.status, 200);
    assert_eq!(opened(&app, &format!("{page}?from=2026-03-11&to=2026-03-10")).await.status, 422);
    app.clock.advance(Duration::days(7) - Duration::seconds(1));
    assert_eq!(opened(&app, &page).await.status, 200);
    app.clock.advance(Duration::seconds(1));
    has_ended(&app, &page).await;
    assert!(!browser.page(&share).await.contains(&token[..12]));
}

#[tokio::test]
async fn a_link_ends_when_it_is_revoked_the_account_is_on_hold_or_the_site_is_removed() {
    let (app, ann, site) = app_with_site().await;
    let eve = app.account("eve@example.com").await;
    let link = created(&app, &ann.key, &site.pixel_id, 30).await;
    let kept = created(&app, &ann.key, &site.pixel_id, 30).await;
    assert_eq!(link["expires_at"], "2026-04-09T12:00:00.000Z");
    assert_eq!(link["made_by"], json!(ann.key[..12]));
    let prefix = link["prefix"].as_str().unwrap();
    let one = format!("{}/{prefix}", links(&site.pixel_id));
    let of_eve = app.call(Method::DELETE, &one, &eve.key, Value::Null).await;
    of_eve.refused(404, "pixel not found");
    let body = json!({"days": 1});
    let of_eve = app.call(Method::POST, &links(&site.pixel_id), &eve.key, body).await;
    of_eve.refused(404, "pixel not found");
    assert_eq!(opened(&app, &page_of(&link)).await.status, 200);

    let mut browser = app.browser_of(&ann.key).await;
    let share = format!("/console/sites/{}/share", site.pixel_id);
    let revoked = browser.submit(&share, &format!("{share}/{prefix}/revoke"), &[]).await;
    leads_to(&revoked, &format!("{share}?done=revoked"));
    has_ended(&app, &page_of(&link)).await;
    assert_eq!(opened(&app, &page_of(&kept)).await.status, 200);
    let again = app.call(Method::DELETE, &one, &ann.key, Value::Null).await;
    again.refused(404, "shared link not found");
    let log = app.call(Method::GET, "/v1/account/events", &ann.key, Value::Null).await.expect(200);
    let kinds = log["events"].as_array().unwrap().iter();
    let kinds = kinds.filter(|event| event["subject"] == json!(site.pixel_id));
    let kinds = kinds.map(|event| event["kind"].as_str().unwrap()).collect::<Vec<_>>();
    assert_eq!(kinds.iter().filter(|kind| **kind == "shared_link_created").count(), 2);
    assert_eq!(kinds.iter().filter(|kind| **kind == "shared_link_revoked").count(), 1);
    let export = app.call(Method::GET, "/v1/account/export", &ann.key, Value::Null).await.text;
    assert_eq!(export.matches("\"record\":\"shared_link\"").count(), 1, "{export}");

    app.set_status(&ann.account_id, "suspended").await;
    has_ended(&app, &page_of(&kept)).await;
    app.set_status(&ann.account_id, "active").await;
    assert_eq!(opened(&app, &page_of(&kept)).await.status, 200);
    let pixel = format!("/v1/pixels/{}", site.pixel_id);
    app.call(Method::DELETE, &pixel, &ann.key, Value::Null).await.expect(204);
    has_ended(&app, &page_of(&kept)).await;
}

#[tokio::test]
async fn a_site_has_twenty_links_at_most_of_one_to_365_days() {
    let (app, ann, site) = app_with_site().await;
    for days in [0, 366, -1] {
        let body = json!({"days": days});
        let refused = app.call(Method::POST, &links(&site.pixel_id), &ann.key, body).await;
        refused.invalid(&["body", "days"]);
    }
    for _ in 0..20 {
        created(&app, &ann.key, &site.pixel_id, 1).await;
    }
    let more = app.call(Method::POST, &links(&site.pixel_id), &ann.key, json!({})).await;
    more.refused(403, "shared link allowance reached");
    let share = format!("/console/sites/{}/share", site.pixel_id);
    let mut browser = app.browser_of(&ann.key).await;
    let refused = browser.submit(&share, &share, &[("days", "9")]).await;
    assert!(refused.status == 403 && refused.text.contains("at most 20"), "{}", refused.text);
    app.clock.advance(Duration::days(1));
    created(&app, &ann.key, &site.pixel_id, 365).await;
}

/// Signs in as a new member with a role.
async fn member<'a>(app: &'a App, ann: &Account, role: &str) -> Browser<'a> {
    let email = fresh_address(role);
    app.member_of(ann, &email, role).await;
    MailServer::shared().wait_for(&email, 1).await;
    let mut browser = Browser::new(app);
    browser.sign_in(&email).await;
    browser
}

#[tokio::test]
async fn only_admins_make_links_and_editors_do_not_see_them() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let site = app.consent_site(&ann.key, "shop.example").await;
    let link = created(&app, &ann.key, &site.pixel_id, 30).await;
    let prefix = link["prefix"].as_str().unwrap();
    let [overview, share] =
        ["overview", "share"].map(|screen| format!("/console/sites/{}/{screen}", site.pixel_id));
    let mut reader = member(&app, &ann, "read").await;
    assert!(reader.page(&overview).await.contains("href=\"share\""));
    let page = reader.page(&share).await;
    assert!(page.contains(prefix) && !page.contains("name=\"days\""), "{page}");
    assert!(!page.contains("/revoke"), "{page}");
    assert_eq!(reader.submit(&overview, &share, &[("days", "1")]).await.status, 403);
    let mut editor = member(&app, &ann, "operate").await;
    assert!(!editor.page(&overview).await.contains("href=\"share\""));
    assert_eq!(editor.get(&share).await.status, 403);
    assert_eq!(editor.submit(&overview, &share, &[("days", "1")]).await.status, 403);
}

#[tokio::test]
async fn pages_of_links_are_limited_per_client() {
    let app = App::spawn_with(&[("RATE_LIMITS", "on")]).await;
    for _ in 0..120 {
        assert_eq!(opened(&app, "/shared/sh_unknown").await.status, 404);
    }
    let refused = opened(&app, "/shared/sh_unknown").await;
    assert_eq!(refused.status, 429, "{}", refused.text);
    assert!(refused.header("retry-after").is_some());
}
