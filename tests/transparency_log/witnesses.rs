//! The log is cosigned by witnesses, whoever of them is there; and what they have seen is never signed in
//! a second way.

use std::sync::Arc;
use std::time::Duration;

use assent::clock::Clock;
use assent::proof::format::note::Verifier;
use assent::proof::format::policy::TrustPolicy;
use assent::proof::verifying;
use chrono::TimeDelta;
use serde_json::json;
use sqlx::{query, query_scalar};

use crate::support::App;
use crate::support::consent::shop;
use crate::support::postgres::database::TestDatabase;
use crate::support::process::{bare_program, run, said};
use crate::support::server::start_of_time;
use crate::support::story::Site;
use crate::support::transparency_log::log::{LOG_KEY, parse};
use crate::support::transparency_log::proofs::Proof;
use crate::support::transparency_log::witnesses::{
    Mode, Witness, has_cosigned, policy_file, process_cosigner, witness_process,
};

/// A service, its witnesses, and where their policy lies.
pub struct Scene {
    pub app: App,
    pub witnesses: Vec<Witness>,
    pub policy: String,
    pub folder: tempfile::TempDir,
}

impl Scene {
    pub async fn with(names: &[&str], quorum: &str) -> Self {
        Self::with_modes(names, quorum, &[]).await
    }

    /// Some witnesses behave in another way from the start.
    pub async fn with_modes(names: &[&str], quorum: &str, modes: &[(usize, Mode)]) -> Self {
        let clock = Clock::manual(start_of_time());
        let mut witnesses = Vec::new();
        for name in names {
            witnesses.push(Witness::start(name, &clock).await);
        }
        for (number, mode) in modes {
            witnesses[*number].behave(mode.clone());
        }
        let lines = witnesses.iter().map(Witness::line).collect::<String>();
        let folder = tempfile::tempdir().unwrap();
        let policy = policy_file(folder.path(), &format!("{lines}{quorum}\n"));
        let database = Arc::new(TestDatabase::create().await);
        let app = App::spawn_on(database, clock, &[LOG_KEY, ("LOG_WITNESSES", &policy)]).await;
        Self { app, witnesses, policy, folder }
    }

    /// Another node, which remembers nothing.
    pub async fn another_node(&self) -> App {
        self.app.another_node(&[LOG_KEY, ("LOG_WITNESSES", &self.policy)]).await
    }

    /// The published checkpoint, as soon as it covers the whole log and is cosigned by exactly these
    /// witnesses.
    pub async fn cosigned_by(&self, numbers: &[usize]) -> String {
        let mut note = String::new();
        for _ in 0..300 {
            // Asked first: what waited then may be signed before the size is looked at.
            let is_complete = self.waiting().await == 0;
            note = self.app.get("/log/checkpoint").await.text;
            let is_shown = is_complete
                && note.starts_with("localhost/log\n")
                && i64::try_from(parse(&note).0).unwrap() == self.size().await;
            if is_shown {
                let has = |witness: &Witness| witness.has_cosigned(&note);
                let found = self.witnesses.iter().enumerate().filter(|(_, witness)| has(witness));
                if found.map(|(number, _)| number).eq(numbers.iter().copied()) {
                    return note;
                }
            }
            self.app.clock.advance(TimeDelta::seconds(5));
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        panic!("never cosigned by {numbers:?}: {note}");
    }

    pub async fn size(&self) -> i64 {
        let size = query_scalar("SELECT size FROM log_head");
        size.fetch_one(&self.app.pool).await.unwrap()
    }

    pub async fn waiting(&self) -> i64 {
        let waiting = "SELECT count(*) FROM publications WHERE entry IS NULL";
        query_scalar(waiting).fetch_one(&self.app.pool).await.unwrap()
    }

    pub fn metric(&self, line: &str) -> bool {
        has_metric(&self.app, line)
    }
}

fn has_metric(app: &App, line: &str) -> bool {
    app.metrics.scrape().unwrap().lines().any(|known| known == line)
}

pub fn is_stopped(app: &App) -> bool {
    has_metric(app, "assent_log_stopped 1")
}

/// The verdict on a proof under this trust policy.
fn verdict_on(proof: &Proof, policy: &str) -> (bool, String) {
    let verdict = verifying::verify(&proof.text, &TrustPolicy::trusting(policy).unwrap(), None);
    (verdict.valid, verdict.sentences.join("\n"))
}

#[tokio::test]
async fn shown_and_proved_checkpoints_are_cosigned() {
    let scene = Scene::with(&["w.one", "w.two"], "group both all w.one w.two\nquorum both").await;
    let (app, [one, two]) = (&scene.app, &scene.witnesses[..]) else { panic!("two") };
    let (_, site) = shop(app).await;
    app.recorded_as_shown(&site, "v-1", "de").await;
    let proof = app.proof(&site, "v-1").await;
    let note = scene.cosigned_by(&[0, 1]).await;
    assert!(one.has_cosigned(&proof.checkpoint()) && two.has_cosigned(&proof.checkpoint()));
    assert!(scene.metric("assent_log_cosigners 2"));
    assert_eq!(parse(&one.last().unwrap()).1, parse(&note).1);
    let policy = app.get("/log/policy").await.text;
    let key = policy.lines().next().unwrap();
    let expected =
        format!("{key}\n{}{}group both 2 w.one w.two\nquorum both\n", one.line(), two.line());
    assert_eq!(policy, expected);
    let (valid, sentences) = verdict_on(&proof, &policy);
    assert!(valid, "{sentences}");
    for part in [
        "It was there not later than 2026-03-10T1",
        "Z, says \"w.one\"; the service says 2026-03-10T1",
        "Witnesses have seen this log only grow",
        "\"w.two\" at 2026-03-10T1",
    ] {
        assert!(sentences.contains(part), "{part}: {sentences}");
    }
    assert!(!sentences.contains("Only the service itself"), "{sentences}");
    // The service judges by what it says itself.
    let verdict = app.post("/v1/consent/proof/verify", json!({"proof": proof.json})).await;
    assert_eq!(verdict.expect(200)["sentences"][2], sentences.lines().nth(2).unwrap());
    // With the key of the log alone, nobody outside is known.
    let key = key.split(' ').nth(1).unwrap();
    let alone = TrustPolicy::of_log(Verifier::parse(key).unwrap());
    let verdict = verifying::verify(&proof.text, &alone, None);
    let sentences = verdict.sentences.join("\n");
    assert!(verdict.valid, "{sentences}");
    assert!(sentences.contains("by keys that you did not name (2)"), "{sentences}");
    // A cosignature that was changed is noticed by who knows its key.
    let shown = proof.checkpoint();
    let line = shown.lines().find(|line| line.starts_with("\u{2014} w.one ")).unwrap();
    let index = line.len() - 20;
    let character = if &line[index..=index] == "A" { "B" } else { "A" };
    let other = format!("{}{character}{}", &line[..index], &line[index + 1..]);
    let text = proof.text.replace(line, &other);
    assert_ne!(text, proof.text);
    let (valid, sentences) = verdict_on(&Proof { text, json: proof.json.clone() }, &policy);
    assert!(!valid && sentences.contains("The cosignature of \"w.one\""), "{sentences}");
}

#[tokio::test]
async fn the_command_wants_as_many_witnesses_as_the_policy_says() {
    let scene = Scene::with(&["w.one"], "quorum w.one").await;
    let stranger = Witness::start("w.other", &scene.app.clock).await;
    let (_, site) = shop(&scene.app).await;
    scene.app.recorded(&site.acceptance("v-1")).await;
    let proof = scene.app.proof(&site, "v-1").await;
    let kept = scene.app.get("/log/checkpoint").await.text;
    let policy = scene.app.get("/log/policy").await.text;
    let path = |name: &str| scene.folder.path().join(name).to_str().unwrap().to_owned();
    let both = format!(
        "{}{}group both all w.one w.other\nquorum both\n",
        policy.replace("quorum w.one\n", ""),
        stranger.line()
    );
    for (name, text) in
        [("proof", &proof.text), ("kept", &kept), ("policy", &policy), ("both", &both)]
    {
        std::fs::write(path(name), text).unwrap();
    }
    let verify = async |policy: &str, more: &[&str]| {
        let mut command = bare_program();
        command.arg("verify").arg(path("proof")).arg("--trust").arg(path(policy)).args(more);
        said(&run(command).await)
    };
    let (code, output, _) = verify("policy", &[]).await;
    assert_eq!(code, Some(0));
    assert!(output.contains("It was there not later than "), "{output}");
    let (code, output, complaint) = verify("policy", &["--against", &path("kept")]).await;
    assert_eq!(code, Some(0), "{complaint}");
    assert!(output.contains("The log goes on from the checkpoint that you kept"), "{output}");
    let (code, output, complaint) = verify("both", &[]).await;
    assert_eq!((code, output.as_str()), (Some(1), ""));
    let sentence = "Too few of the witnesses that are wanted have cosigned the state of the log under \
        the choice: 1.";
    assert!(complaint.contains(sentence), "{complaint}");
}

#[tokio::test]
async fn a_witness_that_is_away_or_says_nothing_costs_the_others_nothing() {
    let scene = Scene::with(&["w.one", "w.two", "w.three"], "quorum none").await;
    scene.cosigned_by(&[0, 1, 2]).await;
    scene.witnesses[1].behave(Mode::Away);
    scene.witnesses[2].behave(Mode::Silent);
    scene.app.publish_many(0, 10).await;
    scene.cosigned_by(&[0]).await;
    scene.app.publish_many(100, 10).await;
    scene.cosigned_by(&[0]).await;
    let failed = "assent_log_cosign_failures_total{witness=\"w.two\"}";
    let metrics = scene.app.metrics.scrape().unwrap();
    let count = metrics.lines().find_map(|line| line.strip_prefix(failed)).unwrap();
    assert_ne!(count.trim(), "0");
    for witness in &scene.witnesses {
        witness.behave(Mode::Honest);
    }
    // Even when nothing more is added.
    scene.cosigned_by(&[0, 1, 2]).await;
}

#[tokio::test]
async fn an_invalid_answer_of_a_witness_is_not_published() {
    let other = Witness::start("w.other", &Clock::manual(start_of_time())).await;
    let lies = [
        Mode::Says(200, String::new()),
        Mode::Says(200, "\u{2014} w.one AAAA\n".to_owned()),
        Mode::Says(200, "x".repeat(1 << 20)),
        Mode::Says(200, other.line()),
        Mode::Says(500, "no\n".to_owned()),
        Mode::Says(409, "no size\n".to_owned()),
        Mode::Says(302, String::new()),
        Mode::Hasty(4_000),
        Mode::Hasty(-4_000),
        Mode::Claims(1 << 40),
    ];
    let scene = Scene::with(&["w.one", "w.two"], "quorum none").await;
    scene.cosigned_by(&[0, 1]).await;
    for (number, lie) in (0..).zip(lies) {
        let case = format!("{lie:?}").chars().take(60).collect::<String>();
        let asked = scene.witnesses[0].asked().len();
        scene.witnesses[0].behave(lie);
        query("UPDATE log_witnesses SET failures = 0, not_before = '2026-01-01Z'")
            .execute(&scene.app.pool)
            .await
            .unwrap();
        scene.app.publish_many(number * 10, 10).await;
        scene.app.until(async || scene.witnesses[0].asked().len() > asked).await;
        let note = scene.cosigned_by(&[1]).await;
        assert!(!note.contains("w.one") && !note.contains("w.other"), "{case}: {note}");
        assert!(!is_stopped(&scene.app), "{case}");
    }
    scene.witnesses[0].behave(Mode::Hasty(3_000));
    scene.cosigned_by(&[0, 1]).await;
}

#[tokio::test]
async fn a_witness_that_knows_another_size_receives_how_the_log_grew_from_there() {
    let scene = Scene::with(&["w.one"], "quorum w.one").await;
    scene.cosigned_by(&[0]).await;
    for size in [0, 1, 2] {
        // As if a backup of what is known of the witness had been brought back, or a node had been killed.
        query("UPDATE log_witnesses SET known_size = $1, text = ''")
            .bind(size)
            .execute(&scene.app.pool)
            .await
            .unwrap();
        scene.app.publish_many(size * 1_000, 300).await;
        scene.cosigned_by(&[0]).await;
    }
}

/// The real witness, beside the real service, for a proof.
#[tokio::test]
async fn the_programs_own_witness_cosigns_what_a_proof_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let witness = witness_process(folder.path()).await;
    let line = format!("witness w {} {}\nquorum w\n", process_cosigner(), witness.base);
    let policy = policy_file(folder.path(), &line);
    let database = Arc::new(TestDatabase::create().await);
    let settings = [LOG_KEY, ("LOG_WITNESSES", policy.as_str())];
    let app = App::spawn_on(database, Clock::System, &settings).await;
    let (_, site): (String, Site) = shop(&app).await;
    app.recorded(&site.acceptance("v-1")).await;
    let proof = app.proof(&site, "v-1").await;
    assert!(has_cosigned(&process_cosigner(), &proof.checkpoint()));
    let (valid, sentences) = verdict_on(&proof, &app.get("/log/policy").await.text);
    assert!(valid && sentences.contains("says \"w.example/1\"; the service says"), "{sentences}");
}
