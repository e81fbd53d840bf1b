//! Proofs: what a visitor chose, on which words, shown to people who trust nobody here.

use reqwest::Method;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use sqlx::query_scalar;

use crate::support::App;
use crate::support::consent::shop;
use crate::support::server::Answer;
use crate::support::transparency_log::log::{LOG_KEY, PublicLog};
use crate::support::transparency_log::proofs::Proof;
use crate::support::visitors::with;

/// All of the log; an earlier state may be served for a second.
pub async fn whole_log(app: &App) -> PublicLog {
    let size = query_scalar::<_, i64>("SELECT size FROM log_head");
    let size = size.fetch_one(&app.pool).await.unwrap();
    app.log_with(|log| i64::try_from(log.entries.len()).unwrap() >= size).await
}

async fn log_key(app: &App) -> String {
    app.get("/log/policy").await.text.split(' ').nth(1).unwrap().to_owned()
}

/// The service's verdict on a proof.
pub async fn verdict_on(app: &App, proof: &Value) -> Value {
    app.post("/v1/consent/proof/verify", json!({"proof": proof})).await.expect(200)
}

async fn holds(app: &App, proof: &Proof) {
    let verdict = verdict_on(app, &proof.json).await;
    assert_eq!(verdict["valid"], true, "{verdict}");
}

#[tokio::test]
async fn a_proof_shows_what_was_chosen_on_which_words_and_needs_the_key_alone() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    let held = app.hold_the_log().await;
    let saved = app.recorded_as_shown(&site, "v-1", "de").await;
    let early = app.ask_for_proof(&site, "v-1").await;
    early.refused(409, "not sealed yet");
    assert_eq!(early.header("retry-after"), Some("3"));
    drop(held);
    let proof = app.proof(&site, "v-1").await;
    let Proof { json, .. } = &proof;
    assert_eq!(json["format"], "assent/proof/v1");
    assert_eq!(json["statement"]["receipt"], saved["receipt"]);
    assert_eq!(json["statement"]["shown"]["language"], "de");
    let notice = json["notice"].as_str().unwrap();
    assert!(notice.contains("Shop Ltd"), "{notice}");
    assert_eq!(json["statement"]["shown"]["notice"], sha256(notice));
    let policy = serde_json_canonicalizer::to_string(&json["policy"]).unwrap();
    assert_eq!(sha256(&policy), site.policy_hash);
    proof.position(&whole_log(&app).await);
    let kinds = json["publications"].as_array().unwrap().iter().map(|one| &one["kind"]);
    assert_eq!(kinds.collect::<Vec<_>>(), ["policy", "notice", "script"]);
    let verdict = verdict_on(&app, json).await;
    assert_eq!(verdict["valid"], true, "{verdict}");
    let sentences = verdict["sentences"].as_array().unwrap().iter().filter_map(Value::as_str);
    let sentences = sentences.collect::<Vec<_>>().join("\n");
    let chosen = "\"v-1\" accepted \"resolution\" on \"https://shop.example\"";
    for part in [chosen, &site.policy_hash, "was \"de\""] {
        assert!(sentences.contains(part), "{sentences}");
    }
}

#[tokio::test]
async fn a_user_action_is_in_the_statement_and_earlier_statements_keep_their_form() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    let action = json!({"act": "keyboard", "automated": false, "seen": "under_5s"});
    for (visitor, action) in [("now", &action), ("before", &json!({}))] {
        let mut shown = json!({"language": "de"});
        shown.as_object_mut().unwrap().extend(action.as_object().unwrap().clone());
        app.recorded(&with(&site.acceptance(visitor), "shown", shown)).await;
        let proof = app.proof(&site, visitor).await;
        let stated = proof.json["statement"]["shown"].as_object().unwrap();
        let mut expected = action.clone();
        for name in ["language", "notice", "script"] {
            expected[name] = stated[name].clone();
        }
        assert_eq!(json!(stated), expected, "{visitor}");
        holds(&app, &proof).await;
    }
    let mut forged = app.proof(&site, "now").await.json;
    forged["statement"]["shown"]["act"] = json!("pointer");
    assert_eq!(verdict_on(&app, &forged).await["valid"], false);
}

fn sha256(text: &str) -> String {
    hex::encode(Sha256::digest(text))
}

#[tokio::test]
async fn each_receipt_has_a_proof_of_its_own_and_the_latest_is_given_when_none_is_named() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    let first = app.recorded(&site.acceptance("v-1")).await;
    app.recorded(&site.refusal("v-1", "withdrawn")).await;
    let latest = app.proof(&site, "v-1").await;
    assert_eq!(latest.json["statement"]["receipt"]["consent_state"], "withdrawn");
    assert_eq!(latest.json["statement"]["shown"], Value::Null);
    let path = format!(
        "/v1/consent/proof?pixel_id={}&visitor_id=v-1&receipt_id={}",
        site.pixel_id,
        first["receipt_id"].as_str().unwrap()
    );
    let earlier = Proof::of(&app.get(&path).await);
    assert_eq!(earlier.json["statement"]["receipt"], first["receipt"]);
    let log = whole_log(&app).await;
    assert_ne!(earlier.position(&log), latest.position(&log));
}

#[tokio::test]
async fn there_is_no_proof_without_a_choice_or_without_a_log() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.acceptance("v-1")).await;
    let other = app.consent_site(&app.account("o@example.com").await.key, "other.example").await;
    app.ask_for_proof(&site, "v-2").await.refused(404, "no consent record");
    app.ask_for_proof(&other, "v-1").await.refused(404, "no consent record");
    app.ask_for_proof(&site, "no%20id").await.refused(404, "no consent record");
    let path = |more: &str| format!("/v1/consent/proof?pixel_id={}{more}", site.pixel_id);
    app.get(&path("&visitor_id=v-1&receipt_id=x")).await.refused(404, "no consent record");
    app.get(&path("")).await.invalid(&["query", "visitor_id"]);
    app.proof(&site, "v-1").await;
    for size in ["-1", "x", "4000000"] {
        let answer = app.get(&path(&format!("&visitor_id=v-1&old_size={size}"))).await;
        answer.invalid(&["query", "old_size"]);
    }
    let without = app.another_node(&[]).await;
    without.ask_for_proof(&site, "v-1").await.refused(404, "no log is kept here");
    let proof = json!({"proof": {"format": "x"}});
    without.post("/v1/consent/proof/verify", proof).await.refused(404, "no log is kept here");
    app.post("/v1/consent/proof/verify", json!({})).await.refused(400, "proof is required");
    let keyed = json!({"proof": {"format": "x"}, "key": "x"});
    app.post("/v1/consent/proof/verify", keyed).await.refused(400, "invalid request");
}

/// The verdict on a proof with one change.
async fn said_of(
    app: &App,
    proof: &Proof,
    pointer: &str,
    change: impl Fn(&str) -> Value,
) -> String {
    let mut changed = proof.json.clone();
    let part = changed.pointer_mut(pointer).unwrap_or_else(|| panic!("{pointer}"));
    *part = change(part.as_str().unwrap_or_default());
    assert_ne!(changed, proof.json, "{pointer}");
    let verdict = verdict_on(app, &changed).await;
    assert_eq!(verdict["valid"], false, "{pointer}");
    verdict["sentences"][0].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_changed_byte_of_a_proof_is_noticed_and_the_sentence_says_in_which_part() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    app.publish_many(0, 300).await;
    app.recorded_as_shown(&site, "v-1", "en").await;
    let proof = app.proof(&site, "v-1").await;
    let key = log_key(&app).await;
    let key = assent::proof::format::note::Verifier::parse(&key).unwrap();
    let trusted = assent::proof::format::policy::TrustPolicy::of_log(key);
    let verify = |text: &str| assent::proof::verifying::verify(text, &trusted, None);
    assert!(verify(&proof.text).valid);
    let noticed = |index: usize| {
        let mut bytes = proof.text.clone().into_bytes();
        bytes[index] ^= 1;
        !verify(&String::from_utf8_lossy(&bytes)).valid
    };
    let unnoticed = (0..proof.text.len()).step_by(5).filter(|index| !noticed(*index));
    assert_eq!(unnoticed.collect::<Vec<_>>(), Vec::<usize>::new());

    let flip = |text: &str| json!(text.replacen('a', "b", 1));
    let parts = [
        ("/format", "This is no proof file"),
        ("/salt", "The salt was changed."),
        ("/statement/receipt/visitor_id", "The choice is not the one"),
        ("/statement/shown/language", "The choice is not the one"),
        ("/policy/controller/name", "The policy is not the one"),
        ("/notice", "The text of the notice is not the one"),
        ("/choices/entry", "The entry of the choice is not in the log"),
        ("/publications/0/kind", "The published \"q\" has nothing to do"),
        ("/publications/1/entry", "The entry of the published notice is not in the log"),
    ];
    for (pointer, sentence) in parts {
        let said = match pointer {
            "/salt" => said_of(&app, &proof, pointer, |_| json!("00".repeat(32))).await,
            "/publications/0/kind" => said_of(&app, &proof, pointer, |_| json!("q")).await,
            "/statement/receipt/visitor_id" => {
                said_of(&app, &proof, pointer, |_| json!("v-2")).await
            }
            "/statement/shown/language" => said_of(&app, &proof, pointer, |_| json!("de")).await,
            "/policy/controller/name" => said_of(&app, &proof, pointer, |_| json!("Other")).await,
            _ => said_of(&app, &proof, pointer, flip).await,
        };
        assert!(said.starts_with(sentence), "{pointer}: {said}");
    }
    let line = |number: usize, new: &'static str| {
        move |text: &str| {
            let mut lines = text.split('\n').collect::<Vec<_>>();
            lines[number] = new;
            json!(lines.join("\n"))
        }
    };
    let hash = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    let lines = [
        (0, "c2sp.org/tlog-proof@v2", "The proof of the choice cannot be read"),
        (1, "extra AAAA", "The choice is not the one"),
        (2, "index 0", "The entry of the choice is not in the log"),
        (3, hash, "The entry of the choice is not in the log"),
    ];
    for (number, new, sentence) in lines {
        let said = said_of(&app, &proof, "/choices/tlog_proof", line(number, new)).await;
        assert!(said.starts_with(sentence), "{number}: {said}");
    }
    let resized = |text: &str| json!(text.replace("localhost/log\n", "localhost/log\n1"));
    let said = said_of(&app, &proof, "/choices/tlog_proof", resized).await;
    let forged = "The state of the log under the choice is broken: the note was changed";
    assert!(said.starts_with(forged), "{said}");
}

#[tokio::test]
async fn a_proof_outlives_other_secrets_new_policies_other_peoples_erasure_and_a_growing_log() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (key, site) = shop(&app).await;
    app.recorded_as_shown(&site, "stays", "fr").await;
    app.recorded(&site.acceptance("goes")).await;
    let before = app.proof(&site, "stays").await;
    app.proof(&site, "goes").await;
    let erase = format!("/v1/pixels/{}/visitors/goes", site.pixel_id);
    app.call(Method::DELETE, &erase, &key, Value::Null).await.expect(200);
    app.reconfigured(&key, &site, "Another Ltd").await;
    for number in 0..3 {
        app.publish_many(number * 200, 200).await;
        let visitor = format!("v-{number}");
        app.recorded(&site.refusal(&visitor, "declined")).await;
        app.proof(&site, &visitor).await;
    }
    let rotated = app.another_node(&[LOG_KEY, ("RECEIPT_SECRETS", "another-receipt-secret")]).await;
    holds(&rotated, &before).await;
    let again = rotated.proof(&site, "stays").await;
    assert_eq!(again.json["statement"], before.json["statement"]);
    assert_eq!(again.json["policy"], before.json["policy"]);
    assert_eq!(again.json["notice"], before.json["notice"]);
    holds(&rotated, &again).await;
    let log = whole_log(&app).await;
    assert_eq!(again.position(&log), before.position(&log));
}

#[tokio::test]
async fn choices_of_erased_visitors_cannot_be_proved_and_all_others_can() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (key, site) = shop(&app).await;
    for visitor in ["goes", "stays"] {
        app.recorded(&site.acceptance(visitor)).await;
    }
    let gone = app.proof(&site, "goes").await;
    let held = app.hold_the_log().await;
    for visitor in ["goes-early", "stays-too"] {
        app.recorded(&site.acceptance(visitor)).await;
    }
    for visitor in ["goes", "goes-early"] {
        let erase = format!("/v1/pixels/{}/visitors/{visitor}", site.pixel_id);
        app.call(Method::DELETE, &erase, &key, Value::Null).await.expect(200);
        app.ask_for_proof(&site, visitor).await.refused(404, "no consent record");
    }
    drop(held);
    let kept = "SELECT count(*) FROM consent_receipts WHERE salt = $1";
    let kept = query_scalar::<_, i64>(kept)
        .bind(hex::decode(gone.json["salt"].as_str().unwrap()).unwrap());
    assert_eq!(kept.fetch_one(&app.pool).await.unwrap(), 0);
    for visitor in ["stays", "stays-too"] {
        let proof = app.proof(&site, visitor).await;
        holds(&app, &proof).await;
        proof.position(&whole_log(&app).await);
    }
    whole_log(&app).await.assert_extends(&gone.checkpoint());
}

#[tokio::test]
async fn of_an_erased_account_nothing_says_where_its_choices_are() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let ann = app.account("ann@example.com").await;
    let site = app.consent_site(&ann.key, "ann.example").await;
    app.recorded(&site.acceptance("v-1")).await;
    let proof = app.proof(&site, "v-1").await;
    let mut command = crate::support::process::program(&app.database.url);
    command.args(["erase-account", &ann.account_id]);
    assert!(crate::support::process::run(command).await.status.success());
    let left = query_scalar::<_, i64>("SELECT count(*) FROM log_leaves WHERE pixel_id = $1");
    assert_eq!(left.bind(&site.pixel_id).fetch_one(&app.pool).await.unwrap(), 0);
    app.ask_for_proof(&site, "v-1").await.refused(404, "no consent record");
    whole_log(&app).await.assert_extends(&proof.checkpoint());
}

#[tokio::test]
async fn a_kept_checkpoint_shows_that_the_log_was_not_rewritten() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    let kept = app.log_with(|log| log.has("policy", &site.policy_hash)).await;
    app.publish_many(0, 600).await;
    app.recorded(&site.acceptance("v-1")).await;
    app.proof(&site, "v-1").await;
    let with_growth = async |size: usize| {
        let pixel = &site.pixel_id;
        let path = format!("/v1/consent/proof?pixel_id={pixel}&visitor_id=v-1&old_size={size}");
        app.get(&path).await.expect(200)
    };
    let proof = with_growth(kept.entries.len()).await;
    let against = async |proof: &Value, note: &str| {
        let body = json!({"proof": proof, "against": note});
        let verdict = app.post("/v1/consent/proof/verify", body).await.expect(200);
        (verdict["valid"] == true, verdict["sentences"].to_string())
    };
    let (valid, sentences) = against(&proof, &kept.note).await;
    assert!(
        valid && sentences.contains("goes on from the checkpoint that you kept"),
        "{sentences}"
    );
    let newest = app.get("/log/checkpoint").await.text;
    assert!(against(&proof, &newest).await.0);
    // It was fetched with another size, or with none.
    let (valid, sentences) = against(&with_growth(1).await, &kept.note).await;
    assert!(
        !valid && sentences.contains(&format!("old_size={}", kept.entries.len())),
        "{sentences}"
    );
    let mut changed = proof.clone();
    changed["growth"]["path"].as_array_mut().unwrap().pop();
    let (valid, sentences) = against(&changed, &kept.note).await;
    assert!(!valid && sentences.contains("The log was rewritten"), "{sentences}");
    let forged = kept.note.replacen("\n", "\n1", 1);
    let (valid, sentences) = against(&proof, &forged).await;
    assert!(!valid && sentences.contains("The checkpoint that you kept is broken"), "{sentences}");
}

/// Another log's proof is judged by its own key, and by no other.
#[tokio::test]
async fn the_key_decides_whose_proofs_are_believed() {
    let key = ("LOG_KEY", "00000000000000000000000000000000000000000000000000000000000000ff");
    let (app, other) = (App::spawn_with(&[LOG_KEY]).await, App::spawn_with(&[key]).await);
    let (_, site) = shop(&other).await;
    other.recorded(&site.acceptance("v-1")).await;
    let proof = other.proof(&site, "v-1").await;
    let verdict = verdict_on(&app, &proof.json).await;
    assert_eq!(verdict["valid"], false);
    assert!(verdict["sentences"][0].as_str().unwrap().contains("not signed by this key"));
    let body = json!({"proof": proof.json, "key": log_key(&other).await});
    let asked = app.request(Method::POST, "/v1/consent/proof/verify").json(&body);
    assert_eq!(Answer::of(asked).await.expect(200)["valid"], true);
}
