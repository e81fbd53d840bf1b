//! The description's examples, made one after the other against one service: each answers with what
//! stands there.
//!
//! A new operation needs an entry in `src/web/docs/examples.json`, at a position where what it needs
//! is there: `call`, `path`, `query`, `body`, `status`. Its answer is written by
//! `UPDATE_SNAPSHOTS=1 scripts/with-postgres cargo test --test interface examples::`. What is made anew
//! each time (ids, keys, signatures) is what the entry says first, and is compared by its form from
//! then on.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::example_world::{FILE, SECRET, World, examples, sign};
use crate::support::App;

/// Operations without an example to execute: the document itself in both forms, pages that people reach by a mail
/// or from the payment provider, and what only apps call.
const WITHOUT: [&str; 17] = [
    "GET /openapi.json",
    "GET /openapi-3.0.json",
    "GET /v1/email/verify",
    "GET /v1/email/disown",
    "POST /v1/email/disown",
    "GET /v1/email/unsubscribe",
    "POST /v1/email/unsubscribe",
    "GET /v1/email/address-change",
    "POST /v1/email/address-change",
    "GET /v1/checkout/success",
    "GET /v1/checkout/cancelled",
    // What apps call once a person has allowed them; `oauth` is about them.
    "POST /oauth/register",
    "POST /oauth/token",
    "POST /oauth/revoke",
    "DELETE /v1/grants/{grant_id}",
    // As `POST /mcp`.
    "POST /mcp/readonly",
    "POST /mcp/x/{set}",
];

/// Fills in the values of a body that an earlier answer has provided.
fn follow(example: &mut Value, earlier: &[Value]) {
    let answer =
        |call: &str| &earlier.iter().find(|earlier| earlier["call"] == call).unwrap()["answer"];
    if example["body"].get("policy_version_hash").is_some() {
        let configured = answer("POST /v1/pixels/{pixel_id}/consent");
        example["body"]["policy_version_hash"] = configured["policy_hash"].clone();
    }
    if example["call"] == "POST /v1/consent/proof/verify" {
        example["body"] = json!({"proof": answer("GET /v1/consent/proof")});
    }
    if example["call"] == "POST /v1/consent/verify" {
        let saved = answer("POST /v1/consent/record");
        example["body"] = json!({"receipt": saved["receipt"], "signature": saved["signature"]});
    }
}

#[tokio::test]
async fn every_example_answers_with_what_it_says() {
    let is_update = std::env::var_os("UPDATE_SNAPSHOTS").is_some();
    let mut world = World::new().await;
    let (mut done, mut wrong) = (Vec::<Value>::new(), Vec::new());
    for mut example in examples() {
        if is_update {
            follow(&mut example, &done);
        }
        world.prepare(&example).await;
        let answer = world.call(&example).await;
        let call = example["call"].as_str().unwrap().to_owned();
        assert_eq!(answer.status, example["status"], "{call}: {}", answer.text);
        if answer.header("content-type") == Some("application/json") {
            let kept = example.get("answer").cloned().unwrap_or_default();
            let documented = world.names.documented("", &answer.json(), &kept);
            if is_update {
                example["answer"] = documented;
            } else if documented != kept {
                wrong.push(format!("{call}\n  says {kept}\n  but  {documented}"));
            }
        }
        done.push(example);
    }
    if is_update {
        let earlier = std::fs::read_to_string(FILE).unwrap();
        let updated = format!("{:#}\n", Value::from(done));
        std::fs::write(FILE, &updated).unwrap();
        // The running program contains the earlier ones, and so does the snapshot that it writes.
        assert!(updated == earlier, "{FILE} has changed: run all updates of `interface` once more");
    }
    assert!(wrong.is_empty(), "{FILE}, see UPDATE_SNAPSHOTS in this test:\n{}", wrong.join("\n"));
}

/// Needs no values of its own and answers with a page or a script.
fn is_plain(operation: &Value) -> bool {
    ["Pages", "Scripts"].contains(&operation["tags"][0].as_str().unwrap())
        || operation["responses"].pointer("/200/content").is_some_and(|content| {
            let plain = ["text/plain", "text/markdown", "application/octet-stream"];
            plain.iter().any(|kind| content.get(kind).is_some())
        })
}

#[tokio::test]
async fn every_operation_has_an_example() {
    let world = World::new().await;
    let shown = examples()
        .iter()
        .map(|example| (example["call"].to_string(), example["status"].to_string()))
        .collect::<BTreeSet<_>>();
    let mut missing = Vec::new();
    for (path, item) in world.document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let call = format!("{} {path}", method.to_uppercase());
            if WITHOUT.contains(&call.as_str()) || is_plain(operation) {
                continue;
            }
            // A success, and every answer in JSON.
            let answers = operation["responses"].as_object().unwrap();
            let success = answers.keys().find(|status| status.starts_with(['2', '3']));
            let in_json = answers
                .iter()
                .filter(|(_, answer)| answer["content"].get("application/json").is_some());
            let wanted = in_json.map(|(status, _)| status).chain(success);
            missing.extend(
                wanted
                    .filter(|status| !shown.contains(&(json!(call).to_string(), (*status).clone())))
                    .map(|status| format!("{call} {status}")),
            );
        }
    }
    assert!(missing.is_empty(), "without an example in {FILE}: {missing:#?}");
}

#[tokio::test]
async fn nothing_in_an_example_is_left_to_the_reader() {
    let app = App::spawn().await;
    let document = app.get("/openapi.json").await.expect(200);
    fn texts(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, field)| match name.as_str() {
                "example" | "examples" => found.push(field.to_string()),
                _ => texts(field, found),
            }),
            Value::Array(items) => items.iter().for_each(|item| texts(item, found)),
            _ => {}
        }
    }
    let mut found = Vec::new();
    texts(&document, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for example in found {
        assert!(!example.contains('…') && !example.contains("..."), "{example}");
    }
}

#[tokio::test]
async fn the_receipt_of_the_examples_is_signed() {
    let examples = examples();
    let saved =
        examples.iter().find(|example| example["call"] == "POST /v1/consent/record").unwrap();
    assert_eq!(saved["answer"]["signature"], sign(&saved["answer"]["receipt"]));
    let app = App::spawn_with(&[("RECEIPT_SECRETS", SECRET)]).await;
    let verify =
        examples.iter().find(|example| example["call"] == "POST /v1/consent/verify").unwrap();
    let answer = app.post("/v1/consent/verify", verify["body"].clone()).await.expect(200);
    assert_eq!(answer, json!({"valid": true}));
}
