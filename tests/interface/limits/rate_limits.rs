//! The general limits: so many at once per client, then 429 with `Retry-After`.

use chrono::Duration;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::consent::shop;
use crate::support::{Answer, App, tools};

pub const ON: (&str, &str) = ("RATE_LIMITS", "on");
const BEHIND_PROXY: (&str, &str) = ("CLIENT_IP_HEADER", "X-Client-Address");

/// A call of one limited route, from a client with this address.
struct Route {
    method: Method,
    path: &'static str,
    body: Value,
    /// The status of the route while it is not limited.
    usual: u16,
    at_once: usize,
    retry_after: u32,
}

fn post(path: &'static str, body: Value, usual: u16, at_once: usize, retry_after: u32) -> Route {
    Route { method: Method::POST, path, body, usual, at_once, retry_after }
}

async fn send(app: &App, route: &Route, address: &str) -> Answer {
    let request = app.request(route.method.clone(), route.path);
    Answer::of(request.header(BEHIND_PROXY.1, address).json(&route.body)).await
}

#[track_caller]
pub fn is_limited(answer: &Answer, retry_after: u32) {
    answer.refused(429, "too many requests");
    assert_eq!(answer.header("retry-after"), Some(retry_after.to_string().as_str()));
}

/// Empties the bucket of one address, and sees it fill again by the service's clock.
async fn holds(route: &Route) {
    let app = App::spawn_with(&[ON, BEHIND_PROXY]).await;
    for turn in 0..route.at_once {
        let answer = send(&app, route, "192.0.2.1").await;
        assert_eq!(answer.status, route.usual, "{turn}: {}", answer.text);
    }
    is_limited(&send(&app, route, "192.0.2.1").await, route.retry_after);
    assert_eq!(send(&app, route, "192.0.2.2").await.status, route.usual);
    app.clock.advance(Duration::seconds(i64::from(route.retry_after)));
    assert_eq!(send(&app, route, "192.0.2.1").await.status, route.usual);
    if route.retry_after > 1 {
        is_limited(&send(&app, route, "192.0.2.1").await, route.retry_after);
    }
    app.clock.advance(Duration::days(1));
    assert_eq!(send(&app, route, "192.0.2.1").await.status, route.usual);
    assert_eq!(send(&app, route, "192.0.2.1").await.status, route.usual);
}

#[tokio::test]
async fn reads_of_the_public_log_are_limited() {
    let (method, path) = (Method::GET, "/log/checkpoint");
    let usual = Route { method, path, body: json!({}), usual: 404, at_once: 1_200, retry_after: 1 };
    holds(&usual).await;
}

#[tokio::test]
async fn answers_state_how_much_of_a_limit_is_left() {
    let app = App::spawn_with(&[ON]).await;
    let key = app.account("ann@example.com").await.key;
    let create = |host: &str| app.call(Method::POST, "/v1/pixels", &key, json!({"domain": host}));
    let first = create("a.example").await;
    assert_eq!(first.header("ratelimit-policy"), Some("\"Writes\";q=600;w=60"));
    let left = |answer: &Answer| {
        let limit = answer.header("ratelimit").unwrap().strip_prefix("\"Writes\";r=").unwrap();
        limit.split(';').next().unwrap().parse::<u32>().unwrap()
    };
    let second = create("b.example").await;
    assert_eq!(left(&first), left(&second) + 1);
    let issue = || app.call(Method::POST, "/v1/api-keys", &key, json!({}));
    let issued = issue().await;
    assert_eq!(issued.header("ratelimit-policy"), Some("\"KeyIssues\";q=60;w=300"));
    assert!(issued.header("ratelimit").unwrap().starts_with("\"KeyIssues\";r=58;t="));
    for _ in 0..58 {
        issue().await;
    }
    let refused = issue().await;
    is_limited(&refused, 5);
    assert_eq!(refused.header("ratelimit-policy"), Some("\"KeyIssues\";q=60;w=300"));
    assert_eq!(refused.header("ratelimit"), Some("\"KeyIssues\";r=0;t=5"));
    let read = app.call(Method::GET, "/v1/pixels", &key, Value::Null).await;
    assert_eq!(read.header("ratelimit"), None);
    let off = App::spawn().await;
    let key = off.account("ann@example.com").await.key;
    let body = json!({"domain": "a.example"});
    assert_eq!(off.call(Method::POST, "/v1/pixels", &key, body).await.header("ratelimit"), None);
}

#[tokio::test]
async fn what_anybody_may_send_tells_how_much_is_left() {
    let app = App::spawn_with(&[ON]).await;
    let account = json!({"email": "ann@limits.example", "display_name": "Ann"});
    let agent = json!({"redirect_uris": ["https://agent.example/callback"]});
    let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
    let ping = tools::post(&app).json(&ping);
    for (answer, limit) in [
        (app.post("/v1/accounts", account).await, "\"Signups\";r=49;t="),
        (app.post("/oauth/register", agent).await, "\"AppRequests\";r=119;t="),
        (app.form("/oauth/revoke", &[("token", "ort_none")]).await, "\"AppRequests\";r=118;t="),
        (app.post("/demo/provision", json!({})).await, "\"Demos\";r=19;t="),
        (Answer::of(ping).await, "\"Messages\";r=599;t="),
    ] {
        let left = answer.header("ratelimit").unwrap_or_default();
        assert!(left.starts_with(limit), "{left}: {}", answer.text);
        assert!(answer.header("ratelimit-policy").is_some(), "{limit}");
    }
}

#[tokio::test]
async fn signups_are_limited() {
    let app = App::spawn_with(&[ON]).await;
    for turn in 0..50 {
        app.sign_up(&format!("visitor{turn}@limits.example")).await;
    }
    let body = json!({"email": "one-more@limits.example", "display_name": "Test"});
    is_limited(&app.post("/v1/accounts", body.clone()).await, 20);
    app.clock.advance(Duration::seconds(20));
    app.post("/v1/accounts", body).await.expect(201);
}

#[tokio::test]
async fn an_operator_with_an_unlimited_key_may_sign_up_as_many_as_it_has() {
    let app = App::spawn_with(&[ON]).await;
    let operator = app.unlimited_account("operator@limits.example").await;
    for turn in 0..60 {
        let body = json!({"email": format!("c{turn}@limits.example"), "display_name": "Test"});
        app.call(Method::POST, "/v1/accounts", &operator.key, body).await.expect(201);
    }
    let customer = app.account("customer@limits.example").await;
    let mut statuses = Vec::new();
    for turn in 0..60 {
        let body = json!({"email": format!("d{turn}@limits.example"), "display_name": "Test"});
        statuses.push(app.call(Method::POST, "/v1/accounts", &customer.key, body).await.status);
    }
    assert_eq!(statuses.iter().filter(|&&status| status == 201).count(), 48);
    assert_eq!(statuses.last(), Some(&429));
}

#[tokio::test]
async fn guesses_of_codes_are_limited() {
    let guess = json!({"code": "123456"});
    holds(&post("/v1/accounts/acc_none/confirm", guess, 404, 30, 5)).await;
    let guess = json!({"email": "ann@limits.example", "code": "123456"});
    holds(&post("/v1/accounts/acc_none/signup-token", guess, 400, 30, 5)).await;
}

#[tokio::test]
async fn mails_on_request_are_limited() {
    holds(&post("/v1/signup/resend-code", json!({"email": "bad"}), 400, 30, 20)).await;
    let again = post("/v1/accounts/acc_none/verification-email", json!({}), 404, 30, 20);
    holds(&again).await;
    let snippet = "/v1/pixels/none/email-snippet";
    holds(&post(snippet, json!({"email": "ann@limits.example"}), 401, 30, 20)).await;
}

#[tokio::test]
async fn calls_that_reach_the_payment_provider_are_limited() {
    for path in ["/v1/accounts/acc_none/checkout", "/v1/accounts/acc_none/portal"] {
        holds(&post(path, json!({}), 404, 30, 10)).await;
    }
    let method = Method::GET;
    let path = "/v1/checkout/success";
    let success = Route { method, path, body: json!({}), usual: 400, at_once: 30, retry_after: 10 };
    holds(&success).await;
}

#[tokio::test]
async fn reading_ones_own_choices_is_limited() {
    let unknown = json!({"pixel_id": "none", "visitor_id": "nobody"});
    holds(&post("/v1/consent/history", unknown, 200, 120, 1)).await;
}

#[tokio::test]
async fn demo_tags_are_limited() {
    holds(&post("/demo/provision", json!({}), 400, 20, 30)).await;
}

#[tokio::test]
async fn asking_for_keys_is_limited() {
    holds(&post("/v1/api-keys", json!({}), 401, 60, 5)).await;
}

#[tokio::test]
async fn writes_of_visitors_are_limited() {
    for path in ["/v1/consent/record", "/api/v1/pixel/fire", "/v1/consent/shown"] {
        let app = App::spawn_with(&[ON]).await;
        for _ in 0..600 {
            assert_eq!(app.post(path, json!({})).await.status, 204);
        }
        let refused = app.post(path, json!({})).await;
        is_limited(&refused, 1);
        // The visitor's page must be able to read the answer.
        assert_eq!(refused.header("access-control-allow-origin"), Some("*"));
        app.clock.advance(Duration::milliseconds(250));
        assert_eq!(app.post(path, json!({})).await.status, 204);
        is_limited(&app.post(path, json!({})).await, 1);
    }
}

#[tokio::test]
async fn a_no_still_gets_through_when_an_address_has_used_up_what_it_may_write() {
    let app = App::spawn_with(&[ON]).await;
    let (_, site) = shop(&app).await;
    for _ in 0..600 {
        app.post("/v1/consent/record", json!({})).await.expect(204);
    }
    is_limited(&app.record(&site.acceptance("visitor")).await, 1);
    app.recorded(&site.refusal("visitor", "declined")).await;
    for _ in 1..600 {
        app.record(&json!({"consent": "withdrawn"})).await.expect(204);
    }
    is_limited(&app.record(&site.refusal("visitor", "withdrawn")).await, 1);
    app.clock.advance(Duration::milliseconds(250));
    // One more of either kind.
    app.recorded(&site.acceptance("another")).await;
    app.recorded(&site.refusal("visitor", "withdrawn")).await;
}

#[tokio::test]
async fn one_network_of_64_bits_is_one_client() {
    let app = App::spawn_with(&[ON, BEHIND_PROXY]).await;
    let route = post("/v1/api-keys", json!({}), 401, 60, 5);
    for turn in 0..60 {
        let address = format!("2001:db8:0:7:{turn:x}::1");
        assert_eq!(send(&app, &route, &address).await.status, 401);
    }
    is_limited(&send(&app, &route, "2001:db8:0:7:ffff::").await, 5);
    assert_eq!(send(&app, &route, "2001:db8:0:8::1").await.status, 401);
}

#[tokio::test]
async fn networks_of_48_bits_are_limited_together_at_ten_times_the_figures() {
    let app = App::spawn_with(&[ON, BEHIND_PROXY]).await;
    let route = post("/demo/provision", json!({}), 400, 20, 3);
    let homes = (0..200).map(|home| format!("2001:db8:7:{home:x}::1")).collect::<Vec<_>>();
    for homes in homes.chunks(20) {
        let answers = join_all(homes.iter().map(|home| send(&app, &route, home))).await;
        assert!(answers.iter().all(|answer| answer.status == 400));
    }
    is_limited(&send(&app, &route, "2001:db8:7:ffff::1").await, 3);
    assert_eq!(send(&app, &route, "2001:db8:8::1").await.status, 400);
    app.clock.advance(Duration::seconds(3));
    assert_eq!(send(&app, &route, "2001:db8:7:ffff::1").await.status, 400);
    is_limited(&send(&app, &route, "2001:db8:7:fffe::1").await, 3);
}

#[tokio::test]
async fn bad_keys_from_many_networks_of_64_bits_bar_the_one_around_them() {
    let app = App::spawn_with(&[ON, BEHIND_PROXY]).await;
    let guess = |number: usize| {
        let address = format!("2001:db8:7:{number:x}::1");
        let request = app.request(Method::GET, "/v1/whoami").header(BEHIND_PROXY.1, address);
        Answer::of(request.bearer_auth(format!("px_{number}")))
    };
    for start in (0..600).step_by(30) {
        join_all((start..start + 30).map(guess)).await;
    }
    let account = app.account("ann@limits.example").await;
    is_limited(&guess(600).await, 1);
    // Barred, so that not even a right guess gets through.
    let request = app.request(Method::GET, "/v1/whoami").header(BEHIND_PROXY.1, "2001:db8:7:ff::1");
    is_limited(&Answer::of(request.bearer_auth(&account.key)).await, 1);
    let elsewhere = app.request(Method::GET, "/v1/whoami").header(BEHIND_PROXY.1, "2001:db8:8::1");
    Answer::of(elsewhere.bearer_auth(&account.key)).await.expect(200);
}

#[tokio::test]
async fn a_header_that_nobody_named_does_not_say_who_the_client_is() {
    let app = App::spawn_with(&[ON]).await;
    let route = post("/v1/api-keys", json!({}), 401, 60, 5);
    for turn in 0..60 {
        let request = app.request(Method::POST, route.path);
        let request = ["X-Real-IP", "X-Forwarded-For", BEHIND_PROXY.1]
            .into_iter()
            .fold(request, |request, name| request.header(name, format!("192.0.2.{turn}")));
        assert_eq!(Answer::of(request).await.status, 401);
    }
    is_limited(&send(&app, &route, "192.0.2.200").await, 5);
}

async fn whoami(app: &App, key: &str) -> Answer {
    app.call(Method::GET, "/v1/whoami", key, Value::Null).await
}

#[tokio::test]
async fn keys_that_fail_are_limited_on_all_routes_together() {
    let app = App::spawn_with(&[ON]).await;
    for turn in 0..20 {
        let key = format!("px_wrong{turn}");
        whoami(&app, &key).await.refused(401, "invalid api key");
        let listed = app.call(Method::GET, "/v1/pixels", &key, Value::Null).await;
        listed.refused(403, "invalid api key");
        let issued = app.call(Method::POST, "/v1/api-keys", &key, Value::Null).await;
        issued.refused(401, "invalid api key");
    }
    let account = app.sign_up("payer@limits.example").await;
    let path = format!("/v1/accounts/{}/checkout", account["account_id"].as_str().unwrap());
    is_limited(&app.call(Method::POST, &path, "px_wrong", Value::Null).await, 2);
    is_limited(&whoami(&app, "px_wrong").await, 2);
    app.get("/v1/whoami").await.refused(401, "api key required");
}

#[tokio::test]
async fn a_neighbours_bad_keys_do_not_stop_a_key_that_works() {
    let app = App::spawn_with(&[ON]).await;
    let (known, fresh) =
        (app.account("known@limits.example").await, app.account("fresh@limits.example").await);
    whoami(&app, &known.key).await.expect(200);
    while whoami(&app, "px_wrong").await.status != 429 {}
    whoami(&app, &known.key).await.expect(200);
    // A key that never worked here might be a lucky guess: it waits with the others.
    is_limited(&whoami(&app, &fresh.key).await, 2);
    app.clock.advance(Duration::seconds(2));
    whoami(&app, &fresh.key).await.expect(200);
}

#[tokio::test]
async fn a_key_that_is_revoked_counts_as_one_that_fails() {
    let app = App::spawn_with(&[ON]).await;
    let account = app.account("revoked@limits.example").await;
    whoami(&app, &account.key).await.expect(200);
    sqlx::query("UPDATE api_keys SET revoked_at = created_at").execute(&app.pool).await.unwrap();
    for _ in 0..60 {
        whoami(&app, &account.key).await.refused(401, "api key revoked");
    }
    is_limited(&whoami(&app, &account.key).await, 2);
}

#[tokio::test]
async fn keys_that_fail_at_a_signup_are_counted_like_elsewhere() {
    let app = App::spawn_with(&[ON]).await;
    let operator = app.unlimited_account("operator@limits.example").await;
    whoami(&app, &operator.key).await.expect(200);
    let sign_up = async |key: &str, email: &str| {
        let body = json!({"email": email, "display_name": "Test"});
        app.call(Method::POST, "/v1/accounts", key, body).await
    };
    // Signing up needs no key, so a wrong one does no harm at first.
    for turn in 0..20 {
        let email = format!("wrong{turn}@limits.example");
        assert_eq!(
            sign_up(&format!("px_wrong{turn}"), &email).await.expect(201).get("api_key"),
            None
        );
    }
    for turn in 0..40 {
        whoami(&app, &format!("px_guess{turn}")).await.refused(401, "invalid api key");
    }
    is_limited(&sign_up("px_another", "one-more@limits.example").await, 2);
    let body = json!({"email": "no-key@limits.example", "display_name": "Test"});
    app.post("/v1/accounts", body).await.expect(201);
    sign_up(&operator.key, "by-operator@limits.example").await.expect(201);
    app.clock.advance(Duration::seconds(2));
    sign_up("px_another", "one-more@limits.example").await.expect(201);
}

#[tokio::test]
async fn good_keys_are_never_limited() {
    let app = App::spawn_with(&[ON]).await;
    let account = app.account("busy@limits.example").await;
    for _ in 0..300 {
        whoami(&app, &account.key).await.expect(200);
    }
}

#[tokio::test]
async fn switched_off_they_are_gone_but_the_limits_of_the_interface_stay() {
    let app = App::spawn_with(&[("RATE_LIMITS", "off")]).await;
    for _ in 0..70 {
        whoami(&app, "px_wrong").await.refused(401, "invalid api key");
    }
    for turn in 0..60 {
        app.sign_up(&format!("off{turn}@limits.example")).await;
    }
    let body = json!({"email": "off1@limits.example"});
    let refused = app.post("/v1/signup/resend-code", body).await;
    refused.refused(429, "wait before sending the confirmation code again");
}
