//! A long list of people to suppress, through the shipped proxy.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use reqwest::{Client, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::database::TestDatabase;
use crate::memory::{forget_peak, peak};
use crate::process::{Process, program, run};
use crate::proxy::{Proxy, client};

const PEOPLE: u32 = 200_000;

fn address(node: &Process) -> SocketAddr {
    format!("127.0.0.1:{}", node.port()).parse().unwrap()
}

async fn unlimited_key(database: &TestDatabase) -> String {
    let mut command = program(&database.url);
    command.args(["unlimited-key", "operator@example.com"]);
    String::from_utf8(run(command).await.stdout).unwrap().trim().to_owned()
}

/// Digests of invented addresses, as a CSV with a header and two columns.
fn list() -> String {
    let line = |number: u32| {
        let digest = Sha256::digest(format!("person-{number}@example.com"));
        format!("{number},{}\r\n", hex::encode(digest))
    };
    (0..PEOPLE).map(line).fold("ID,Hash\r\n".to_owned(), |list, line| list + &line)
}

async fn import(client: &Client, proxy: &Proxy, key: &str, list: String) -> reqwest::Response {
    let request = client.post(proxy.url("/v1/suppressions/import")).bearer_auth(key);
    request.header("Content-Type", "text/csv").body(list).send().await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_hundred_thousand_digests_are_imported_with_flat_memory_and_progress() {
    let database = TestDatabase::create().await;
    let node = Process::start(program(&database.url)).await;
    let proxy = Proxy::before(&[address(&node)]).await;
    let (client, key) = (client(), unlimited_key(&database).await);
    // Warm: pools and buffers are what a short list needs.
    let first = format!("ID,Hash\r\n0,{}\r\n", "0".repeat(64));
    assert_eq!(import(&client, &proxy, &key, first).await.status(), StatusCode::ACCEPTED);
    let list = list();
    let mib = list.len() >> 20;
    let watched = [vec![node.id()], proxy.workers()].concat();
    watched.iter().copied().for_each(forget_peak);
    let before = watched.iter().copied().map(peak).collect::<Vec<_>>();
    let began = Instant::now();
    let taken = import(&client, &proxy, &key, list).await;
    assert_eq!(taken.status(), StatusCode::ACCEPTED);
    let uploaded = began.elapsed();
    let id = taken.json::<Value>().await.unwrap()["import_id"].as_str().unwrap().to_owned();
    let path = proxy.url(&format!("/v1/suppressions/imports/{id}"));
    let mut seen = Vec::new();
    let done = loop {
        let answer = client.get(&path).bearer_auth(&key).send().await.unwrap();
        let now = answer.json::<Value>().await.unwrap();
        seen.push(now["read"].as_u64().unwrap());
        if now["status"] == "done" {
            break now;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    };
    let expected = json!({"import_id": id, "status": "done", "lines": PEOPLE, "read": PEOPLE,
        "added": PEOPLE, "erased": 0, "rejected": 0});
    assert_eq!(done, expected);
    assert!(seen.is_sorted());
    seen.dedup();
    assert!(seen.len() > 5, "its progress can be watched: {seen:?}");
    let whole = began.elapsed();
    for (id, before) in watched.into_iter().zip(before) {
        let grown = peak(id).saturating_sub(before);
        eprintln!("peak of {before} KiB grew by {grown} KiB");
        assert!(grown < 6_000, "{grown} KiB for a list of {mib} MiB");
    }
    eprintln!("{mib} MiB uploaded in {uploaded:?}, applied after {whole:?}");
}

#[tokio::test]
async fn a_list_without_a_key_or_that_is_too_long_is_refused_in_the_services_words() {
    let database = TestDatabase::create().await;
    let node = Process::start(program(&database.url)).await;
    let proxy = Proxy::before(&[address(&node)]).await;
    let (client, key) = (client(), unlimited_key(&database).await);
    let detail = async |answer: reqwest::Response| {
        let status = answer.status().as_u16();
        (status, answer.json::<Value>().await.unwrap()["detail"].clone())
    };
    for mib in [0, 15] {
        let foreign = import(&client, &proxy, "px_unknown", "0".repeat(mib << 20)).await;
        assert_eq!(detail(foreign).await, (403, json!("invalid api key")), "{mib} MiB");
    }
    for mib in [17, 21] {
        let long = import(&client, &proxy, &key, "0".repeat(mib << 20)).await;
        assert_eq!(detail(long).await, (413, json!("request body too large")), "{mib} MiB");
    }
}
