//! Valid and invalid proof files of every kind, judged equally by the program, the service, its tool and
//! the page `/verify`. The page is tested with the same table by
//! `tests/browser/specs/verify-vectors.spec.ts`.

mod tables;
mod watch_reports;

use assent::proof::format::note::Verifier;
use assent::proof::format::policy::TrustPolicy;
use assent::proof::verifying::verify;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::process::{bare_program, run, said};
use crate::support::transparency_log::log::LOG_KEY;
use crate::support::{Answer, App, snapshot, tools};
use tables::{FORM, Vector};

/// The whole table.
fn all() -> Vec<Vector> {
    [tables::all(), watch_reports::vectors()].into_iter().flatten().collect()
}

#[test]
fn the_table_that_the_page_is_tested_with_is_what_the_program_says() {
    let all = all();
    let count_of = |valid| all.iter().filter(|vector| vector.valid == valid).count();
    assert!(count_of(true) > 50 && count_of(false) > 50, "{} {}", count_of(true), count_of(false));
    let lines = all.iter().map(|vector| serde_json::to_string(vector).unwrap());
    let table = format!("[\n{}\n]\n", lines.collect::<Vec<_>>().join(",\n"));
    snapshot::matches("tests/snapshots/proof_vectors.json", &table);
}

#[test]
fn every_sentence_is_one_line_of_printable_ascii() {
    for Vector { name, sentences, .. } in all() {
        for sentence in sentences {
            let plain = |character: char| matches!(character, ' '..='~' | '…');
            assert!(sentence.chars().all(plain), "{name}: {sentence:?}");
            assert!(sentence.len() < 8_000, "{name}: {}", sentence.len());
        }
    }
}

#[tokio::test]
async fn the_route_and_the_tool_say_the_same_as_the_program() {
    let app = App::spawn_with(&[LOG_KEY]).await;
    for Vector { name, proof, against, policy, .. } in all() {
        let Ok(file) = serde_json::from_str::<Value>(&proof) else { continue };
        // Routes and tools take a key instead of a policy.
        let key = policy.split_whitespace().nth(1).unwrap();
        let log = Verifier::parse(key).unwrap();
        let trusted = TrustPolicy::of_log(log);
        let expected = verify(&proof, &trusted, against.as_deref());
        let expected = serde_json::to_value(&expected).unwrap();
        let mut body = json!({"proof": "", "key": key});
        if let Some(against) = &against {
            body["against"] = json!(against);
        }
        let text = body.to_string().replacen("\"proof\":\"\"", &format!("\"proof\":{proof}"), 1);
        let asked = app.request(Method::POST, "/v1/consent/proof/verify").body(text);
        let answer = Answer::of(asked).await;
        match answer.status {
            // JSON that different parsers read differently is refused.
            400 => assert_eq!(expected["sentences"][0], FORM, "{name}: {}", answer.text),
            _ => assert_eq!(answer.expect(200), expected, "{name}"),
        }
        if serde_json::to_string(&file).unwrap().len() == proof.len() {
            body["proof"] = file;
            let call = json!({"name": "verify_proof", "arguments": body});
            let answer = Answer::of(tools::post(&app).json(&tools::message("tools/call", call)));
            let answer = answer.await;
            let is_form = expected["sentences"][0] == FORM;
            assert!(answer.status == 200 || is_form, "{name}: {}", answer.text);
            if !is_form {
                assert_eq!(tools::done(&answer.json()["result"]), &expected, "{name}");
            }
        }
    }
}

#[tokio::test]
async fn the_command_prints_what_is_in_the_table() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    // One vector of each kind, because every run starts a process.
    for vector in all().into_iter().step_by(7) {
        std::fs::write(path("proof"), &vector.proof).unwrap();
        std::fs::write(path("policy"), &vector.policy).unwrap();
        let mut command = bare_program();
        command.arg("verify").arg(path("proof")).arg("--trust").arg(path("policy"));
        if let Some(against) = &vector.against {
            std::fs::write(path("kept"), against).unwrap();
            command.arg("--against").arg(path("kept"));
        }
        let (code, output, complaint) = said(&run(command).await);
        let text = vector.sentences.join("\n");
        let expected = match vector.valid {
            true => (Some(0), format!("The proof holds.\n{text}\n"), String::new()),
            false => (Some(1), String::new(), format!("assent: {text}\n")),
        };
        assert_eq!((code, output, complaint), expected, "{}", vector.name);
    }
}
