//! The rules of "Authentication": each family of routes answers a bad key in its own way.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::process::{program, run};
use crate::support::{Account, Answer, App};

/// A status and a sentence.
type Refusal = (u16, &'static str);

/// One call: method, path, body, and the status that a good key gets; 0 for a call that would take
/// something away from the calls after it.
type Route = (Method, String, Value, u16);

/// Routes that answer bad keys alike.
struct Family {
    routes: Vec<Route>,
    missing: Refusal,
    unknown: Refusal,
    revoked: Refusal,
    /// For a key whose account is not active; `None` where that does not matter.
    inactive: Option<Refusal>,
}

/// Setup, pixel, contact and billing routes.
fn setup_routes(pixel_id: &str) -> Family {
    let pixel = format!("/v1/pixels/{pixel_id}");
    let get = |path: String| (Method::GET, path, Value::Null, 200);
    Family {
        routes: vec![
            get("/v1/setup".to_owned()),
            get("/v1/pixels".to_owned()),
            (Method::POST, "/v1/pixels".to_owned(), json!({"domain": "another.example"}), 201),
            get(pixel.clone()),
            (Method::PATCH, pixel.clone(), json!({"domain": "shop.example"}), 200),
            (Method::DELETE, pixel.clone(), Value::Null, 0),
            (Method::POST, format!("{pixel}/check"), Value::Null, 500),
            get(format!("{pixel}/snippets/add_to_cart")),
            (Method::POST, format!("{pixel}/email-snippet"), json!({"email": "bad"}), 400),
            get(format!("{pixel}/contacts?after=0")),
            (Method::POST, format!("{pixel}/contacts"), json!({"contacts": []}), 200),
            (Method::DELETE, format!("{pixel}/contacts/{}", "a".repeat(64)), Value::Null, 204),
            (Method::PUT, format!("/v1/suppressions/{}", "a".repeat(64)), Value::Null, 204),
            (Method::DELETE, format!("/v1/suppressions/{}", "a".repeat(64)), Value::Null, 204),
            get("/v1/suppressions".to_owned()),
            (Method::POST, "/v1/suppressions/import".to_owned(), Value::Null, 400),
            (Method::GET, "/v1/suppressions/imports/unknown".to_owned(), Value::Null, 404),
            get("/v1/billing/quote".to_owned()),
        ],
        missing: (401, "api key required"),
        unknown: (403, "invalid api key"),
        revoked: (403, "api key revoked"),
        inactive: Some((403, "account is not in good standing")),
    }
}

/// Consent configuration, log, stats and export.
fn consent_routes(pixel_id: &str) -> Family {
    let path = format!("/v1/pixels/{pixel_id}/consent");
    let policy = json!({"controller_name": "Shop Ltd", "purposes": ["analytics"]});
    Family {
        routes: vec![
            (Method::POST, path.clone(), policy, 200),
            (Method::GET, path.clone(), Value::Null, 200),
            (Method::GET, format!("{path}/stats"), Value::Null, 200),
            (Method::GET, format!("{path}/export"), Value::Null, 200),
            (Method::DELETE, path, Value::Null, 204),
        ],
        missing: (401, "api key required"),
        unknown: (401, "invalid api key"),
        revoked: (401, "invalid api key"),
        inactive: Some((403, "account is not active")),
    }
}

fn whoami() -> Family {
    Family {
        routes: vec![(Method::GET, "/v1/whoami".to_owned(), Value::Null, 200)],
        missing: (401, "api key required"),
        unknown: (401, "invalid api key"),
        revoked: (401, "api key revoked"),
        inactive: None,
    }
}

fn key_issuing() -> Family {
    Family {
        routes: vec![(Method::POST, "/v1/api-keys".to_owned(), Value::Null, 201)],
        missing: (401, "api key required"),
        unknown: (401, "invalid api key"),
        revoked: (401, "api key revoked"),
        inactive: Some((403, "account is not active")),
    }
}

fn activation(account_id: &str) -> Family {
    let path = format!("/v1/accounts/{account_id}/activate");
    Family {
        routes: vec![(Method::POST, path, Value::Null, 200)],
        missing: (401, "unlimited key required"),
        unknown: (401, "invalid api key"),
        revoked: (401, "invalid api key"),
        inactive: Some((403, "account is not in good standing")),
    }
}

fn pipeline() -> Family {
    let order = json!({"domain": "pipeline.example", "pipeline": "none"});
    Family {
        routes: vec![(Method::POST, "/v1/pixels/pipeline".to_owned(), order, 400)],
        missing: (401, "api key required"),
        unknown: (401, "invalid api key"),
        revoked: (401, "invalid api key"),
        inactive: Some((403, "account is not in good standing")),
    }
}

struct Scene {
    app: App,
    account: Account,
    families: Vec<Family>,
}

/// An unlimited account, whose key opens every family, with a pixel.
async fn scene() -> Scene {
    let app = App::spawn_with(&[("INSTALL_CHECK", "off")]).await;
    let account = app.unlimited_account("owner@credentials.example").await;
    let pixel_id = app.pixel(&account.key, "shop.example").await;
    let customer = app.sign_up("customer@credentials.example").await;
    let customer_id = customer["account_id"].as_str().unwrap();
    let families = vec![
        setup_routes(&pixel_id),
        consent_routes(&pixel_id),
        whoami(),
        key_issuing(),
        activation(customer_id),
        pipeline(),
    ];
    Scene { app, account, families }
}

impl Scene {
    /// Sends one request with these headers.
    async fn send(&self, route: &Route, headers: &[(&str, String)]) -> Answer {
        let mut request = self.app.request(route.0.clone(), &route.1);
        for (name, value) in headers {
            request = request.header(*name, value);
        }
        if !route.2.is_null() {
            request = request.json(&route.2);
        }
        Answer::of(request).await
    }

    /// Every route of every family answers these headers with its refusal.
    async fn refuses(&self, headers: &[(&str, String)], refusal: impl Fn(&Family) -> Refusal) {
        for family in &self.families {
            let (status, detail) = refusal(family);
            for route in &family.routes {
                eprintln!("{} {} {headers:?}", route.0, route.1);
                self.send(route, headers).await.refused(status, detail);
            }
        }
    }

    /// Every route of every family accepts these headers.
    async fn accepts(&self, headers: &[(&str, String)]) {
        for family in &self.families {
            for route in family.routes.iter().filter(|route| route.3 != 0) {
                let answer = self.send(route, headers).await;
                assert_eq!(answer.status, route.3, "{route:?} {headers:?} {}", answer.text);
            }
        }
    }

    async fn update_account(&self, what: &str) {
        let statement = format!("UPDATE accounts SET {what} WHERE account_id = $1");
        sqlx::query(sqlx::AssertSqlSafe(statement))
            .bind(&self.account.account_id)
            .execute(&self.app.pool)
            .await
            .unwrap();
    }
}

fn bearer(key: &str) -> [(&'static str, String); 1] {
    [("Authorization", format!("Bearer {key}"))]
}

#[tokio::test]
async fn without_any_header_the_key_is_missing() {
    let scene = scene().await;
    scene
        .refuses(&[], |family| match family.routes[0].1.as_str() {
            "/v1/api-keys" => (401, "api key or signup token required"),
            _ => family.missing,
        })
        .await;
}

#[tokio::test]
async fn a_header_that_is_empty_or_not_bearer_counts_as_missing() {
    let scene = scene().await;
    let key = &scene.account.key;
    for value in ["", "Bearer", "Bearer   ", "Basic YWJj", "Token", key, &format!("Bearer{key}")] {
        scene.refuses(&[("Authorization", value.to_owned())], |family| family.missing).await;
    }
    let basic = ("Authorization", format!("Basic {key}"));
    scene.refuses(&[basic, ("X-API-Key", " ".to_owned())], |family| family.missing).await;
}

#[tokio::test]
async fn a_malformed_or_unknown_key_is_invalid() {
    let scene = scene().await;
    let key = scene.account.key.clone();
    let unknown = format!("px_{}", "A".repeat(43));
    let longer = format!("{key}x");
    let other_case = key.to_ascii_lowercase().replacen("px_", "PX_", 1);
    for wrong in ["nonsense", "px_", "a b", &key[..12], &unknown, &longer, &other_case] {
        scene.refuses(&bearer(wrong), |family| family.unknown).await;
        scene.refuses(&[("X-API-Key", wrong.to_owned())], |family| family.unknown).await;
    }
    let token = scene.account.signup_token.clone();
    scene.refuses(&bearer(&token), |family| family.unknown).await;
}

#[tokio::test]
async fn the_scheme_may_be_written_in_any_case_and_the_key_in_a_header_of_its_own() {
    let scene = scene().await;
    let key = &scene.account.key;
    for value in [format!("Bearer {key}"), format!("bearer {key}"), format!("BEARER   {key} ")] {
        scene.accepts(&[("Authorization", value)]).await;
    }
    scene.accepts(&[("X-API-Key", key.clone())]).await;
    scene.accepts(&[("x-api-key", format!(" {key} "))]).await;
}

#[tokio::test]
async fn beside_what_is_not_bearer_the_other_header_decides() {
    let scene = scene().await;
    let key = &scene.account.key;
    let basic = ("Authorization", "Basic YWJj".to_owned());
    scene.accepts(&[basic, ("X-API-Key", key.clone())]).await;
    let empty = ("Authorization", "Bearer ".to_owned());
    scene.accepts(&[empty, ("X-API-Key", key.clone())]).await;
}

#[tokio::test]
async fn the_bearer_key_counts_when_both_headers_hold_one() {
    let scene = scene().await;
    let wrong = ("X-API-Key", "px_wrong".to_owned());
    let [right] = bearer(&scene.account.key);
    scene.accepts(&[right, wrong]).await;
    let [wrong] = bearer("px_wrong");
    let right = ("X-API-Key", scene.account.key.clone());
    scene.refuses(&[wrong, right], |family| family.unknown).await;
}

#[tokio::test]
async fn a_revoked_key_is_refused_from_the_moment_it_is_revoked() {
    let scene = scene().await;
    let (key, other) = (scene.account.key.clone(), another_key(&scene).await);
    scene.accepts(&bearer(&key)).await;
    let mut command = program(&scene.app.database.url);
    command.args(["revoke-key", &key[..12]]);
    assert!(run(command).await.status.success());
    scene.refuses(&bearer(&key), |family| family.revoked).await;
    scene.refuses(&[("X-API-Key", key)], |family| family.revoked).await;
    scene.accepts(&bearer(&other)).await;
}

async fn another_key(scene: &Scene) -> String {
    let issued = scene.app.call(Method::POST, "/v1/api-keys", &scene.account.key, Value::Null);
    issued.await.expect(201)["api_key"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn an_account_that_is_not_active_is_refused_where_that_matters() {
    let scene = scene().await;
    let key = bearer(&scene.account.key);
    for status in ["suspended", "pending_email"] {
        scene.update_account(&format!("status = '{status}'")).await;
        for family in &scene.families {
            for route in &family.routes {
                let answer = scene.send(route, &key).await;
                match family.inactive {
                    Some((code, detail)) => answer.refused(code, detail),
                    None => assert_eq!(answer.expect(200)["status"], status),
                }
            }
        }
    }
    scene.update_account("status = 'active'").await;
    scene.accepts(&key).await;
}

#[tokio::test]
async fn every_plan_is_in_good_standing() {
    let scene = scene().await;
    for plan in ["free", "paid", "unlimited"] {
        scene.update_account(&format!("plan = '{plan}'")).await;
        let listed = scene.app.call(Method::GET, "/v1/pixels", &scene.account.key, Value::Null);
        listed.await.expect(200);
    }
}

#[tokio::test]
async fn a_customers_key_is_no_unlimited_key() {
    let scene = scene().await;
    for plan in ["free", "paid"] {
        scene.update_account(&format!("plan = '{plan}'")).await;
        for family in &scene.families[4..] {
            let answer = scene.send(&family.routes[0], &bearer(&scene.account.key)).await;
            answer.refused(403, "unlimited key required");
        }
    }
}

#[tokio::test]
async fn a_signup_token_opens_its_own_account_only() {
    let app = App::spawn().await;
    let (ann, bob) =
        (app.account("ann@token.example").await, app.account("bob@token.example").await);
    let path = format!("/v1/accounts/{}", ann.account_id);
    let ask = |name: &'static str, value: String| {
        Answer::of(app.request(Method::GET, &path).header(name, value))
    };
    app.get(&path).await.refused(401, "signup token required");
    for token in ["", "st_unknown", &bob.signup_token, &ann.key] {
        ask("x-signup-token", token.to_owned()).await.refused(401, "signup token required");
    }
    let as_bearer = ask("Authorization", format!("Bearer {}", ann.signup_token)).await;
    as_bearer.refused(401, "signup token required");
    ask("X-Signup-Token", format!(" {} ", ann.signup_token)).await.expect(200);
}
