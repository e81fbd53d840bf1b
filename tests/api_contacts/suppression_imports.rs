//! Lists of people to suppress: taken while they come, applied afterwards, whatever happens.

use std::time::Duration;

use futures_util::stream;
use nix::sys::signal::Signal;
use reqwest::{Body, Method};
use serde_json::{Value, json};

use crate::support::contacts::{hem, insert_contacts};
use crate::support::process::program;
use crate::support::server::client;
use crate::support::waiting::wait_until;
use crate::support::{Answer, App, Process};

const PATH: &str = "/v1/suppressions/import";

async fn import(app: &App, key: &str, list: impl Into<Body>) -> Answer {
    let request = app.request(Method::POST, PATH).bearer_auth(key);
    Answer::of(request.header("Content-Type", "text/csv").body(list)).await
}

async fn imported(app: &App, key: &str, list: impl Into<Body>) -> String {
    let taken = import(app, key, list).await.expect(202);
    taken["import_id"].as_str().expect("an id").to_owned()
}

async fn status(app: &App, key: &str, import_id: &str) -> Answer {
    let path = format!("/v1/suppressions/imports/{import_id}");
    app.call(Method::GET, &path, key, Value::Null).await
}

/// Waits until an import is done, and gives its counts.
async fn done(app: &App, key: &str, import_id: &str) -> Value {
    for _ in 0..600 {
        let now = status(app, key, import_id).await.expect(200);
        if now["status"] == "done" {
            return now;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("the import does not end");
}

/// A list of the people with these numbers.
fn list(numbers: std::ops::Range<usize>) -> String {
    numbers.map(|number| hem(number) + "\n").collect()
}

async fn count(app: &App, table: &str) -> i64 {
    let count = format!("SELECT count(*) FROM {table}");
    sqlx::query_scalar(sqlx::AssertSqlSafe(count)).fetch_one(&app.pool).await.unwrap()
}

#[tokio::test]
async fn a_list_like_californias_is_applied_and_counted() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let ben = app.account("ben@example.com").await;
    let foreign = app.pixel(&ben.key, "ben.example").await;
    app.store_people(&ann.key, &pixel, 1..4).await.expect(200);
    app.store_people(&ben.key, &foreign, 1..4).await.expect(200);
    let path = format!("/v1/suppressions/{}", hem(2));
    app.call(Method::PUT, &path, &ann.key, Value::Null).await;
    // hem(1) in base64, with its padding and without, and hem(2) and hem(9) in hex.
    let one = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE";
    let list = format!(
        "ID,Hash,Note\r\nw-1,{one}=,x\r\nw-2,{one},\r\nw-3,\"{}\",\"a, b\"\r\nw-4,,\r\nw-5,{}",
        hem(2).to_uppercase(),
        hem(9)
    );
    let id = imported(&app, &ann.key, list).await;
    let expected = json!({"import_id": id, "status": "done", "lines": 5, "read": 5, "added": 2,
        "erased": 1, "rejected": 1});
    assert_eq!(done(&app, &ann.key, &id).await, expected);
    assert_eq!(app.all_contacts(&ann.key, &pixel).await.len(), 1);
    assert_eq!(app.all_contacts(&ben.key, &foreign).await.len(), 3);
    let stored = app.store_people(&ann.key, &pixel, 1..4).await.expect(200);
    let refused = |index: usize| json!({"index": index, "reason": "suppressed"});
    assert_eq!(stored["refused"], json!([refused(0), refused(1)]));
    let listed = app.call(Method::GET, "/v1/suppressions", &ann.key, Value::Null).await.expect(200);
    let sources = listed["suppressions"].as_array().unwrap();
    let sources = sources.iter().map(|entry| &entry["source"]).collect::<Vec<_>>();
    assert_eq!(sources, ["import", "owner", "import"]);
    assert_eq!(count(&app, "suppression_chunks").await, 0, "what was applied is not kept");
}

#[tokio::test]
async fn a_list_of_nobody_is_done_at_once() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    // A single line may be a header or not; this cannot be known.
    for (list, rejected) in [("ID,Hash\n", 1), ("ID,Hash\n1,none\n", 1)] {
        let id = imported(&app, &ann.key, list).await;
        let status = done(&app, &ann.key, &id).await;
        assert_eq!((&status["read"], &status["added"]), (&json!(rejected), &json!(0)));
        assert_eq!(status["rejected"], rejected);
    }
}

#[tokio::test]
async fn an_import_without_a_list_is_refused() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    import(&app, &ann.key, "").await.refused(400, "invalid request");
    let request = app.request(Method::POST, PATH).bearer_auth(&ann.key);
    let refused = Answer::of(request).await;
    refused.refused(400, "invalid request");
    assert_eq!(refused.json()["errors"][0]["msg"], "must be a list of hashes");
    assert_eq!(count(&app, "suppression_imports").await, 0);
}

#[tokio::test]
async fn a_list_in_an_unknown_format_never_looks_empty() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    let (one, two) = (hem(1), hem(2));
    let utf_16 = one.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    for list in [
        format!("sha256:{one}").into_bytes(),
        format!("'{one}'").into_bytes(),
        format!("1|{one}").into_bytes(),
        format!("1 {one}").into_bytes(),
        format!("0x{one}").into_bytes(),
        format!("[\"{one}\",\"{two}\"]").into_bytes(),
        format!("{{\"hems\":[\"{one}\"]}}\r\n").into_bytes(),
        format!("{one} {two}\r").into_bytes(),
        one.as_bytes().chunks(2).map(|pair| [pair, b":"].concat()).collect::<Vec<_>>().concat(),
        utf_16,
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03\x33\x30\x34".to_vec(),
        b"hash".to_vec(),
    ] {
        let id = imported(&app, &ann.key, list.clone()).await;
        let status = done(&app, &ann.key, &id).await;
        let (lines, rejected) = (status["lines"].as_i64(), status["rejected"].as_i64());
        assert!(rejected >= Some(1) && rejected == lines, "{list:?}: {status}");
        assert_eq!((&status["added"], &status["read"]), (&json!(0), &status["lines"]), "{list:?}");
    }
    // With a byte order mark such lists are decoded.
    let marked = format!("\u{feff}Hash\tNote\r\n{one}\tx\r\n\"{two}\",,\r\n");
    let marked = marked.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    let id = imported(&app, &ann.key, marked).await;
    let status = done(&app, &ann.key, &id).await;
    assert_eq!(
        (&status["lines"], &status["added"], &status["rejected"]),
        (&json!(2), &json!(2), &json!(0))
    );
}

#[tokio::test]
async fn an_import_is_its_accounts_alone() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    let ben = app.account("ben@example.com").await;
    let id = imported(&app, &ann.key, list(1..3)).await;
    done(&app, &ann.key, &id).await;
    status(&app, &ben.key, &id).await.refused(404, "import not found");
    for unknown in ["x", "00000000-0000-7000-8000-000000000000"] {
        status(&app, &ann.key, unknown).await.refused(404, "import not found");
    }
    let without = app.request(Method::POST, PATH).body(list(1..3));
    Answer::of(without).await.refused(401, "api key required");
    import(&app, "px_unknown", list(1..3)).await.refused(403, "invalid api key");
}

#[tokio::test]
async fn a_list_has_at_most_16_mib_whether_it_says_so_or_not() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    let line = hem(1) + "\n";
    let mut longest = line.repeat((16 << 20) / line.len());
    longest.push_str(&" ".repeat((16 << 20) - longest.len()));
    let piece = |text: String| Ok::<_, std::io::Error>(text);
    let streamed = |list: String| Body::wrap_stream(stream::iter([piece(list)]));
    let id = imported(&app, &ann.key, streamed(longest.clone())).await;
    let status = done(&app, &ann.key, &id).await;
    assert_eq!((&status["added"], status["read"].as_u64()), (&json!(1), Some(258_111)));
    longest.push(' ');
    for list in [Body::from(longest.clone()), streamed(longest)] {
        import(&app, &ann.key, list).await.refused(413, "request body too large");
    }
    assert_eq!(count(&app, "suppression_imports").await, 1, "nothing is left of the others");
}

#[tokio::test]
async fn an_upload_that_breaks_off_leaves_nothing() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    let pieces = [Ok(list(0..3_000)), Err(std::io::Error::other("gone"))];
    let body = Body::wrap_stream(stream::iter(pieces));
    let request = app.request(Method::POST, PATH).bearer_auth(&ann.key).body(body);
    assert!(request.send().await.is_err());
    let is_gone = async || count(&app, "suppression_imports").await == 0;
    wait_until("the import is gone", is_gone).await;
    assert_eq!(count(&app, "suppression_imports").await, 0);
    assert_eq!(count(&app, "suppressions").await, 0);
}

#[tokio::test]
async fn an_account_has_at_most_five_imports_under_way() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    let ben = app.account("ben@example.com").await;
    sqlx::query(
        "INSERT INTO suppression_imports (import_id, account_id, status, created_at)
         SELECT gen_random_uuid(), $1, 'uploading', $2 FROM generate_series(1, 5)",
    )
    .bind(&ann.account_id)
    .bind(app.clock.now())
    .execute(&app.pool)
    .await
    .unwrap();
    import(&app, &ann.key, list(1..2)).await.refused(403, "import allowance reached");
    import(&app, &ben.key, list(1..2)).await.expect(202);
    // Uploads that have not ended by then are given up.
    app.clock.advance(chrono::Duration::minutes(10));
    import(&app, &ann.key, list(1..2)).await.expect(202);
}

#[tokio::test]
async fn a_long_list_lets_those_of_others_come_between() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    let ben = app.account("ben@example.com").await;
    // Nobody applies anything before both lists are there.
    let mut others = app.pool.begin().await.unwrap();
    let turn = "SELECT pg_advisory_xact_lock(x'0a55e1171157'::bigint)";
    sqlx::query(turn).execute(&mut *others).await.unwrap();
    let long = imported(&app, &ann.key, list(0..12_000)).await;
    let short = imported(&app, &ben.key, list(0..10)).await;
    others.rollback().await.unwrap();
    for (key, id) in [(&ben.key, &short), (&ann.key, &long)] {
        done(&app, key, id).await;
    }
    // The short one takes three steps, the long one 25.
    let last = "SELECT (SELECT turn FROM suppression_imports WHERE import_id::text = $1)
        - (SELECT turn FROM suppression_imports WHERE import_id::text = $2)";
    let apart = sqlx::query_scalar::<_, i64>(last).bind(&long).bind(&short);
    let apart = apart.fetch_one(&app.pool).await.unwrap();
    assert!(apart > 15, "the short list was done {apart} steps before the long one");
}

#[tokio::test]
async fn a_list_that_fails_holds_up_no_other_and_is_tried_again() {
    let app = App::spawn().await;
    let (ann, pixel) = app.shop().await;
    let ben = app.account("ben@example.com").await;
    app.store_people(&ann.key, &pixel, 1..4).await.expect(200);
    let broken = format!(
        "ALTER TABLE suppressions ADD CONSTRAINT broken CHECK (account_id <> '{}')",
        ann.account_id
    );
    sqlx::query(sqlx::AssertSqlSafe(broken)).execute(&app.pool).await.unwrap();
    let failing = imported(&app, &ann.key, list(1..3)).await;
    let next = imported(&app, &ben.key, list(1..3)).await;
    assert_eq!(done(&app, &ben.key, &next).await["added"], 2);
    assert_eq!(status(&app, &ann.key, &failing).await.expect(200)["status"], "waiting");
    let mended = "ALTER TABLE suppressions DROP CONSTRAINT broken";
    sqlx::query(mended).execute(&app.pool).await.unwrap();
    app.clock.advance(chrono::Duration::minutes(1));
    let applied = done(&app, &ann.key, &failing).await;
    assert_eq!((&applied["added"], &applied["erased"]), (&json!(2), &json!(2)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn stores_beside_an_import_bring_nobody_back() {
    let app = App::spawn().await;
    let owner = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&owner.key, "operator.example").await;
    let id = imported(&app, &owner.key, list(0..20_000)).await;
    let storing = async {
        let (mut first, mut taken) = (0, 0);
        while status(&app, &owner.key, &id).await.expect(200)["status"] != "done" {
            let people = first..first + 500;
            taken += app.store_people(&owner.key, &pixel, people).await.expect(200)["stored"]
                .as_u64()
                .unwrap();
            first = (first + 3_500) % 20_000;
        }
        taken
    };
    let taken = storing.await;
    let status = status(&app, &owner.key, &id).await.expect(200);
    assert_eq!((&status["added"], &status["read"]), (&json!(20_000), &json!(20_000)));
    assert_eq!(status["erased"].as_u64(), Some(taken), "all that was stored was erased again");
    assert!(app.all_contacts(&owner.key, &pixel).await.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_import_survives_the_kills_of_its_nodes_and_counts_everybody_once() {
    let app = App::spawn().await;
    let owner = app.unlimited_account("operator@example.com").await;
    let pixel = app.pixel(&owner.key, "operator.example").await;
    insert_contacts(&app.pool, &pixel, 30_000, 10).await;
    let hems: Vec<Vec<u8>> =
        sqlx::query_scalar("SELECT hem FROM contacts").fetch_all(&app.pool).await.unwrap();
    let list = hems.iter().map(|hem| hex::encode(hem) + "\n").collect::<String>();
    // Applied by the processes alone: the test's own node is gone.
    let (key, pool, url) = (owner.key.clone(), app.pool.clone(), app.database.url.clone());
    let id = imported(&app, &key, list).await;
    let database = app.database.clone();
    drop(app);
    let read = async || -> i64 {
        let read = sqlx::query_scalar("SELECT read FROM suppression_imports");
        read.fetch_one(&pool).await.unwrap()
    };
    for _ in 0..3 {
        let before = read().await;
        let mut nodes = [Process::start(program(&url)).await, Process::start(program(&url)).await];
        while read().await < (before + 2_000).min(30_000) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for node in &mut nodes {
            node.send(Signal::SIGKILL);
            node.exit_code().await;
        }
    }
    let node = Process::start(program(&url)).await;
    let path = node.url(&format!("/v1/suppressions/imports/{id}"));
    let client = client();
    let status = async || client.get(&path).bearer_auth(&key).send().await.unwrap();
    let status = async || status().await.json::<Value>().await.unwrap();
    let mut now = status().await;
    while now["status"] != "done" {
        tokio::time::sleep(Duration::from_millis(50)).await;
        now = status().await;
    }
    let expected = json!({"import_id": id, "status": "done", "lines": 30_000, "read": 30_000,
        "added": 30_000, "erased": 30_000, "rejected": 0});
    assert_eq!(now, expected);
    let left: i64 =
        sqlx::query_scalar("SELECT count(*) FROM contacts").fetch_one(&pool).await.unwrap();
    assert_eq!(left, 0);
    drop(database);
}

#[tokio::test]
async fn imports_are_forgotten_after_thirty_days() {
    let app = App::spawn().await;
    let (ann, _) = app.shop().await;
    let id = imported(&app, &ann.key, list(1..3)).await;
    done(&app, &ann.key, &id).await;
    app.clock.advance(chrono::Duration::days(30) + chrono::Duration::seconds(1));
    let is_gone = async || count(&app, "suppression_imports").await == 0;
    wait_until("the import is gone", is_gone).await;
    status(&app, &ann.key, &id).await.refused(404, "import not found");
    assert_eq!(count(&app, "suppressions").await, 2, "the people stay refused");
}
