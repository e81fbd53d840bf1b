//! A program for audits, by people who do not know us, reads the log over HTTP: `aics-tlog` of PyPI.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::App;
use crate::support::transparency_log::log::LOG_KEY;

/// Somebody who has the log's key and address, and a folder for what they keep.
struct Auditor {
    base: String,
    key: String,
    folder: tempfile::TempDir,
}

impl Auditor {
    /// The report of the program about the log.
    async fn asks(&self, arguments: &[&str]) -> Value {
        let python = std::env::var("TEST_PYTHON").unwrap_or_else(|_| "python3".to_owned());
        let mut command = Command::new(python);
        command
            .args(["-m", "aics_tlog"])
            .args(arguments)
            .args(["--tiles", &format!("{}/log", self.base), "--log-key", &self.key])
            .args(["--timeout", "60"])
            .current_dir(&self.folder)
            .env("NO_PROXY", "localhost");
        let output = tokio::task::spawn_blocking(move || command.output()).await.unwrap();
        let output = output.expect("Python starts");
        let said = String::from_utf8_lossy(&output.stdout);
        let problem = String::from_utf8_lossy(&output.stderr);
        let said =
            serde_json::from_str::<Value>(&said).unwrap_or_else(|_| panic!("{said}{problem}"));
        assert_eq!(output.status.success(), said["ok"] == true, "{said}");
        said
    }

    fn keeps(&self, name: &str, content: &str) {
        std::fs::write(Path::new(self.folder.path()).join(name), content).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_strangers_program_audits_the_log_over_http() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    app.publish_many(0, 300).await;
    app.log_with(|log| log.entries.len() >= 300).await;
    let policy = app.get("/log/policy").await.text;
    let key = policy.split(' ').nth(1).unwrap().to_owned();
    let folder = tempfile::tempdir().unwrap();
    let auditor = Auditor { base: app.base.clone(), key, folder };
    let kept = auditor.asks(&["verify-checkpoint", "--save-checkpoint", "kept"]).await;
    assert_eq!((&kept["ok"], &kept["tiles_ok"]), (&true.into(), &true.into()), "{kept}");

    app.publish_many(300, 400).await;
    let log = app.log_with(|log| log.entries.len() >= 700).await;
    let grown = auditor.asks(&["verify-consistency", "--old-checkpoint", "kept"]).await;
    assert_eq!(grown["ok"], true, "{grown}");
    assert!(grown["old_size"].as_u64() >= Some(300) && grown["new_size"].as_u64() >= Some(700));
    for index in [0, 255, 256, 699] {
        let number = index.to_string();
        let arguments = ["verify-inclusion", "--index", &number, "--leaf", "entry"];
        auditor.keeps("entry", &log.entries[index]);
        let found = auditor.asks(&arguments).await;
        assert_eq!(found["ok"], true, "{found}");
        auditor.keeps("entry", &log.entries[index].replace("kind", "kinD"));
        let changed = auditor.asks(&arguments).await;
        assert_eq!(changed["ok"], false, "{changed}");
    }

    let other = key_of_another_log().await;
    let stranger = Auditor { key: other, ..auditor };
    assert_eq!(stranger.asks(&["verify-checkpoint"]).await["ok"], false, "it is not that log");
}

async fn key_of_another_log() -> String {
    let key = ("LOG_KEY", "00000000000000000000000000000000000000000000000000000000000000ff");
    let app = App::spawn_with(&[key]).await;
    app.get("/log/policy").await.text.split(' ').nth(1).unwrap().to_owned()
}
