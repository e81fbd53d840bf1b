//! Contacts that depend on a visitor's consent: who may be stored and who may be read.

use chrono::Duration;
use serde_json::{Value, json};

use crate::support::contact_shop::ContactShop;
use crate::support::contacts::{bound, hem, person};
use crate::support::tools;
use crate::support::visitors::{fields, with};

fn refused(index: usize, reason: &str) -> Value {
    json!([{"index": index, "reason": reason}])
}

// Intake

#[tokio::test]
async fn an_item_with_a_visitor_is_stored_when_their_latest_receipt_permits_it() {
    let shop = ContactShop::open().await;
    shop.accept("yes").await;
    let accepted = shop.app.receipt(&shop.site.pixel_id, "yes").await.expect(200);
    shop.refuse("no", "declined").await;
    shop.accept("gone").await;
    shop.refuse("gone", "withdrawn").await;
    shop.accept_analytics("counted").await;
    let items = json!([
        bound(0, "yes"),
        bound(1, "no"),
        bound(2, "gone"),
        bound(3, "counted"),
        bound(4, "nobody"),
        bound(5, "no id!"),
        with(&person(6), "visitor_id", json!(7)),
        with(&person(7), "visitor_id", json!("")),
        person(8),
        json!({"hem": hem(9), "contact": null, "visitor_id": "no"}),
    ]);
    let (stored, refused) = shop.store(items).await;
    assert_eq!(stored, 2);
    let reasons = refused.as_array().unwrap().iter();
    let reasons = reasons.map(|item| (item["index"].as_u64().unwrap(), item["reason"].clone()));
    let expected = [
        (1, "declined_or_withdrawn"),
        (2, "declined_or_withdrawn"),
        (3, "purpose_not_granted"),
        (4, "no_consent_record"),
        (5, "no_consent_record"),
        (6, "no_consent_record"),
        (7, "no_consent_record"),
    ];
    let expected = expected.map(|(index, reason)| (index, json!(reason)));
    assert_eq!(reasons.collect::<Vec<_>>(), expected);
    let consent = json!({"visitor_id": "yes", "receipt_id": accepted["receipt_id"],
        "permitted": true, "reason": "ok"});
    assert_eq!(shop.consent(0).await, Some(consent));
    let contacts = shop.contacts().await;
    assert_eq!(fields(&contacts[1]), ["contact", "hem", "id", "resolved_at"]);
    // A refused item is not counted.
    let quote = shop.app.read(&shop.ann.key, "/v1/billing/quote").await.expect(200);
    assert_eq!(quote["allowance"]["contacts_used"], 2);
}

#[tokio::test]
async fn only_what_the_present_policy_says_can_be_stored_with_a_visitor() {
    let shop = ContactShop::open().await;
    shop.accept("old").await;
    shop.configure("Another Ltd", json!({})).await;
    assert_eq!(shop.refusal(bound(1, "old")).await, "policy_version_stale");
    shop.app.turn_off(&shop.ann.key, &shop.site).await;
    assert_eq!(shop.refusal(bound(1, "old")).await, "consent_off");
    assert_eq!(shop.contacts().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_pixel_that_needs_consent_stores_nobody_without_a_visitor() {
    let shop = ContactShop::open().await;
    let configured = shop.configure("Shop Ltd", json!({"contacts_need_consent": true})).await;
    assert_eq!(configured["contacts_need_consent"], true);
    assert_eq!(configured["policy_hash"], shop.site.policy_hash, "it is not part of the text");
    shop.accept("ann").await;
    let items = json!([person(1), bound(2, "ann"), person(2)]);
    let both = json!([{"index": 0, "reason": "consent_required"},
        {"index": 2, "reason": "consent_required"}]);
    assert_eq!(shop.store(items).await, (1, both));
    // Left out it stays.
    assert_eq!(shop.configure("Shop Ltd", json!({})).await["contacts_need_consent"], true);
    assert_eq!(shop.refusal(person(1)).await, "consent_required");
    shop.configure("Shop Ltd", json!({"contacts_need_consent": false})).await;
    assert_eq!(shop.refusal(person(1)).await, Value::Null);
}

#[tokio::test]
async fn the_items_of_one_person_are_judged_one_after_the_other() {
    let shop = ContactShop::open().await;
    shop.accept("one").await;
    shop.accept("two").await;
    let seen = |item: Value, at: &str, what: &str| {
        with(&with(&item, "seen_at", json!(at)), "contact", json!({"what": what}))
    };
    let items = json!([
        seen(bound(1, "one"), "2026-03-10T08:00:00Z", "first"),
        seen(bound(1, "nobody"), "2026-03-10T07:00:00Z", "refused"),
        seen(bound(1, "two"), "2026-03-10T09:30:00.5Z", "second"),
        seen(person(1), "2026-03-10T09:00:00Z", "last"),
    ]);
    assert_eq!(shop.store(items).await, (1, refused(1, "no_consent_record")));
    let page = shop.page("changed_after=0").await;
    let contact = &page["contacts"][0];
    assert_eq!(contact["resolved_at"], "2026-03-10T08:00:00Z");
    assert_eq!(contact["last_seen_at"], "2026-03-10T09:30:00.5Z");
    assert_eq!(contact["contact"]["what"], "last");
    assert_eq!(contact["visits"], 1);
    assert_eq!(contact["consent"]["visitor_id"], "two", "the last permitted item binds");
    // Both are remembered.
    shop.refuse("one", "withdrawn").await;
    assert_eq!(shop.reason(1).await, None);
}

// Effects on a contact

/// The effect of each event after an acceptance on a contact that was stored with it.
struct Transition {
    what: &'static str,
    /// The reason beside the contact while it is read.
    read: Option<&'static str>,
    /// Why an item is refused then: one that names the visitor, and one that does not.
    named: Option<&'static str>,
    unnamed: Option<&'static str>,
    listed: bool,
}

const fn hides(what: &'static str, named: &'static str) -> Transition {
    let unnamed = Some("declined_or_withdrawn");
    Transition { what, read: None, named: Some(named), unnamed, listed: true }
}

const TRANSITIONS: &[Transition] = &[
    Transition { what: "nothing", read: Some("ok"), named: None, unnamed: None, listed: false },
    Transition { what: "accepted", read: Some("ok"), named: None, unnamed: None, listed: false },
    hides("declined", "declined_or_withdrawn"),
    hides("withdrawn", "declined_or_withdrawn"),
    hides("resolution taken back", "purpose_not_granted"),
    hides("expired", "policy_version_stale"),
    hides("forgotten", "no_consent_record"),
    hides("withdrawn by an earlier visitor", "declined_or_withdrawn"),
    hides("withdrawn, consent turned off", "consent_off"),
    Transition {
        what: "new policy",
        read: Some("policy_version_stale"),
        named: Some("policy_version_stale"),
        unnamed: None,
        listed: false,
    },
    Transition {
        what: "consent turned off",
        read: Some("consent_off"),
        named: Some("consent_off"),
        unnamed: None,
        listed: false,
    },
    // Until an item says so too, it stays hidden.
    Transition {
        what: "withdrawn and accepted again",
        read: None,
        named: None,
        unnamed: Some("declined_or_withdrawn"),
        listed: true,
    },
    Transition {
        what: "expired and accepted again",
        read: None,
        named: None,
        unnamed: Some("declined_or_withdrawn"),
        listed: true,
    },
];

impl ContactShop {
    async fn happens(&self, what: &str) {
        match what {
            "nothing" => {}
            "accepted" => self.accept("ann").await,
            "declined" | "withdrawn" => self.refuse("ann", what).await,
            "resolution taken back" => self.accept_analytics("ann").await,
            "expired" => self.app.clock.advance(Duration::days(182)),
            // At once, before anybody has noted that it ended.
            "expired and accepted again" => {
                self.app.clock.advance(Duration::days(182));
                self.accept("ann").await;
            }
            "forgotten" => {
                sqlx::query(
                    "DELETE FROM consent_receipts WHERE visitor_id = 'ann' AND pixel_id = $1",
                )
                .bind(&self.site.pixel_id)
                .execute(&self.app.pool)
                .await
                .unwrap();
                // Another process did it: nobody here is told.
                self.app.clock.advance(Duration::seconds(15));
            }
            "withdrawn by an earlier visitor" => self.refuse("bob", "withdrawn").await,
            "withdrawn, consent turned off" => {
                self.refuse("ann", "withdrawn").await;
                self.app.turn_off(&self.ann.key, &self.site).await;
            }
            "new policy" => drop(self.configure("Another Ltd", json!({})).await),
            "consent turned off" => drop(self.app.turn_off(&self.ann.key, &self.site).await),
            "withdrawn and accepted again" => {
                self.refuse("ann", "withdrawn").await;
                self.accept("ann").await;
            }
            other => panic!("{other} cannot happen"),
        }
    }

    /// Stores a contact in one of three ways, lets something happen, and looks what became of it.
    async fn plays(transition: &Transition, kind: &str, shop: &Self) {
        shop.accept("bob").await;
        shop.accept("ann").await;
        let first = if kind == "unbound" { person(1) } else { bound(1, "bob") };
        shop.stored(json!([first])).await;
        if kind != "unbound" {
            shop.stored(json!([bound(1, "ann")])).await;
        }
        if kind == "strict" {
            shop.configure("Shop Ltd", json!({"contacts_need_consent": true})).await;
        }
        shop.happens(transition.what).await;
        let what = format!("{} × {kind}", transition.what);
        let text = |reason: Option<&str>| reason.map_or(Value::Null, |reason| json!(reason));
        let (read, listed) = match kind {
            "unbound" => (Some("unbound"), false),
            _ => (transition.read, transition.listed),
        };
        assert_eq!(shop.reason(1).await.as_deref(), read, "{what}");
        let entries = shop.withdrawn_are(usize::from(listed)).await;
        assert!(!listed || entries[0]["hem"] == hem(1), "{what}");
        // Noted or not makes no difference.
        assert_eq!(shop.reason(1).await.as_deref(), read, "{what}");
        let unnamed = match kind {
            "strict" => Some("consent_required"),
            "bound" => transition.unnamed,
            _ => None,
        };
        assert_eq!(shop.refusal(person(1)).await, text(unnamed), "{what}");
        let named = match transition.what {
            "withdrawn by an earlier visitor" if kind == "unbound" => None,
            _ => transition.named,
        };
        assert_eq!(shop.refusal(bound(1, "ann")).await, text(named), "{what}");
        if named.is_none() {
            assert_eq!(shop.reason(1).await.as_deref(), Some("ok"), "{what}");
            shop.withdrawn_are(0).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_transition_of_consent_decides_about_contacts_that_are_bound_to_it_and_no_others() {
    let first = ContactShop::open().await;
    // Moving the clock ends the consent of all visitors, so it comes last.
    let (moving, rest) =
        TRANSITIONS.iter().partition::<Vec<_>, _>(|it| it.what.starts_with("expired"));
    for (number, transition) in rest.into_iter().chain(moving).enumerate() {
        for kind in ["bound", "unbound", "strict"] {
            let shop = first.branch(&format!("{kind}-{number}.example")).await;
            ContactShop::plays(transition, kind, &shop).await;
        }
    }
}

#[tokio::test]
async fn an_acceptance_from_before_a_refusal_by_another_visitor_brings_nobody_back() {
    let shop = ContactShop::open().await;
    for visitor in ["old", "ann"] {
        shop.accept(visitor).await;
    }
    shop.stored(json!([bound(1, "ann")])).await;
    shop.refuse("ann", "withdrawn").await;
    // The same mailbox by way of another browser, which accepted earlier.
    assert_eq!(shop.refusal(bound(1, "old")).await, "declined_or_withdrawn");
    shop.accept("ann").await;
    // In one request too: the first item makes her refusal one that counts.
    let items = json!([bound(2, "ann"), bound(2, "old")]);
    assert_eq!(shop.store(items).await, (1, refused(1, "declined_or_withdrawn")));
    shop.accept("new").await;
    shop.stored(json!([bound(1, "new")])).await;
    assert_eq!(shop.consent(1).await.unwrap()["visitor_id"], "new");
}

#[tokio::test]
async fn a_shorter_consent_ends_when_it_says_also_for_contacts_of_a_longer_one() {
    let shop = ContactShop::open().await;
    shop.accept("ann").await;
    shop.stored(json!([bound(1, "ann")])).await;
    let configured = shop.configure("Shop Ltd", json!({"consent_days": 2})).await;
    let hash = configured["policy_hash"].clone();
    let choice = with(&shop.site.acceptance("ann"), "policy_version_hash", hash);
    shop.app.recorded(&choice).await;
    assert_eq!(shop.reason(1).await.as_deref(), Some("ok"));
    shop.app.clock.advance(Duration::days(2) - Duration::milliseconds(1));
    assert_eq!(shop.reason(1).await.as_deref(), Some("ok"));
    shop.app.clock.advance(Duration::milliseconds(1));
    assert_eq!(shop.reason(1).await, None);
    shop.app.clock.advance(Duration::seconds(15));
    shop.withdrawn_are(1).await;
}

#[tokio::test]
async fn a_consent_that_is_renewed_in_time_keeps_its_contacts() {
    let shop = ContactShop::open().await;
    shop.accept("ann").await;
    shop.stored(json!([bound(1, "ann")])).await;
    shop.app.clock.advance(Duration::days(181));
    shop.accept("ann").await;
    shop.app.clock.advance(Duration::days(100));
    shop.accept("eve").await;
    shop.stored(json!([bound(2, "eve")])).await;
    shop.refuse("eve", "withdrawn").await;
    shop.withdrawn_are(1).await;
    assert_eq!(shop.page("after=0").await["contacts"][0]["consent"]["reason"], "ok");
    shop.app.clock.advance(Duration::days(83));
    shop.withdrawn_are(2).await;
}

#[tokio::test]
async fn tools_report_the_same_consent() {
    let shop = ContactShop::open().await;
    shop.accept("ann").await;
    let tool = async |name: &str, more: Value| {
        let mut arguments = json!({"pixel_id": shop.site.pixel_id, "api_key": shop.ann.key});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        tools::done(&tools::call(&shop.app, name, arguments).await).clone()
    };
    let items = json!([bound(1, "ann"), bound(2, "nobody"), bound(3, "ann")]);
    let stored = tool("store_contacts", json!({"contacts": items})).await;
    assert_eq!(stored["refused"], refused(1, "no_consent_record"));
    let page = tool("read_contacts", json!({"changed_after": 0, "limit": 1})).await;
    let mut over_http = shop.page("changed_after=0&limit=1").await;
    let next = over_http.as_object_mut().unwrap().remove("next").unwrap();
    assert!(next.as_str().unwrap().ends_with("/contacts?limit=1&changed_after=1"), "{next}");
    assert_eq!(page, over_http);
    assert_eq!(page["contacts"][0]["consent"]["reason"], "ok");
    shop.refuse("ann", "withdrawn").await;
    shop.withdrawn_are(2).await;
    let listed = tool("list_withdrawn_contacts", json!({"limit": 1})).await;
    let mut over_http = shop.withdrawn("?limit=1").await;
    let next = over_http.as_object_mut().unwrap().remove("next").unwrap();
    let rest = format!("/contacts/withdrawn?limit=1&after={}", listed["high_water"]);
    assert!(next.as_str().unwrap().ends_with(&rest), "{next}");
    assert_eq!(listed, over_http);
    assert_eq!(tool("read_contacts", json!({"after": 0})).await["contacts"], json!([]));
}
