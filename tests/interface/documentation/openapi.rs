//! `/openapi.json` and `/docs`: what is described is what is mounted.

use std::collections::BTreeSet;
use std::process::Command;

use rocket::http::Method;
use serde_json::{Value, json};

use crate::support::App;

const SNAPSHOT: &str = "tests/snapshots/openapi.json";

/// Method and path with its parameters unnamed, so that `<pixel>` and `{pixel_id}` are the same.
fn shape(method: &str, path: &str) -> (String, String) {
    let segment = |segment: &str| {
        if segment.contains(['<', '{']) { "{}".to_owned() } else { segment.to_owned() }
    };
    (method.to_uppercase(), path.split('/').map(segment).collect::<Vec<_>>().join("/"))
}

fn mounted() -> BTreeSet<(String, String)> {
    assent::server::routes()
        .iter()
        // The answers to preflights say nothing that the routes beside them do not.
        .filter(|route| route.method != Method::Options)
        .map(|route| shape(route.method.as_str(), route.uri.path()))
        .collect()
}

fn described(document: &Value) -> BTreeSet<(String, String)> {
    let paths = document["paths"].as_object().expect("paths");
    paths
        .iter()
        .flat_map(|(path, item)| {
            item.as_object().expect("methods").keys().map(|method| shape(method, path))
        })
        .collect()
}

/// Method, path and description of every operation.
fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    let paths = document["paths"].as_object().expect("paths").iter();
    paths.flat_map(|(path, item)| {
        let methods = item.as_object().expect("methods").iter();
        methods.map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
    })
}

async fn document() -> Value {
    let app = App::spawn().await;
    let answer = app.get("/openapi.json").await;
    assert_eq!(answer.header("content-type"), Some("application/json"));
    assert_eq!(answer.header("access-control-allow-origin"), Some("*"));
    answer.expect(200)
}

#[tokio::test]
async fn every_mounted_route_is_described_and_every_described_route_is_mounted() {
    let (mounted, described) = (mounted(), described(&document().await));
    let undescribed = mounted.difference(&described).collect::<Vec<_>>();
    assert!(undescribed.is_empty(), "add to `descriptions()` in src/server.rs: {undescribed:?}");
    let missing = described.difference(&mounted).collect::<Vec<_>>();
    assert!(missing.is_empty(), "described, but not mounted: {missing:?}");
}

/// After a wanted change:
/// `UPDATE_SNAPSHOTS=1 scripts/with-postgres cargo test --test interface openapi::`.
#[tokio::test]
async fn the_description_changes_only_on_purpose() {
    let app = App::spawn().await;
    let document = app.get("/openapi.json").await.expect(200);
    let document = format!("{document:#}\n").replace(&app.base, "https://consent.example.com");
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(SNAPSHOT, &document).unwrap();
    }
    let pinned = std::fs::read_to_string(SNAPSHOT).unwrap_or_default();
    let first = pinned.lines().zip(document.lines()).find(|(pinned, now)| pinned != now);
    assert!(pinned == document, "{SNAPSHOT} says otherwise, first here: {first:?}");
}

#[tokio::test]
async fn it_is_version_1_of_an_openapi_3_1_document_in_which_every_operation_has_its_own_name() {
    let document = document().await;
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1."));
    assert_eq!(document["info"]["version"], "1.0.0");
    let operations = document["paths"].as_object().unwrap().values();
    let operations =
        operations.flat_map(|item| item.as_object().unwrap().values()).collect::<Vec<_>>();
    let names = operations.iter().map(|operation| operation["operationId"].as_str().unwrap());
    assert_eq!(names.collect::<BTreeSet<_>>().len(), operations.len());
    for operation in operations {
        assert!(operation["summary"].as_str().is_some_and(|text| !text.is_empty()), "{operation}");
    }
}

#[tokio::test]
async fn refusals_are_described_with_the_sentences_that_are_sent() {
    let document = document().await;
    let refusal = &document["paths"]["/v1/pixels"]["post"]["responses"]["409"];
    assert_eq!(
        refusal["description"],
        "Conflict: `domain already registered`, `a move is under way`"
    );
    let content = &refusal["content"]["application/problem+json"];
    assert_eq!(content["schema"]["$ref"], "#/components/schemas/Problem");
    let sent = &content["examples"]["domain_already_registered"]["value"]["detail"];
    assert_eq!(sent, "domain already registered");
    let unread = &document["paths"]["/v1/pixels"]["post"]["responses"]["422"]["content"];
    let schema = &unread["application/problem+json"]["schema"]["anyOf"];
    assert_eq!(schema[0]["$ref"], "#/components/schemas/ValidationProblem");
    assert_eq!(schema[1]["$ref"], "#/components/schemas/Problem", "a reused idempotency key");
    let detail = |name: &str| &document["components"]["schemas"][name]["properties"]["detail"];
    assert_eq!(
        (&detail("Problem")["type"], detail("Problem").get("enum")),
        (&json!("string"), None)
    );
    assert_eq!(detail("ValidationProblem")["type"], "array");
    let limited = &document["paths"]["/v1/signup/resend-code"]["post"]["responses"]["429"];
    assert!(limited["headers"]["Retry-After"].is_object(), "{limited}");
}

#[tokio::test]
async fn a_body_is_an_object_where_one_is_needed_and_nowhere_null() {
    let document = document().await;
    for (method, path, operation) in operations(&document) {
        let body = &operation["requestBody"];
        // The code that deletes an account must not stand in an address, which others log.
        let may_have_one = ["post", "patch", "put"].contains(&method)
            || (method, path) == ("delete", "/v1/account");
        assert!(body.is_null() || may_have_one, "{method} {path}: {body}");
        let json = &body["content"]["application/json"]["schema"];
        let is_object = json["$ref"].is_string() || json["type"] == "object";
        assert!(json.is_null() || is_object, "{method} {path}: {json}");
    }
    assert!(document["paths"]["/v1/pixels/{pixel_id}/check"]["post"].get("requestBody").is_none());
}

#[tokio::test]
async fn every_operation_describes_its_credentials() {
    let document = document().await;
    for (method, path, operation) in operations(&document) {
        assert!(operation["security"].is_array(), "{method} {path}");
    }
    assert_eq!(document["paths"]["/v1/plans"]["get"]["security"], json!([]));
    assert_eq!(document["paths"]["/v1/consent/check"]["get"]["security"], json!([]));
    assert_eq!(document["paths"]["/v1/whoami"]["get"]["security"][0], json!({"api_key": []}));
}

/// `openapi-spec-validator` is a reading of the specification that is not ours.
#[tokio::test]
async fn a_validator_accepts_the_document() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openapi.json");
    std::fs::write(&file, document().await.to_string()).unwrap();
    let run = Command::new(python()).args(["-m", "openapi_spec_validator"]).arg(&file).output();
    let run = run.expect("Python is there");
    let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
}

#[tokio::test]
async fn the_older_form_is_a_valid_openapi_3_0_document_with_the_same_operations() {
    let app = App::spawn().await;
    let older = app.get("/openapi-3.0.json").await;
    assert_eq!(older.header("access-control-allow-origin"), Some("*"));
    let (older, newer) = (older.expect(200), app.get("/openapi.json").await.expect(200));
    assert_eq!(older["openapi"], "3.0.3");
    assert_eq!(described(&older), described(&newer));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("openapi.json");
    std::fs::write(&file, older.to_string()).unwrap();
    let run = Command::new(python()).args(["-m", "openapi_spec_validator"]).arg(&file).output();
    let run = run.expect("Python is there");
    let said = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success(), "{said}");
}

#[tokio::test]
async fn the_server_is_named_by_its_own_address() {
    let app = App::spawn().await;
    let document = app.get("/openapi.json").await;
    assert_eq!(document.json()["servers"], json!([{"url": app.base}]));
    assert!(!document.text.contains("stand-in"), "a placeholder is left");
    let configured = App::spawn_with(&[("BASE_URL", "https://consent.shop.example")]).await;
    for path in ["/openapi.json", "/openapi-3.0.json"] {
        let document = configured.get(path).await.expect(200);
        assert_eq!(document["servers"], json!([{"url": "https://consent.shop.example"}]));
    }
}

#[tokio::test]
async fn a_tag_selects_operations_with_all_that_they_refer_to() {
    let app = App::spawn().await;
    let document = app.get("/openapi.json").await.expect(200);
    let mut parts = BTreeSet::new();
    for tag in document["tags"].as_array().unwrap() {
        let name = tag["name"].as_str().unwrap();
        let part = app.get(&format!("/openapi.json?tag={name}")).await;
        assert!(part.text.len() < 200_000, "{name}: {}", part.text.len());
        let part = part.expect(200);
        let text = part.to_string();
        for reference in text.split("#/components/schemas/").skip(1) {
            let schema = reference.split('"').next().unwrap();
            assert!(part["components"]["schemas"][schema].is_object(), "{name}: {schema}");
        }
        assert!(operations(&part).all(|(_, _, operation)| operation["tags"][0] == name));
        parts.extend(described(&part));
    }
    assert_eq!(parts, described(&document));
    app.get("/openapi.json?tag=webhook").await.invalid(&["query", "tag"]);
}

fn python() -> String {
    std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned())
}

#[tokio::test]
async fn the_page_names_every_operation_and_loads_nothing_from_elsewhere() {
    let app = App::spawn().await;
    let page = app.get("/docs/reference").await;
    assert_eq!(page.status, 200);
    let document = app.get("/openapi.json").await.expect(200);
    for (path, item) in document["paths"].as_object().unwrap() {
        for operation in item.as_object().unwrap().values() {
            let anchor = format!("id=\"{}\"", operation["operationId"].as_str().unwrap());
            assert!(page.text.contains(&anchor), "{path}: {anchor}");
        }
    }
    assert!(page.text.contains("installed pixel cannot be renamed"));
    for loading in ["src=\"http", "href=\"http://fonts", "@import", "style=\""] {
        assert!(!page.text.contains(loading), "{loading}");
    }
}
