//! Time stamps of an outside authority: once a day, in proofs, and judged by openssl.

use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::App;
use crate::support::consent::shop;
use crate::support::process::{bare_program, run, said};
use crate::support::story::Site;
use crate::support::transparency_log::authority::{Authority, Mood};
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::transparency_log::proofs::Proof;

impl App {
    async fn stamped_by(authority: &Authority) -> Self {
        Self::spawn_with(&[LOG_KEY, ("TIMESTAMP_URL", &authority.url)]).await
    }

    /// As [`App::stamped_by`], after the first stamp.
    async fn stamped_today_by(authority: &Authority) -> Self {
        let app = Self::stamped_by(authority).await;
        app.stamped(authority, 1).await;
        app
    }

    async fn tokens(&self) -> i64 {
        let count = "SELECT count(*) FROM log_timestamps";
        sqlx::query_scalar(count).fetch_one(&self.pool).await.unwrap()
    }

    /// Lets seconds pass until there are so many tokens. While the authority answers, however long that
    /// takes, time stands still.
    async fn stamped(&self, authority: &Authority, tokens: i64) {
        for _ in 0..600 {
            if self.tokens().await == tokens {
                return;
            }
            if i64::try_from(authority.asked()).unwrap() < tokens {
                self.clock.advance(chrono::Duration::seconds(10));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("there never is a token");
    }

    /// The proof of a choice that came after the stamp of its day, with that of the next.
    async fn stamped_proof(&self, authority: &Authority, site: &Site, visitor: &str) -> Proof {
        assert_eq!(self.proof(site, visitor).await.json.get("timestamp"), None);
        let tokens = self.tokens().await;
        self.clock.advance(chrono::Duration::days(1));
        self.stamped(authority, tokens + 1).await;
        self.proof(site, visitor).await
    }

    /// Lets hours pass until something is so.
    async fn hours_until(&self, is_so: impl AsyncFn() -> bool) {
        for _ in 0..300 {
            if is_so().await {
                return;
            }
            self.clock.advance(chrono::Duration::minutes(61));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("it never is");
    }
}

/// Whether openssl accepts a token over a checkpoint.
fn openssl_accepts(folder: &std::path::Path, authority: &Authority) -> bool {
    let output = Command::new("openssl")
        .args(["ts", "-verify", "-token_in", "-in", "timestamp.der", "-data", "checkpoint"])
        .arg("-CAfile")
        .arg(authority.root_certificate())
        .current_dir(folder)
        .output()
        .unwrap();
    output.status.success() && String::from_utf8_lossy(&output.stdout).contains("Verification: OK")
}

#[tokio::test]
async fn a_proof_carries_the_earliest_time_stamp_and_openssl_accepts_it() {
    let authority = Authority::start().await;
    let app = App::stamped_today_by(&authority).await;
    let (_, site) = shop(&app).await;
    app.recorded_as_shown(&site, "v-1", "en").await;
    let proof = app.stamped_proof(&authority, &site, "v-1").await;

    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("proof.json"), folder.path().join("out"));
    std::fs::write(&file, &proof.text).unwrap();
    let key = app.get("/log/policy").await.text.split(' ').nth(1).unwrap().to_owned();
    let mut command = bare_program();
    command.arg("verify").arg(&file).args(["--key", &key]).arg("--extract").arg(&out);
    let (code, output, complaint) = said(&run(command).await);
    assert_eq!((code, complaint.as_str()), (Some(0), ""), "{output}");
    assert!(output.contains("A time stamp of 2") && output.contains("Not checked: who gave it."));
    assert!(output.contains("openssl ts -verify -token_in -in "), "{output}");
    assert!(openssl_accepts(&out, &authority));
    let checkpoint = std::fs::read(out.join("checkpoint")).unwrap();
    let imprint = Sha256::digest(&checkpoint);
    for name in ["timestamp.der", "checkpoint"] {
        let whole = std::fs::read(out.join(name)).unwrap();
        // Not just anywhere: certificates that come with a token have bytes that nobody looks at.
        let inside = whole.windows(32).position(|window| *window == imprint[..]);
        for index in [whole.len() - 1, inside.unwrap_or(whole.len() / 2), 5] {
            let mut changed = whole.clone();
            changed[index] ^= 1;
            std::fs::write(out.join(name), changed).unwrap();
            assert!(!openssl_accepts(&out, &authority), "{name} {index}");
        }
        std::fs::write(out.join(name), whole).unwrap();
    }
    assert!(openssl_accepts(&out, &authority));

    // A choice of later is in no state that was stamped, until the next day.
    app.recorded(&site.acceptance("v-2")).await;
    let next = app.stamped_proof(&authority, &site, "v-2").await;
    assert_eq!(app.proof(&site, "v-1").await.json["timestamp"], proof.json["timestamp"]);
    assert_ne!(next.json["timestamp"], proof.json["timestamp"]);
}

/// The verdict on a proof with another time stamp.
async fn said_of(app: &App, proof: &Proof, field: &str, changed: Value) -> String {
    let mut file = proof.json.clone();
    assert_ne!(file["timestamp"][field], changed);
    file["timestamp"][field] = changed;
    let verdict = app.post("/v1/consent/proof/verify", json!({"proof": file})).await.expect(200);
    assert_eq!(verdict["valid"], false);
    verdict["sentences"][0].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_time_stamp_of_something_else_breaks_the_proof() {
    let authority = Authority::start().await;
    let app = App::stamped_today_by(&authority).await;
    let (_, site) = shop(&app).await;
    app.recorded_as_shown(&site, "v-1", "en").await;
    let proof = app.stamped_proof(&authority, &site, "v-1").await;
    let body = json!({"proof": proof.json});
    let verdict = app.post("/v1/consent/proof/verify", body).await.expect(200);
    assert_eq!(verdict["valid"], true);
    let not_beside = "The time stamp is not one of the state of the log that is beside it.";
    let other = BASE64_STANDARD.encode(authority.token_of("another text"));
    for token in [json!(other), json!(""), json!("AAAA"), json!("no base64")] {
        assert_eq!(said_of(&app, &proof, "token", token).await, not_beside);
    }
    let lines = proof.json["timestamp"]["tlog_proof"].as_str().unwrap();
    let choice = proof.json["choices"]["tlog_proof"].clone();
    for (changed, sentence) in [
        (json!(lines.replace("@v1", "@v2")), "The proof of the time stamp cannot be read"),
        (
            json!(lines.replace("index ", "index 9")),
            "The entry of the time stamp is not in the log",
        ),
        (
            json!(lines.replace("localhost", "elsewhere")),
            "The state of the log under the time stamp",
        ),
        (choice, not_beside),
    ] {
        let said = said_of(&app, &proof, "tlog_proof", changed).await;
        assert!(said.starts_with(sentence), "{said}");
    }
    // No state of another key is handed out.
    let key = ("LOG_KEY", "00000000000000000000000000000000000000000000000000000000000000ff");
    let (database, clock) = (app.database.clone(), app.clock.clone());
    app.end().await;
    let app = App::spawn_on(database, clock, &[key]).await;
    app.until(async || app.ask_for_proof(&site, "v-1").await.status == 200).await;
    assert_eq!(app.proof(&site, "v-1").await.json.get("timestamp"), None);
}

#[tokio::test]
async fn an_authority_that_fails_in_any_way_is_asked_again_later_and_stops_nothing() {
    let authority = Authority::start().await;
    authority.is(Mood::Away);
    let app = App::stamped_by(&authority).await;
    let (_, site) = shop(&app).await;
    let moods = [
        Mood::Away,
        Mood::Failing,
        Mood::Page,
        Mood::Garbage,
        Mood::OtherType,
        Mood::OtherNonce,
        Mood::OtherText,
        Mood::Refusing,
        Mood::Huge,
    ];
    let failures = || {
        let metrics = app.metrics.scrape().unwrap();
        let line = metrics.lines().find(|line| line.starts_with("assent_log_stamp_failures_total"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<u64>().ok()).unwrap_or_default()
    };
    for (number, mood) in moods.into_iter().enumerate() {
        authority.is(mood);
        let before = failures();
        // The first may be an answer that was on its way in the mood before.
        app.hours_until(async || failures() > before + 1).await;
        assert_eq!(app.tokens().await, 0, "{mood:?}");
        let visitor = format!("v-{number}");
        app.recorded(&site.acceptance(&visitor)).await;
        app.proof(&site, &visitor).await;
    }
    // While it says nothing, the log goes on.
    authority.is(Mood::Silent);
    let asked = authority.asked();
    app.hours_until(async || authority.asked() > asked).await;
    app.recorded(&site.acceptance("meanwhile")).await;
    app.proof(&site, "meanwhile").await;
    authority.is(Mood::Well);
    app.hours_until(async || app.tokens().await > 0).await;
    assert!(app.metrics.scrape().unwrap().contains("assent_log_stamped_seconds 17"));
}

#[tokio::test]
async fn two_nodes_ask_once_a_day() {
    let authority = Authority::start().await;
    let here = App::stamped_by(&authority).await;
    let there = here.another_node(&[LOG_KEY, ("TIMESTAMP_URL", &authority.url)]).await;
    for day in 1..=3 {
        here.stamped(&authority, day).await;
        there.some_rounds().await;
        assert_eq!((here.tokens().await, authority.asked()), (day, usize::try_from(day).unwrap()));
        here.clock.advance(chrono::Duration::days(1));
    }
}

#[tokio::test]
async fn without_an_authority_nobody_is_asked_and_proofs_are_as_before() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    let (_, site) = shop(&app).await;
    app.recorded(&site.acceptance("v-1")).await;
    let proof = app.proof(&site, "v-1").await;
    assert_eq!((proof.json.get("timestamp"), app.tokens().await), (None, 0));
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("proof.json");
    std::fs::write(&file, &proof.text).unwrap();
    let key = app.get("/log/policy").await.text.split(' ').nth(1).unwrap().to_owned();
    let mut command = bare_program();
    command.arg("verify").arg(&file).args(["--key", &key]).arg("--extract").arg(folder.path());
    let (code, _, complaint) = said(&run(command).await);
    assert_eq!(code, Some(1));
    assert!(complaint.contains("there is no time stamp in this file"), "{complaint}");
}
