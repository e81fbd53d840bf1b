//! The list of contacts whose consent has ended, and their erasure.

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::Answer;
use crate::support::contact_shop::ContactShop;
use crate::support::contacts::{bound, hem, person};
use crate::support::visitors::fields;

#[tokio::test]
async fn a_withdrawn_contact_is_listed_then_erased_and_its_entry_names_no_person() {
    let shop = ContactShop::open().await;
    for visitor in ["ann", "bob"] {
        shop.accept(visitor).await;
    }
    shop.stored(json!([bound(1, "ann"), bound(2, "bob"), person(3)])).await;
    shop.refuse("ann", "withdrawn").await;
    let entries = shop.withdrawn_are(1).await;
    let entry = json!({"id": 1, "hem": hem(1), "withdrawn_at": "2026-03-10T12:00:00.000Z"});
    assert_eq!(entries[0], entry);
    let first = shop.withdrawn("?after=0").await;
    assert_eq!(fields(&first), ["after", "high_water", "next", "pixel_id", "withdrawn"]);
    shop.app.clock.advance(Duration::days(3));
    shop.refuse("bob", "withdrawn").await;
    shop.withdrawn_are(2).await;
    let after = format!("?after={}", first["high_water"]);
    let second = shop.withdrawn(&after).await;
    assert_eq!(
        (&second["withdrawn"][0]["id"], second["withdrawn"].as_array().unwrap().len()),
        (&json!(2), 1)
    );
    assert_eq!(shop.withdrawn("?limit=1").await["high_water"], first["high_water"]);
    let end = shop.withdrawn(&format!("?after={}", second["high_water"])).await;
    assert_eq!((&end["withdrawn"], &end["high_water"]), (&json!([]), &second["high_water"]));

    shop.app.clock.advance(Duration::days(4) - Duration::seconds(1));
    shop.rows_are(3).await;
    shop.app.clock.advance(Duration::hours(1));
    shop.rows_are(2).await;
    let entries = shop.withdrawn_are(2).await;
    assert_eq!(entries[0], json!({"id": 1, "hem": null, "withdrawn_at": entry["withdrawn_at"]}));
    shop.app.clock.advance(Duration::days(3));
    shop.rows_are(1).await;
    shop.no_table_knows(&[&hem(1), &hem(2)], &["contact_visitors", "consent_changes"]).await;
    shop.app.clock.advance(Duration::days(394));
    shop.withdrawn_are(0).await;
}

#[tokio::test]
async fn an_acceptance_before_the_erasure_is_a_change_and_removes_the_entry() {
    let shop = ContactShop::open().await;
    shop.accept("ann").await;
    shop.stored(json!([bound(1, "ann")])).await;
    let before = shop.page("changed_after=0").await["changed_high_water"].clone();
    shop.refuse("ann", "withdrawn").await;
    shop.withdrawn_are(1).await;
    shop.app.clock.advance(Duration::days(6));
    shop.accept("ann").await;
    shop.stored(json!([bound(1, "ann")])).await;
    let page = shop.page(&format!("changed_after={before}")).await;
    assert_eq!(page["contacts"][0]["id"], 1);
    assert_eq!(page["contacts"][0]["visits"], 2);
    shop.withdrawn_are(0).await;
    shop.app.clock.advance(Duration::days(2));
    assert_eq!(shop.page("after=0").await["contacts"][0]["id"], 1);
    // And again.
    shop.refuse("ann", "withdrawn").await;
    shop.withdrawn_are(1).await;
    shop.app.clock.advance(Duration::days(7));
    shop.rows_are(0).await;
    // Somebody new, who counts anew.
    shop.accept("ann").await;
    shop.stored(json!([bound(1, "ann")])).await;
    assert!(shop.page("after=0").await["contacts"][0]["id"].as_i64().unwrap() > 1);
    shop.withdrawn_are(1).await;
}

#[tokio::test]
async fn an_erased_person_leaves_an_entry_without_a_name_and_a_deleted_pixel_nothing() {
    let shop = ContactShop::open().await;
    shop.accept("ann").await;
    shop.stored(json!([bound(1, "ann"), bound(2, "ann")])).await;
    shop.refuse("ann", "withdrawn").await;
    shop.withdrawn_are(2).await;
    let path = format!("/v1/pixels/{}/contacts/{}", shop.site.pixel_id, hem(1));
    assert_eq!(shop.app.call(Method::DELETE, &path, &shop.ann.key, Value::Null).await.status, 204);
    let entries = shop.withdrawn_are(2).await;
    assert_eq!((&entries[0]["hem"], &entries[1]["hem"]), (&json!(null), &json!(hem(2))));
    let path = format!("/v1/pixels/{}", shop.site.pixel_id);
    shop.app.call(Method::DELETE, &path, &shop.ann.key, Value::Null).await;
    let tables = ["contacts", "contact_visitors", "withdrawn_contacts", "consent_changes"];
    shop.no_table_knows(&[&hem(1), &hem(2)], &tables).await;
}

#[tokio::test]
async fn receipts_that_are_deleted_by_age_take_their_contacts_along() {
    let shop = ContactShop::open_with(&[("RETENTION_DAYS_RECEIPTS", "30")]).await;
    shop.accept("ann").await;
    shop.stored(json!([bound(1, "ann"), person(2)])).await;
    shop.app.clock.advance(Duration::days(31));
    let entries = shop.withdrawn_are(1).await;
    assert_eq!(entries[0]["hem"], hem(1));
    assert_eq!(shop.page("after=0").await["contacts"].as_array().unwrap().len(), 1);
    shop.app.clock.advance(Duration::days(7));
    shop.rows_are(1).await;
}

#[tokio::test]
async fn erasing_a_visitor_erases_at_once_the_contacts_that_were_ever_bound_to_it() {
    let shop = ContactShop::open().await;
    for visitor in ["laptop", "phone", "other"] {
        shop.accept(visitor).await;
    }
    shop.stored(json!([bound(1, "laptop"), bound(2, "other"), person(3)])).await;
    shop.stored(json!([bound(1, "phone")])).await;
    let path = format!("/v1/pixels/{}/visitors/laptop", shop.site.pixel_id);
    let erased = shop.app.call(Method::DELETE, &path, &shop.ann.key, Value::Null).await.expect(200);
    assert_eq!(erased["erased"]["contacts"], 1);
    let left = "SELECT encode(hem, 'hex') FROM contacts WHERE pixel_id = $1 ORDER BY id";
    let left = sqlx::query_scalar::<_, String>(left).bind(&shop.site.pixel_id);
    assert_eq!(json!(left.fetch_all(&shop.app.pool).await.unwrap()), json!([hem(2), hem(3)]));
}

#[tokio::test]
async fn the_list_is_its_owners_and_says_what_is_wrong_with_a_question() {
    let shop = ContactShop::open().await;
    let bob = shop.app.account("bob@example.com").await;
    let path = format!("/v1/pixels/{}/contacts/withdrawn", shop.site.pixel_id);
    let of = async |key: &str, query: &str| -> Answer {
        shop.app.read(key, &format!("{path}{query}")).await
    };
    of(&bob.key, "").await.refused(404, "pixel not found");
    of("px_unknown", "").await.refused(403, "invalid api key");
    shop.app.get(&path).await.refused(401, "api key required");
    of(&shop.ann.key, "?after=-1").await.refused(400, "after must be zero or greater");
    of(&shop.ann.key, "?limit=0").await.refused(400, "invalid request");
    let read = format!("/v1/pixels/{}/contacts?", shop.site.pixel_id);
    for query in [
        "changed_after=-1",
        "changed_after=x",
        "changed_after=0&after=0",
        "changed_after=0&on=2026-03-10",
        "changed_after=0&limit=1001",
    ] {
        let answer = shop.app.read(&shop.ann.key, &format!("{read}{query}")).await;
        answer.refused(400, "invalid request");
    }
    let answer = shop.app.read(&bob.key, &format!("{read}changed_after=0")).await;
    answer.refused(404, "pixel not found");
}
