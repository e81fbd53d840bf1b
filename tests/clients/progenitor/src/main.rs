//! Calls a running service with the client that progenitor generates from the OpenAPI 3.0 rendition.

use std::env;

use reqwest::header::{HeaderMap, HeaderValue};

progenitor::generate_api!(spec = "openapi.json", interface = Builder);

/// A client that sends a credential with every call.
fn client(base: &str, name: &'static str, credential: &str) -> Client {
    let credential = HeaderValue::from_str(credential).expect("a credential is printable");
    let headers = HeaderMap::from_iter([(name.parse().expect("a header's name"), credential)]);
    let http = reqwest::Client::builder().default_headers(headers).build();
    Client::new_with_client(base, http.expect("a client without TLS"))
}

/// The sentence of a refusal.
fn refused<T: std::fmt::Debug>(answer: Result<T, Error<types::Problem>>, status: u16) -> String {
    match answer {
        Err(Error::ErrorResponse(problem)) if problem.status() == status => {
            problem.detail.to_string()
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let base = env::args().nth(1).expect("the address of the service");
    let anyone = Client::new(&base);
    let plans = anyone.list_plans().send().await.expect("plans");
    assert_eq!(plans.plans[0].contacts_included, Some(500));

    let signup = || {
        types::SignupRequest::builder().email("progenitor@example.com").display_name("Progenitor")
    };
    let opened = anyone.create_account().body(signup()).send().await.expect("an account");
    let again = anyone.create_account().body(signup()).send().await;
    assert_eq!(refused(again, 409), "email already registered");
    let link = opened.verification_url.clone().expect("a link, without a mail server");
    assert!(reqwest::get(link).await.expect("a page").status().is_success());
    let holder = client(&base, "x-signup-token", &opened.signup_token);
    let issued = holder
        .issue_api_key()
        .account_id(opened.account_id.clone())
        .body(types::KeyRequest::builder());
    let issued = issued.send().await.expect("a key");

    let owner = client(&base, "x-api-key", &issued.api_key);
    let me = owner.whoami().send().await.expect("the account");
    assert_eq!(me.account_id, opened.account_id);
    let site = types::PixelRequest::builder().domain("progenitor.example");
    let pixel = owner.create_pixel().body(site).send().await.expect("a pixel").pixel_id.to_string();
    let page = types::PixelRequest::builder().domain("progenitor.example/cart");
    let page = owner.create_pixel().body(page).send().await;
    assert_eq!(refused(page, 400), "domain must be a host, not a page");
    let consent = types::ConsentRequest::builder()
        .controller_name("Progenitor")
        .purposes(vec![types::Purpose::Analytics]);
    let configured = owner.configure_consent().pixel_id(&*pixel).body(consent).send().await;
    let configured = configured.expect("a policy");
    let choice = types::RecordRequest::builder()
        .pixel_id(&*pixel)
        .visitor_id("visitor-1")
        .url("https://progenitor.example/")
        .consent(types::ConsentState::Accepted)
        .affirmative(true)
        .policy_version_hash(configured.policy_hash.clone())
        .purposes(vec![types::Purpose::Analytics]);
    let saved = anyone.record_consent().body(choice).send().await.expect("a receipt");
    let checked = anyone.check_consent().pixel_id(&*pixel).visitor_id("visitor-1").send().await;
    checked.expect("a verdict");
    let log = owner.read_consent_log().pixel_id(&*pixel).limit(1).send().await.expect("the log");
    assert_eq!(log.events.len(), 1);
    assert_eq!(log.events[0].receipt_id, saved.receipt.receipt_id);
    assert!(log.next.is_none());

    owner.delete_pixel().pixel_id(&*pixel).send().await.expect("an end");
    assert_eq!(refused(owner.show_pixel().pixel_id(&*pixel).send().await, 404), "pixel not found");
    assert_eq!(refused(anyone.whoami().send().await, 401), "api key required");
}
