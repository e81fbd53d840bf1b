//! Contacts that are only stored with an acceptance that a person made (`contacts_need_act`).

use serde_json::{Value, json};

use crate::support::contact_shop::ContactShop;
use crate::support::contacts::{bound, person};
use crate::support::visitors::with;

/// Records an acceptance with this user action.
async fn accept_by(shop: &ContactShop, visitor: &str, act: Value, automated: Value) {
    let shown = json!({"language": "en", "act": act, "seen": "longer", "automated": automated});
    shop.app.recorded(&with(&shop.site.acceptance(visitor), "shown", shown)).await;
}

#[tokio::test]
async fn only_acceptances_of_persons_are_enough() {
    let shop = ContactShop::open().await;
    let configured = shop.configure("Shop Ltd", json!({"contacts_need_act": true})).await;
    assert_eq!(configured["contacts_need_act"], true);
    assert_eq!(configured["contacts_need_consent"], false);
    assert_eq!(configured["policy_hash"], shop.site.policy_hash, "it is not part of the text");
    for (visitor, act, automated) in [
        ("mouse", json!("pointer"), json!(false)),
        ("keys", json!("keyboard"), Value::Null),
        ("reader", json!("assistive"), json!(false)),
        ("script", json!("page"), json!(false)),
        ("robot", json!("pointer"), json!(true)),
        ("unknown", Value::Null, json!(false)),
    ] {
        accept_by(&shop, visitor, act, automated).await;
    }
    shop.accept("program").await;
    shop.refuse("no", "declined").await;
    let items = json!([
        bound(0, "mouse"),
        bound(1, "keys"),
        bound(2, "reader"),
        bound(3, "script"),
        bound(4, "robot"),
        bound(5, "unknown"),
        bound(6, "program"),
        bound(7, "no"),
        bound(8, "nobody"),
        person(9),
    ]);
    let refused = [
        (3, "act_required"),
        (4, "act_required"),
        (5, "act_required"),
        (6, "act_required"),
        (7, "declined_or_withdrawn"),
        (8, "no_consent_record"),
        (9, "consent_required"),
    ];
    let refused = refused.map(|(index, reason)| json!({"index": index, "reason": reason}));
    assert_eq!(shop.store(items).await, (3, json!(refused)));
    assert_eq!(shop.contacts().await.len(), 3);
}

#[tokio::test]
async fn the_latest_acceptance_decides_and_the_setting_stays_when_it_is_left_out() {
    let shop = ContactShop::open().await;
    accept_by(&shop, "ann", json!("page"), json!(false)).await;
    assert_eq!(shop.refusal(bound(1, "ann")).await, Value::Null, "it is off at first");
    shop.configure("Shop Ltd", json!({"contacts_need_act": true})).await;
    assert_eq!(shop.refusal(bound(2, "ann")).await, "act_required");
    assert_eq!(shop.contacts().await.len(), 1, "stored contacts stay");
    assert_eq!(shop.configure("Shop Ltd", json!({})).await["contacts_need_act"], true);
    accept_by(&shop, "ann", json!("pointer"), json!(false)).await;
    assert_eq!(shop.refusal(bound(2, "ann")).await, Value::Null);
    accept_by(&shop, "ann", json!("page"), json!(false)).await;
    assert_eq!(shop.refusal(bound(3, "ann")).await, "act_required");
    shop.configure("Shop Ltd", json!({"contacts_need_act": false})).await;
    assert_eq!(shop.refusal(bound(3, "ann")).await, Value::Null);
    assert_eq!(shop.refusal(person(4)).await, Value::Null);
}

#[tokio::test]
async fn one_sites_setting_and_receipts_do_not_affect_another_site() {
    let shop = ContactShop::open().await;
    let other = shop.branch("other.example").await;
    shop.configure("Shop Ltd", json!({"contacts_need_act": true})).await;
    accept_by(&other, "ann", json!("pointer"), json!(false)).await;
    accept_by(&shop, "ann", json!("page"), json!(false)).await;
    assert_eq!(shop.refusal(bound(1, "ann")).await, "act_required");
    accept_by(&other, "bob", json!("page"), json!(false)).await;
    assert_eq!(other.refusal(bound(1, "bob")).await, Value::Null);
}
