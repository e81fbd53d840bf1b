//! A capability is defined once; HTTP routes and tools only translate. Therefore both transports answer
//! an input with the same outcome and the same sentences.
//!
//! Calls change the stored data. Therefore there are two equal services: one receives all inputs over
//! HTTP, the other the same inputs through tools, in the same order.

mod differences;
mod input;
mod inputs;
mod operations;
mod outcome;
mod values;
mod world;

use serde_json::{Value, json};

use self::input::Input;
use self::inputs::{INPUTS, inputs};
use self::operations::Operation;
use self::outcome::Outcome;
use self::world::World;
use crate::support::tools::list;
use crate::support::{Answer, App};

const ACCOUNTS: &[&str] = &[
    "list_plans",
    "create_account",
    "resend_confirmation",
    "resend_code",
    "confirm_by_code",
    "confirm_by_link",
    "disown_account",
    "renew_signup_token",
    "show_account",
];
const KEYS_AND_BILLING: &[&str] = &[
    "whoami",
    "show_quote",
    "open_checkout",
    "open_billing_portal",
    "issue_api_key",
    "list_api_keys",
    "revoke_api_key",
];
const ACCOUNT: &[&str] = &[
    "order_code",
    "change_account",
    "read_account_events",
    "read_mail_preferences",
    "change_mail_preferences",
    "list_members",
    "invite_member",
    "change_member",
    "remove_member",
    "delete_account",
];
const PIXELS: &[&str] = &[
    "show_setup",
    "list_pixels",
    "show_pixel",
    "create_pixel",
    "rename_pixel",
    "delete_pixel",
    "check_install",
    "show_install",
    "claim_host",
    "verify_claim",
    "move_pixel",
    "show_move",
    "end_move",
    "cancel_move",
    "get_commerce_snippet",
    "email_snippet",
];
const CONSENT: &[&str] = &[
    "configure_consent",
    "read_consent_configuration",
    "turn_off_consent",
    "read_consent_log",
    "read_consent_stats",
    "check_consent",
    "read_receipt",
    "read_consent_history",
    "verify_receipt",
    "get_proof",
    "verify_proof",
];
const CONTACTS: &[&str] = &[
    "read_contacts",
    "count_contacts",
    "find_contact",
    "list_withdrawn_contacts",
    "store_contacts",
    "erase_contact",
];

const SUPPRESSIONS: &[&str] =
    &["suppress_person", "unsuppress_person", "list_suppressions", "show_suppression_import"];

const ERASURE: &[&str] = &[
    "erase_visitor",
    "add_erasure_request",
    "list_erasure_requests",
    "complete_erasure_request",
    "refuse_erasure_request",
];

const WATCH: &[&str] =
    &["show_watch", "change_watch", "list_watch_reports", "read_watch_report", "list_screenshots"];

const SHARED_LINKS: &[&str] = &["create_shared_link", "list_shared_links", "revoke_shared_link"];

const WEBHOOKS: &[&str] = &[
    "create_webhook",
    "list_webhooks",
    "change_webhook",
    "delete_webhook",
    "rotate_webhook_secret",
    "test_webhook",
    "list_webhook_deliveries",
    "replay_webhook_delivery",
    "replay_webhook",
];

/// Operations with a key or for visitors that no tool stands for, each with its reason.
const HTTP_ONLY: &[(&str, &str)] = &[
    ("activate_account", "an operator's program does it"),
    ("create_pipeline_pixel", "an operator's program does it"),
    ("export_consent", "an answer without bounds"),
    ("export_account", "an answer without bounds"),
    ("import_suppressions", "a body that no message holds"),
    ("submit_watch_report", "what the program of a watcher sends"),
    ("read_screenshot", "a picture, which no answer of a tool contains"),
    ("list_grants", "apps are connected by people, who see them in the console"),
    ("revoke_grant", "apps are connected by people, who end them in the console"),
    ("record_consent", "what a visitor's browser says"),
    ("count_shown", "what a visitor's browser says"),
    ("request_erasure", "what a visitor's browser says"),
    ("read_own_erasure_requests", "what the visitor's page reads"),
    ("fire_pixel", "what a visitor's browser says"),
    ("api_read_receipt", "a second address of read_receipt"),
    ("read_policy", "a resource of the tool server"),
    ("api_read_policy", "a second address of read_policy"),
    ("ask_whether_to_disown", "a page with a button"),
    ("ask_whether_to_unsubscribe", "a page with a button"),
    ("ask_whether_to_cancel_address_change", "a page with a button"),
    ("cancel_address_change", "what the page with the button sends"),
    ("unsubscribe", "what mail programs say"),
    ("checkout_success", "a page that people come back to"),
    ("checkout_cancelled", "a page that people come back to"),
    ("payment_webhook", "what the payment provider says"),
    ("sample_contacts", "an example for the front page"),
];

async fn tools(app: &App) -> Vec<Value> {
    list(app, "/mcp/x/all", None).await
}

/// Sends each of these inputs through both transports, and reports every answer that differs.
async fn transports_agree_on(capabilities: &[&str]) {
    let (over_http, by_tools) =
        futures_util::future::join(World::new(capabilities), World::new(capabilities)).await;
    let description = over_http.app.get("/openapi.json").await.expect(200);
    let tools = tools(&by_tools.app).await;
    let mut differing = Vec::new();
    for name in capabilities {
        let tool = tools.iter().find(|tool| tool["name"] == *name).expect("there is such a tool");
        let operation = Operation::of(&description, tool).expect("its operation has its name");
        let (here, there) =
            futures_util::future::join(over_http.tenants(name), by_tools.tenants(name)).await;
        let inputs = inputs(&operation);
        assert_eq!(inputs.len(), INPUTS);
        let mut done = 0;
        for input in inputs {
            let (http, tool) = futures_util::future::join(
                Answer::of(operation.request(&over_http, &here, &input)),
                Answer::of(operation.message(&by_tools, &there, &input)),
            )
            .await;
            let (http, tool) = (Outcome::of_http(&http), Outcome::of_tool(&tool));
            done += usize::from(http.status == 200 && tool.status == 200);
            if !differences::is_meant(&operation, &input, &http, &tool) {
                differing.push(report(&operation, &input, &http, &tool));
            }
        }
        assert!(done > 0, "{name} refuses everything");
    }
    let count = differing.len();
    assert_eq!(count, 0, "answers differ:\n{}", differing.join("\n"));
}

fn report(operation: &Operation, input: &Input, http: &Outcome, tool: &Outcome) -> String {
    let mut arguments = json!(input.arguments).to_string();
    arguments = arguments.chars().take(300).collect();
    let given = input.credentials;
    let name = &operation.name;
    format!("{name} {arguments} by {given:?}\n  over HTTP {http:?}\n  by tool   {tool:?}")
}

#[tokio::test]
async fn transports_agree_on_accounts() {
    transports_agree_on(ACCOUNTS).await;
}

#[tokio::test]
async fn transports_agree_on_keys_and_billing() {
    transports_agree_on(KEYS_AND_BILLING).await;
}

#[tokio::test]
async fn transports_agree_on_the_account() {
    transports_agree_on(ACCOUNT).await;
}

#[tokio::test]
async fn transports_agree_on_pixels() {
    transports_agree_on(PIXELS).await;
}

#[tokio::test]
async fn transports_agree_on_consent() {
    transports_agree_on(CONSENT).await;
}

#[tokio::test]
async fn transports_agree_on_contacts() {
    transports_agree_on(CONTACTS).await;
}

#[tokio::test]
async fn transports_agree_on_suppressions() {
    transports_agree_on(SUPPRESSIONS).await;
}

#[tokio::test]
async fn transports_agree_on_erasure() {
    transports_agree_on(ERASURE).await;
}

#[tokio::test]
async fn transports_agree_on_the_watch() {
    transports_agree_on(WATCH).await;
}

#[tokio::test]
async fn transports_agree_on_shared_links() {
    transports_agree_on(SHARED_LINKS).await;
}

#[tokio::test]
async fn transports_agree_on_webhooks() {
    transports_agree_on(WEBHOOKS).await;
}

#[tokio::test]
async fn every_capability_has_both_transports_or_a_stated_reason() {
    let app = App::spawn().await;
    let description = app.get("/openapi.json").await.expect(200);
    let tools = tools(&app).await;
    let mut compared = [
        ACCOUNTS,
        KEYS_AND_BILLING,
        ACCOUNT,
        PIXELS,
        CONSENT,
        CONTACTS,
        SUPPRESSIONS,
        ERASURE,
        WATCH,
        SHARED_LINKS,
        WEBHOOKS,
    ]
    .concat();
    let mut named = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect::<Vec<_>>();
    compared.sort_unstable();
    named.sort_unstable();
    assert_eq!(compared, named);
    for tool in &tools {
        assert!(Operation::of(&description, tool).is_some(), "{}", tool["name"]);
    }
    let items = description["paths"].as_object().unwrap().iter();
    let versioned = items.filter(|(path, _)| path.contains("/v1/"));
    let operations = versioned.flat_map(|(_, item)| item.as_object().unwrap().values());
    let mut alone = operations
        .map(|operation| operation["operationId"].as_str().unwrap())
        .filter(|name| !named.contains(name))
        .collect::<Vec<_>>();
    let mut known = HTTP_ONLY.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    alone.sort_unstable();
    known.sort_unstable();
    assert_eq!(alone, known);
}
