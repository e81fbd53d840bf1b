//! Contacts that depend on a visitor's consent: who may be stored, who may be read, and what ends
//! with the consent.

use std::sync::Arc;
use std::time::{Duration as RealTime, Instant};

use chrono::Duration;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::contacts::{hem, insert_contacts, person};
use crate::support::server::Settings;
use crate::support::story::Site;
use crate::support::tools;
use crate::support::visitors::{fields, with};
use crate::support::{Account, Answer, App};

/// A service with an account and its site.
struct Shop {
    app: Arc<App>,
    ann: Account,
    site: Site,
}

/// An item for a person with a number, stored with the consent of a visitor.
fn bound(number: usize, visitor: &str) -> Value {
    with(&person(number), "visitor_id", json!(visitor))
}

fn refused(index: usize, reason: &str) -> Value {
    json!([{"index": index, "reason": reason}])
}

impl Shop {
    async fn open() -> Self {
        Self::open_with(&[]).await
    }

    async fn open_with(settings: Settings<'_>) -> Self {
        let app = Arc::new(App::spawn_with(settings).await);
        let ann = app.unlimited_account("ann@example.com").await;
        let site = app.consent_site(&ann.key, "ann.example").await;
        Self { app, ann, site }
    }

    /// Another site of the same account.
    async fn branch(&self, domain: &str) -> Self {
        let site = self.app.consent_site(&self.ann.key, domain).await;
        Self { app: self.app.clone(), ann: self.ann.clone(), site }
    }

    async fn accept(&self, visitor: &str) {
        self.app.recorded(&self.site.acceptance(visitor)).await;
    }

    /// Accepts, but not that data are resolved.
    async fn accept_analytics(&self, visitor: &str) {
        let choice = with(&self.site.acceptance(visitor), "purposes", json!(["analytics"]));
        self.app.recorded(&choice).await;
    }

    async fn refuse(&self, visitor: &str, state: &str) {
        self.app.recorded(&self.site.refusal(visitor, state)).await;
    }

    async fn configure(&self, name: &str, more: Value) -> Value {
        let mut body = json!({"controller_name": name, "purposes": ["resolution", "analytics"]});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        self.app.configure(&self.ann.key, &self.site.pixel_id, body).await.expect(200)
    }

    /// Stores items, and gives how many were stored and what was refused.
    async fn store(&self, items: Value) -> (u64, Value) {
        let stored = self.app.store(&self.ann.key, &self.site.pixel_id, items).await.expect(200);
        (stored["stored"].as_u64().unwrap(), stored["refused"].clone())
    }

    async fn stored(&self, items: Value) {
        let count = items.as_array().unwrap().len() as u64;
        assert_eq!(self.store(items).await, (count, json!([])));
    }

    /// Stores one item; why it was refused, null when it was not.
    async fn refusal(&self, item: Value) -> Value {
        let (stored, refused) = self.store(json!([item])).await;
        assert_eq!(stored == 0, refused != json!([]));
        refused[0]["reason"].clone()
    }

    async fn page(&self, query: &str) -> Value {
        self.app.contacts(&self.ann.key, &self.site.pixel_id, query).await.expect(200)
    }

    /// All contacts, which every way of reading gives alike.
    async fn contacts(&self) -> Vec<Value> {
        let list = |page: Value| page["contacts"].as_array().unwrap().clone();
        let all = list(self.page("after=0").await);
        let mut days = all
            .iter()
            .map(|contact| &contact["resolved_at"].as_str().unwrap()[..10])
            .collect::<Vec<_>>();
        days.sort_unstable();
        days.dedup();
        let mut by_day = Vec::new();
        for day in if days.is_empty() { vec!["2026-03-10"] } else { days } {
            by_day.extend(list(self.page(&format!("on={day}")).await));
        }
        by_day.sort_by_key(|contact| contact["id"].as_i64());
        assert_eq!(by_day, all);
        let changed = list(self.page("changed_after=0").await);
        let mut same = changed
            .iter()
            .map(|contact| {
                let contact = with(contact, "change", Value::Null);
                with(&with(&contact, "visits", Value::Null), "last_seen_at", Value::Null)
            })
            .collect::<Vec<_>>();
        same.sort_by_key(|contact| contact["id"].as_i64());
        assert_eq!(same, all);
        all
    }

    /// The consent of a person as it is read: null when the person is read without, `None` when not
    /// at all.
    async fn consent(&self, number: usize) -> Option<Value> {
        let contacts = self.contacts().await;
        let found = contacts.iter().find(|contact| contact["hem"] == hem(number));
        found.map(|contact| contact["consent"].clone())
    }

    /// The reason beside the consent of a person who is read, `None` for one who is not.
    async fn reason(&self, number: usize) -> Option<String> {
        let consent = self.consent(number).await?;
        let reason = consent["reason"].as_str().unwrap_or("unbound").to_owned();
        assert!(consent.is_null() || consent["permitted"] == (reason == "ok"));
        Some(reason)
    }

    async fn withdrawn(&self, query: &str) -> Value {
        let path = format!("/v1/pixels/{}/contacts/withdrawn{query}", self.site.pixel_id);
        self.app.read(&self.ann.key, &path).await.expect(200)
    }

    /// Waits until so many entries are listed.
    async fn withdrawn_are(&self, count: usize) -> Vec<Value> {
        let started = Instant::now();
        loop {
            let entries = self.withdrawn("").await["withdrawn"].as_array().unwrap().clone();
            if entries.len() == count {
                return entries;
            }
            let waited = started.elapsed() < RealTime::from_secs(15);
            assert!(waited, "{} entries, not {count}", entries.len());
            tokio::time::sleep(RealTime::from_millis(20)).await;
        }
    }

    /// Waits until so many rows of contacts are there.
    async fn rows_are(&self, count: i64) {
        let started = Instant::now();
        loop {
            let rows = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM contacts");
            let rows = rows.fetch_one(&self.app.pool).await.unwrap();
            if rows == count {
                return;
            }
            assert!(started.elapsed() < RealTime::from_secs(15), "{rows} contacts, not {count}");
            tokio::time::sleep(RealTime::from_millis(20)).await;
        }
    }
}

// Intake

#[tokio::test]
async fn an_item_with_a_visitor_is_stored_when_their_latest_receipt_permits_it() {
    let shop = Shop::open().await;
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
    // What was refused is not counted.
    let quote = shop.app.read(&shop.ann.key, "/v1/billing/quote").await.expect(200);
    assert_eq!(quote["allowance"]["contacts_used"], 2);
}

#[tokio::test]
async fn only_what_the_present_policy_says_can_be_stored_with_a_visitor() {
    let shop = Shop::open().await;
    shop.accept("old").await;
    shop.configure("Another Ltd", json!({})).await;
    assert_eq!(shop.refusal(bound(1, "old")).await, "policy_version_stale");
    shop.app.turn_off(&shop.ann.key, &shop.site).await;
    assert_eq!(shop.refusal(bound(1, "old")).await, "consent_off");
    assert_eq!(shop.contacts().await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_pixel_that_needs_consent_stores_nobody_without_a_visitor() {
    let shop = Shop::open().await;
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
    let shop = Shop::open().await;
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

// What becomes of a contact

/// What happens to a visitor after an acceptance, and what that does to a contact that was stored
/// with it.
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

impl Shop {
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
    let first = Shop::open().await;
    // What moves the clock ends the consent of all, so it comes last.
    let (moving, rest) =
        TRANSITIONS.iter().partition::<Vec<_>, _>(|it| it.what.starts_with("expired"));
    for (number, transition) in rest.into_iter().chain(moving).enumerate() {
        for kind in ["bound", "unbound", "strict"] {
            let shop = first.branch(&format!("{kind}-{number}.example")).await;
            Shop::plays(transition, kind, &shop).await;
        }
    }
}

#[tokio::test]
async fn an_acceptance_from_before_a_refusal_by_another_visitor_brings_nobody_back() {
    let shop = Shop::open().await;
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
    let shop = Shop::open().await;
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
    let shop = Shop::open().await;
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

// Cursors

#[tokio::test]
async fn changes_have_a_cursor_of_their_own() {
    let shop = Shop::open().await;
    shop.stored((1..=5).map(person).collect()).await;
    let page = shop.page("changed_after=0&limit=3").await;
    assert_eq!(fields(&page), ["changed_after", "changed_high_water", "contacts", "pixel_id"]);
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
    // Each has come to its last place.
    assert_eq!(numbers(&shop.page("changed_after=0").await), [3, 4, 5, 2, 1]);
}

#[tokio::test]
async fn the_cursor_of_changes_reaches_contacts_of_before_the_upgrade() {
    let shop = Shop::open().await;
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
    let shop = Shop::open().await;
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

// The list of what is withdrawn, and the erasure

#[tokio::test]
async fn what_was_withdrawn_is_listed_then_erased_and_the_list_keeps_no_person() {
    let shop = Shop::open().await;
    for visitor in ["ann", "bob"] {
        shop.accept(visitor).await;
    }
    shop.stored(json!([bound(1, "ann"), bound(2, "bob"), person(3)])).await;
    shop.refuse("ann", "withdrawn").await;
    let entries = shop.withdrawn_are(1).await;
    let entry = json!({"id": 1, "hem": hem(1), "withdrawn_at": "2026-03-10T12:00:00.000Z"});
    assert_eq!(entries[0], entry);
    let first = shop.withdrawn("?after=0").await;
    assert_eq!(fields(&first), ["after", "high_water", "pixel_id", "withdrawn"]);
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

impl Shop {
    /// Fails when any row of any table has one of these texts, and unless these tables are empty.
    async fn no_table_knows(&self, texts: &[&str], empty: &[&str]) {
        let tables = "SELECT tablename::text FROM pg_tables WHERE schemaname = 'public'";
        let tables =
            sqlx::query_scalar::<_, String>(tables).fetch_all(&self.app.pool).await.unwrap();
        assert!(tables.len() > 20);
        for table in tables {
            let rows = format!("SELECT t::text FROM \"{table}\" AS t");
            let rows = sqlx::query_scalar::<_, String>(sqlx::AssertSqlSafe(rows));
            let rows = rows.fetch_all(&self.app.pool).await.unwrap();
            assert!(!empty.contains(&table.as_str()) || rows.is_empty(), "{table}: {rows:?}");
            let known = |row: &String| texts.iter().any(|text| row.contains(text));
            assert!(!rows.iter().any(known), "{table}");
        }
    }
}

#[tokio::test]
async fn who_comes_back_before_the_erasure_is_a_change_and_off_the_list() {
    let shop = Shop::open().await;
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
    let shop = Shop::open().await;
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
    let shop = Shop::open_with(&[("RETENTION_DAYS_RECEIPTS", "30")]).await;
    shop.accept("ann").await;
    shop.stored(json!([bound(1, "ann"), person(2)])).await;
    shop.app.clock.advance(Duration::days(31));
    let entries = shop.withdrawn_are(1).await;
    assert_eq!(entries[0]["hem"], hem(1));
    assert_eq!(shop.page("after=0").await["contacts"].as_array().unwrap().len(), 1);
    shop.app.clock.advance(Duration::days(7));
    shop.rows_are(1).await;
}

// Doors

#[tokio::test]
async fn the_list_is_its_owners_and_says_what_is_wrong_with_a_question() {
    let shop = Shop::open().await;
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

#[tokio::test]
async fn tools_tell_the_same_of_consent() {
    let shop = Shop::open().await;
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
    assert_eq!(page, shop.page("changed_after=0&limit=1").await);
    assert_eq!(page["contacts"][0]["consent"]["reason"], "ok");
    shop.refuse("ann", "withdrawn").await;
    shop.withdrawn_are(2).await;
    let listed = tool("list_withdrawn_contacts", json!({"limit": 1})).await;
    assert_eq!(listed, shop.withdrawn("?limit=1").await);
    assert_eq!(tool("read_contacts", json!({"after": 0})).await["contacts"], json!([]));
}

#[tokio::test]
async fn a_large_page_of_changes_is_cut_short_where_the_next_begins() {
    let shop = Shop::open().await;
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

#[tokio::test]
async fn erasing_a_visitor_erases_at_once_the_contacts_that_were_ever_bound_to_it() {
    let shop = Shop::open().await;
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
