//! An endpoint is told of the events and the pixels that it names, and of nothing else.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::contacts::person;
use crate::support::sites::https_site::Reply;
use crate::support::story::Site;
use crate::support::webhooks::{Hooks, choose};

const PAGES: [&str; 5] = [
    "hooks.example/everything",
    "hooks.example/choices",
    "hooks.example/shop",
    "hooks.example/people-of-the-other",
    "hooks.example/account",
];

/// The events that a path received: kinds, each with the host of its pixel.
fn received(hooks: &Hooks, page: &str) -> Vec<(String, String)> {
    let of = |body: &str| {
        let body = serde_json::from_str::<Value>(body).expect("JSON");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        (text(&body["type"]), text(&body["data"]["domain"]))
    };
    let mut received = hooks.sent(page).iter().map(|seen| of(&seen.body)).collect::<Vec<_>>();
    received.sort();
    received
}

async fn endpoint(hooks: &Hooks, page: &str, events: Value, pixels: Value) -> Value {
    hooks.site.answer(page, Reply::page("ok"));
    let body = json!({"url": format!("https://{page}"), "events": events, "pixels": pixels});
    hooks.call(Method::POST, "/v1/webhooks", body).await.expect(201)["endpoint_id"].clone()
}

/// A choice and a person in each shop, and the account's allowance is reached.
async fn everything_happens(hooks: &Hooks, other: &Site) {
    for site in [&hooks.shop, other] {
        choose(&hooks.app, site, 1).await;
    }
    let store = async |site: &Site, number: usize| {
        let items = json!([person(number)]);
        hooks.app.store(&hooks.ann.key, &site.pixel_id, items).await.expect(200);
    };
    store(&hooks.shop, 1).await;
    sqlx::query("UPDATE contact_usage SET stored = 399").execute(&hooks.app.pool).await.unwrap();
    store(other, 2).await;
}

#[tokio::test]
async fn every_endpoint_gets_what_it_asked_for_and_nothing_else() {
    let hooks = Hooks::start().await;
    let other = hooks.app.consent_site(&hooks.ann.key, "two.example").await;
    let (shop_id, other_id) = (json!([hooks.shop.pixel_id]), json!([other.pixel_id]));
    let (none, people) = (json!([]), json!(["contact.created", "contact.updated"]));
    let [everything, choices, shop, of_other, account] = PAGES;
    let endpoints = [
        endpoint(&hooks, everything, none.clone(), none.clone()).await,
        endpoint(&hooks, choices, json!(["choice.recorded"]), none.clone()).await,
        endpoint(&hooks, shop, none.clone(), shop_id).await,
        endpoint(&hooks, of_other, people, other_id).await,
        endpoint(&hooks, account, json!(["allowance.reached"]), none).await,
    ];
    everything_happens(&hooks, &other).await;
    for endpoint in &endpoints {
        hooks.settled(endpoint).await;
    }
    let event = |kind: &str, host: &str| (kind.to_owned(), host.to_owned());
    let (reached, one, two) = (event("allowance.reached", ""), "shop.example", "two.example");
    let all = [
        reached.clone(),
        event("choice.recorded", one),
        event("choice.recorded", two),
        event("contact.created", one),
        event("contact.created", two),
    ];
    assert_eq!(received(&hooks, everything), all);
    assert_eq!(received(&hooks, choices), all[1..3]);
    // An event of the whole account belongs to no pixel that a filter could exclude.
    let of_shop = [reached.clone(), event("choice.recorded", one), event("contact.created", one)];
    assert_eq!(received(&hooks, shop), of_shop);
    assert_eq!(received(&hooks, of_other), [event("contact.created", two)]);
    assert_eq!(received(&hooks, account), [reached]);
    let ids = PAGES.map(|page| {
        let mut seen = hooks.sent(page).into_iter();
        let first = seen.find(|seen| seen.body.contains("allowance.reached"));
        first.map(|seen| seen.header("webhook-id").to_owned())
    });
    assert!(ids[0].is_some() && ids[0] == ids[2] && ids[0] == ids[4], "one event, one id: {ids:?}");
}
