//! Choices as consent records: whole by our shapes of the guide's cardinalities (`tests/records`), which an
//! independent program checks, or honest about what they lack.

use std::io::Write;
use std::process::{Command, Stdio};

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::App;
use crate::support::consent::shop;
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::visitors::with;

const PROFILE: &str = "https://w3id.org/dpv/schema/dpv-27560#record";

/// All that a record needs of a policy.
fn whole() -> Value {
    json!({
        "controller_name": "Shop <Ltd>",
        "controller_contact": "privacy@shop.example",
        "controller_jurisdiction": "EU",
        "controller_address": "1 Main Street, Dublin",
        "purposes": ["resolution", "analytics"],
        "personal_data": ["Email address", "Pages \"visited\""],
        "storage_places": ["Ireland", "Germany"],
        "retention": "13 months",
        "disclosed_parties": ["Partner One"],
        "consent_days": 90,
    })
}

/// A shop whose policy says all, with its key.
async fn complete_shop(app: &App) -> (String, Site) {
    let (key, site) = shop(app).await;
    let configured = app.configure(&key, &site.pixel_id, whole()).await.expect(200);
    let policy_hash = configured["policy_hash"].as_str().unwrap().to_owned();
    (key, Site { policy_hash, ..site })
}

impl App {
    /// The records of an export, each a document of its own.
    async fn records(&self, key: &str, site: &Site) -> Vec<Value> {
        let answer = self.read(key, &site.path("/export?format=dpv")).await;
        assert_eq!(answer.header("content-type"), Some("application/ld+json"));
        let document = answer.expect(200);
        let records = document["@graph"].as_array().expect("a list").iter();
        records.map(|record| with(record, "@context", document["@context"].clone())).collect()
    }
}

/// The fields that each document lacks according to `pyshacl`.
fn lacking(documents: &[Value]) -> Vec<Vec<String>> {
    let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let mut child = Command::new(python)
        .arg("tests/records/check.py")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(json!(documents).to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "it says so above");
    serde_json::from_slice(&output.stdout).expect("a list")
}

#[tokio::test]
async fn a_complete_record_is_accepted_and_every_field_that_is_taken_away_is_named() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (key, site) = complete_shop(&app).await;
    app.recorded_as_shown(&site, "v-1", "de").await;
    let record = app.records(&key, &site).await.remove(0);
    let taken = [
        ("/dct:conformsTo", "schema version"),
        ("/dct:identifier", "record identifier"),
        ("/dpv:hasIdentifier", "record identifier of the table"),
        ("/dpv:hasDataSubject", "data subject"),
        ("/dpv:hasDataSubject/dct:identifier", "identifier of the data subject"),
        ("/dpv:hasNotice", "notice"),
        ("/dpv:hasNotice/0/dct:language", "notice language"),
        ("/dpv:hasProcess", "process"),
        ("/dpv:hasProcess/0/dpv:hasPurpose", "purpose"),
        ("/dpv:hasProcess/0/dpv:hasPurpose/0/skos:broader", "purpose type"),
        ("/dpv:hasProcess/0/dpv:hasPersonalData", "personal data"),
        ("/dpv:hasProcess/0/dpv:hasPersonalData/1/skos:broader", "personal data type"),
        ("/dpv:hasProcess/0/dpv:hasStorageCondition/0", "storage location"),
        ("/dpv:hasProcess/0/dpv:hasStorageCondition/0/dpv:hasLocation", "place of storage"),
        ("/dpv:hasProcess/0/dpv:hasStorageCondition/1", "retention"),
        ("/dpv:hasProcess/0/dpv:hasStorageCondition/1/dpv:hasDuration", "length of storage"),
        ("/dpv:hasProcess/0/dpv:hasRecipient", "recipients"),
        ("/dpv:hasDataController", "data controller"),
        ("/dpv:hasDataController/0/dpv:hasName", "entity name"),
        ("/dpv:hasDataController/0/dpv:hasIdentifier", "entity identifier"),
        ("/dpv:hasDataController/0/schema:contactPoint/0", "entity contact"),
        ("/dpv:hasDataController/0/schema:contactPoint/1", "postal address"),
        ("/dpv:hasDataController/0/schema:address", "postal address of its own"),
        ("/dpv:hasConsentControl", "consent change and withdrawal"),
        ("/dpv:hasConsentControl/0/dpv:isExercisedAt", "where it is exercised"),
        ("/dpv:hasRight", "rights"),
        ("/dpv:hasJurisdiction", "jurisdiction"),
        ("/dpv:hasLegalBasis", "consent type"),
        ("/dpv:hasConsentStatus", "consent state"),
        ("/dpv:hasConsentStatus/0/@type", "kind of consent state"),
        ("/dpv:hasConsentStatus/0/dpv:isIndicatedAtTime", "event time"),
        ("/dpv:hasConsentStatus/0/dpv:isIndicatedBy", "expression by entity"),
        ("/dpv:hasConsentStatus/0/dpv:hasDuration", "event duration"),
    ];
    let poorer = taken.iter().map(|(pointer, _)| without(&record, pointer));
    let documents = [record.clone()].into_iter().chain(poorer).collect::<Vec<_>>();
    let found = lacking(&documents);
    assert_eq!(found[0], Vec::<String>::new(), "{record:#}");
    for ((pointer, name), found) in taken.iter().zip(&found[1..]) {
        assert_eq!(found, &[(*name).to_owned()], "{pointer}");
    }
}

/// The document without one of its parts.
fn without(document: &Value, pointer: &str) -> Value {
    let (mut poorer, (parent, name)) = (document.clone(), pointer.rsplit_once('/').unwrap());
    let parent = poorer.pointer_mut(parent).expect(pointer);
    let removed = match parent {
        Value::Object(parent) => parent.remove(name),
        Value::Array(parent) => Some(parent.remove(name.parse().unwrap())),
        _ => None,
    };
    assert!(removed.is_some(), "there is no {pointer}");
    poorer
}

#[tokio::test]
async fn a_record_says_what_was_asked_and_answered_whatever_the_answer_was() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (key, site) = complete_shop(&app).await;
    let saved = app.recorded_as_shown(&site, "v-1", "de").await;
    for state in ["declined", "withdrawn"] {
        let shown = json!({"language": "de", "script": "unknown"});
        app.recorded(&with(&site.refusal("v-2", state), "shown", shown)).await;
    }
    let records = app.records(&key, &site).await;
    assert_eq!(lacking(&records), vec![Vec::<String>::new(); 3]);
    let record = &records[0];
    let id = saved["receipt_id"].as_str().unwrap();
    assert_eq!(record["@id"], format!("urn:uuid:{id}"));
    assert_eq!((&record["dct:conformsTo"], &record["missing"]), (&json!(PROFILE), &Value::Null));
    assert_eq!(record["dpv:hasDataSubject"]["dct:identifier"], "v-1");
    let notice =
        format!("{}/v1/policy/{}?hash={}&lang=de", app.base, site.pixel_id, site.policy_hash);
    assert_eq!(record["dpv:hasNotice"][0]["@id"], notice);
    assert_eq!(app.get(notice.strip_prefix(&app.base).unwrap()).await.status, 200);
    let controller = &record["dpv:hasDataController"][0];
    assert_eq!(controller["dpv:hasName"], "Shop <Ltd>");
    assert_eq!(controller["schema:contactPoint"][0]["schema:email"], "privacy@shop.example");
    let process = &record["dpv:hasProcess"][0];
    let purposes = process["dpv:hasPurpose"].as_array().unwrap();
    assert_eq!((purposes.len(), &purposes[0]["dct:identifier"]), (1, &json!("resolution")));
    assert_eq!(purposes[0]["dct:title"]["@language"], "de");
    assert_eq!(process["dpv:hasRecipient"][1]["dpv:hasName"], "Partner One");
    assert_eq!(process["dpv:hasPersonalData"][1]["dct:title"], "Pages \"visited\"");
    let event = &record["dpv:hasConsentStatus"][0];
    assert_eq!(event["@type"][0], "dpv:ConsentGiven");
    assert_eq!(event["dpv:isIndicatedAtTime"], saved["receipt"]["recorded_at"]);
    assert_eq!(event["dpv:hasDuration"]["rdf:value"]["@value"], "P90D");
    for (record, kind) in records[1..].iter().zip(["dpv:ConsentRefused", "dpv:ConsentWithdrawn"]) {
        assert_eq!(record["dpv:hasConsentStatus"][0]["@type"], json!([kind]));
        let asked = record["dpv:hasProcess"][0]["dpv:hasPurpose"].as_array().unwrap();
        assert_eq!(asked.len(), 2, "what was asked: {record}");
    }
}

#[tokio::test]
async fn a_record_that_lacks_something_claims_nothing_and_lists_it_in_words() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    app.recorded(&site.acceptance("v-1")).await;
    let record = app.records(&key, &site).await.remove(0);
    assert_eq!(record["dct:conformsTo"], Value::Null);
    let missing = json!([
        "the language of the notice: the choice does not say what was shown",
        "the kinds of personal data (personal_data)",
        "where they are stored (storage_places)",
        "how long they are kept (retention)",
        "under whose law (controller_jurisdiction)",
        "how the controller is reached (controller_contact)",
        "the controller's postal address (controller_address)",
    ]);
    assert_eq!(record["missing"], missing);
    let named = [
        "entity contact",
        "jurisdiction",
        "notice language",
        "personal data",
        "postal address",
        "postal address of its own",
        "retention",
        "schema version",
        "storage location",
    ];
    assert_eq!(lacking(&[record]), [named.map(str::to_owned).to_vec()]);

    // Sharing with nobody who is named, and a policy that is gone.
    let sharing =
        with(&with(&whole(), "data_sharing", json!(true)), "disclosed_parties", json!([]));
    app.configure(&key, &site.pixel_id, sharing).await.expect(200);
    app.recorded(&site.refusal("v-2", "declined")).await;
    let missing = app.records(&key, &site).await[1]["missing"].clone();
    assert_eq!(missing[1], "with whom they are shared (disclosed_parties)");
    sqlx::query("DELETE FROM consent_policies").execute(&app.pool).await.unwrap();
    for record in app.records(&key, &site).await {
        let gone = "the notice, and all that it said: the policy is not kept any more";
        assert_eq!((&record["missing"][1], &record["dpv:hasNotice"]), (&json!(gone), &Value::Null));
    }
}

#[tokio::test]
async fn records_of_days_and_of_nothing_are_documents_too_and_belong_to_the_owner() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    assert!(app.records(&key, &site).await.is_empty());
    app.recorded(&site.acceptance("v-1")).await;
    app.clock.advance(chrono::Duration::days(1));
    app.recorded(&site.acceptance("v-2")).await;
    let path = site.path("/export?format=dpv&from=2026-03-11&to=2026-03-11");
    let records = app.read(&key, &path).await.expect(200);
    assert_eq!(records["@graph"].as_array().unwrap().len(), 1);
    assert_eq!(records["@graph"][0]["dpv:hasDataSubject"]["dct:identifier"], "v-2");
    let other = app.account("other@example.com").await;
    app.read(&other.key, &path).await.refused(404, "pixel not found");
    let odd = app.read(&key, &site.path("/export?format=rdf")).await.expect(422);
    assert_eq!(odd["detail"][0]["loc"], json!(["query", "format"]));
    assert_eq!(odd["detail"][0]["msg"], "must be ndjson or dpv");
    let proved = app.read(&key, &site.path("/export?format=dpv&proofs=true")).await.expect(422);
    assert_eq!(proved["detail"][0]["loc"], json!(["query", "proofs"]));
}

#[tokio::test]
async fn thousands_of_records_come_in_order_from_many_pages() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    sqlx::query(
        "INSERT INTO consent_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature)
         SELECT $1, gen_random_uuid(), 'visitor-' || number, 'https://shop.example', 'accepted',
             CASE number % 40 WHEN 0 THEN $2 ELSE repeat(to_hex(number % 40), 64) END,
             '{resolution}', '2026-03-01T00:00:00Z', decode(repeat('ab', 32), 'hex')
         FROM generate_series(1, 1200) AS number",
    )
    .bind(&site.pixel_id)
    .bind(&site.policy_hash)
    .execute(&app.pool)
    .await
    .unwrap();
    let records = app.records(&key, &site).await;
    assert_eq!(records.len(), 1_200);
    for (record, number) in records.iter().zip(1..) {
        let visitor = format!("visitor-{number}");
        assert_eq!(record["dpv:hasDataSubject"]["dct:identifier"], visitor);
        assert_eq!(record["dpv:hasNotice"].is_array(), number % 40 == 0, "{visitor}");
    }
}

#[tokio::test]
async fn configured_details_for_records_are_in_the_notice_and_in_the_policy() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let plain = json!({"controller_name": "Shop Ltd", "purposes": ["resolution", "analytics"]});
    let before = app.configure(&key, &site.pixel_id, plain.clone()).await.expect(200);
    // The hash that this text had before there were such fields, when it was published with wording 2.
    let known = "9d4316d93679b783913ecf9bd20e2bf4ea9959d34adbe77c16a8f73ccd2ebb8b";
    assert_eq!(before["policy_hash"], known);
    for (field, empty) in [
        ("personal_data", json!([])),
        ("storage_places", json!([" "])),
        ("retention", json!("")),
        ("controller_address", Value::Null),
    ] {
        let same = with(&plain, field, empty);
        assert_eq!(app.configure(&key, &site.pixel_id, same).await.expect(200), before, "{field}");
    }
    let mut version = 1;
    for (field, value) in [
        ("personal_data", json!(["Email address"])),
        ("storage_places", json!(["Ireland"])),
        ("retention", json!("13 months")),
        ("controller_address", json!("1 Main Street")),
    ] {
        version += 1;
        let configured = with(&plain, field, value.clone());
        let configured = app.configure(&key, &site.pixel_id, configured).await.expect(200);
        assert_eq!(configured["policy_version"], version, "{field}");
        let path = site.path("/configuration");
        let now = app.call(Method::GET, &path, &key, Value::Null).await.expect(200);
        assert_eq!(now["versions"][0][field], value);
        let words = value.as_str().or(value[0].as_str()).unwrap();
        let page = app.get(&format!("/v1/policy/{}", site.pixel_id)).await.text;
        assert!(page.contains(words), "{field}");
        let hash = configured["policy_hash"].as_str().unwrap();
        let lines = app.export(&key, &site).await;
        assert!(
            lines
                .iter()
                .any(|line| line["policy_hash"] == hash
                    && line["policy"].to_string().contains(words))
        );
    }
}

#[tokio::test]
async fn configured_details_for_records_have_bounds() {
    let app = App::spawn().await;
    let (key, site) = shop(&app).await;
    let long = "x".repeat(501);
    for (field, value) in [
        ("personal_data", json!(["a\nb"])),
        ("personal_data", json!([long])),
        ("personal_data", json!(vec!["x"; 101])),
        ("personal_data", json!("Email address")),
        ("storage_places", json!(["a\u{7}"])),
        ("storage_places", json!(vec!["x"; 101])),
        ("retention", json!(long)),
        ("retention", json!(13)),
        ("controller_address", json!("a\r\nb")),
        ("controller_address", json!(["a"])),
    ] {
        let body = with(&whole(), field, value);
        let answer = app.configure(&key, &site.pixel_id, body).await;
        answer.refused(400, "invalid request");
        assert!(answer.text.contains(field), "{}", answer.text);
    }
}
