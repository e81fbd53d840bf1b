//! A choice under a test id is in one table, and no route or tool finds it under the pixel's own id.

use reqwest::Method;
use serde_json::{Value, json};

use super::test_pixels::{VISITOR, hooks, tables_with, test_id, test_receipts};
use crate::support::story::Site;
use crate::support::{Account, Answer, App, tools};

#[tokio::test]
async fn a_test_choice_is_in_one_table_whatever_else_happens_to_choices() {
    let (hooks, tested) = hooks().await;
    let app = &hooks.app;
    app.some_rounds().await;
    let receipt_id = tested["receipt_id"].as_str().unwrap();
    assert_eq!(tables_with(app, &[VISITOR, receipt_id]).await, ["test_receipts"]);
    assert_eq!(test_receipts(app).await, 2);
    // One leaf and one event: those of the real choice.
    let leaves = sqlx::query_scalar::<_, String>("SELECT pixel_id FROM log_leaves");
    assert_eq!(leaves.fetch_all(&app.pool).await.unwrap(), [&*hooks.shop.pixel_id]);
    assert_eq!(hooks.sent("hooks.example/a").len(), 1);
}

/// Ids that a reader may be given: of a test choice, or of nobody.
struct Asked<'a> {
    visitor_id: &'a str,
    receipt_id: &'a str,
}

const NOBODY: Asked<'_> =
    Asked { visitor_id: "visitor-of-no-test", receipt_id: "018f5a3c-0000-7000-8000-000000000000" };

impl Asked<'_> {
    fn is_in(&self, text: &str) -> bool {
        text.contains(self.visitor_id) || text.contains(self.receipt_id)
    }

    /// The text as it would be about nobody.
    fn hidden_in(&self, text: &str) -> String {
        text.replace(self.visitor_id, NOBODY.visitor_id).replace(self.receipt_id, NOBODY.receipt_id)
    }
}

/// Fails if an answer has an id of the test choice, unless it only repeats what was asked: the same
/// question about nobody then has the same answer.
async fn is_silent(
    what: &str,
    asked: &Asked<'_>,
    answer: &Answer,
    nobody: impl Future<Output = Answer>,
) {
    if asked.is_in(&answer.text) {
        let nobody = nobody.await;
        assert_eq!(answer.status, nobody.status, "{what}");
        assert_eq!(asked.hidden_in(&answer.lasting_text()), nobody.lasting_text(), "{what}");
    }
}

/// The addresses of all `GET` routes, with values in place of their parameters.
async fn readers(app: &App, ann: &Account, site: &Site, asked: &Asked<'_>) -> Vec<String> {
    let described = app.get("/openapi.json").await.json();
    let paths = described["paths"].as_object().unwrap();
    let Asked { visitor_id, receipt_id } = asked;
    let mut addresses = Vec::new();
    for (path, operations) in paths {
        // Files of the log are named by numbers, and the links of mails are used once.
        let is_read = operations.get("get").is_some();
        if !is_read || path.starts_with("/log/") || path.starts_with("/v1/email/") {
            continue;
        }
        let path = path
            .replace("{pixel_id}", &site.pixel_id)
            .replace("{pixel}", &site.pixel_id)
            .replace("{account_id}", &ann.account_id)
            .replace("{visitor_id}", visitor_id)
            .replace("{action}", "viewed_product");
        let query = format!(
            "pixel_id={}&visitor_id={visitor_id}&receipt_id={receipt_id}&after=0",
            site.pixel_id
        );
        addresses.push(path.clone());
        addresses.push(format!("{path}?{query}"));
        addresses.push(format!("{path}?format=dpv"));
        addresses.push(format!("{path}?format=csv"));
    }
    assert!(addresses.len() > 200, "the routes were found");
    addresses
}

#[tokio::test]
async fn no_route_reads_a_test_choice_under_the_pixels_own_id() {
    let (hooks, tested) = hooks().await;
    let (app, ann, site) = (&hooks.app, &hooks.ann, &hooks.shop);
    let receipt_id = tested["receipt_id"].as_str().unwrap();
    let asked = Asked { visitor_id: VISITOR, receipt_id };
    let of_test = readers(app, ann, site, &asked).await;
    for (address, about_nobody) in of_test.iter().zip(readers(app, ann, site, &NOBODY).await) {
        let get = async |address: &str| app.call(Method::GET, address, &ann.key, Value::Null).await;
        is_silent(address, &asked, &get(address).await, get(&about_nobody)).await;
    }
    // What is read with a body.
    let receipts = |asked: &Asked<'_>| {
        [
            (
                "/v1/consent/history",
                json!({"pixel_id": site.pixel_id, "visitor_id": asked.visitor_id}),
            ),
            (
                "/v1/consent/erasure-requests/history",
                json!({"pixel_id": site.pixel_id, "visitor_id": asked.visitor_id}),
            ),
        ]
    };
    for ((path, body), (_, about_nobody)) in receipts(&asked).into_iter().zip(receipts(&NOBODY)) {
        let answer = app.post(path, body).await;
        is_silent(path, &asked, &answer, app.post(path, about_nobody)).await;
    }
}

#[tokio::test]
async fn no_tool_reads_a_test_choice_under_the_pixels_own_id() {
    let (hooks, tested) = hooks().await;
    let (app, ann, site) = (&hooks.app, &hooks.ann, &hooks.shop);
    let receipt_id = tested["receipt_id"].as_str().unwrap();
    let asked = Asked { visitor_id: VISITOR, receipt_id };
    let mut called = 0;
    for tool in tools::list(app, "/mcp/x/all", Some(&ann.key)).await {
        if tool["annotations"]["readOnlyHint"] != true {
            continue;
        }
        let name = tool["name"].as_str().unwrap();
        let known = tool["inputSchema"]["properties"].as_object().cloned().unwrap_or_default();
        let call = async |asked: &Asked<'_>| {
            let values = [
                ("pixel_id", json!(site.pixel_id)),
                ("account_id", json!(ann.account_id)),
                ("visitor_id", json!(asked.visitor_id)),
                ("receipt_id", json!(asked.receipt_id)),
            ];
            let given = values.into_iter().filter(|(name, _)| known.contains_key(*name));
            let arguments = given.map(|(name, value)| (name.to_owned(), value)).collect::<Value>();
            let message = json!({"name": name, "arguments": arguments});
            let request = tools::post_to(app, "/mcp/x/all").bearer_auth(&ann.key);
            Answer::of(request.json(&tools::message("tools/call", message))).await
        };
        is_silent(name, &asked, &call(&asked).await, call(&NOBODY)).await;
        called += 1;
    }
    assert!(called > 20, "the tools were found: {called}");
}

#[tokio::test]
async fn logs_counts_exports_and_proofs_contain_the_real_choice_alone() {
    let (hooks, tested) = hooks().await;
    let (app, ann, site) = (&hooks.app, &hooks.ann, &hooks.shop);
    let base = format!("/v1/pixels/{}", site.pixel_id);
    let read = async |path: &str| app.read(&ann.key, path).await;
    assert_eq!(app.log(&ann.key, &site.pixel_id).await.len(), 1);
    assert_eq!(app.export(&ann.key, site).await.len(), 2, "the choice, and its policy");
    let stats = read(&format!("{base}/consent/stats")).await.expect(200);
    assert_eq!(
        (&stats["totals"]["accepted"], &stats["totals"]["declined"]),
        (&json!(1), &json!(0))
    );
    let table = read(&format!("{base}/consent?format=csv")).await;
    assert!(!table.text.contains(VISITOR), "{}", table.text);
    let whole = read("/v1/account/export").await;
    assert!(whole.text.contains("real-visitor") && !whole.text.contains(VISITOR));
    assert!(!whole.text.contains("http://localhost:3000"), "{}", whole.text);
    // The log of the test id is nobody's.
    for rest in ["", "/consent", "/consent/stats", "/consent/export", "/contacts?after=0"] {
        let path = format!("/v1/pixels/{}{rest}", test_id(site));
        app.call(Method::GET, &path, &ann.key, Value::Null).await.refused(404, "pixel not found");
    }
    let proof = format!(
        "/v1/consent/proof?pixel_id={}&visitor_id={VISITOR}&receipt_id={}",
        test_id(site),
        tested["receipt_id"].as_str().unwrap()
    );
    assert_eq!(app.get(&proof).await.status, 404);
    // A popup that is shown under the test id is not counted.
    let shown =
        json!({"pixel_id": test_id(site), "visitor_id": VISITOR, "url": "http://localhost/"});
    assert_eq!(app.post("/v1/consent/shown", shown).await.status, 204);
    assert_eq!(tables_with(app, &[VISITOR]).await, ["test_receipts"]);
}
