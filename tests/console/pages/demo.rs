//! `/demo`: a tag for any host on a shared account, and a page to click it on.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Answer, App};

/// The result page of the form.
pub struct DemoTag {
    pub pixel_id: String,
    pub page: String,
}

impl App {
    pub async fn submit(&self, fields: &[(&str, &str)]) -> Answer {
        Answer::of(self.request(Method::POST, "/demo/provision").form(fields)).await
    }

    /// Makes a demo tag that must come to be.
    pub async fn demo_tag(&self, domain: &str, controller: &str) -> DemoTag {
        let answer = self.submit(&[("domain", domain), ("controller_name", controller)]).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        let marker = format!("src=\"{}/px/", self.base);
        let start = answer.text.find(&marker).expect("the tag") + marker.len();
        let pixel_id = answer.text[start..].split(".js").next().unwrap().to_owned();
        DemoTag { pixel_id, page: answer.text }
    }

    /// The configuration inside a consent tag: its script must be there.
    pub async fn tag(&self, pixel_id: &str) -> Option<String> {
        let script = self.get(&format!("/px/{pixel_id}.js")).await;
        (script.status == 200).then_some(script.text)
    }

    /// The hash of the policy that the tag asks about.
    pub async fn demo_hash(&self, pixel_id: &str) -> String {
        let script = self.tag(pixel_id).await.expect("a tag");
        let start = script.find("\"hash\":\"").expect("the hash") + "\"hash\":\"".len();
        script[start..start + 64].to_owned()
    }

    /// A visitor's "yes" to a demo tag, given on a page.
    pub async fn accept_on(&self, pixel_id: &str, url: &str) -> Answer {
        let choice = json!({
            "pixel_id": pixel_id, "visitor_id": "visitor-1", "url": url, "consent": "accepted",
            "affirmative": true, "policy_version_hash": self.demo_hash(pixel_id).await,
            "purposes": ["resolution"],
        });
        self.post("/v1/consent/record", choice).await
    }

    pub async fn count(&self, sql: &'static str) -> i64 {
        sqlx::query_scalar(sql).fetch_one(&self.pool).await.unwrap()
    }
}

pub fn preview_path(pixel_id: &str) -> String {
    format!("/demo/preview/{pixel_id}")
}

#[tokio::test]
async fn the_form_makes_a_tag_that_works() {
    let app = App::spawn().await;
    let answer = app
        .submit(&[("domain", "https://www.Shop.example"), ("controller_name", "Shop & Söhne")])
        .await;
    assert_eq!(answer.status, 200);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    assert!(answer.text.contains("<title>Demo tag for shop.example · Assent</title>"));
    let tag = app.demo_tag("shop.example", "Shop & Söhne").await;
    let snippet = format!("<script async src=\"{}/px/{}.js\"></script>", app.base, tag.pixel_id);
    assert!(tag.page.contains(&snippet), "{}", tag.page);
    assert!(tag.page.contains("Shop &amp; Söhne"));
    assert!(tag.page.contains(&format!("{}{}", app.base, preview_path(&tag.pixel_id))));
    let script = app.tag(&tag.pixel_id).await.expect("the tag is served");
    assert!(script.contains("Shop & Söhne"));
    for purpose in ["analytics", "resolution", "newsletter"] {
        assert!(script.contains(purpose), "{purpose}");
    }
    let notice = app.get(&format!("/v1/policy/{}", tag.pixel_id)).await;
    assert_eq!(notice.status, 200);
    assert!(notice.text.contains("Shop &amp; Söhne"));
}

#[tokio::test]
async fn without_a_name_the_host_asks() {
    let app = App::spawn().await;
    for fields in [
        &[("domain", "shop.example")][..],
        &[("domain", "shop.example"), ("controller_name", "  ")],
    ] {
        let answer = app.submit(fields).await;
        assert_eq!(answer.status, 200);
        assert!(answer.text.contains("It asks in the name of <bdi>shop.example</bdi>."));
    }
}

#[tokio::test]
async fn the_same_host_gets_the_same_pixel_and_keeps_the_first_name() {
    let app = App::spawn().await;
    let first = app.demo_tag("shop.example", "First").await;
    let second = app.demo_tag("SHOP.example.", "Second").await;
    let other = app.demo_tag("other.example", "First").await;
    assert_eq!(first.pixel_id, second.pixel_id);
    assert_ne!(first.pixel_id, other.pixel_id);
    assert!(second.page.contains("<bdi>First</bdi>, as it has since"), "{}", second.page);
    let script = app.tag(&first.pixel_id).await.unwrap();
    assert!(script.contains("First") && !script.contains("Second"));
    // Nor does posting the same host again ask visitors again.
    assert!(script.contains("\"version\":1"), "{script}");
}

#[tokio::test]
async fn of_many_names_for_one_host_at_once_one_stays() {
    let app = App::spawn().await;
    let names = (0..12).map(|number| format!("Shop {number} Ltd")).collect::<Vec<_>>();
    let made = names.iter().map(|name| app.demo_tag("shop.example", name));
    let made = futures_util::future::join_all(made).await;
    let script = app.tag(&made[0].pixel_id).await.unwrap();
    let named = names.iter().find(|name| script.contains(name.as_str())).expect("a name");
    assert!(made.iter().all(|tag| tag.page.contains(&format!("<bdi>{named}</bdi>"))));
    assert!(script.contains("\"version\":1"), "{script}");
}

#[tokio::test]
async fn a_stranger_cannot_rename_the_services_own_tag() {
    let app = App::spawn().await;
    let own = app.demo_tag("localhost", "Mallory & Sons").await;
    assert!(own.page.contains("<bdi>Halden Tea</bdi>"), "{}", own.page);
    // And one that was renamed before this rule has its name again after a start.
    sqlx::query(
        "UPDATE consent_policies SET document = replace(document, 'Halden Tea', 'Mallory')",
    )
    .execute(&app.pool)
    .await
    .unwrap();
    let node = app.another_node(&[]).await;
    assert!(node.tag(&own.pixel_id).await.unwrap().contains("Halden Tea"));
}

#[tokio::test]
async fn a_name_cannot_turn_the_text_around_it() {
    let app = App::spawn().await;
    let tag = app.demo_tag("shop.example", "Shop\u{2069}\u{202e} Ltd").await;
    assert!(tag.page.contains("<bdi>Shop Ltd</bdi>"), "{}", tag.page);
    assert!(!app.tag(&tag.pixel_id).await.unwrap().contains('\u{202e}'));
}

#[tokio::test]
async fn many_people_making_a_tag_for_one_host_at_once_get_one_pixel() {
    let app = App::spawn().await;
    let submissions = (0..16).map(|_| app.demo_tag("shop.example", "Shop"));
    let tags = futures_util::future::join_all(submissions).await;
    assert!(tags.iter().all(|tag| tag.pixel_id == tags[0].pixel_id));
    assert_eq!(app.count("SELECT count(*) FROM pixels WHERE domain = 'shop.example'").await, 1);
}

#[tokio::test]
async fn a_demo_tag_records_on_its_site_and_nowhere_else() {
    let app = App::spawn().await;
    let tag = app.demo_tag("shop.example", "Shop").await;
    app.accept_on(&tag.pixel_id, "https://www.shop.example/").await.expect(202);
    let elsewhere = app.accept_on(&tag.pixel_id, "https://other.example/").await.expect(403);
    assert_eq!(elsewhere["reason"], "site_mismatch");
    assert_eq!(elsewhere["domain"], "shop.example");
}

const NO_HOST: &str = "Name a site, for example example.com.";
const A_PAGE: &str =
    "Only the host, please, as in example.com: no http before it and no page after it.";
const NOT_A_HOST: &str = "This is not the host of a site. It should look like example.com.";

#[tokio::test]
async fn bad_input_shows_the_form_again_with_the_sentence_beside_the_field() {
    let app = App::spawn().await;
    let long = "x".repeat(201);
    for (domain, name, sentence, field) in [
        ("", "", NO_HOST, "domain"),
        ("  ", "", NO_HOST, "domain"),
        ("shop.example/page", "", A_PAGE, "domain"),
        ("http://shop.example", "", A_PAGE, "domain"),
        ("shop.example:443", "", NOT_A_HOST, "domain"),
        ("127.0.0.1", "", NOT_A_HOST, "domain"),
        ("co.uk", "", NOT_A_HOST, "domain"),
        ("shop\0.example", "", NOT_A_HOST, "domain"),
        ("shop.example", &long, "The name may have at most 200 characters.", "controller_name"),
        ("shop.example", "a\0b", "The name must be one line of text.", "controller_name"),
        ("shop.example", "a\nb", "The name must be one line of text.", "controller_name"),
    ] {
        let answer = app.submit(&[("domain", domain), ("controller_name", name)]).await;
        assert_eq!(answer.status, 400, "{domain:?} {name:?}");
        assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
        assert!(answer.text.contains("<title>Error: Demo · Assent</title>"));
        let beside = format!("<p class=\"wrong\" id=\"{field}-error\">{sentence}</p>");
        assert!(answer.text.contains(&beside), "{domain:?}: {}", answer.text);
        assert_eq!(answer.text.matches("class=\"wrong\"").count(), 1);
        assert!(answer.text.contains("action=\"/demo/provision\""));
    }
    assert_eq!(app.count("SELECT count(*) FROM pixels WHERE domain <> 'localhost'").await, 0);
}

#[tokio::test]
async fn submitted_values_are_shown_again_and_are_escaped() {
    let app = App::spawn().await;
    let hostile = "\"><script>alert(1)</script>";
    let answer = app.submit(&[("domain", "a b"), ("controller_name", hostile)]).await;
    assert_eq!(answer.status, 400);
    assert!(answer.text.contains("value=\"a b\""));
    assert!(!answer.text.contains("<script>alert"), "{}", answer.text);
    let made = app.submit(&[("domain", "shop.example"), ("controller_name", hostile)]).await;
    assert_eq!(made.status, 200);
    assert!(!made.text.contains("<script>alert"), "{}", made.text);
}

#[tokio::test]
async fn a_body_that_is_no_form_is_a_form_without_fields() {
    let app = App::spawn().await;
    for body in [&b""[..], b"{\"domain\":\"shop.example\"}", b"\xff\xfe\0", b"domain", b"=&&=;"] {
        let request = app.request(Method::POST, "/demo/provision").body(body);
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, 400, "{body:?}");
        assert!(answer.text.contains(NO_HOST), "{body:?}");
    }
    let answer = app.request(Method::POST, "/demo/provision").body("domain=%ff%00.example");
    assert_eq!(Answer::of(answer).await.status, 400);
}

#[tokio::test]
async fn a_huge_form_is_refused() {
    let app = App::spawn().await;
    let answer = app.submit(&[("domain", &"x".repeat(17 * 1024))]).await;
    answer.refused(413, "request body too large");
}

#[tokio::test]
async fn the_host_of_a_real_account_is_refused() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let answer =
        app.submit(&[("domain", "www.ann.example"), ("controller_name", "Somebody Else")]).await;
    assert_eq!(answer.status, 409);
    assert_eq!(answer.header("content-type"), Some("text/html; charset=utf-8"));
    let sentence =
        "This site has a pixel of its own, so there can be no demo of it. Try another one.";
    let beside = format!("<p class=\"wrong\" id=\"domain-error\">{sentence}</p>");
    assert!(answer.text.contains(&beside), "{}", answer.text);
    assert!(answer.text.contains("value=\"www.ann.example\""));
    assert!(!app.tag(&site.pixel_id).await.unwrap().contains("Somebody Else"));
}

#[tokio::test]
async fn a_real_account_takes_its_host_from_the_demo() {
    let app = App::spawn().await;
    let demo = app.demo_tag("ann.example", "Eve").await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    assert_ne!(site.pixel_id, demo.pixel_id);
    assert!(app.tag(&demo.pixel_id).await.is_none());
    assert_eq!(app.get(&preview_path(&demo.pixel_id)).await.status, 404);
    assert_eq!(app.submit(&[("domain", "ann.example")]).await.status, 409);
    assert!(app.tag(&site.pixel_id).await.is_some());
}

#[tokio::test]
async fn a_real_account_may_take_the_services_own_host_and_previews_go_on() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    app.consent_site(&ann.key, "localhost").await;
    assert_eq!(app.get("/demo/preview").await.status, 404);
    assert_eq!(app.submit(&[("domain", "localhost")]).await.status, 409);
    let demo = app.demo_tag("shop.example", "Shop").await;
    let page = format!("{}{}", app.base, preview_path(&demo.pixel_id));
    app.accept_on(&demo.pixel_id, &page).await.expect(202);
}

#[tokio::test]
async fn the_demo_account_is_there_from_the_start_and_has_no_key() {
    let app = App::spawn().await;
    let row: (String, String) =
        sqlx::query_as("SELECT status, plan FROM accounts WHERE account_id = 'acc_demo'")
            .fetch_one(&app.pool)
            .await
            .unwrap();
    assert_eq!(row, ("active".to_owned(), "unlimited".to_owned()));
    assert_eq!(app.count("SELECT count(*) FROM api_keys WHERE account_id = 'acc_demo'").await, 0);
    let answer = app.issue_key("acc_demo", "st_anything").await;
    answer.refused(401, "signup token required");
}

#[tokio::test]
async fn demo_tags_have_no_allowance_and_belong_to_nobody_else() {
    let app = App::spawn().await;
    for number in 0..5 {
        app.demo_tag(&format!("shop{number}.example"), "Shop").await;
    }
    let tag = app.demo_tag("shop0.example", "Shop").await;
    let ann = app.account("ann@example.com").await;
    let path = format!("/v1/pixels/{}/consent", tag.pixel_id);
    app.call(Method::GET, &path, &ann.key, Value::Null).await.refused(404, "pixel not found");
}

/// The clock is looked at once a second.
async fn gone_within_seconds(app: &App, pixel_id: &str) -> bool {
    for _ in 0..100 {
        if app.tag(pixel_id).await.is_none() {
            return true;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    false
}

#[tokio::test]
async fn a_demo_tag_ends_after_thirty_days_and_its_receipts_stay() {
    let app = App::spawn().await;
    let old = app.demo_tag("old.example", "Old").await;
    assert!(old.page.contains("On 2026-04-09, or as soon as"), "{}", old.page);
    let saved = app.accept_on(&old.pixel_id, "https://old.example/").await.expect(202);
    app.clock.advance(Duration::days(29));
    let young = app.demo_tag("young.example", "Young").await;
    let again = app.demo_tag("old.example", "Old").await;
    assert!(again.page.contains("On 2026-04-09, or as soon as"), "{}", again.page);
    // A round passes in which nothing must be deleted.
    tokio::time::sleep(std::time::Duration::from_millis(1500)).await;
    assert!(app.tag(&old.pixel_id).await.is_some());

    app.clock.advance(Duration::days(1));
    assert!(gone_within_seconds(&app, &old.pixel_id).await);
    assert_eq!(app.get(&preview_path(&old.pixel_id)).await.status, 404);
    assert!(app.tag(&young.pixel_id).await.is_some());
    assert_eq!(app.get("/demo/preview").await.status, 303, "the service's own tag stays");

    let body = json!({"receipt": saved["receipt"], "signature": saved["signature"]});
    assert_eq!(app.post("/v1/consent/verify", body).await.expect(200)["valid"], true);
    let query = format!("?pixel_id={}&visitor_id=visitor-1", old.pixel_id);
    let found = app.get(&format!("/v1/consent/receipt{query}")).await.expect(200);
    assert_eq!(found["reason"], "consent_off");
    let renewed = app.demo_tag("old.example", "Old").await;
    assert_ne!(renewed.pixel_id, old.pixel_id);
}

#[tokio::test]
async fn only_demo_pixels_end() {
    let app = App::spawn().await;
    let ann = app.unlimited_account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    let demo = app.demo_tag("shop.example", "Shop").await;
    app.clock.advance(Duration::days(31));
    assert!(gone_within_seconds(&app, &demo.pixel_id).await);
    assert!(app.tag(&site.pixel_id).await.is_some());
}
