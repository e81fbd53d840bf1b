//! Contacts of a site in the console.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::app_with_site;
use crate::support::console::leads_to;
use crate::support::contacts::hem;

#[tokio::test]
async fn people_are_listed_with_their_consent_and_counted_by_day() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("v1")).await;
    let people = json!([
        {"hem": hem(1), "contact": {"email": "<b>one</b>@x.example", "seats": 3, "age": null}, "visitor_id": "v1"},
        {"hem": hem(2), "contact": {"name": "Two"}},
    ]);
    app.store(&ann.key, &site.pixel_id, people).await.expect(200);
    app.clock.advance(Duration::days(1));
    app.store_people(&ann.key, &site.pixel_id, 3..4).await.expect(200);
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/contacts", site.pixel_id);
    let list = browser.page(&address).await;
    for part in ["consented", "stored without a visitor", "Two", "10 March 2026", "11 March 2026"] {
        assert!(list.contains(part), "{part}: {list}");
    }
    assert!(!list.contains("<b>one"), "{list}");
    let person = browser.page(&format!("{address}/find?hem={}", hem(1))).await;
    for part in ["<dt>Seats</dt><dd><bdi>3</bdi>", "10 March 2026, 12:00"] {
        assert!(person.contains(part), "{part}: {person}");
    }
    assert!(!person.contains("<dt>Age") && !person.contains("null"), "{person}");
    let days = browser.page(&format!("{address}/days")).await;
    let count =
        "3 people were identified for the first time from 10 February 2026 to 11 March 2026";
    assert!(days.contains(count) && days.contains("10 March 2026"), "{days}");
    let day = browser.page(&format!("{address}?day=2026-03-10")).await;
    assert!(day.contains(&hem(1)) && !day.contains(&hem(3)), "{day}");
    app.recorded(&site.refusal("v1", "withdrawn")).await;
    let list = browser.page(&address).await;
    assert!(!list.contains(&hem(1)) && list.contains(&hem(2)), "{list}");
    let other = browser.page(&format!("{address}/days?from=2026-01-01&to=2026-01-02")).await;
    assert!(other.contains("Nobody new was identified"), "{other}");
    let odd = ["?from=x", "?from=2026-02-02&to=2026-01-01", "?day=x", "?sort=x", "?after=x_1"];
    for odd in odd {
        assert_eq!(browser.get(&format!("{address}{odd}")).await.status, 422, "{odd}");
    }
}

#[tokio::test]
async fn a_day_is_a_file_and_a_long_one_has_pages() {
    let (app, ann, site) = app_with_site().await;
    app.store_people(&ann.key, &site.pixel_id, 0..51).await.expect(200);
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/contacts", site.pixel_id);
    let first = browser.page(&format!("{address}?day=2026-03-10")).await;
    let rows = |page: &str| page.matches("/contacts/find?hem=").count();
    assert_eq!(rows(&first), 50);
    let next = first.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    let next = next.replace("&amp;", "&").replace("#people", "").replace("&#x2F;", "/");
    assert_eq!(rows(&browser.page(&next).await), 1);
    let file = browser.get(&format!("{address}/csv?day=2026-03-10")).await;
    assert_eq!(file.status, 200);
    assert_eq!(file.header("content-type"), Some("text/csv; charset=utf-8"));
    let name = format!("attachment; filename=\"contacts-{}-2026-03-10.csv\"", site.pixel_id);
    assert_eq!(file.header("content-disposition"), Some(&*name));
    assert_eq!(file.text.lines().count(), 52);
    assert_eq!(browser.get(&format!("{address}/csv?day=2026-3-1")).await.status, 422);
}

#[tokio::test]
async fn a_range_of_days_is_a_spreadsheet_with_one_column_for_each_field() {
    let (app, ann, site) = app_with_site().await;
    let person = |number: usize, day: &str, contact: Value| json!({"hem": hem(number), "seen_at": format!("{day}T08:00:00Z"), "contact": contact});
    let people = [
        person(1, "2026-03-08", json!({"email": "kö@example.com", "city": "Köln", "visits": 3})),
        person(
            2,
            "2026-03-09",
            json!({"email": "iz@example.com", "city": "İzmir, TR", "company": null}),
        ),
        person(3, "2026-03-10", json!({"email": "=1+1", "tags": ["a", "b"]})),
    ];
    let path = format!("/v1/pixels/{}/contacts", site.pixel_id);
    let body = json!({"contacts": people});
    app.call(Method::POST, &path, &ann.key, body).await.expect(200);
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/contacts/csv", site.pixel_id);
    let file = browser.get(&format!("{address}?from=2026-03-01&to=2026-03-10")).await;
    assert_eq!(file.status, 200, "{}", file.text);
    let name =
        format!("attachment; filename=\"contacts-{}-2026-03-01-2026-03-10.csv\"", site.pixel_id);
    assert_eq!(file.header("content-disposition"), Some(&*name));
    let lines = file.text.lines().collect::<Vec<_>>();
    let head = "\u{feff}email,company,city,tags,visits,first seen (UTC),consent,visitor id,email hash,other fields (JSON)";
    assert_eq!(lines[0], head);
    assert!(lines[1].starts_with("'=1+1,,,\"[\"\"a\"\",\"\"b\"\"]\",,2026-03-10"), "{lines:?}");
    assert!(lines[2].starts_with("iz@example.com,,\"İzmir, TR\",,,2026-03-09"), "{lines:?}");
    assert!(lines[3].starts_with("kö@example.com,,Köln,,3,2026-03-08T08:00:00Z,"), "{lines:?}");
    assert_eq!(lines.len(), 4);
    let part = browser.get(&format!("{address}?from=2026-03-09&to=2026-03-09")).await.text;
    assert_eq!(part.lines().count(), 2, "{part}");
    let page = browser.page(&format!("/console/sites/{}/contacts", site.pixel_id)).await;
    assert!(page.contains(&format!("formaction=\"{address}\"")), "{page}");
}

#[tokio::test]
async fn a_person_is_found_erased_and_refused() {
    let (app, ann, site) = app_with_site().await;
    let other = app.pixel(&ann.key, "other.example").await;
    for pixel in [&site.pixel_id, &other] {
        app.store_people(&ann.key, pixel, 1..3).await.expect(200);
    }
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/contacts", site.pixel_id);
    let find = |number| format!("{address}/find?hem={}", hem(number));
    let page = browser.page(&find(1)).await;
    assert!(page.contains("Erase this person") && page.contains(&hem(1)), "{page}");
    let erase = format!("{address}/{}/erase", hem(1));
    let refused = browser.submit(&find(1), &erase, &[("host", "other.example")]).await;
    assert_eq!(refused.status, 400);
    assert!(refused.text.contains("Type ann.example to erase the person."), "{}", refused.text);
    let erased = browser.submit(&find(1), &erase, &[("host", "ann.example")]).await;
    let done = format!("{address}?done=erased&receipts=0&contacts=1&days=0");
    leads_to(&erased, &done);
    assert!(browser.page(&done).await.contains("The person is erased: one contact"));
    assert!(browser.page(&find(1)).await.contains("No data about this person is stored"));
    assert_eq!(app.all_contacts(&ann.key, &other).await.len(), 2);

    let suppress = format!("{address}/{}/suppress", hem(2));
    assert_eq!(browser.submit(&find(2), &suppress, &[]).await.status, 400);
    let suppressed = browser.submit(&find(2), &suppress, &[("host", "ann.example")]).await;
    leads_to(&suppressed, &format!("{address}?done=suppressed"));
    assert_eq!(app.all_contacts(&ann.key, &other).await.len(), 1);
    for odd in ["", "?hem=", "?hem=ab", "?hem=%00"] {
        let refused = browser.get(&format!("{address}/find{odd}")).await;
        assert_eq!(refused.status, 400, "{odd}");
        assert!(refused.text.contains("64-character hex string"), "{}", refused.text);
    }
}

#[tokio::test]
async fn the_people_of_anothers_site_are_not_there() {
    let (app, ann, site) = app_with_site().await;
    app.store_people(&ann.key, &site.pixel_id, 1..2).await.expect(200);
    let eve = app.account("eve@example.com").await;
    let mut browser = app.browser_of(&eve.key).await;
    let address = format!("/console/sites/{}/contacts", site.pixel_id);
    let found = format!("/find?hem={}", hem(1));
    for path in ["", "?day=2026-03-10", "/csv?day=2026-03-10", "/csv", "/days", &found] {
        let refused = browser.get(&format!("{address}{path}")).await;
        assert_eq!(refused.status, 404, "{path}");
    }
    for form in ["erase", "suppress"] {
        let path = format!("{address}/{}/{form}", hem(1));
        let fields = [("host", "ann.example")];
        assert_eq!(browser.submit("/console/sites/new", &path, &fields).await.status, 404);
    }
    let selected = format!("person-{}", hem(1));
    let fields =
        [("search", "a"), ("host", "ann.example"), ("action", "erase"), (&*selected, "on")];
    for form in ["", "/csv", "/selected", "/selected/confirm"] {
        let path = format!("{address}{form}");
        assert_eq!(
            browser.submit("/console/sites/new", &path, &fields).await.status,
            404,
            "{form}"
        );
    }
    assert_eq!(app.all_contacts(&ann.key, &site.pixel_id).await.len(), 1);
}

#[tokio::test]
async fn programs_count_and_find_with_the_same_figures() {
    let (app, ann, site) = app_with_site().await;
    app.store_people(&ann.key, &site.pixel_id, 1..4).await.expect(200);
    let get = async |path: &str| {
        let path = format!("/v1/pixels/{}/{path}", site.pixel_id);
        app.call(Method::GET, &path, &ann.key, Value::Null).await
    };
    let counts = get("contact-counts?from=2026-03-09").await.expect(200);
    assert_eq!(counts["total"], 3);
    let days = json!([{"day": "2026-03-09", "contacts": 0}, {"day": "2026-03-10", "contacts": 3}]);
    assert_eq!(counts["days"], days);
    assert_eq!(get("contact-counts").await.expect(200)["days"].as_array().unwrap().len(), 30);
    get("contact-counts?from=2026-03-11").await.invalid(&["query", "from"]);
    let found = get(&format!("contacts/{}", hem(2))).await.expect(200);
    assert_eq!(found["contact"], json!({"number": 2}));
    get(&format!("contacts/{}", hem(9))).await.refused(404, "contact not found");
    get("contacts/nonsense").await.refused(400, "hem must be a 64-character hex string");
}

#[tokio::test]
async fn a_person_is_erased_with_the_choices_behind_the_contact_which_the_page_counts() {
    let (app, ann, site) = app_with_site().await;
    let other = app.consent_site(&ann.key, "other.example").await;
    for (site, visitor) in [(&site, "v1"), (&site, "v2"), (&other, "v2")] {
        app.recorded(&site.acceptance(visitor)).await;
        let number = if visitor == "v1" { 1 } else { 2 };
        let person = json!([{"hem": hem(number), "contact": {"name": "A"}, "visitor_id": visitor}]);
        app.store(&ann.key, &site.pixel_id, person).await.expect(200);
    }
    let mut browser = app.browser_of(&ann.key).await;
    let address = format!("/console/sites/{}/contacts", site.pixel_id);
    let find = |number| format!("{address}/find?hem={}", hem(number));
    let page = browser.page(&find(1)).await;
    assert!(page.contains("has of this person: one receipt and one contact"), "{page}");
    let erase = format!("{address}/{}/erase", hem(1));
    let erased = browser.submit(&find(1), &erase, &[("host", "ann.example")]).await;
    leads_to(&erased, &format!("{address}?done=erased&receipts=1&contacts=1&days=0"));
    assert_eq!(app.check(&site.pixel_id, "v1").await["reason"], "no_consent_record");

    let suppress = format!("{address}/{}/suppress", hem(2));
    let suppressed = browser.submit(&find(2), &suppress, &[("host", "ann.example")]).await;
    leads_to(&suppressed, &format!("{address}?done=suppressed"));
    for site in [&site, &other] {
        assert_eq!(app.check(&site.pixel_id, "v2").await["reason"], "no_consent_record");
    }
}

#[tokio::test]
async fn a_request_by_mail_is_recorded_with_the_person_and_answered() {
    let (app, ann, site) = app_with_site().await;
    app.recorded(&site.acceptance("v1")).await;
    let person = json!([{"hem": hem(1), "contact": {"name": "A"}, "visitor_id": "v1"}]);
    app.store(&ann.key, &site.pixel_id, person).await.expect(200);
    let mut browser = app.browser_of(&ann.key).await;
    let contacts = format!("/console/sites/{}/contacts", site.pixel_id);
    let found = format!("{contacts}/find?hem={}", hem(1));
    let record = format!("{contacts}/{}/request", hem(1));
    let wrong = browser.submit(&found, &record, &[("received_on", "2027-01-01")]).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text.contains("Enter a day of the last 90 days."), "{}", wrong.text);
    let recorded = browser.submit(&found, &record, &[("received_on", "2026-03-01")]).await;
    assert_eq!(recorded.status, 303, "{}", recorded.text);
    let request = recorded.header("location").unwrap().to_owned();
    let page = browser.page(&request).await;
    for text in [
        "31 March 2026",
        "of this person: one receipt and one contact",
        "on 1 March 2026 you asked us to erase your personal data",
        "complain to a data protection authority",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let list = format!("/console/sites/{}/requests", site.pixel_id);
    let row = |title: &str| format!("<bdi>{title}</bdi></a> <span class=\"soft\">by email</span>");
    assert!(browser.page(&list).await.contains(&row("A")));
    assert!(browser.page(&found).await.contains("Received on 1 March 2026"));
    let complete = format!("{request}/complete");
    let done = browser.submit(&request, &complete, &[("host", "ann.example")]).await;
    leads_to(&done, &format!("{request}?done=erased-mailed"));
    let answer = browser.page(&format!("{request}?done=erased-mailed")).await;
    for text in
        ["Now send the answer below", "on 1 March 2026 you asked us", "data-copy=\"answer\""]
    {
        assert!(answer.contains(text), "{text}: {answer}");
    }
    let closed = browser.page(&format!("{list}?status=completed")).await;
    assert!(closed.contains("one receipt and one contact"), "{closed}");
    assert_eq!(app.check(&site.pixel_id, "v1").await["reason"], "no_consent_record");
}

#[tokio::test]
async fn requests_by_mail_of_two_people_can_be_distinguished() {
    let (app, ann, site) = app_with_site().await;
    let people = json!([
        {"hem": hem(1), "contact": {"first_name": "Zoe", "last_name": "Blue"}},
        {"hem": hem(2), "contact": {"email": "kim@mail.example"}},
    ]);
    app.store(&ann.key, &site.pixel_id, people).await.expect(200);
    let mut browser = app.browser_of(&ann.key).await;
    let contacts = format!("/console/sites/{}/contacts", site.pixel_id);
    // Nothing is stored of the third.
    for (number, title) in [(1, "Zoe Blue"), (2, "kim@mail.example"), (3, &hem(3)[..12])] {
        let found = format!("{contacts}/find?hem={}", hem(number));
        let record = format!("{contacts}/{}/request", hem(number));
        let recorded = browser.submit(&found, &record, &[("received_on", "2026-03-01")]).await;
        assert_eq!(recorded.status, 303, "{}", recorded.text);
        let request = browser.page(recorded.header("location").unwrap()).await;
        assert!(request.contains(&format!("<bdi>{title}</bdi></a>")), "{title}: {request}");
        let list = browser.page(&format!("/console/sites/{}/requests", site.pixel_id)).await;
        assert!(list.contains(&format!("<bdi>{title}</bdi></a>")), "{title}: {list}");
    }
    let person = browser.page(&format!("{contacts}/find?hem={}", hem(1))).await;
    assert!(person.contains("<h1>Zoe Blue"), "{person}");
}

#[tokio::test]
async fn the_answer_to_a_refused_request_by_mail_names_the_reason() {
    let (app, ann, site) = app_with_site().await;
    let mut browser = app.browser_of(&ann.key).await;
    let contacts = format!("/console/sites/{}/contacts", site.pixel_id);
    let (found, record) =
        (format!("{contacts}/find?hem={}", hem(1)), format!("{contacts}/{}/request", hem(1)));
    let recorded = browser.submit(&found, &record, &[("received_on", "2026-03-01")]).await;
    let request = recorded.header("location").unwrap().to_owned();
    let reason = "The invoice must be kept for ten years.";
    let refuse = format!("{request}/refuse");
    let refused = browser.submit(&request, &refuse, &[("reason", reason)]).await;
    leads_to(&refused, &format!("{request}?done=refused-mailed"));
    let answer = browser.page(&request).await;
    let mail = answer.split("<textarea").nth(1).and_then(|rest| rest.split("</textarea>").next());
    assert!(mail.is_some_and(|mail| mail.contains(reason)), "{answer}");
    assert!(!answer.contains("[the reason that you enter above]"), "{answer}");
    let list = format!("/console/sites/{}/requests?status=refused", site.pixel_id);
    assert!(browser.page(&list).await.contains("Refused on 10 March 2026"));
}
