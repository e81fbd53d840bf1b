//! The list of people: search, order, pages, and erasing or blocking several at once.

use chrono::Duration;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::consent::app_with_site;
use crate::support::console::{Browser, leads_to};
use crate::support::contacts::hem;
use crate::support::{App, fresh_address};

fn person(number: usize, contact: Value) -> Value {
    json!({"hem": hem(number), "contact": contact})
}

/// The hashes of the people on a page, in their order.
fn listed(page: &str) -> Vec<String> {
    let rest = page.split("/contacts/find?hem=").skip(1);
    rest.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

fn hems(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(hem).collect()
}

async fn found(browser: &mut Browser<'_>, list: &str, fields: &[(&str, &str)]) -> String {
    let page = browser.submit(list, list, fields).await;
    assert_eq!(page.status, 200, "{fields:?}: {}", page.text);
    page.text
}

#[tokio::test]
async fn people_are_found_by_how_a_name_a_company_or_an_address_begins() {
    let (app, ann, site) = app_with_site().await;
    let bob = hex::encode(Sha256::digest("bob@shop.example"));
    let people = json!([
        person(1, json!({"name": "Zoë Árnason", "company": "Blue Bakery", "email": "zoe@mail.example"})),
        person(2, json!({"first_name": "Ann", "last_name": "Lee", "email": "a.lee@work.example"})),
        person(3, json!({"company": "Éclair & Co", "name": null})),
        person(4, json!({"name": {"first": "Ann"}, "company": 7, "email": "x".repeat(9_000)})),
        {"hem": bob, "contact": {"number": 5}},
    ]);
    app.store(&ann.key, &site.pixel_id, people.clone()).await.expect(200);
    let eve = app.account("eve@example.com").await;
    let other = app.pixel(&eve.key, "eve.example").await;
    let mut stranger = app.browser_of(&eve.key).await;
    let mut browser = app.browser_of(&ann.key).await;
    let list = format!("/console/sites/{}/contacts", site.pixel_id);
    let others = format!("/console/sites/{other}/contacts");
    assert_eq!(listed(&browser.page(&list).await).len(), 5);
    for (search, numbers) in [
        ("zoe", vec![1]),
        ("ARNA", vec![1]),
        ("blue b", vec![1]),
        ("ann l", vec![2]),
        (" Lee ", vec![2]),
        ("A.LEE@", vec![2]),
        ("\u{0}ann", vec![2]),
        ("eclair", vec![3]),
        ("nobody%", vec![]),
    ] {
        let page = found(&mut browser, &list, &[("search", search)]).await;
        assert_eq!(listed(&page), hems(numbers), "{search}");
        let page = found(&mut stranger, &others, &[("search", search)]).await;
        assert_eq!(listed(&page), hems([]), "{search}");
    }
    let page = found(&mut browser, &list, &[("search", "Bob@Shop.example")]).await;
    assert_eq!(listed(&page), [bob]);
    let page = found(&mut browser, &list, &[("search", "zoe"), ("to", "2026-03-09")]).await;
    assert_eq!(listed(&page), hems([]));
    let wrong = browser.submit(&list, &list, &[("search", "zoe"), ("from", "x")]).await;
    assert_eq!(wrong.status, 422);
    assert!(wrong.text.contains("value=\"zoe\"") && wrong.text.contains("Must be a day"));
}

#[tokio::test]
async fn a_search_is_in_no_address() {
    let (app, ann, site) = app_with_site().await;
    let people =
        (0..51).map(|number| person(number, json!({"name": format!("Quintessa {number}")})));
    app.store(&ann.key, &site.pixel_id, people.collect()).await.expect(200);
    let mut browser = app.browser_of(&ann.key).await;
    let list = format!("/console/sites/{}/contacts", site.pixel_id);
    let page = found(&mut browser, &list, &[("search", "quintessa"), ("sort", "name")]).await;
    let addresses = page.split("=\"/").skip(1).map(|rest| rest.split('"').next().unwrap());
    for address in addresses {
        assert!(!address.to_lowercase().contains("quintessa"), "{address}");
    }
    assert_eq!(listed(&browser.page(&format!("{list}?search=nobody")).await).len(), 50);
    let unnamed = browser.submit(&list, &list, &[("search", " "), ("sort", "name")]).await;
    leads_to(&unnamed, &format!("{list}?sort=name"));
    let names = browser.page(&format!("{list}?sort=name")).await;
    let next = names.split("rel=\"next\" href=\"").nth(1).unwrap().split('"').next().unwrap();
    assert!(next.contains("after=_") && !next.contains("uintessa"), "{next}");
}

/// All pages of a list, by its links.
async fn walk(browser: &mut Browser<'_>, address: &str) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), Some(address.to_owned()));
    while let Some(address) = next {
        let page = browser.page(&address).await;
        found.extend(listed(&page));
        let link = page.split("rel=\"next\" href=\"").nth(1);
        next = link.map(|rest| rest.split('"').next().unwrap().replace("&amp;", "&"));
    }
    found
}

#[tokio::test]
async fn every_order_has_pages_without_gaps_or_repetitions() {
    let (app, ann, site) = app_with_site().await;
    let named =
        |number: usize| person(number, json!({"name": format!("Person {:03}", 200 - number)}));
    app.store(&ann.key, &site.pixel_id, (0..105).map(named).collect()).await.expect(200);
    app.clock.advance(Duration::days(1));
    let later = json!([
        named(7),
        person(105, json!({"seats": 1})),
        person(106, json!({"email": "a@x.example"}))
    ]);
    app.store(&ann.key, &site.pixel_id, later).await.expect(200);
    let mut browser = app.browser_of(&ann.key).await;
    let list = format!("/console/sites/{}/contacts", site.pixel_id);

    let last = walk(&mut browser, &list).await;
    let first_three = last[..3].iter().cloned().collect::<std::collections::BTreeSet<_>>();
    assert_eq!(first_three, hems([7, 105, 106]).into_iter().collect());
    assert_eq!(last.len(), 107);
    let first = walk(&mut browser, &format!("{list}?sort=first")).await;
    assert_eq!(first, hems((0..107).rev()));
    let names = walk(&mut browser, &format!("{list}?sort=name")).await;
    assert_eq!(names, hems([106].into_iter().chain((0..105).rev()).chain([105])));
    let range = "from=2026-03-11&to=2026-03-11";
    assert_eq!(walk(&mut browser, &format!("{list}?{range}")).await, last[..3]);
    assert_eq!(walk(&mut browser, &format!("{list}?sort=first&{range}")).await, hems([106, 105]));
    assert_eq!(walk(&mut browser, &format!("{list}?sort=name&{range}")).await, hems([106, 105]));

    for (sort, order) in [("last", None), ("name", Some(hems((0..105).rev())))] {
        let (mut all, mut after) = (Vec::new(), String::new());
        for _ in 0..3 {
            let fields = [("search", "PERSON"), ("sort", sort), ("after", &*after)];
            let page = found(&mut browser, &list, &fields).await;
            all.extend(listed(&page));
            let end = page.rsplit("name=\"after\" value=\"").next().unwrap();
            after = end.split('"').next().unwrap().to_owned();
        }
        let once = all.iter().collect::<std::collections::BTreeSet<_>>();
        assert_eq!((all.len(), once.len()), (105, 105), "{sort}");
        assert!(order.is_none_or(|order| all == order), "{all:?}");
    }
}

#[tokio::test]
async fn selected_people_are_erased_or_blocked_after_a_page_that_lists_them() {
    let (app, ann, site) = app_with_site().await;
    let other = app.pixel(&ann.key, "other.example").await;
    app.recorded(&site.acceptance("v1")).await;
    let bound = json!({"hem": hem(1), "contact": {"name": "Ann Lee"}, "visitor_id": "v1"});
    let people =
        json!([bound, person(2, json!({"name": "Bob"})), person(3, json!({"name": "Cid"}))]);
    app.store(&ann.key, &site.pixel_id, people).await.expect(200);
    for number in [2, 3] {
        let person = json!([person(number, json!({"name": "Else"}))]);
        app.store(&ann.key, &other, person).await.expect(200);
    }
    let mut browser = app.browser_of(&ann.key).await;
    let list = format!("/console/sites/{}/contacts", site.pixel_id);
    let (ask, confirm) = (format!("{list}/selected"), format!("{list}/selected/confirm"));
    let boxes = [1, 2, 3].map(|number| format!("person-{}", hem(number)));
    let nobody = browser.submit(&list, &ask, &[("action", "erase"), ("sort", "name")]).await;
    assert_eq!(nobody.status, 400);
    assert!(nobody.text.contains("Select at least one person."), "{}", nobody.text);
    assert_eq!(listed(&nobody.text), hems([1, 2, 3]));

    let two = [("action", "erase"), (&*boxes[0], "on"), (&*boxes[1], "on")];
    let asked = browser.submit(&list, &ask, &two).await;
    assert_eq!(asked.status, 200, "{}", asked.text);
    for part in ["Erase 2 people", "Ann Lee", "Bob", "one receipt and 2 contacts"] {
        assert!(asked.text.contains(part), "{part}: {}", asked.text);
    }
    assert!(!asked.text.contains("Cid"));
    let wrong = browser.submit(&list, &confirm, &[&two[..], &[("host", "x")]].concat()).await;
    assert_eq!(wrong.status, 400);
    assert!(wrong.text.contains("Type ann.example to confirm.") && wrong.text.contains("Bob"));
    assert_eq!(app.all_contacts(&ann.key, &site.pixel_id).await.len(), 3);

    let confirmed = [&two[..], &[("host", "Ann.example")]].concat();
    let done = browser.submit(&list, &confirm, &confirmed).await;
    leads_to(&done, &format!("{list}?done=erased&people=2&receipts=1&contacts=2&days=0"));
    let page = browser.page(done.header("location").unwrap()).await;
    assert!(page.contains("2 people are erased: one receipt and 2 contacts"), "{page}");
    assert_eq!(listed(&page), hems([3]));
    assert_eq!(app.check(&site.pixel_id, "v1").await["reason"], "no_consent_record");
    assert_eq!(app.all_contacts(&ann.key, &other).await.len(), 2);

    let block = [("action", "block"), (&*boxes[2], "on"), ("host", "ann.example")];
    let asked = browser.submit(&list, &ask, &block).await;
    assert!(asked.text.contains("Block one person"), "{}", asked.text);
    let done = browser.submit(&list, &confirm, &block).await;
    leads_to(&done, &format!("{list}?done=suppressed&people=1"));
    assert_eq!(app.all_contacts(&ann.key, &other).await.len(), 1);
    let again = json!([person(3, json!({"name": "Cid"}))]);
    let stored = app.store(&ann.key, &site.pixel_id, again).await.expect(200);
    assert_eq!(stored["stored"], 0, "{stored}");
}

#[tokio::test]
async fn people_whom_another_tab_has_erased_meanwhile_are_not_counted() {
    let (app, ann, site) = app_with_site().await;
    let people = (1..4).map(|number| person(number, json!({"name": format!("Person {number}")})));
    app.store(&ann.key, &site.pixel_id, people.collect()).await.expect(200);
    let mut browser = app.browser_of(&ann.key).await;
    let list = format!("/console/sites/{}/contacts", site.pixel_id);
    let confirm = format!("{list}/selected/confirm");
    let boxes = [1, 2, 3].map(|number| format!("person-{}", hem(number)));
    let fields = [("action", "erase"), ("host", "ann.example"), (&*boxes[0], "on")];
    for (tab, erased) in [(&fields[..], 1), (&[&fields[..], &[(&*boxes[1], "on")]].concat(), 1)] {
        let done = browser.submit(&list, &confirm, tab).await;
        let location = format!("{list}?done=erased&people={erased}&receipts=0&contacts=1&days=0");
        leads_to(&done, &location);
    }
    let done = browser.submit(&list, &confirm, &fields).await;
    leads_to(&done, &format!("{list}?done=erased&people=0&receipts=0&contacts=0&days=0"));
    let page = browser.page(done.header("location").unwrap()).await;
    assert!(page.contains("The person is erased: nothing."), "{page}");
    assert_eq!(listed(&page), hems([3]));
}

#[tokio::test]
async fn a_reader_exports_the_selection_and_erases_nobody() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let pixel = app.pixel(&ann.key, "shop.example").await;
    let people = (1..4).map(|number| person(number, json!({"name": format!("Person {number}")})));
    app.store(&ann.key, &pixel, people.collect()).await.expect(200);
    let reader = fresh_address("reader");
    sqlx::query(
        "INSERT INTO members (member_id, account_id, email, role, created_at)
         VALUES (gen_random_uuid(), $1, $2, 'read', now())",
    )
    .bind(&ann.account_id)
    .bind(&reader)
    .execute(&app.pool)
    .await
    .unwrap();
    let mut browser = Browser::new(&app);
    browser.sign_in(&reader).await;
    let list = format!("/console/sites/{pixel}/contacts");
    let page = browser.page(&list).await;
    assert!(page.contains("Export CSV") && !page.contains("Erase selected"), "{page}");
    let selected = format!("person-{}", hem(2));
    for (fields, names) in [
        (vec![(&*selected, "on"), ("search", "person 1")], vec!["Person 2"]),
        (vec![("search", "person 3")], vec!["Person 3"]),
        (vec![("sort", "name")], vec!["Person 1", "Person 2", "Person 3"]),
    ] {
        let file = browser.submit(&list, &format!("{list}/csv"), &fields).await;
        assert_eq!(file.status, 200, "{}", file.text);
        let lines = file.text.lines().skip(1).map(|line| line.split(',').next().unwrap());
        assert_eq!(lines.collect::<Vec<_>>(), names);
    }
    let fields = [("action", "erase"), (&*selected, "on"), ("host", "shop.example")];
    for form in ["selected", "selected/confirm"] {
        let refused = browser.submit(&list, &format!("{list}/{form}"), &fields).await;
        assert_eq!(refused.status, 403, "{form}: {}", refused.text);
    }
    assert_eq!(app.all_contacts(&ann.key, &pixel).await.len(), 3);
}
