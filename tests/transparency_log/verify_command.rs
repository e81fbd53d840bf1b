//! The command that checks proofs: no settings, no service, no network; and what survives a service that
//! is killed.

use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::join_all;
use nix::sys::signal::Signal;
use reqwest::Client;
use sqlx::{query, query_as, query_scalar};

use crate::support::consent::shop;
use crate::support::process::{bare_program, program, run, said};
use crate::support::server::{Answer, client};
use crate::support::story::Site;
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::transparency_log::proofs::Proof;
use crate::support::{App, Process};

/// A folder with a proof, the policy of the log, and its key.
struct Held {
    folder: tempfile::TempDir,
    key: String,
}

impl Held {
    async fn of(app: &App, proof: &Proof) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let policy = app.get("/log/policy").await.text;
        std::fs::write(folder.path().join("policy"), &policy).unwrap();
        std::fs::write(folder.path().join("proof.json"), &proof.text).unwrap();
        Self { folder, key: policy.split(' ').nth(1).unwrap().to_owned() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    async fn verify(&self, file: &Path, more: &[&str]) -> (Option<i32>, String, String) {
        let mut command = bare_program();
        command.arg("verify").arg(file).args(more);
        said(&run(command).await)
    }
}

#[tokio::test]
async fn the_command_needs_the_file_and_the_key_and_says_what_is_proved_or_broken() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    app.recorded_as_shown(&site, "v-1", "de").await;
    let proof = app.proof(&site, "v-1").await;
    let held = Held::of(&app, &proof).await;
    let kept = app.get("/log/checkpoint").await.text;
    std::fs::write(held.path("kept"), kept).unwrap();
    // From here on there is no service any more.
    drop(app);
    let file = held.path("proof.json");
    let policy = held.path("policy");
    let kept = held.path("kept");
    let (policy, kept) = (policy.to_str().unwrap(), kept.to_str().unwrap());
    let ways: [&[&str]; 3] =
        [&["--key", &held.key], &["--trust", policy], &["--trust", policy, "--against", kept]];
    for way in ways {
        let (code, output, complaint) = held.verify(&file, way).await;
        assert_eq!((code, complaint.as_str()), (Some(0), ""), "{output}");
        assert!(output.starts_with("The proof holds.\n"), "{output}");
        assert!(
            output.contains(
                "The visitor \"v-1\" accepted \"resolution\" on \"https://shop.example\""
            )
        );
        assert!(output.contains("Not proved: "), "{output}");
    }
    let changed = proof.text.replace("\"v-1\"", "\"v-2\"");
    std::fs::write(held.path("changed.json"), changed).unwrap();
    let (code, output, complaint) = held.verify(&held.path("changed.json"), ways[0]).await;
    assert_eq!((code, output.as_str()), (Some(1), ""));
    assert!(complaint.starts_with("assent: The choice is not the one that was put into the log"));
    std::fs::write(held.path("bytes.json"), [0xff, 0xfe]).unwrap();
    let (code, _, complaint) = held.verify(&held.path("bytes.json"), ways[0]).await;
    assert_eq!(code, Some(1));
    assert!(complaint.starts_with("assent: This is no proof file"), "{complaint}");
    let foreign = "localhost/log+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    let refused: [(&Path, &[&str], &str); 4] = [
        (&file, &["--key", "nonsense"], "assent: the key is no verifier key (name+id+key)\n"),
        (&file, &["--key", foreign], "assent: the key is no verifier key (name+id+key)\n"),
        (&file, &["--trust", kept], "assent: line 1 of the policy cannot be read\n"),
        (Path::new("nowhere"), ways[0], "assent: nowhere cannot be read: No such file"),
    ];
    for (file, way, sentence) in refused {
        let (code, output, complaint) = held.verify(file, way).await;
        assert_eq!((code, output.as_str()), (Some(1), ""), "{way:?}");
        assert!(complaint.starts_with(sentence), "{complaint}");
    }
    let (code, ..) = held.verify(&file, &[]).await;
    assert_eq!(code, Some(2), "one has to say whom to trust");
}

async fn proof_of(service: &Process, client: &Client, site: &Site, visitor: &str) -> Option<Proof> {
    let path = format!("/v1/consent/proof?pixel_id={}&visitor_id={visitor}", site.pixel_id);
    let answer = Answer::of(client.get(service.url(&path))).await;
    (answer.status == 200).then(|| Proof::of(&answer))
}

/// Leaves that wait, so that adding them takes its time.
const MANY_LEAVES: &str = "INSERT INTO log_leaves (pixel_id, batch, hashes)
    SELECT 'many', -number, sha256(number::text::bytea)
    FROM generate_series($1::int, $1 + 39999) AS number";

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn killed_at_any_moment_it_has_put_every_acknowledged_choice_into_the_log_once_or_will() {
    let app = App::spawn().await;
    let (_, site) = shop(&app).await;
    let (client, pool) = (client(), app.pool.clone());
    let start = || {
        let mut command = program(&app.database.url);
        command.env(LOG_KEY.0, LOG_KEY.1);
        Process::start(command)
    };
    let (mut acknowledged, mut notes) = (Vec::new(), Vec::<String>::new());
    for kill in 0..6_i32 {
        query(MANY_LEAVES).bind(kill * 40_000).execute(&pool).await.unwrap();
        let mut service = start().await;
        let url = service.url("/v1/consent/record");
        let visitors = (0..30).map(|number| format!("v-{kill}-{number}"));
        let sent = visitors.map(async |visitor| {
            let body = site.acceptance(&visitor);
            let answer = client.post(&url).json(&body).send().await;
            answer.is_ok_and(|answer| answer.status() == 202).then_some(visitor)
        });
        let killing = async {
            // The last time all are answered, also where there is much to do.
            let pause = if kill < 5 { kill * 90 } else { 8_000 };
            tokio::time::sleep(Duration::from_millis(u64::try_from(pause).unwrap())).await;
            service.send(Signal::SIGKILL);
        };
        let (answers, ()) = tokio::join!(join_all(sent), killing);
        service.exit_code().await;
        acknowledged.extend(answers.into_iter().flatten());
        let head = "SELECT size, checkpoint FROM log_head";
        let (size, note) = query_as::<_, (i64, String)>(head).fetch_one(&pool).await.unwrap();
        let entries =
            "SELECT (SELECT count(entry) FROM publications) + (SELECT count(*) FROM log_epochs)";
        assert_eq!(query_scalar::<_, i64>(entries).fetch_one(&pool).await.unwrap(), size);
        let half = "SELECT count(*) FROM log_leaves WHERE (epoch IS NULL) = (hashes = '')";
        assert_eq!(query_scalar::<_, i64>(half).fetch_one(&pool).await.unwrap(), 0);
        notes.extend(Some(note).filter(|note| !note.is_empty()));
    }
    assert!(!acknowledged.is_empty());
    let service = start().await;
    let mut positions = std::collections::BTreeSet::new();
    for visitor in &acknowledged {
        let mut tries = 0;
        let proof = loop {
            match proof_of(&service, &client, &site, visitor).await {
                Some(proof) => break proof,
                None => tokio::time::sleep(Duration::from_millis(200)).await,
            }
            tries += 1;
            assert!(tries < 400, "{visitor} never comes into the log: {}", service.log());
        };
        let log = proof.log(&client, &service.base).await;
        positions.insert(proof.position(&log));
        notes.drain(..).for_each(|note| log.assert_extends(&note));
    }
    assert_eq!(positions.len(), acknowledged.len());
}
