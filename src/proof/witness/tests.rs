use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use super::*;
use crate::proof::format::checkpoint::Checkpoint;
use crate::proof::format::cosignature::Cosigner;
use crate::proof::format::hashes;
use crate::proof::format::note::{Note, NoteSigner};
use crate::proof::format::path::consistency;
use crate::proof::format::submission::{MAX_PATH, Submission};
use crate::proof::format::tree::Edge;

const ORIGIN: &str = "log.example/log";

fn signer() -> NoteSigner {
    NoteSigner::new(ORIGIN, &[1; 32]).unwrap()
}

fn witness(folder: &Path) -> LogWitness {
    let key = CosigningKey::new("w.example", &[2; 32]).unwrap();
    let logs = vec![signer().verifier().clone()];
    let clock = Clock::manual(chrono::DateTime::from_timestamp(1_800_000_000, 0).unwrap());
    LogWitness::open(key, clock, logs, folder).unwrap()
}

struct Numbers {
    forked_at: u64,
}

impl Numbers {
    fn leaf(&self, number: u64) -> hashes::Hash {
        let forked = number >= self.forked_at;
        hashes::leaf(&[&number.to_be_bytes()[..], &[u8::from(forked)]].concat())
    }

    fn note(&self, size: u64) -> String {
        let mut edge = Edge::default();
        (0..size).for_each(|number| drop(edge.append(self.leaf(number))));
        let checkpoint = Checkpoint { origin: ORIGIN.to_owned(), size, root: edge.root() };
        signer().sign(&checkpoint.to_string())
    }

    fn body(&self, old: u64, size: u64) -> String {
        let node = |level: u32, index: u64| {
            let range = (index << level)..((index + 1) << level);
            let leaves = range.map(|number| self.leaf(number)).collect::<Vec<_>>();
            Some(hashes::complete(&leaves))
        };
        let path = consistency(old, size, &node).unwrap_or_default();
        Submission { old, path, checkpoint: &self.note(size) }.to_string()
    }
}

const HONEST: Numbers = Numbers { forked_at: u64::MAX };

fn ask(witness: &LogWitness, body: &str) -> Answer {
    witness.add_checkpoint(body.as_bytes()).unwrap()
}

fn is_cosigned(answer: &Answer) -> bool {
    matches!(answer, Answer::Cosigned(_))
}

#[test]
fn it_cosigns_a_log_that_goes_on_and_remembers_it() {
    let folder = tempfile::tempdir().unwrap();
    let first = witness(folder.path());
    let hash = memory::name_of(ORIGIN);
    assert_eq!(first.checkpoint(&hash), None);
    for (old, size) in [(0, 0), (0, 3), (3, 3), (3, 8), (8, 200), (200, 201)] {
        let answer = ask(&first, &HONEST.body(old, size));
        let Answer::Cosigned(line) = &answer else { panic!("{old} to {size}: {answer:?}") };
        let note = format!("{}{line}", HONEST.note(size));
        let cosigner = Cosigner::parse(&first.verifier_key()).unwrap();
        let time = cosigner.time_of(&Note::parse(&note).unwrap());
        assert_eq!(time, Ok(Some(1_800_000_000)));
        assert_eq!(first.checkpoint(&hash), Some(note));
    }
    drop(first);
    let second = witness(folder.path());
    assert_eq!(ask(&second, &HONEST.body(0, 300)), Answer::OtherSize(201));
    assert!(is_cosigned(&ask(&second, &HONEST.body(201, 300))));
    assert_eq!(second.checkpoint(&memory::name_of("other")), None);
}

#[test]
fn it_never_cosigns_a_fork_a_shorter_log_or_what_nobody_signed() {
    let folder = tempfile::tempdir().unwrap();
    let witness = witness(folder.path());
    assert!(is_cosigned(&ask(&witness, &HONEST.body(0, 100))));
    let forked = Numbers { forked_at: 90 };
    assert_eq!(ask(&witness, &forked.body(100, 100)), Answer::OtherRoot);
    assert_eq!(ask(&witness, &forked.body(100, 110)), Answer::Inconsistent);
    assert_eq!(ask(&witness, &forked.body(80, 110)), Answer::OtherSize(100));
    assert_eq!(ask(&witness, &HONEST.body(0, 99)), Answer::OtherSize(100));
    assert_eq!(ask(&witness, &HONEST.body(100, 99)), Answer::Malformed);
    let good = HONEST.body(100, 130);
    let changed = |from: &str, to: &str| good.replacen(from, to, 1);
    assert_eq!(ask(&witness, &changed("\n130\n", "\n131\n")), Answer::Unsigned);
    assert_eq!(ask(&witness, &changed(" log.example", " lag.example")), Answer::Unsigned);
    let other = changed("\nlog.example", "\nlag.example");
    assert_eq!(ask(&witness, &other), Answer::UnknownLog);
    let twice = format!("{}{}", good, good.lines().last().unwrap());
    assert_eq!(ask(&witness, &twice), Answer::Malformed, "no end of the line");
    let hash = format!("{}\n", BASE64_STANDARD.encode([0; 32]));
    let short = good.replacen(good.lines().nth(1).unwrap(), hash.trim_end(), 1);
    assert_eq!(ask(&witness, &short), Answer::Inconsistent);
    let longer = good.replacen("\n\n", &format!("\n{hash}\n"), 1);
    assert_eq!(ask(&witness, &longer), Answer::Inconsistent);
    let long = good.replacen("\n\n", &format!("\n{}\n", hash.repeat(MAX_PATH)), 1);
    assert_eq!(ask(&witness, &long), Answer::Malformed);
    for body in ["", "old 0\n", "old 0\n\n", "\n\n\n", "old 0\n\nlog.example/log\n1\n"] {
        assert_eq!(ask(&witness, body), Answer::Malformed, "{body}");
    }
    assert_eq!(witness.add_checkpoint(&[0xff, 0xfe]).unwrap(), Answer::Malformed);
    assert!(is_cosigned(&ask(&witness, &good)));
}

#[test]
fn a_memory_that_is_broken_is_not_taken_for_none() {
    let folder = tempfile::tempdir().unwrap();
    let key = || CosigningKey::new("w.example", &[2; 32]).unwrap();
    let logs = || vec![signer().verifier().clone()];
    let file = folder.path().join(memory::name_of(ORIGIN));
    let other = HONEST.note(3).replace(ORIGIN, "other.example/log");
    for broken in ["", "log.example/log\n", &other] {
        std::fs::write(&file, broken).unwrap();
        let opened = LogWitness::open(key(), Clock::System, logs(), folder.path());
        assert!(opened.is_err(), "{broken}");
    }
}

#[test]
fn of_many_who_ask_at_once_all_are_answered_as_if_one_after_the_other() {
    let folder = tempfile::tempdir().unwrap();
    let witness = witness(folder.path());
    assert!(is_cosigned(&ask(&witness, &HONEST.body(0, 10))));
    let answers = std::thread::scope(|scope| {
        let asking = (11..40).map(|size| {
            let witness = &witness;
            scope.spawn(move || (size, ask(witness, &HONEST.body(10, size))))
        });
        let asking = asking.collect::<Vec<_>>();
        asking.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
    });
    let cosigned = answers.iter().filter(|(_, answer)| is_cosigned(answer)).collect::<Vec<_>>();
    let [(size, _)] = cosigned[..] else { panic!("{answers:?}") };
    let others = answers.iter().filter(|(_, answer)| !is_cosigned(answer));
    assert!(others.into_iter().all(|(_, answer)| *answer == Answer::OtherSize(*size)));
}
