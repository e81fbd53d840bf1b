//! Refusals name the field or argument.

use reqwest::Method;
use serde_json::{Value, json};

use super::field_errors::app_with_operator;
use crate::support::tools::call;
use crate::support::{Answer, App};

#[track_caller]
fn names(problem: &Value, expected: &Value) {
    assert_eq!(&problem["errors"], expected, "{problem}");
}

#[tokio::test]
async fn an_invalid_request_names_the_field() {
    let (app, operator, pixel) = app_with_operator().await;
    let consent = format!("/v1/pixels/{pixel}/consent");
    let contacts = format!("/v1/pixels/{pixel}/contacts");
    let palette = json!({"background": "#ffffff", "text": "#000000"});
    let hem = "ab".repeat(32);
    let good = json!({"hem": hem, "contact": {"a": 1}});
    for (path, body, detail, loc, msg) in [
        (
            "/v1/accounts",
            json!({"email": 7, "display_name": "Ann"}),
            "invalid request",
            json!(["body", "email"]),
            "must be a string",
        ),
        (
            "/v1/accounts",
            json!({"email": "a@b.example", "display_name": "Ann", "code": "x".repeat(65)}),
            "invalid request",
            json!(["body", "code"]),
            "must have at most 64 characters",
        ),
        ("/v1/accounts", json!([]), "invalid request", json!(["body"]), "must be a JSON object"),
        (
            "/v1/consent/verify",
            json!({"receipt": "text"}),
            "invalid request",
            json!(["body", "receipt"]),
            "must be an object",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "data_sharing": "yes"}),
            "invalid request",
            json!(["body", "data_sharing"]),
            "must be true or false",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": "analytics"}),
            "invalid request",
            json!(["body", "purposes"]),
            "must be a list",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "appearance": {"colors": {"light": palette}}}),
            "invalid request",
            json!(["body", "appearance", "colors", "light", "button"]),
            "field required",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "appearance": {"color": {}}}),
            "invalid request",
            json!(["body", "appearance", "color"]),
            "no such field, there is one of `position`, `colors`, `radius`, `font`, `button`",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "appearance": {"position": "left"}}),
            "invalid request",
            json!(["body", "appearance", "position"]),
            "must be one of `bottom`, `bottom-left`, `bottom-right`, `top`, `center`",
        ),
        (
            &*consent,
            json!({"controller_name": "A", "purposes": ["analytics"], "appearance": {"radius": 25}}),
            "invalid request",
            json!(["body", "appearance", "radius"]),
            "must be at most 24",
        ),
        (
            &*contacts,
            json!({"contacts": {}}),
            "invalid request",
            json!(["body", "contacts"]),
            "must be a list",
        ),
        (&*contacts, json!({}), "invalid request", json!(["body", "contacts"]), "field required"),
        (
            &*contacts,
            json!({"contacts": [good, {"hem": 7, "contact": {"a": 1}}]}),
            "invalid request",
            json!(["body", "contacts", "1", "hem"]),
            "must be a string",
        ),
        (
            &*contacts,
            json!({"contacts": [good, good, {"hem": "x", "contact": {"a": 1}}]}),
            "hem must be a 64-character hex string",
            json!(["body", "contacts", "2", "hem"]),
            "hem must be a 64-character hex string",
        ),
        (
            &*contacts,
            json!({"contacts": [good, 7]}),
            "contact entry must be an object",
            json!(["body", "contacts", "1"]),
            "must be an object",
        ),
    ] {
        let answer = app.call(Method::POST, path, &operator.key, body.clone()).await;
        answer.refused(400, detail);
        let errors = answer.json()["errors"].clone();
        assert_eq!((&errors[0]["loc"], &errors[0]["msg"]), (&loc, &json!(msg)), "{path} {body}");
    }
}

#[tokio::test]
async fn a_misspelt_field_is_named_beside_the_refusal_that_it_causes() {
    let (app, operator, pixel) = app_with_operator().await;
    let error = |loc: &[&str], meant: &str| {
        let msg = format!("no such field, did you mean `{meant}`?");
        json!([{"loc": loc, "msg": msg, "type": "unknown_field"}])
    };
    let body = json!({"email": "ann@shop.example", "displayName": "Ann"});
    let answer = app.post("/v1/accounts", body).await;
    answer.refused(400, "display name is required");
    names(&answer.json(), &error(&["body", "displayName"], "display_name"));

    let body = json!({"domian": "other.example"});
    let answer = app.call(Method::POST, "/v1/pixels", &operator.key, body).await;
    answer.refused(400, "domain is required");
    names(&answer.json(), &error(&["body", "domian"], "domain"));

    let path = format!("/v1/pixels/{pixel}/contacts");
    let body = json!({"contacts": [{"hm": "ab".repeat(32), "contact": {"a": 1}}]});
    let answer = app.call(Method::POST, &path, &operator.key, body).await;
    answer.refused(400, "hem must be a 64-character hex string");
    let errors = answer.json()["errors"].clone();
    assert_eq!(errors[1]["loc"], json!(["body", "contacts", "0", "hm"]), "{errors}");

    let path = format!("/v1/accounts/{}/confirm", operator.account_id);
    let answer = app.post(&path, json!({"kode": "123456"})).await;
    answer.invalid(&["body", "code"]);
    answer.invalid(&["body", "kode"]);

    // A field that is not read does not cause a refusal.
    let body = json!({"domain": "third.example", "metod": "x", "colour": "blue"});
    app.call(Method::POST, "/v1/pixels", &operator.key, body).await.expect(201);
}

#[tokio::test]
async fn a_tool_names_the_argument_too() {
    let (app, operator, pixel) = app_with_operator().await;
    let consent = json!({
        "pixel_id": pixel, "api_key": operator.key, "controller_name": "Ann", "purposes": "resolution",
    });
    let result = call(&app, "configure_consent", consent).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert_eq!(text, "invalid request (purposes: must be a list)");
    let problem: Value =
        serde_json::from_str(result["content"][1]["text"].as_str().unwrap()).unwrap();
    assert_eq!(problem["detail"], "invalid request");
    let expected =
        json!([{"loc": ["arguments", "purposes"], "msg": "must be a list", "type": "type_error"}]);
    names(&problem, &expected);
    let misspelt = json!({"domian": "a.example", "api_key": operator.key});
    let result = call(&app, "create_pixel", misspelt).await;
    let text = result["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("did you mean `domain`?"), "{text}");
}

#[tokio::test]
async fn a_401_says_what_it_asks_for() {
    let app = App::spawn().await;
    let ann = app.account("ann@example.com").await;
    let challenge = async |path: &str, headers: &[(&str, &str)]| {
        let request = app.request(Method::GET, path);
        let request =
            headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
        let answer = Answer::of(request).await;
        assert_eq!(answer.status, 401, "{path}");
        answer.header("www-authenticate").map(str::to_owned)
    };
    let bearer = Some(r#"Bearer realm="assent""#.to_owned());
    let refused = Some(r#"Bearer realm="assent", error="invalid_token""#.to_owned());
    assert_eq!(challenge("/v1/whoami", &[]).await, bearer);
    assert_eq!(challenge("/v1/pixels", &[]).await, bearer);
    assert_eq!(challenge("/v1/whoami", &[("Authorization", "Basic YTpi")]).await, bearer);
    assert_eq!(challenge("/v1/whoami", &[("Authorization", "Bearer px_nobodys")]).await, refused);
    assert_eq!(challenge("/v1/whoami", &[("X-API-Key", "px_nobodys")]).await, refused);
    let account = format!("/v1/accounts/{}", ann.account_id);
    let token = Some(r#"SignupToken realm="assent""#.to_owned());
    assert_eq!(challenge(&account, &[]).await, token);
    let refused = Some(r#"SignupToken realm="assent", error="invalid_token""#.to_owned());
    assert_eq!(challenge(&account, &[("x-signup-token", "st_nobodys")]).await, refused);
    let neither = Answer::of(app.request(Method::POST, "/v1/api-keys")).await;
    let both = r#"Bearer realm="assent", SignupToken realm="assent""#;
    assert_eq!(neither.header("www-authenticate"), Some(both));
    assert_eq!(app.get("/nowhere").await.header("www-authenticate"), None);
}
