//! The search over everything that a member may see.

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::consent::app_with_site;
use crate::support::console::{Browser, leads_to};
use crate::support::contacts::hem;
use crate::support::story::Site;
use crate::support::{Account, Answer, App};

const SEARCH: &str = "/console/search";

async fn searched(browser: &mut Browser<'_>, text: &str) -> Answer {
    browser.submit(SEARCH, SEARCH, &[("q", text)]).await
}

fn in_address(text: &str) -> String {
    let query =
        url::form_urlencoded::Serializer::new(String::new()).append_pair("q", text).finish();
    format!("{SEARCH}?{query}")
}

async fn request_of(app: &App, key: &str, site: &Site, visitor: &str) -> String {
    let body = json!({"pixel_id": site.pixel_id, "visitor_id": visitor});
    app.post("/v1/consent/erasure-requests", body).await.expect(202);
    let path = format!("/v1/pixels/{}/erasure-requests", site.pixel_id);
    let list = app.call(Method::GET, &path, key, Value::Null).await.expect(200);
    list["requests"][0]["request_id"].as_str().unwrap().to_owned()
}

struct Shop {
    app: App,
    ann: Account,
    site: Site,
    receipt_id: String,
    request_id: String,
}

/// A site with a choice, a request of another visitor, and two people.
async fn shop() -> Shop {
    let (app, ann, site) = app_with_site().await;
    let recorded = app.recorded(&site.acceptance("visitor-1")).await;
    let receipt_id = recorded["receipt_id"].as_str().unwrap().to_owned();
    app.recorded(&site.refusal("visitor-2", "declined")).await;
    let request_id = request_of(&app, &ann.key, &site, "visitor-2").await;
    let zoe = hex::encode(Sha256::digest("zoe@mail.example"));
    let people = json!([
        {"hem": zoe, "contact": {"name": "Zoë Árnason", "email": "zoe@mail.example"}},
        {"hem": hem(2), "contact": {"name": "Zoë Baker"}},
    ]);
    app.store(&ann.key, &site.pixel_id, people).await.expect(200);
    Shop { app, ann, site, receipt_id, request_id }
}

impl Shop {
    /// What names one thing exactly, and the screen that it leads to.
    fn exact(&self) -> Vec<(String, String)> {
        let at = |rest: &str| format!("/console/sites/{}/{rest}", self.site.pixel_id);
        let zoe = hex::encode(Sha256::digest("zoe@mail.example"));
        vec![
            ("Ann.Example".to_owned(), at("overview")),
            (self.site.pixel_id.clone(), at("overview")),
            (self.receipt_id.clone(), at(&format!("choices/{}", self.receipt_id))),
            ("visitor-1".to_owned(), at("choices?visitor_id=visitor-1")),
            (self.request_id.clone(), at(&format!("requests/{}", self.request_id))),
            (hem(2), at(&format!("contacts/find?hem={}", hem(2)))),
            (zoe.to_uppercase(), at(&format!("contacts/find?hem={zoe}"))),
        ]
    }
}

#[tokio::test]
async fn what_names_one_thing_exactly_leads_straight_to_it() {
    let shop = shop().await;
    let mut browser = shop.app.browser_of(&shop.ann.key).await;
    for (text, screen) in shop.exact() {
        leads_to(&searched(&mut browser, &format!(" {text} ")).await, &screen);
        leads_to(&browser.get(&in_address(&text)).await, &screen);
        assert_eq!(browser.get(&screen).await.status, 200, "{screen}");
    }
    let zoe = hex::encode(Sha256::digest("zoe@mail.example"));
    let found = searched(&mut browser, "Zoe@Mail.example").await;
    let screen = format!("/console/sites/{}/contacts/find?hem={zoe}", shop.site.pixel_id);
    leads_to(&found, &screen);
}

#[tokio::test]
async fn several_results_are_listed_in_groups() {
    let shop = shop().await;
    let mut browser = shop.app.browser_of(&shop.ann.key).await;
    let both = searched(&mut browser, "zoë").await;
    assert_eq!(both.status, 200, "{}", both.text);
    for words in [">People</h2>", "Zoë Árnason", "zoe@mail.example", "Zoë Baker", "ann.example"]
    {
        assert!(both.text.contains(words), "{words}: {}", both.text);
    }
    let one = searched(&mut browser, "zoë b").await.text;
    assert!(one.contains("Zoë Baker") && !one.contains("Árnason"), "{one}");
    let site = browser.page(&in_address("ann")).await;
    assert!(site.contains(">Sites</h2>") && site.contains("ann.example</bdi></a>"), "{site}");
    let visitor = searched(&mut browser, "visitor-2").await.text;
    for words in [">Visitors</h2>", "Latest choice:", ">Erasure requests</h2>", "Open, due on"] {
        assert!(visitor.contains(words), "{words}: {visitor}");
    }
    assert!(!visitor.contains("visitor-1"), "{visitor}");
}

#[tokio::test]
async fn a_closed_request_is_found_in_its_list() {
    let shop = shop().await;
    let path =
        format!("/v1/pixels/{}/erasure-requests/{}/refuse", shop.site.pixel_id, shop.request_id);
    let body = json!({"reason": "A court asked us to keep it"});
    shop.app.call(Method::POST, &path, &shop.ann.key, body).await.expect(200);
    let mut browser = shop.app.browser_of(&shop.ann.key).await;
    let list = format!("/console/sites/{}/requests?status=refused", shop.site.pixel_id);
    leads_to(&browser.get(&in_address(&shop.request_id)).await, &list);
}

#[tokio::test]
async fn a_name_or_an_email_address_in_an_address_finds_nobody() {
    let shop = shop().await;
    let mut browser = shop.app.browser_of(&shop.ann.key).await;
    for text in ["zoë", "zoe@mail.example"] {
        let page = browser.page(&in_address(text)).await;
        assert!(page.contains("People were not searched") && page.contains("Nothing found"));
        assert!(!page.contains("Árnason"), "{page}");
    }
    let page = searched(&mut browser, "zoë").await.text;
    assert!(!page.contains("People were not searched"), "{page}");
    let addresses = page.split("=\"/").skip(1).map(|rest| rest.split('"').next().unwrap());
    for address in addresses {
        assert!(!address.to_lowercase().contains("zo"), "{address}");
    }
}

#[tokio::test]
async fn a_second_tenant_finds_nothing() {
    let shop = shop().await;
    let eve = shop.app.account("eve@example.com").await;
    shop.app.consent_site(&eve.key, "eve.example").await;
    let mut stranger = shop.app.browser_of(&eve.key).await;
    let texts = shop.exact().into_iter().map(|(text, _)| text);
    for text in texts.chain(["zoë", "zoe@mail.example", "visitor-2"].map(str::to_owned)) {
        let typed = searched(&mut stranger, &text).await;
        assert_eq!(typed.status, 200, "{text}");
        for page in [typed.text, stranger.page(&in_address(&text)).await] {
            assert!(page.contains("Nothing found for"), "{text}: {page}");
            assert!(!page.contains(&format!("/console/sites/{}", shop.site.pixel_id)), "{text}");
        }
    }
}

#[tokio::test]
async fn every_screen_has_the_field_and_an_empty_or_odd_text_finds_nothing() {
    let shop = shop().await;
    let mut browser = shop.app.browser_of(&shop.ann.key).await;
    for screen in ["/console", "/console/account", SEARCH] {
        let page = browser.page(screen).await;
        assert_eq!(page.matches("action=\"/console/search\"").count(), 1, "{screen}");
        assert!(page.contains("/assets/find.js"), "{screen}");
    }
    for text in ["", "  ", "\u{0}"] {
        let page = searched(&mut browser, text).await;
        assert_eq!(page.status, 200);
        assert!(!page.text.contains("Nothing found"), "{}", page.text);
    }
    for text in ["<b>%_'", "019cd7a4-1f40-7b1d-8c53-2e9f4a7d6b10", &"x".repeat(400)] {
        let page = searched(&mut browser, text).await;
        assert_eq!(page.status, 200, "{text}: {}", page.text);
        assert!(page.text.contains("Nothing found") && !page.text.contains("<b>"));
    }
    let visitor = Browser::new(&shop.app).get(&in_address("shop")).await;
    leads_to(&visitor, "/console/sign-in?next=%2Fconsole%2Fsearch%3Fq%3Dshop");
}
