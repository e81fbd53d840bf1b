//! The cursor of changes of contacts, and hidden contacts among them.

use serde_json::{Value, json};

use crate::support::contact_shop::ContactShop;
use crate::support::contacts::{bound, hem, insert_contacts, person};
use crate::support::tools;
use crate::support::visitors::{fields, with};

#[tokio::test]
async fn changes_have_a_cursor_of_their_own() {
    let shop = ContactShop::open().await;
    shop.stored((1..=5).map(person).collect()).await;
    let page = shop.page("changed_after=0&limit=3").await;
    assert_eq!(
        fields(&page),
        ["changed_after", "changed_high_water", "contacts", "next", "pixel_id"]
    );
    let contact = json!({"id": 1, "hem": hem(1), "contact": {"number": 1}, "visits": 1,
        "change": 1, "resolved_at": "2026-03-10T12:00:00Z", "last_seen_at": "2026-03-10T12:00:00Z"});
    assert_eq!(page["contacts"][0], contact);
    assert_eq!((&page["changed_after"], &page["changed_high_water"]), (&json!(0), &json!(3)));
    let numbers = |page: &Value| {
        let contacts = page["contacts"].as_array().unwrap().iter();
        contacts.map(|contact| contact["contact"]["number"].as_u64().unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&shop.page("changed_after=3").await), [4, 5]);
    let late = with(&person(2), "seen_at", json!("2026-03-11T00:00:00.25Z"));
    let early = with(&person(1), "seen_at", json!("2026-03-09"));
    shop.stored(json!([late, early])).await;
    let page = shop.page("changed_after=5").await;
    assert_eq!(numbers(&page), [2, 1]);
    let contacts = &page["contacts"];
    assert_eq!(contacts[0]["last_seen_at"], "2026-03-11T00:00:00.25Z");
    assert_eq!(contacts[1]["last_seen_at"], "2026-03-10T12:00:00Z", "not before it was seen first");
    assert_eq!((&contacts[0]["visits"], &contacts[0]["id"]), (&json!(2), &json!(2)));
    let end = shop.page("changed_after=7").await;
    assert_eq!((&end["contacts"], &end["changed_high_water"]), (&json!([]), &json!(7)));
    // Each has come to its last position.
    assert_eq!(numbers(&shop.page("changed_after=0").await), [3, 4, 5, 2, 1]);
}

#[tokio::test]
async fn the_cursor_of_changes_reaches_contacts_of_before_the_upgrade() {
    let shop = ContactShop::open().await;
    insert_contacts(&shop.app.pool, &shop.site.pixel_id, 1_200, 10).await;
    shop.stored(json!([person(1)])).await;
    let (mut after, mut seen) = (json!(0), Vec::new());
    for _ in 0..2 {
        let page = shop.page(&format!("changed_after={after}")).await;
        let contacts = page["contacts"].as_array().unwrap();
        seen.extend(contacts.iter().map(|contact| contact["id"].as_i64().unwrap()));
        after = page["changed_high_water"].clone();
    }
    assert_eq!(seen, (1..=1_201).collect::<Vec<_>>());
    let page = shop.page("changed_after=0&limit=1").await;
    assert_eq!(page["contacts"][0]["last_seen_at"], "2026-03-10T00:00:00Z");
    assert_eq!(page["contacts"][0]["visits"], 1);
}

#[tokio::test]
async fn pages_are_filled_up_past_what_is_hidden() {
    let shop = ContactShop::open().await;
    let visitors = (1..=9).map(|number| format!("v{number}")).collect::<Vec<_>>();
    for visitor in &visitors {
        shop.accept(visitor).await;
    }
    let items = (1..=9).map(|number| bound(number, &visitors[number - 1])).collect::<Value>();
    shop.stored(items).await;
    // Nothing can be noted while this lasts.
    let mut obstacle = shop.app.pool.begin().await.unwrap();
    sqlx::query("SELECT FROM pixels FOR UPDATE").execute(&mut *obstacle).await.unwrap();
    for number in [1, 2, 3, 5, 6, 8, 9] {
        shop.refuse(&visitors[number - 1], "withdrawn").await;
    }
    for noted in [false, true] {
        let page = shop.page("after=0&limit=1").await;
        assert_eq!((&page["contacts"][0]["id"], &page["high_water"]), (&json!(4), &json!(4)));
        let page = shop.page("after=4&limit=1").await;
        assert_eq!(page["high_water"], 7);
        let page = shop.page("after=7&limit=1").await;
        assert_eq!((&page["contacts"], &page["high_water"]), (&json!([]), &json!(7)));
        let page = shop.page("on=2026-03-10&limit=1").await;
        assert_eq!((&page["contacts"][0]["id"], &page["next_cursor"]), (&json!(4), &json!("4")));
        let page = shop.page("on=2026-03-10&limit=1&cursor=4").await;
        assert_eq!((&page["contacts"][0]["id"], &page["next_cursor"]), (&json!(7), &json!(null)));
        assert_eq!(shop.contacts().await.len(), 2);
        if !noted {
            obstacle.rollback().await.unwrap();
            obstacle = shop.app.pool.begin().await.unwrap();
            shop.withdrawn_are(7).await;
        }
    }
}

#[tokio::test]
async fn a_large_page_of_changes_is_cut_short_where_the_next_begins() {
    let shop = ContactShop::open().await;
    let filler = "x".repeat(9_000);
    let items = (1..=3)
        .map(|number| json!({"hem": hem(number), "contact": {"number": number, "filler": filler}}));
    shop.stored(items.collect()).await;
    shop.stored(json!([{"hem": hem(1), "contact": {"number": 1, "filler": filler}}])).await;
    let (mut after, mut seen) = (json!(0), Vec::new());
    for _ in 0..3 {
        let arguments = json!({"pixel_id": shop.site.pixel_id, "api_key": shop.ann.key,
            "changed_after": after});
        let page = tools::call(&shop.app, "read_contacts", arguments).await;
        let page = tools::done(&page);
        seen.push(page["contacts"][0]["contact"]["number"].clone());
        assert_eq!(page["contacts"].as_array().unwrap().len(), 1);
        after = page["changed_high_water"].clone();
    }
    assert_eq!(seen, [2, 3, 1]);
}
