//! Attacks by apps that register themselves or name a document, and floods of both.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::App;
use crate::support::oauth::{Agent, CALLBACK};
use crate::support::sites::https_site::{HttpsSite, Reply, ca_file};

#[tokio::test]
async fn registrations_that_are_refused() {
    let app = App::spawn().await;
    let eleven = (0..11).map(|number| format!("https://agent.example/{number}"));
    let eleven = eleven.collect::<Vec<_>>();
    for (name, body, error) in [
        ("no addresses", json!({}), "invalid_client_metadata"),
        ("an empty list", json!({"redirect_uris": []}), "invalid_redirect_uri"),
        ("too many", json!({"redirect_uris": eleven}), "invalid_redirect_uri"),
        ("a text", json!({"redirect_uris": CALLBACK}), "invalid_client_metadata"),
        ("numbers", json!({"redirect_uris": [1]}), "invalid_client_metadata"),
        (
            "a name that is none",
            json!({"redirect_uris": [CALLBACK], "client_name": 1}),
            "invalid_client_metadata",
        ),
        ("plain http", json!({"redirect_uris": ["http://agent.example/"]}), "invalid_redirect_uri"),
        (
            "one of two",
            json!({"redirect_uris": [CALLBACK, "javascript:x"]}),
            "invalid_redirect_uri",
        ),
        (
            "a private address",
            json!({"redirect_uris": ["http://10.0.0.1/"]}),
            "invalid_redirect_uri",
        ),
        (
            "a fragment",
            json!({"redirect_uris": ["https://agent.example/#x"]}),
            "invalid_redirect_uri",
        ),
        ("a scheme without a dot", json!({"redirect_uris": ["myapp://x"]}), "invalid_redirect_uri"),
        ("a list", json!([]), "invalid_client_metadata"),
    ] {
        assert_eq!(app.post("/oauth/register", body).await.expect(400)["error"], error, "{name}");
    }
    let refused = app.post("/oauth/register", json!({})).await;
    assert_eq!(refused.expect(400)["request_id"].as_str(), refused.header("x-request-id"));
    let large = json!({"redirect_uris": [CALLBACK], "x": "x".repeat(17_000)});
    assert_eq!(app.post("/oauth/register", large).await.status, 413);
    // Whoever asks for a secret gets none.
    let body = json!({"redirect_uris": [CALLBACK], "grant_types": ["implicit"],
        "token_endpoint_auth_method": "client_secret_basic"});
    let client = app.post("/oauth/register", body).await.expect(201);
    assert_eq!(client["token_endpoint_auth_method"], "none");
    assert_eq!(client["grant_types"], json!(["authorization_code", "refresh_token"]));
    assert_eq!(client.get("client_secret"), None);
}

#[tokio::test]
async fn floods_of_registrations_and_guesses_are_slowed_down() {
    let app = App::spawn_with(&[("RATE_LIMITS", "on")]).await;
    let body = json!({"redirect_uris": [CALLBACK]});
    let mut refused = 0;
    for _ in 0..130 {
        let answer = app.post("/oauth/register", body.clone()).await;
        refused += i32::from(answer.status == 429 && answer.header("retry-after").is_some());
    }
    assert!((8..=10).contains(&refused), "{refused}");
    let fields = [("grant_type", "refresh_token"), ("client_id", "x"), ("refresh_token", "ort_x")];
    assert_eq!(app.form("/oauth/token", &fields).await.status, 429);
    let mut answers = Vec::new();
    for _ in 0..70 {
        answers.push(app.tool_by("oat_guess", "list_pixels", json!({})).await.status);
    }
    assert_eq!((answers[0], answers[69]), (401, 429));
}

#[tokio::test]
async fn documents_of_apps_that_lie_or_lead_elsewhere() {
    const HOST: &str = "agent.example";
    let site = HttpsSite::start(&[HOST]).await;
    let resolve = format!("{HOST}={}", site.address);
    let app = App::spawn_with(&[
        ("INSTALL_CHECK_RESOLVE", &resolve),
        ("INSTALL_CHECK_CA_FILE", ca_file()),
    ])
    .await;
    let ann = app.account("ann@example.com").await;
    let mut browser = app.browser_of(&ann.key).await;
    let document = |path: &str, changes: Value| {
        let mut document = json!({
            "client_id": format!("https://{HOST}{path}"),
            "client_name": "Agent of the document",
            "redirect_uris": [CALLBACK],
            "token_endpoint_auth_method": "none",
        });
        document.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        Reply::Whole(
            200,
            "Content-Type: application/json\r\n".to_owned(),
            document.to_string().into(),
        )
    };
    for (path, reply) in [
        ("/missing.json", Reply::status(404)),
        ("/broken.json", Reply::status(500)),
        ("/moved.json", Reply::redirect("https://agent.example/good.json")),
        ("/inside.json", Reply::redirect("http://169.254.169.254/latest")),
        ("/page.json", Reply::page("<p>no document")),
        ("/empty.json", Reply::page("")),
        ("/list.json", Reply::page("[]")),
        ("/large.json", document("/large.json", json!({"x": "x".repeat(5_200)}))),
        ("/other.json", document("/good.json", json!({}))),
        (
            "/secret.json",
            document("/secret.json", json!({"token_endpoint_auth_method": "client_secret_post"})),
        ),
        ("/script.json", document("/script.json", json!({"redirect_uris": ["javascript:x"]}))),
        ("/none.json", document("/none.json", json!({"redirect_uris": []}))),
    ] {
        site.answer(&format!("{HOST}{path}"), reply);
        let agent = document_agent(&app, &format!("https://{HOST}{path}"));
        let answer = browser.get(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
        assert_eq!((answer.status, answer.header("location")), (400, None), "{path}");
    }
    for client_id in [
        "https://localhost/client.json",
        "https://private.localhost/client.json",
        "https://127.0.0.1/client.json",
        "https://[::1]/client.json",
        "https://10.0.0.1/client.json",
        "https://169.254.169.254/latest/meta-data",
        "https://2130706433/client.json",
        "https://nowhere.invalid/client.json",
        "https://agent.example:22/client.json",
        "https://agent.example/",
        "http://agent.example/good.json",
        "https://agent.example/x/../good.json",
    ] {
        let agent = document_agent(&app, client_id);
        let answer = browser.get(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
        assert_eq!((answer.status, answer.header("location")), (400, None), "{client_id}");
    }
    site.answer(&format!("{HOST}/good.json"), document("/good.json", json!({})));
    let agent = document_agent(&app, &format!("https://{HOST}/good.json"));
    let page = browser.page(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
    assert!(page.contains("Agent of the document") && page.contains(HOST), "{page}");
    assert!(!page.contains("unverified name"), "{page}");
    let tokens = agent.connect(&mut browser, "read").await;
    assert!(app.takes(&tokens.access).await);
    let grants = app.call(Method::GET, "/v1/grants", &ann.key, Value::Null).await.expect(200);
    assert_eq!(grants["grants"][0]["host"], HOST);
    // The document is kept for a while.
    site.answer(&format!("{HOST}/good.json"), Reply::status(404));
    browser.page(&format!("/oauth/authorize?{}", agent.query(&[]))).await;
}

fn document_agent<'a>(app: &'a App, client_id: &str) -> Agent<'a> {
    Agent { app, client_id: client_id.to_owned(), redirect_uri: CALLBACK.to_owned() }
}
