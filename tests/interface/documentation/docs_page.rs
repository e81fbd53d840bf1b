//! `/docs` and `/docs/reference` for people: in the order of what they do, and whole without scripts.

use std::collections::HashSet;

use crate::support::App;

/// The ids of the page's second headings, in their order.
fn headings(page: &str) -> Vec<&str> {
    let found = page.split("<h2 id=\"").skip(1);
    found.map(|rest| rest.split('"').next().unwrap()).collect()
}

const CHAPTERS: [&str; 5] = ["start", "authentication", "errors", "pagination", "versions"];

const GROUPS: [&str; 14] = [
    "accounts", "pixels", "consent", "watch", "visitors", "scripts", "log", "contacts", "webhooks",
    "events", "billing", "agents", "pages", "service",
];

#[tokio::test]
async fn the_overview_begins_with_how_to_start_and_has_a_line_for_every_operation() {
    let app = App::spawn().await;
    let page = app.get("/docs").await.text;
    assert_eq!(headings(&page), [&CHAPTERS[..], &GROUPS].concat());
    let document = app.get("/openapi.json").await.expect(200);
    let paths = document["paths"].as_object().unwrap().values();
    let operations = paths.flat_map(|item| item.as_object().unwrap().values());
    let mut lines = 0;
    for operation in operations {
        let id = operation["operationId"].as_str().unwrap();
        let line = format!("<li id=\"{id}\"><a href=\"/docs/reference#{id}\">");
        assert!(page.contains(&line), "{id}");
        lines += 1;
    }
    assert!(lines > 100, "{lines}");
    for tag in document["tags"].as_array().unwrap() {
        let part = format!("/openapi.json?tag={}", tag["name"].as_str().unwrap());
        assert!(page.contains(&format!("href=\"{part}\"")), "{part}");
    }
    // Programs cut off longer texts.
    let text = app.get("/docs.md").await.text;
    assert!(text.len() < 50_000, "{} characters", text.len());
}

#[tokio::test]
async fn the_reference_begins_with_what_people_do_first() {
    let app = App::spawn().await;
    let page = app.get("/docs/reference").await.text;
    assert_eq!(headings(&page), [&GROUPS[..], &["schemas"]].concat());
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("{text} is not there"));
    let steps = ["create_account", "confirm_by_code", "create_pixel", "configure_consent"];
    let offsets = steps.map(|id| at(&format!("class=\"told\" id=\"{id}\"")));
    assert!(offsets.is_sorted(), "{offsets:?}");
    let crawlers = ["/.well-known/gpc.json", "/.well-known/security.txt", "/robots.txt"];
    for path in crawlers {
        let offset = at(&format!("<code>{}</code></h3>", path.replace('/', "&#x2F;")));
        assert!(offset > at("healthz</code></h3>"), "{path}");
    }
}

/// The ids of a page, each of which is there once.
fn ids(page: &str) -> HashSet<&str> {
    let ids = page.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap());
    let ids = ids.collect::<Vec<_>>();
    let unique = ids.iter().copied().collect::<HashSet<_>>();
    assert_eq!(unique.len(), ids.len(), "an id is there twice");
    unique
}

#[tokio::test]
async fn every_link_within_the_overview_and_the_reference_leads_somewhere() {
    let app = App::spawn().await;
    let overview = app.get("/docs").await.text;
    let reference = app.get("/docs/reference").await.text;
    for (page, to, prefix) in [
        (&overview, &overview, "#"),
        (&overview, &reference, "/docs/reference#"),
        (&reference, &reference, "#"),
        (&reference, &overview, "/docs#"),
    ] {
        let (ids, start) = (ids(to), format!("href=\"{prefix}"));
        let links = page.split(&*start).skip(1).map(|rest| rest.split('"').next().unwrap());
        let links = links.collect::<Vec<_>>();
        assert!(!links.is_empty(), "{prefix}");
        for link in links {
            assert!(ids.contains(link), "{prefix}{link}");
        }
    }
}

#[tokio::test]
async fn every_code_block_can_be_copied_and_the_page_works_without_scripts() {
    let app = App::spawn().await;
    let page = app.get("/docs/reference").await.text;
    let blocks = page.matches("<pre ").count();
    assert!(blocks > 100 && page.matches(" data-copy=\"").count() == blocks, "{blocks}");
    // The search is of no use without its script, which shows it.
    assert!(page.contains("<form class=\"find\" id=\"find\" role=\"search\" hidden>"));
    assert!(page.contains("<script src=\"/assets/docs.js\" defer></script>"));
    assert_eq!(page.matches("<script").count(), 2);
}

#[tokio::test]
async fn every_kind_of_event_is_documented_with_its_body_and_an_example() {
    let app = App::spawn().await;
    let page = app.get("/docs/reference").await.text;
    let document = app.get("/openapi.json").await.expect(200);
    let (_, events) = page.split_once("<h2 id=\"events\">").expect("a chapter of the events");
    let (events, _) = events.split_once("<section").expect("its end");
    let described = document["webhooks"].as_object().unwrap();
    assert_eq!(described.len(), 10);
    for (name, webhook) in described {
        let id = webhook["post"]["operationId"].as_str().unwrap();
        let (_, event) = events.split_once(&format!("id=\"{id}\"")).expect(name);
        let event = event.split("</details>").next().unwrap();
        assert!(events.contains(&format!("<code>{name}</code></h3>")), "{name}");
        let example = &webhook["post"]["requestBody"]["content"]["application/json"]["example"];
        let id = example["data"]["pixel_id"].as_str().or(example["data"]["account_id"].as_str());
        assert!(event.contains(id.expect("an id")), "{name}: its example is not there: {event}");
        assert!(event.contains("<dt><code>url</code>"), "{name}: its fields are not there");
    }
    for header in ["webhook-id", "webhook-timestamp", "webhook-signature"] {
        assert!(events.contains(&format!("<dt><code>{header}</code>")), "{header}");
    }
}
