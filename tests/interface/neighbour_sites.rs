//! A key or a member for some sites of an account finds nothing of the others, and does not manage the account.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::console::Browser;
use crate::support::contacts::{hem, person};
use crate::support::story::Site;
use crate::support::tools::{call, done, refused};
use crate::support::watch_reports::ReportMade;
use crate::support::{Account, Answer, App, fresh_address};

const RESTRICTED: &str = "key is restricted to sites";
const ID: &str = "019cd7a4-1f40-7b1d-8c53-2e9f4a7d6b10";

/// An account with two sites, and a full key for the first one.
struct Neighbours {
    app: App,
    ann: Account,
    own: Site,
    other: Site,
    key: String,
}

impl Neighbours {
    async fn open() -> Self {
        let app = App::spawn().await;
        let ann = app.account("ann@example.com").await;
        let own = app.consent_site(&ann.key, "own.example").await;
        let other = app.consent_site(&ann.key, "other.example").await;
        app.recorded(&other.acceptance("visitor-1")).await;
        let body = json!({"pixels": [own.pixel_id]});
        let issued = app.call(Method::POST, "/v1/api-keys", &ann.key, body).await.expect(201);
        let key = issued["api_key"].as_str().unwrap().to_owned();
        Self { app, ann, own, other, key }
    }

    async fn get(&self, path: &str) -> Value {
        self.app.call(Method::GET, path, &self.key, Value::Null).await.expect(200)
    }
}

/// A body that would do for the operation.
fn body_of(operation: &str) -> Value {
    match operation {
        "rename_pixel" => json!({"domain": "third.example"}),
        "configure_consent" => json!({"controller_name": "Ann Ltd", "purposes": ["newsletter"]}),
        "store_contacts" => json!({"contacts": [person(1)]}),
        "email_snippet" => json!({"email": "dev@example.com"}),
        "add_erasure_request" => json!({"hem": hem(1)}),
        "refuse_erasure_request" => json!({"reason": "The law says so."}),
        "move_pixel" => json!({"domain": "moved.example"}),
        "create_shared_link" => json!({"days": 30}),
        "change_watch" => json!({"public_page": true}),
        "submit_watch_report" => ReportMade::of("own.example").body(),
        _ => Value::Null,
    }
}

fn path_of(template: &str, operation: &str, pixel: &str) -> String {
    let hem = hem(1);
    let values = [
        ("{pixel_id}", pixel),
        ("{hem}", &hem),
        ("{visitor_id}", "visitor-1"),
        ("{action}", "purchase"),
        ("{request_id}", ID),
        ("{report_id}", ID),
        ("{screenshot_id}", ID),
        ("{prefix}", "sh_unknown00"),
    ];
    let mut path = template.to_owned();
    for (name, value) in values {
        path = path.replace(name, value);
    }
    assert!(!path.contains('{'), "{path}");
    if operation == "read_contacts" { format!("{path}?after=0") } else { path }
}

#[tokio::test]
async fn every_route_of_a_pixel_hides_the_neighbour_from_a_restricted_key() {
    let site = Neighbours::open().await;
    let description = site.app.get("/openapi.json").await.expect(200);
    let before = site.app.check(&site.other.pixel_id, "visitor-1").await;
    let mut swept = 0;
    for (template, item) in description["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let is_keyed = operation["security"].as_array().is_some_and(|all| !all.is_empty());
            if !template.contains("{pixel_id}") || !is_keyed {
                continue;
            }
            let method = Method::from_bytes(method.to_uppercase().as_bytes()).unwrap();
            let name = operation["operationId"].as_str().unwrap();
            let ask = async |pixel: &str| {
                let path = path_of(template, name, pixel);
                site.app.call(method.clone(), &path, &site.key, body_of(name)).await
            };
            let hidden = ask(&site.other.pixel_id).await;
            hidden.refused(404, "pixel not found");
            assert_eq!(ask("unknown").await.lasting_text(), hidden.lasting_text(), "{name}");
            // The own pixel is needed for the rest of the list.
            if name != "delete_pixel" {
                let own = ask(&site.own.pixel_id).await;
                assert!(!own.text.contains("pixel not found"), "{name}: {}", own.text);
            }
            swept += 1;
        }
    }
    assert!(swept >= 30, "{swept} routes");
    assert_eq!(site.app.check(&site.other.pixel_id, "visitor-1").await, before);
    let show = json!({"api_key": site.key, "pixel_id": site.other.pixel_id});
    refused(&call(&site.app, "show_pixel", show).await, 404, "pixel not found");
}

#[tokio::test]
async fn lists_of_a_restricted_key_have_only_its_sites() {
    let site = Neighbours::open().await;
    let pixels = site.get("/v1/pixels").await["pixels"].as_array().unwrap().clone();
    assert_eq!(pixels.len(), 1);
    assert_eq!(pixels[0]["domain"], "own.example");
    assert_eq!(site.get("/v1/setup").await["pixel_count"], 1);
    let listed = call(&site.app, "list_pixels", json!({"api_key": site.key})).await;
    assert_eq!(done(&listed)["pixels"].as_array().unwrap().len(), 1);
    let events = site.get("/v1/account/events").await["events"].as_array().unwrap().clone();
    assert!(!events.is_empty(), "the own pixel was created");
    assert!(events.iter().all(|event| event["subject"] == site.own.pixel_id), "{events:?}");

    let mut webhooks = Vec::new();
    for pixels in [json!([]), json!([site.own.pixel_id]), json!([site.other.pixel_id])] {
        let body = json!({"url": "https://hooks.example/a", "pixels": pixels});
        let made = site.app.call(Method::POST, "/v1/webhooks", &site.ann.key, body).await;
        webhooks.push(made.expect(201)["endpoint_id"].as_str().unwrap().to_owned());
    }
    let listed = site.get("/v1/webhooks").await["webhooks"].as_array().unwrap().clone();
    assert_eq!(listed.len(), 1, "{listed:?}");
    assert_eq!(listed[0]["endpoint_id"], webhooks[1]);
    for (endpoint_id, status) in webhooks.iter().zip([404, 200, 404]) {
        let path = format!("/v1/webhooks/{endpoint_id}/deliveries");
        site.app.call(Method::GET, &path, &site.key, Value::Null).await.expect(status);
    }
}

#[tokio::test]
async fn a_restricted_key_does_not_manage_the_account() {
    let site = Neighbours::open().await;
    let person = format!("/v1/suppressions/{}", hem(1));
    let portal = format!("/v1/accounts/{}/portal", site.ann.account_id);
    let hook = json!({"url": "https://hooks.example/a", "pixels": [site.own.pixel_id]});
    for (method, path, body) in [
        (Method::GET, "/v1/api-keys", Value::Null),
        (Method::POST, "/v1/api-keys", json!({"scope": "read"})),
        (Method::GET, "/v1/grants", Value::Null),
        (Method::GET, "/v1/account/members", Value::Null),
        (Method::GET, "/v1/account/mails", Value::Null),
        (Method::GET, "/v1/account/export", Value::Null),
        (Method::PATCH, "/v1/account", json!({"display_name": "Eve"})),
        (Method::DELETE, "/v1/account", json!({"code": "123456"})),
        (Method::POST, "/v1/account/codes", json!({"purpose": "keys"})),
        (Method::GET, "/v1/billing/quote", Value::Null),
        (Method::POST, &portal, Value::Null),
        (Method::POST, "/v1/pixels", json!({"domain": "third.example"})),
        (Method::POST, "/v1/pixels/claims", json!({"domain": "third.example"})),
        (Method::GET, "/v1/suppressions", Value::Null),
        (Method::PUT, &person, Value::Null),
        (Method::POST, "/v1/webhooks", hook),
    ] {
        let answer = site.app.call(method, path, &site.key, body).await;
        answer.refused(403, RESTRICTED);
    }
    // It opens no session, and replaces no code, where no mail is sent.
    let mut browser = Browser::new(&site.app);
    let signed_in = browser.post("/console/sign-in/key", &[("api_key", &site.key)]).await;
    assert_eq!(signed_in.status, 403);
    let invitation = json!({"email": "eve@example.com", "role": "full", "code": site.key});
    let invited =
        site.app.call(Method::POST, "/v1/account/members", &site.ann.key, invitation).await;
    invited.refused(400, "invalid code");
    let keys = call(&site.app, "list_api_keys", json!({"api_key": site.key})).await;
    refused(&keys, 403, RESTRICTED);
}

#[tokio::test]
async fn a_restriction_names_pixels_of_the_account_and_outlives_them() {
    let site = Neighbours::open().await;
    let eve = site.app.account("eve@example.com").await;
    let eves = site.app.pixel(&eve.key, "eve.example").await;
    let issue = async |pixels: Value| {
        let body = json!({"pixels": pixels});
        site.app.call(Method::POST, "/v1/api-keys", &site.ann.key, body).await
    };
    issue(json!([eves])).await.refused(404, "pixel not found");
    assert_eq!(issue(json!(["a\u{0}b"])).await.status, 422);
    let broken = site.app.request(Method::POST, "/v1/api-keys").bearer_auth(&site.ann.key);
    assert_eq!(Answer::of(broken.body(r#"{"pixels": ["#)).await.status, 422);
    issue(json!([])).await.invalid(&["body", "pixels"]);
    let listed = site.app.call(Method::GET, "/v1/api-keys", &site.ann.key, Value::Null).await;
    let listed = listed.expect(200)["api_keys"].as_array().unwrap().clone();
    let shown = listed.iter().map(|key| key["pixels"].clone()).collect::<Vec<_>>();
    assert_eq!(shown.len(), 2);
    assert!(shown.contains(&Value::Null) && shown.contains(&json!([site.own.pixel_id])));

    // A move to the host of a site that was never set up would replace that site.
    let bare = site.app.pixel(&site.ann.key, "bare.example").await;
    let path = format!("/v1/pixels/{}", site.own.pixel_id);
    let onto = json!({"domain": "bare.example"});
    let moved = site.app.call(Method::POST, &format!("{path}/move"), &site.key, onto).await;
    moved.refused(409, "domain already registered");
    let bare = format!("/v1/pixels/{bare}");
    site.app.call(Method::GET, &bare, &site.ann.key, Value::Null).await.expect(200);

    site.app.call(Method::DELETE, &path, &site.key, Value::Null).await.expect(204);
    assert!(site.get("/v1/pixels").await["pixels"].as_array().unwrap().is_empty());
    let body = json!({"domain": "third.example"});
    site.app.call(Method::POST, "/v1/pixels", &site.key, body).await.refused(403, RESTRICTED);
}

#[tokio::test]
async fn an_app_sees_the_sites_of_its_member_as_they_are_at_each_call() {
    let app = App::spawn_with_mail().await;
    let ann = app.mailed_account(&fresh_address("ann")).await;
    let own = app.consent_site(&ann.key, "own.example").await;
    let other = app.consent_site(&ann.key, "other.example").await;
    let bob = fresh_address("bob");
    let code = app.code_for(&ann.key, "keys", &ann.email).await;
    let body = json!({"email": bob, "role": "operate", "pixels": [own.pixel_id], "code": code});
    let made = app.call(Method::POST, "/v1/account/members", &ann.key, body).await.expect(201);
    assert_eq!(made["pixels"], json!([own.pixel_id]));
    let mut browser = Browser::new(&app);
    browser.sign_in(&bob).await;
    let tokens = app.agent().await.connect(&mut browser, "operate").await;
    let count = async || {
        let listed = app.tool_by(&tokens.access, "list_pixels", json!({})).await.expect(200);
        done(&listed["result"])["pixels"].as_array().unwrap().len()
    };
    assert_eq!(count().await, 1);
    let show = json!({"pixel_id": other.pixel_id});
    let hidden = app.tool_by(&tokens.access, "show_pixel", show.clone()).await.expect(200);
    refused(&hidden["result"], 404, "pixel not found");

    let path = format!("/v1/account/members/{}", made["member_id"].as_str().unwrap());
    let change = async |mut body: Value| {
        body["code"] = json!(app.code_for(&ann.key, "keys", &ann.email).await);
        app.call(Method::PATCH, &path, &ann.key, body).await
    };
    let both = json!({"role": "operate", "pixels": [own.pixel_id], "all_pixels": true});
    change(both).await.invalid(&["body", "pixels"]);
    let admin = json!({"role": "full", "pixels": [own.pixel_id]});
    change(admin).await.invalid(&["body", "pixels"]);
    let kept = change(json!({"role": "operate"})).await.expect(200);
    assert_eq!(kept["pixels"], json!([own.pixel_id]));
    let freed = change(json!({"role": "operate", "all_pixels": true})).await.expect(200);
    assert_eq!(freed["pixels"], Value::Null);
    assert_eq!(count().await, 2);
    let shown = app.tool_by(&tokens.access, "show_pixel", show).await.expect(200);
    assert_eq!(done(&shown["result"])["domain"], "other.example");
}
