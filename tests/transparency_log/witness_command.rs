//! `assent witness`: what it answers, and that it never cosigns two logs of one name.

use std::time::Duration;

use assent::proof::format::checkpoint::Checkpoint;
use assent::proof::format::hashes;
use assent::proof::format::path::consistency;
use assent::proof::format::submission::Submission;
use assent::proof::format::tree::Edge;
use nix::sys::signal::Signal;
use reqwest::Client;

use crate::support::Process;
use crate::support::process::{bare_program, run, said};
use crate::support::server::{Answer, client};
use crate::support::transparency_log::log::parse;
use crate::support::transparency_log::witnesses::{
    has_cosigned, hash_of, log_signer, process_cosigner, witness_command, witness_process,
};

/// A log of numbers; from one on, of other numbers.
#[derive(Clone, Copy)]
struct Numbers {
    forked_at: u64,
}

const HONEST: Numbers = Numbers { forked_at: u64::MAX };

impl Numbers {
    fn leaf(self, number: u64) -> hashes::Hash {
        let is_forked = u8::from(number >= self.forked_at);
        hashes::leaf(&[&number.to_be_bytes()[..], &[is_forked]].concat())
    }

    fn note(self, size: u64) -> String {
        let mut edge = Edge::default();
        for number in 0..size {
            edge.append(self.leaf(number));
        }
        let origin = "localhost/log".to_owned();
        let checkpoint = Checkpoint { origin, size, root: edge.root() };
        log_signer().sign(&checkpoint.to_string())
    }

    fn body(self, old: u64, size: u64) -> String {
        let node = |level: u32, index: u64| {
            let range = (index << level)..((index + 1) << level);
            Some(hashes::complete(&range.map(|number| self.leaf(number)).collect::<Vec<_>>()))
        };
        let path = consistency(old, size, &node).unwrap_or_default();
        Submission { old, path, checkpoint: &self.note(size) }.to_string()
    }
}

async fn ask(client: &Client, witness: &Process, body: String) -> Answer {
    Answer::of(client.post(witness.url("/add-checkpoint")).body(body)).await
}

async fn last(client: &Client, witness: &Process) -> Option<String> {
    let path = format!("/{}/checkpoint", hash_of("localhost/log"));
    let answer = Answer::of(client.get(witness.url(&path))).await;
    (answer.status == 200).then_some(answer.text)
}

#[track_caller]
fn cosigned(answer: &Answer, size: u64) {
    assert_eq!(answer.status, 200, "{}", answer.text);
    let note = format!("{}{}", HONEST.note(size), answer.text);
    assert!(has_cosigned(&process_cosigner(), &note), "{note}");
}

#[track_caller]
fn knows(answer: &Answer, size: u64) {
    assert_eq!((answer.status, answer.text.as_str()), (409, format!("{size}\n").as_str()));
    assert_eq!(answer.header("content-type"), Some("text/x.tlog.size"));
}

#[tokio::test]
async fn it_answers_as_the_protocol_says() {
    let folder = tempfile::tempdir().unwrap();
    let (witness, client) = (witness_process(folder.path()).await, client());
    assert_eq!(last(&client, &witness).await, None);
    cosigned(&ask(&client, &witness, HONEST.body(0, 5)).await, 5);
    cosigned(&ask(&client, &witness, HONEST.body(5, 5)).await, 5);
    cosigned(&ask(&client, &witness, HONEST.body(5, 300)).await, 300);
    let kept = last(&client, &witness).await.unwrap();
    assert!(kept.starts_with(&HONEST.note(300)) && has_cosigned(&process_cosigner(), &kept));
    knows(&ask(&client, &witness, HONEST.body(0, 400)).await, 300);
    knows(&ask(&client, &witness, HONEST.body(5, 5)).await, 300);
    let forked = Numbers { forked_at: 200 };
    let good = HONEST.body(300, 301);
    let refused = [
        (good.replace("old 300", "old 302"), 400),
        ("nonsense".to_owned(), 400),
        ("x".repeat(100_000), 400),
        (good.replace("\n301\n", "\n302\n"), 403),
        (good.replace("\nlocalhost/log\n", "\nother.example/log\n"), 404),
        (forked.body(300, 300), 409),
        (forked.body(300, 301), 422),
        (good.replacen(good.lines().nth(1).unwrap(), &"A".repeat(43), 1), 400),
    ];
    for (body, status) in refused {
        let case = body.chars().take(200).collect::<String>();
        let answer = ask(&client, &witness, body).await;
        assert_eq!(answer.status, status, "{case}");
        assert_ne!(answer.header("content-type"), Some("text/x.tlog.size"), "{case}");
    }
    for path in ["/", "/add-checkpoint", "/00/checkpoint", "/lock/checkpoint"] {
        assert_eq!(Answer::of(client.get(witness.url(path))).await.status, 404, "{path}");
    }
    cosigned(&ask(&client, &witness, good).await, 301);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_any_moment_it_remembers_all_that_it_cosigned() {
    let folder = tempfile::tempdir().unwrap();
    let client = client();
    let (mut acknowledged, mut size) = (0, 1);
    for kill in 0..6_u64 {
        let mut witness = witness_process(folder.path()).await;
        let known = match last(&client, &witness).await {
            Some(note) => u64::try_from(parse(&note).0).unwrap(),
            None => 0,
        };
        assert!(known >= acknowledged, "{known} of {acknowledged}");
        if known > 1 {
            // A request with another log after the kill is refused.
            let forked = Numbers { forked_at: known / 2 };
            assert_eq!(ask(&client, &witness, forked.body(known, known)).await.status, 409);
            assert_eq!(ask(&client, &witness, forked.body(known, known + 9)).await.status, 422);
        }
        acknowledged = known;
        let url = witness.url("/add-checkpoint");
        let asking = async {
            loop {
                size = size.max(acknowledged + 1);
                let body = HONEST.body(acknowledged, size);
                let answer = client.post(&url).body(body).send().await;
                if answer.is_ok_and(|answer| answer.status() == 200) {
                    acknowledged = size;
                } else {
                    return;
                }
            }
        };
        let killing = async {
            tokio::time::sleep(Duration::from_millis(50 + 37 * kill)).await;
            witness.send(Signal::SIGKILL);
        };
        tokio::join!(asking, killing);
        witness.exit_code().await;
    }
    assert!(acknowledged > 1);
}

#[tokio::test]
async fn it_says_what_it_lacks_and_works_alone_in_its_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut first = witness_process(folder.path()).await;
    let (code, _, complaint) = said(&run(witness_command(folder.path())).await);
    assert_eq!(code, Some(1), "{complaint}");
    assert!(complaint.contains("another witness works in "), "{complaint}");
    first.send(Signal::SIGTERM);
    assert_eq!(first.exit_code().await, Some(0), "{}", first.log());
    assert!(first.log().contains(&process_cosigner().to_string()), "{}", first.log());
    let mut without = witness_command(folder.path());
    without.env_remove("WITNESS_KEY");
    let with = |name: &str, logs: &str| {
        let mut command = bare_program();
        command.env("WITNESS_KEY", "01".repeat(32)).arg("witness").args(["--name", name]);
        command.args(["--logs", logs]).arg("--folder").arg(folder.path().join("other"));
        command
    };
    for (command, sentence) in [
        (without, "assent: WITNESS_KEY: must be set; make one with: openssl rand -hex 32\n"),
        (with("a", "/does/not/exist"), "assent: /does/not/exist cannot be read: No such file"),
        (with("a", "/dev/null"), "assent: the policy names no log\n"),
        (with("a b", "/dev/null"), "assent: the name of a witness has no spaces and no +\n"),
    ] {
        let (code, output, complaint) = said(&run(command).await);
        assert_eq!((code, output.as_str()), (Some(1), ""), "{complaint}");
        assert!(complaint.starts_with(sentence), "{complaint}");
    }
    // Its memory on the disk is damaged: it does not start again with an empty one.
    let memory = folder.path().join("memory").join(hash_of("localhost/log"));
    std::fs::write(memory, "torn").unwrap();
    let (code, _, complaint) = said(&run(witness_command(folder.path())).await);
    assert_eq!(code, Some(1));
    assert!(complaint.contains("holds no checkpoint of localhost/log"), "{complaint}");
}
