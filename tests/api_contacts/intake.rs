//! Storing contacts: accepted objects, updates, refusals.

use chrono::{Duration, TimeZone, Utc};
use reqwest::Method;
use serde_json::json;

use crate::support::contacts::{hem, person};
use crate::support::{Answer, App};

async fn post_raw(app: &App, key: &str, pixel: &str, body: impl Into<reqwest::Body>) -> Answer {
    let path = format!("/v1/pixels/{pixel}/contacts");
    Answer::of(app.request(Method::POST, &path).bearer_auth(key).body(body)).await
}

#[tokio::test]
async fn stored_counts_people_written_and_not_misses() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let items = json!([
        person(1),
        {"hem": hem(2), "contact": null},
        {"hem": hem(3), "contact": {}},
        {"hem": hem(4)},
        {},
        {"hem": "no hem at all", "seen_at": "no time", "contact": null},
        person(5),
    ]);
    let stored = app.store(&ann.key, &pixel, items).await.expect(200);
    assert_eq!(stored, json!({"pixel_id": pixel, "stored": 2, "refused": []}));
    let hems = app.all_contacts(&ann.key, &pixel).await;
    assert_eq!(hems.iter().map(|contact| &contact["hem"]).collect::<Vec<_>>(), [&hem(1), &hem(5)]);
    let again = app.store_people(&ann.key, &pixel, 5..7).await.expect(200);
    assert_eq!(again["stored"], 2, "an update counts as written");
}

#[tokio::test]
async fn nothing_to_store_is_no_error() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let stored = app.store(&ann.key, &pixel, json!([])).await.expect(200);
    assert_eq!(stored, json!({"pixel_id": pixel, "stored": 0, "refused": []}));
}

#[tokio::test]
async fn an_update_keeps_id_time_and_day_and_replaces_the_contact() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let first =
        json!([{"hem": hem(1), "seen_at": "2026-03-08T23:30:00Z", "contact": {"a": 1, "b": 2}}]);
    app.store(&ann.key, &pixel, first).await.expect(200);
    app.clock.advance(Duration::days(1));
    let second = json!([
        {"hem": hem(1), "seen_at": "2026-03-11T08:00:00Z", "contact": {"c": 3}},
        person(2),
    ]);
    assert_eq!(app.store(&ann.key, &pixel, second).await.expect(200)["stored"], 2);
    let expected =
        json!({"id": 1, "hem": hem(1), "resolved_at": "2026-03-08T23:30:00Z", "contact": {"c": 3}});
    let contacts = app.all_contacts(&ann.key, &pixel).await;
    assert_eq!((contacts.len(), &contacts[0]), (2, &expected));
    let on = async |day: &str| {
        let read = app.contacts(&ann.key, &pixel, &format!("on={day}")).await.expect(200);
        read["contacts"].as_array().unwrap().len()
    };
    assert_eq!([on("2026-03-08").await, on("2026-03-11").await], [1, 1]);
}

#[tokio::test]
async fn a_person_twice_in_one_request_is_one_person_with_the_last_contact() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let items = json!([
        {"hem": "AB".repeat(32), "seen_at": "2026-03-01", "contact": {"first": true}},
        {"hem": "ab".repeat(32), "seen_at": "2026-03-02", "contact": {"second": true}},
    ]);
    assert_eq!(app.store(&ann.key, &pixel, items).await.expect(200)["stored"], 1);
    let expected = json!([{"id": 1, "hem": "ab".repeat(32), "resolved_at": "2026-03-01T00:00:00Z", "contact": {"second": true}}]);
    assert_eq!(json!(app.all_contacts(&ann.key, &pixel).await), expected);
}

#[tokio::test]
async fn a_hem_is_stored_in_lowercase_and_known_in_any_case() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for hem in ["Ab".repeat(32), "aB".repeat(32)] {
        let items = json!([{"hem": hem, "contact": {"a": 1}}]);
        app.store(&ann.key, &pixel, items).await.expect(200);
    }
    let contacts = app.all_contacts(&ann.key, &pixel).await;
    assert_eq!(contacts.len(), 1);
    assert_eq!(contacts[0]["hem"], "ab".repeat(32));
}

#[tokio::test]
async fn resolved_at_is_utc_and_keeps_the_fraction_that_was_given() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    app.clock.advance(Duration::microseconds(123_456));
    let times = [
        (json!(""), "2026-03-10T12:00:00Z"),
        (json!(null), "2026-03-10T12:00:00Z"),
        (json!("2026-03-01"), "2026-03-01T00:00:00Z"),
        (json!("2026-03-01T10:20:30"), "2026-03-01T10:20:30Z"),
        (json!("2026-03-01T10:20:30Z"), "2026-03-01T10:20:30Z"),
        (json!("2026-03-01T10:20:30.5Z"), "2026-03-01T10:20:30.5Z"),
        (json!("2026-03-01T10:20:30.123000Z"), "2026-03-01T10:20:30.123000Z"),
        (json!("2026-03-01T00:30:00.25+02:00"), "2026-02-28T22:30:00.25Z"),
    ];
    for (number, (seen_at, resolved_at)) in times.into_iter().enumerate() {
        let items = json!([{"hem": hem(number), "seen_at": seen_at, "contact": {"a": 1}}]);
        app.store(&ann.key, &pixel, items).await.expect(200);
        let read = app.contacts(&ann.key, &pixel, &format!("after={number}")).await.expect(200);
        assert_eq!(read["contacts"][0]["resolved_at"], resolved_at, "{seen_at}");
    }
}

#[tokio::test]
async fn the_day_is_the_utc_day_to_the_last_millisecond() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let items = json!([
        {"hem": hem(1), "seen_at": "2026-03-08T23:59:59.999Z", "contact": {"a": 1}},
        {"hem": hem(2), "seen_at": "2026-03-09T00:00:00.000Z", "contact": {"a": 1}},
        {"hem": hem(3), "seen_at": "2026-03-09T01:59:59.999+02:00", "contact": {"a": 1}},
        {"hem": hem(4), "seen_at": "2026-03-08T22:00:00-02:00", "contact": {"a": 1}},
    ]);
    app.store(&ann.key, &pixel, items).await.expect(200);
    for (number, millisecond) in [(5, 999), (6, 1000)] {
        let midnight = Utc.with_ymd_and_hms(2026, 3, 10, 23, 59, 59).unwrap();
        app.clock.set(midnight + Duration::milliseconds(millisecond));
        app.store(&ann.key, &pixel, json!([person(number)])).await.expect(200);
    }
    for (day, expected) in [
        ("2026-03-08", vec![hem(1), hem(3)]),
        ("2026-03-09", vec![hem(2), hem(4)]),
        ("2026-03-10", vec![hem(5)]),
        ("2026-03-11", vec![hem(6)]),
    ] {
        let read = app.contacts(&ann.key, &pixel, &format!("on={day}")).await.expect(200);
        let contacts = read["contacts"].as_array().unwrap();
        let hems = contacts.iter().map(|contact| contact["hem"].as_str().unwrap());
        assert_eq!(hems.collect::<Vec<_>>(), expected, "{day}");
    }
}

#[tokio::test]
async fn the_contact_comes_back_as_it_was_sent() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let contact = json!({
        "name": "Ångström 🐢 \u{202e}\u{2028}\u{feff}\u{fffd}\u{10ffff} </script> \\ \" \u{1}\u{7f}",
        "": null,
        "🐢": [1, -2.5, 1e300, u64::MAX, i64::MIN, true, [], {}],
        "id": "not ours", "hem": "not ours", "__proto__": {"a": 1},
    });
    let items = json!([{"hem": hem(1), "contact": contact, "extra": ["ignored"]}]);
    app.store(&ann.key, &pixel, items).await.expect(200);
    assert_eq!(app.all_contacts(&ann.key, &pixel).await[0]["contact"], contact);
}

// Refused objects

#[tokio::test]
async fn an_entry_must_be_an_object() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for entry in [json!(null), json!("x"), json!(1), json!([]), json!(true)] {
        app.store(&ann.key, &pixel, json!([person(1), entry]))
            .await
            .refused(400, "contact entry must be an object");
    }
    assert!(app.all_contacts(&ann.key, &pixel).await.is_empty());
}

#[tokio::test]
async fn a_contact_must_be_an_object() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for contact in [json!("x"), json!(1), json!([]), json!(false), json!("")] {
        let items = json!([person(1), {"hem": hem(2), "contact": contact}]);
        app.store(&ann.key, &pixel, items).await.refused(400, "contact must be an object");
    }
    assert!(app.all_contacts(&ann.key, &pixel).await.is_empty());
}

#[tokio::test]
async fn a_hem_must_be_64_hex_digits() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let fits = "ab".repeat(32);
    for bad in [
        json!(null),
        json!(""),
        json!(fits[1..]),
        json!(format!("{fits}a")),
        json!(format!(" {}", &fits[1..])),
        json!(format!("0x{}", &fits[2..])),
        json!("é".repeat(32)),
        json!("１".repeat(64)),
        json!("g".repeat(64)),
        json!("a".repeat(100_000)),
    ] {
        let items = json!([person(1), {"hem": bad, "contact": {"a": 1}}]);
        app.store(&ann.key, &pixel, items)
            .await
            .refused(400, "hem must be a 64-character hex string");
    }
    let missing = json!([{"contact": {"a": 1}}]);
    app.store(&ann.key, &pixel, missing)
        .await
        .refused(400, "hem must be a 64-character hex string");
    assert!(app.all_contacts(&ann.key, &pixel).await.is_empty());
}

#[tokio::test]
async fn seen_at_must_be_an_iso_time() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for bad in [
        "yesterday",
        "1773144000",
        "10/03/2026",
        "2026-02-30",
        "2026-03-10T25:00:00Z",
        "2026-03-10T10:00:00 CET",
        "2026-03-10T10:00:00+99:99",
        "2026-03-10T10:00:00.Z",
        "Tue, 10 Mar 2026 12:00:00 GMT",
        "٢٠٢٦-٠٣-١٠",
    ] {
        let items = json!([person(1), {"hem": hem(2), "seen_at": bad, "contact": {"a": 1}}]);
        app.store(&ann.key, &pixel, items).await.refused(400, "seen_at must be an ISO timestamp");
    }
    assert!(app.all_contacts(&ann.key, &pixel).await.is_empty());
}

#[tokio::test]
async fn a_body_of_the_wrong_shape_is_an_invalid_request() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    for body in [
        json!([]),
        json!("x"),
        json!(null),
        json!({}),
        json!({"contacts": null}),
        json!({"contacts": {}}),
        json!({"contacts": "x"}),
        json!({"contacts": [{"hem": 1, "contact": {"a": 1}}]}),
        json!({"contacts": [{"hem": ["a"], "contact": null}]}),
        json!({"contacts": [{"hem": hem(1), "seen_at": 1_773_144_000, "contact": {"a": 1}}]}),
        json!({"contacts": [{"hem": hem(1), "seen_at": {}, "contact": {"a": 1}}]}),
    ] {
        let answer = post_raw(&app, &ann.key, &pixel, body.to_string()).await;
        answer.refused(400, "invalid request");
    }
    assert!(app.all_contacts(&ann.key, &pixel).await.is_empty());
}

#[tokio::test]
async fn a_body_that_is_no_clean_json_is_an_invalid_request() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let with_contact =
        |contact: &str| format!(r#"{{"contacts":[{{"hem":"{}","contact":{contact}}}]}}"#, hem(1));
    let deep = format!("{}1{}", r#"{"a":"#.repeat(200), "}".repeat(200));
    for body in [
        String::new(),
        "{".to_owned(),
        "contacts=1".to_owned(),
        with_contact(r#"{"a":"\u0000"}"#),
        with_contact(r#"{"\u0000":1}"#),
        with_contact(r#"{"a":"\ud800"}"#),
        with_contact(r#"{"a":1,"a":2}"#),
        with_contact(r#"{"a":1e999}"#),
        with_contact(r#"{"a":NaN}"#),
        with_contact(&deep),
        with_contact("{\"a\":\"\0\"}"),
    ] {
        let answer = post_raw(&app, &ann.key, &pixel, body).await;
        answer.refused(400, "invalid request");
    }
    let latin1 = with_contact(r#"{"a":"?"}"#).replace('?', "\u{1}").into_bytes();
    let broken = latin1.iter().map(|&byte| if byte == 1 { 0xff } else { byte }).collect::<Vec<_>>();
    post_raw(&app, &ann.key, &pixel, broken).await.refused(400, "invalid request");
    assert!(app.all_contacts(&ann.key, &pixel).await.is_empty());
}

#[tokio::test]
async fn a_contact_has_at_most_16_kib() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let of_size = |size: usize| {
        let contact = json!({"a": "x".repeat(size - r#"{"a":""}"#.len())});
        assert_eq!(contact.to_string().len(), size);
        json!([{"hem": hem(1), "contact": contact}])
    };
    app.store(&ann.key, &pixel, of_size(16 * 1024 + 1)).await.refused(400, "invalid request");
    assert_eq!(app.store(&ann.key, &pixel, of_size(16 * 1024)).await.expect(200)["stored"], 1);
}

#[tokio::test]
async fn a_request_has_at_most_1000_items_misses_included() {
    let app = App::spawn().await;
    let owner = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&owner.key, "operator.example").await;
    let items = |count: usize| (0..count).map(person).collect::<Vec<_>>();
    let mut with_misses = items(500);
    with_misses.resize(1001, json!({}));
    for too_many in [items(1001), with_misses] {
        app.store(&owner.key, &pixel, json!(too_many)).await.refused(400, "invalid request");
    }
    let stored = app.store(&owner.key, &pixel, json!(items(1000))).await.expect(200);
    assert_eq!(stored["stored"], 1000);
}

#[tokio::test]
async fn a_body_has_at_most_2_mib() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let body = |size: usize| {
        let mut body = json!({"contacts": [person(1)]}).to_string();
        body.push_str(&" ".repeat(size - body.len()));
        body
    };
    let limit = 2 * 1024 * 1024;
    let answer = post_raw(&app, &ann.key, &pixel, body(limit + 1)).await;
    answer.refused(413, "request body too large");
    post_raw(&app, &ann.key, &pixel, body(limit)).await.expect(200);
}
