//! A second tenant finds nothing of the first.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::visitors::fields;
use crate::support::{Account, Answer, App};

/// Routes of a pixel that its owner alone may use, with bodies that would do for the owner.
fn routes_of(pixel: &str) -> Vec<(Method, String, Value)> {
    let consent = json!({"controller_name": "Eve Ltd", "purposes": ["newsletter"]});
    vec![
        (Method::GET, format!("/v1/pixels/{pixel}"), Value::Null),
        (Method::POST, format!("/v1/pixels/{pixel}/consent"), consent),
        (Method::GET, format!("/v1/pixels/{pixel}/consent"), Value::Null),
        (Method::GET, format!("/v1/pixels/{pixel}/consent?state=accepted"), Value::Null),
        (Method::GET, format!("/v1/pixels/{pixel}/watch"), Value::Null),
        (Method::PATCH, format!("/v1/pixels/{pixel}/watch"), json!({"public_page": true})),
        (Method::GET, format!("/v1/pixels/{pixel}/watch-reports"), Value::Null),
        (Method::GET, format!("/v1/pixels/{pixel}/screenshots"), Value::Null),
        (Method::POST, format!("/v1/pixels/{pixel}/move"), json!({"domain": "moved.example"})),
        (Method::GET, format!("/v1/pixels/{pixel}/move"), Value::Null),
        (Method::POST, format!("/v1/pixels/{pixel}/move/cancel"), Value::Null),
        (Method::GET, format!("/v1/pixels/{pixel}/shared-links"), Value::Null),
    ]
}

async fn tenants(app: &App) -> [Account; 2] {
    [app.account("ann@example.com").await, app.account("eve@example.com").await]
}

#[tokio::test]
async fn another_accounts_pixel_is_not_found_on_any_route() {
    let app = App::spawn().await;
    let [ann, eve] = tenants(&app).await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    app.recorded(&site.acceptance("visitor-1")).await;
    for (method, path, body) in routes_of(&site.pixel_id) {
        let answer = app.call(method.clone(), &path, &eve.key, body.clone()).await;
        answer.refused(404, "pixel not found");
        // To the word what a pixel says that nobody has, so that nobody learns which exist.
        let nobodys = path.replace(&site.pixel_id, "unknown");
        let unknown = app.call(method.clone(), &nobodys, &eve.key, body.clone()).await;
        assert_eq!(unknown.lasting_text(), answer.lasting_text());
        let own = app.call(method, &path, &ann.key, body).await;
        assert!([200, 201].contains(&own.status), "{}", own.text);
    }
}

#[tokio::test]
async fn refused_calls_of_another_tenant_change_nothing() {
    let app = App::spawn().await;
    let [ann, eve] = tenants(&app).await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    app.recorded(&site.acceptance("visitor-1")).await;
    let before = app.check(&site.pixel_id, "visitor-1").await;
    for (method, path, body) in routes_of(&site.pixel_id) {
        app.call(method, &path, &eve.key, body).await.refused(404, "pixel not found");
    }
    assert_eq!(app.check(&site.pixel_id, "visitor-1").await, before);
    assert_eq!(before["reason"], "ok");
}

#[tokio::test]
async fn lists_and_logs_hold_only_what_is_ones_own() {
    let app = App::spawn().await;
    let [ann, eve] = tenants(&app).await;
    let annes = app.consent_site(&ann.key, "ann.example").await;
    let eves = app.consent_site(&eve.key, "eve.example").await;
    app.recorded(&annes.acceptance("visitor-1")).await;
    app.recorded(&eves.refusal("visitor-1", "declined")).await;
    let list = app.call(Method::GET, "/v1/pixels", &eve.key, Value::Null).await.expect(200);
    let pixels = list["pixels"].as_array().unwrap();
    assert_eq!(pixels.len(), 1);
    assert_eq!(pixels[0]["domain"], "eve.example");
    let log = app.log(&eve.key, &eves.pixel_id).await;
    assert_eq!(log.len(), 1);
    assert_eq!(log[0]["consent_state"], "declined");
}

#[tokio::test]
async fn a_signup_token_opens_its_own_account_only() {
    let app = App::spawn().await;
    let [ann, eve] = tenants(&app).await;
    for (method, path) in [
        (Method::GET, format!("/v1/accounts/{}", ann.account_id)),
        (Method::POST, format!("/v1/accounts/{}/verification-email", ann.account_id)),
        (Method::POST, format!("/v1/api-keys?account_id={}", ann.account_id)),
    ] {
        let request = app.request(method, &path).header("x-signup-token", &eve.signup_token);
        Answer::of(request).await.refused(401, "signup token required");
    }
}

#[tokio::test]
async fn a_strangers_signup_token_brings_no_key_with_the_right_code() {
    let app = App::spawn_with_mail().await;
    let email = crate::support::fresh_address("ann");
    let ann = app.sign_up(&email).await;
    let eve = app.sign_up(&crate::support::fresh_address("eve")).await;
    let code = crate::support::MailServer::shared().newest(&email).await.code();
    let path = format!("/v1/accounts/{}/confirm", ann["account_id"].as_str().unwrap());
    let body = json!({"code": code, "signup_token": eve["signup_token"]});
    let confirmed = app.post(&path, body).await.expect(200);
    assert_eq!(fields(&confirmed), ["account_id", "already_verified", "email_verified", "status"]);
}

#[tokio::test]
async fn an_alias_of_one_pixel_is_no_way_to_another() {
    let app = App::spawn().await;
    let [ann, eve] = tenants(&app).await;
    let annes = app.consent_site(&ann.key, "ann.example").await;
    let eves = app.consent_site(&eve.key, "eve.example").await;
    // An alias that reads like the other pixel's id, written past the service.
    app.add_alias(&eves.pixel_id, "ann-alias").await;
    app.recorded(&annes.acceptance("visitor-1")).await;
    assert_eq!(app.check("ann-alias", "visitor-1").await["reason"], "no_consent_record");
    let answer = app.call(Method::GET, "/v1/pixels/ann-alias/consent", &ann.key, Value::Null).await;
    answer.refused(404, "pixel not found");
}
