//! Restores of an old backup in every documented deployment: the service never serves two different logs
//! under one name.

use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Client;
use sqlx::query;

use crate::database::TestDatabase;
use crate::process::{Process, program};
use crate::proxy::client;
use crate::public_log::{LOG_KEY, PUBLISH_MANY, Served};
use crate::restore::{lose, succeeds};

/// A service on its own database, whose nodes use these state files.
struct Service {
    database: TestDatabase,
    files: Vec<PathBuf>,
    folder: tempfile::TempDir,
    client: Client,
    served: Served,
}

impl Service {
    async fn with_files(names: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        Self {
            database: TestDatabase::create().await,
            files: names.iter().map(|name| folder.path().join(name)).collect(),
            folder,
            client: client(),
            served: Served::default(),
        }
    }

    async fn node(&self, file: &Path, number: &str) -> Process {
        let mut command = program(&self.database.url);
        command.env(LOG_KEY.0, LOG_KEY.1).env("LOG_STATE", file).env("LOG_NUMBER", number);
        Process::start(command).await
    }

    /// Starts one node per file.
    async fn nodes(&self, number: &str) -> Vec<Process> {
        let mut nodes = Vec::new();
        for file in &self.files {
            nodes.push(self.node(file, number).await);
        }
        nodes
    }

    async fn publish(&self, first: i32, count: i32) {
        let publishing = query(PUBLISH_MANY).bind(first).bind(count);
        publishing.execute(&self.database.pool()).await.unwrap();
    }

    /// Reads what the nodes serve until each serves this number of entries.
    async fn served_by_all(&mut self, nodes: &[Process], entries: usize) {
        for _ in 0..300 {
            let mut shortest = usize::MAX;
            for node in nodes {
                shortest = shortest.min(self.served.read(&self.client, &node.base).await);
            }
            if shortest >= entries {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the log stays short: {}", nodes.iter().map(Process::log).collect::<String>());
    }

    /// Reads what the nodes serve while their log job runs several times.
    async fn served_for_a_while(&mut self, nodes: &[Process]) {
        for _ in 0..45 {
            for node in nodes {
                self.served.read(&self.client, &node.base).await;
            }
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
    }

    fn dump(&self) -> String {
        let dump = self.folder.path().join("assent.dump").to_str().unwrap().to_owned();
        let from = ["--format=custom", "--file", &dump, "--dbname", &self.database.url];
        succeeds("pg_dump", &from);
        dump
    }

    async fn restore(&self, dump: &str) {
        lose(&self.database).await;
        let to = ["--exit-on-error", "--no-owner", "--dbname", &self.database.url, dump];
        succeeds("pg_restore", &to);
    }
}

/// Takes a dump, lets the log grow, kills the nodes, and restores the dump.
async fn restored(service: &mut Service) {
    service.publish(0, 20).await;
    let nodes = service.nodes("1").await;
    service.served_by_all(&nodes, 20).await;
    let dump = service.dump();
    service.publish(1_000, 20).await;
    service.served_by_all(&nodes, 40).await;
    drop(nodes);
    service.restore(&dump).await;
    service.publish(2_000, 60).await;
}

/// Nothing is appended under the old name; under the next name the log continues.
async fn continues_under_another_name(service: &mut Service) {
    let nodes = service.nodes("1").await;
    service.served_for_a_while(&nodes).await;
    for node in &nodes {
        let log = node.log();
        assert!(log.contains("nothing is added to the log: the database has "), "{log}");
        let health = service.client.get(node.url("/healthz")).send().await.unwrap();
        assert_eq!(health.text().await.unwrap(), r#"{"ok":true,"log":"paused"}"#);
    }
    drop(nodes);
    let nodes = service.nodes("2").await;
    service.served_by_all(&nodes, 80).await;
    let entries = &service.served.longest("/log/2").entries;
    let is_continuation = |entry: &String| entry.starts_with("assent/continuation/v1\n");
    assert!(entries.iter().any(is_continuation));
    service.served.has_no_fork();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_with_a_file_beside_an_external_database() {
    let mut service = Service::with_files(&["log-checkpoint"]).await;
    restored(&mut service).await;
    continues_under_another_name(&mut service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_that_share_a_volume_as_in_compose() {
    let mut service = Service::with_files(&["log-checkpoint", "log-checkpoint"]).await;
    restored(&mut service).await;
    continues_under_another_name(&mut service).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_nodes_on_two_machines() {
    let mut service = Service::with_files(&["one", "two"]).await;
    restored(&mut service).await;
    continues_under_another_name(&mut service).await;
}

/// The node that signed last does not return, and the other one was down when it signed.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_down_when_the_last_entries_were_signed() {
    let mut service = Service::with_files(&["one", "two"]).await;
    service.publish(0, 20).await;
    let mut nodes = service.nodes("1").await;
    service.served_by_all(&nodes, 20).await;
    nodes.pop();
    service.publish(1_000, 20).await;
    service.served_by_all(&nodes, 40).await;
    let dump = service.dump();
    service.publish(2_000, 20).await;
    service.served_by_all(&nodes, 60).await;
    drop(nodes);
    service.restore(&dump).await;
    service.publish(3_000, 60).await;
    let (first, second) = (service.files[0].clone(), service.files[1].clone());
    let away = service.node(&second, "1").await;
    service.served_for_a_while(std::slice::from_ref(&away)).await;
    assert!(away.log().contains("no node that runs has that file"), "{}", away.log());
    // With the other node running, both know that entries are missing.
    let nodes = [away, service.node(&first, "1").await];
    service.served_for_a_while(&nodes).await;
    for node in &nodes {
        assert!(node.log().contains("the database has "), "{}", node.log());
    }
    service.served.has_no_fork();
    assert!(service.served.longest("/log").size() < 80);
}

/// A volume that was lost together with the database.
#[tokio::test(flavor = "multi_thread")]
async fn a_dump_on_a_new_machine_without_a_state_file() {
    let mut service = Service::with_files(&["log-checkpoint"]).await;
    restored(&mut service).await;
    service.files = vec![service.folder.path().join("new")];
    let nodes = service.nodes("1").await;
    service.served_for_a_while(&nodes).await;
    assert!(nodes[0].log().contains("this node knows of 0"), "{}", nodes[0].log());
    drop(nodes);
    let nodes = service.nodes("2").await;
    service.served_by_all(&nodes, 80).await;
    service.served.has_no_fork();
}

#[tokio::test(flavor = "multi_thread")]
async fn the_newer_database_is_restored() {
    let mut service = Service::with_files(&["log-checkpoint"]).await;
    service.publish(0, 20).await;
    let nodes = service.nodes("1").await;
    service.served_by_all(&nodes, 20).await;
    let old = service.dump();
    let kept = service.folder.path().join("old.dump");
    std::fs::rename(&old, &kept).unwrap();
    service.publish(1_000, 20).await;
    service.served_by_all(&nodes, 40).await;
    drop(nodes);
    let new = service.dump();
    service.restore(kept.to_str().unwrap()).await;
    let nodes = service.nodes("1").await;
    service.served_for_a_while(&nodes).await;
    assert!(nodes[0].log().contains("nothing is added to the log"), "{}", nodes[0].log());
    drop(nodes);
    service.restore(&new).await;
    service.publish(2_000, 20).await;
    let nodes = service.nodes("1").await;
    service.served_by_all(&nodes, 60).await;
    assert!(!nodes[0].log().contains("nothing is added to the log"), "{}", nodes[0].log());
    service.served.has_no_fork();
}
