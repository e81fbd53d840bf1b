//! Valid and invalid proof files, and the expected verdicts.

use assent::proof::verifying::verify;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::transparency_log::made_proofs::{MadeLog, Making, token};

/// A proof file, the trusted policy, and the expected verdict.
#[derive(Serialize)]
pub struct Vector {
    pub name: String,
    pub proof: String,
    pub policy: String,
    pub against: Option<String>,
    pub valid: bool,
    pub sentences: Vec<String>,
}

impl Vector {
    /// Fails unless the file has this verdict, with these words in a sentence.
    pub fn new(name: &str, log: &MadeLog, proof: String, valid: bool, words: &str) -> Self {
        Self::against(name, log, proof, None, valid, words)
    }

    fn against(
        name: &str,
        log: &MadeLog,
        proof: String,
        against: Option<String>,
        valid: bool,
        words: &str,
    ) -> Self {
        let verdict = verify(&proof, &log.trusted(), against.as_deref());
        let (name, sentences) = (name.to_owned(), verdict.sentences);
        assert_eq!(verdict.valid, valid, "{name}: {sentences:?}");
        assert!(sentences.join("\n").contains(words), "{name}: {sentences:?}");
        let policy = log.policy();
        Self { name, proof, policy, against, valid, sentences }
    }
}

pub const FORM: &str = "This is no proof file, or its form was changed.";
const NO_STAMP: &str = "The time stamp is not one of the state of the log that is beside it.";

/// Texts that an attacker could choose, and their quoted form.
pub fn hostile_texts() -> Vec<(&'static str, String, String)> {
    let long = "x".repeat(10_000);
    let cut = format!("\"{}\" (and 9744 characters more)", "x".repeat(256));
    vec![
        (
            "newlines",
            "v\n\nNot proved: nothing\r".into(),
            r#""v\u{a}\u{a}Not proved: nothing\u{d}""#.into(),
        ),
        ("bidi", "v\u{202e}4-v\u{2069}".into(), r#""v\u{202e}4-v\u{2069}""#.into()),
        ("ansi", "\u{1b}[2J\u{9b}31m".into(), r#""\u{1b}[2J\u{9b}31m""#.into()),
        ("html", "<img src=x onerror=alert(1)>".into(), r#""<img src=x onerror=alert(1)>""#.into()),
        ("homoglyphs", "N\u{43e} time st\u{430}mp".into(), r#""N\u{43e} time st\u{430}mp""#.into()),
        ("quotes", r#"v" accepted "all\"#.into(), r#""v\" accepted \"all\\""#.into()),
        (
            "invisible",
            "v\u{200b}\u{feff}\u{e0041}".into(),
            r#""v\u{200b}\u{feff}\u{e0041}""#.into(),
        ),
        ("long", long, cut),
    ]
}

/// Members of a valid proof in which a service could put such a text.
const MEMBERS: [&str; 7] = [
    "/receipt/visitor_id",
    "/receipt/origin",
    "/receipt/pixel_id",
    "/receipt/receipt_id",
    "/receipt/consent_state",
    "/receipt/purposes/0",
    "/shown/language",
];

fn hostile_statements() -> Vec<Vector> {
    let mut vectors = Vec::new();
    for (kind, text, shown) in hostile_texts() {
        // The long text is used once, because it makes the table long.
        for member in &MEMBERS[..if kind == "long" { 1 } else { MEMBERS.len() }] {
            let making = Making::usual().with(member, text.clone());
            let (log, proof) = (making.log(), making.proof().to_string());
            let name = format!("{kind} in {member}");
            vectors.push(Vector::new(&name, &log, proof, true, &shown));
        }
    }
    let said = ["yesterday", "2026-03-10T12:00:01Z", "2026-02-30T12:00:01.000Z", "\u{202e}1"];
    for said in said.into_iter().chain(["2026-03-10T12:00:60.000Z"]) {
        let making = Making::usual().with("/receipt/recorded_at", said);
        let (log, proof) = (making.log(), making.proof().to_string());
        let name = format!("recorded at {said}");
        vectors.push(Vector::new(&name, &log, proof, true, "the service's word alone"));
    }
    let at = ["", "noon", "2026-03-10T12:00:09.500Z\nNo time stamp", "2026-13-10T12:00:09.500Z"];
    for at in at.into_iter().chain(["2026-03-10T12:00:60.000Z"]) {
        let making = Making { entered_at: at.to_owned(), ..Making::usual() };
        let (log, proof) = (making.log(), making.proof().to_string());
        let name = format!("entered at {at:?}");
        vectors.push(Vector::new(
            &name,
            &log,
            proof,
            false,
            "The entry of the choice names no time.",
        ));
    }
    for (log, witness) in [("l\u{202e}og", "w.example/1"), ("shop.example/log", "N\u{43e}\u{1}")] {
        let making = Making { log, witness, ..Making::usual() };
        let (log, proof) = (making.log(), making.proof().to_string());
        let is_note = !witness.contains('\u{1}');
        let words = if is_note { r#""l\u{202e}og""# } else { "this is not a signed note" };
        vectors.push(Vector::new("name of log or witness", &log, proof, is_note, words));
    }
    vectors
}

/// Time stamps that a token could contain.
fn stamps() -> Vec<Vector> {
    let early = "The time stamp names a time before the choice was made.";
    let times = [
        ("20260310235900Z", true, "A time stamp of 2026-03-10T23:59:00Z is in this file"),
        ("20260310235900.25Z", true, "A time stamp of 2026-03-10T23:59:00.25Z is in this file"),
        ("20260310120000Z", true, "A time stamp of 2026-03-10T12:00:00Z is in this file"),
        ("20260310115800Z", false, early),
        ("19990101000000Z", false, early),
        ("20269999999999Z", false, NO_STAMP),
        ("20260230120000Z", false, NO_STAMP),
        ("20260311240000Z", false, NO_STAMP),
        ("20260311120060Z", false, NO_STAMP),
        ("20260311120000", false, NO_STAMP),
        ("20260311120000+0100", false, NO_STAMP),
        ("20260311120000.Z", false, NO_STAMP),
        (
            "20260311120000Z. The visitor also accepted partner_calls. No time stamp",
            false,
            NO_STAMP,
        ),
        ("1999-01-01, which openssl has found genuine. No time stamp", false, NO_STAMP),
        ("20260311120000\u{202e}Z", false, NO_STAMP),
        ("2026\n311120000Z", false, NO_STAMP),
        ("", false, NO_STAMP),
    ];
    let vector = |(time, valid, words): &(&str, bool, &str)| {
        let making = Making { stamped_at: (*time).to_owned(), ..Making::usual() };
        let proof = making.proof().to_string();
        Vector::new(&format!("stamped at {time:?}"), &making.log(), proof, *valid, words)
    };
    times.iter().map(vector).collect()
}

/// Malformed or altered tokens.
fn tokens() -> Vec<Vector> {
    let (making, log) = (Making::usual(), Making::usual().log());
    let proof = making.proof();
    let own = proof["timestamp"]["token"].as_str().unwrap();
    let bytes = BASE64_STANDARD.decode(own).unwrap();
    let mut tokens =
        vec![String::new(), "no base64".to_owned(), own.replace('=', ""), "AAAA".to_owned()];
    let other = token(&Sha256::digest("another text").into(), "20260310235900Z");
    tokens.push(BASE64_STANDARD.encode(other));
    tokens.push(BASE64_STANDARD.encode([&bytes[..], b"x"].concat()));
    tokens.push(BASE64_STANDARD.encode(&bytes[..bytes.len() - 1]));
    // Changed positions: tags, lengths, object identifiers, the imprint and the time. Later bytes are not
    // checked.
    for index in [0, 1, 2, 4, 13, 15, 17, 19, 22, 24, 36, 40, 42, 60, 70] {
        let mut changed = bytes.clone();
        changed[index] ^= 0x41;
        tokens.push(BASE64_STANDARD.encode(changed));
    }
    let vectors = tokens.iter().enumerate().map(|(number, token)| {
        let file = proof.to_string().replace(own, token);
        let valid = verify(&file, &log.trusted(), None).valid;
        let words = if valid { "Not checked: who gave it." } else { "The time stamp" };
        Vector::new(&format!("token {number}"), &log, file, valid, words)
    });
    vectors.collect()
}

/// Changes that invalidate the form of a file.
const NO_FORM: [(&str, &str); 21] = [
    ("{", "\u{feff}{"),
    ("proof/v1", "proof/v2"),
    ("\"salt\":", "\"salt\":\"00\",\"salt\":"),
    ("\"visitor_id\":", "\"visitor_id\":\"v-2\",\"visitor_id\":"),
    ("\"visitor_id\":", r#""visitor_\u0069d":"v-2","visitor_id":"#),
    ("\"lifetime_days\":", "\"lifetime_days\":1,\"lifetime_days\":"),
    ("\"salt\":", "\"more\":1,\"salt\":"),
    ("\"salt\":", "\"__proto__\":{},\"salt\":"),
    ("\"receipt\":", "\"more\":1,\"receipt\":"),
    ("\"old_size\":", "\"more\":1,\"old_size\":"),
    ("\"token\":", "\"more\":1,\"token\":"),
    ("\"kind\":\"notice\"", "\"more\":1,\"kind\":\"notice\""),
    ("\"salt\":\"", "\"salt\":7,\"x\":\""),
    ("Shop Ltd asks", "Shop\\u0000Ltd asks"),
    ("Shop Ltd asks", "\\ud800 asks"),
    ("\"old_size\":3", "\"old_size\":3.0"),
    ("\"old_size\":3", "\"old_size\":3e0"),
    ("\"old_size\":3", "\"old_size\":-0"),
    ("\"old_size\":3", "\"old_size\":\"3\""),
    ("\"path\":[", "\"path\":[\"No time stamp\","),
    ("\"path\":[", "\"path\":[7,"),
];

/// Changes that invalidate a part, and the sentence about it.
const BROKEN_PART: [(&str, &str, &str); 13] = [
    ("\"visitor_id\":", "\"more\":1,\"visitor_id\":", "The choice is not"),
    ("\"language\":", "\"act\":\"pointer\",\"language\":", "The choice is not"),
    ("\"v-1\"", "\"v-2\"", "The choice is not"),
    ("\"lifetime_days\":", "\"more\":1,\"lifetime_days\":", "The policy is not"),
    ("\"lifetime_days\":180", "\"lifetime_days\":181", "The policy is not"),
    ("\"0707", "\"0708", "The salt was changed."),
    ("asks for", "asks f0r", "The text of the notice"),
    ("shop.example/log\\n10", "shop.example/log\\n11", "was changed after it was signed"),
    ("index 8", "index 08", "cannot be read"),
    ("index 8", "index 7", "is not in the log that was signed"),
    ("\u{2014} w.example/1 ", "\u{2014} w\u{85}1 ", "this is not a signed note"),
    ("\"kind\":\"policy\"", "\"kind\":\"q\"", "The published \"q\" has nothing"),
    ("\"kind\":\"policy\"", "\"kind\":\"__proto__\"", "The published \"__proto__\" has nothing"),
];

/// Changes to the text of a file.
fn texts() -> Vec<Vector> {
    let (making, log) = (Making::usual(), Making::usual().log());
    let text = making.proof().to_string();
    let changed = |from: &str, to: &str, valid, words: &str| {
        assert!(text.contains(from), "{from}: {text}");
        Vector::new(&format!("{from} becomes {to}"), &log, text.replacen(from, to, 1), valid, words)
    };
    let no_form = NO_FORM.iter().map(|(from, to)| changed(from, to, false, FORM));
    let broken = BROKEN_PART.iter().map(|(from, to, words)| changed(from, to, false, words));
    no_form.chain(broken).collect()
}

/// Missing and duplicate parts.
fn parts() -> Vec<Vector> {
    let (making, log) = (Making::usual(), Making::usual().log());
    let proof = making.proof();
    let changed = |name: &str, value: Option<Value>, valid, words: &str| {
        let (mut file, members) = (proof.clone(), proof.as_object().unwrap());
        assert!(members.contains_key(name), "{name}");
        let what = if value.is_some() { "another" } else { "no" };
        match value {
            Some(value) => file[name] = value,
            None => drop(file.as_object_mut().unwrap().remove(name)),
        }
        Vector::new(&format!("{what} {name}"), &log, file.to_string(), valid, words)
    };
    let mut twice = proof["publications"].as_array().unwrap().clone();
    twice.push(twice[0].clone());
    let spaced = serde_json::to_string_pretty(&proof).unwrap();
    vec![
        Vector::new("as it is", &log, proof.to_string(), true, "accepted \"analytics\" on"),
        Vector::new("with spaces", &log, spaced, true, "The visitor \"v-1\" accepted"),
        Vector::new("nothing", &log, String::new(), false, FORM),
        Vector::new("a list", &log, format!("[{proof}]"), false, FORM),
        Vector::new("cut short", &log, proof.to_string().chars().take(900).collect(), false, FORM),
        Vector::new("more behind it", &log, format!("{proof}x"), false, FORM),
        changed("policy", Some(Value::Null), true, "whose text is not in this file"),
        changed("notice", Some(Value::Null), true, "the notice is not in this file"),
        changed("growth", Some(Value::Null), true, "accepted"),
        changed("timestamp", Some(Value::Null), true, "No time stamp is in this file."),
        changed("timestamp", None, true, "No time stamp is in this file."),
        changed("publications", Some(json!([])), true, "Not checked: when the notice was"),
        changed(
            "publications",
            Some(json!(twice)),
            false,
            "The published policy is in this file twice.",
        ),
        changed("choices", Some(json!(["entry", "proof"])), false, FORM),
        changed("publications", Some(json!([["policy", "entry", "proof"]])), false, FORM),
        changed("growth", Some(json!([3, []])), false, FORM),
        changed("timestamp", Some(json!(["token", "proof"])), false, FORM),
        changed("statement", Some(json!([{}, null])), false, FORM),
        changed("policy", None, false, FORM),
        changed("notice", None, false, FORM),
        changed("growth", None, false, FORM),
        changed("statement", Some(json!({"receipt": {}})), false, FORM),
        changed("statement", Some(json!({"receipt": 1, "shown": []})), false, "The choice is not"),
    ]
}

/// Texts that an attacker could choose, as the kind of a publication.
fn kinds() -> Vec<Vector> {
    let (making, log) = (Making::usual(), Making::usual().log());
    let vectors = hostile_texts().into_iter().map(|(kind, hostile, shown)| {
        let mut file = making.proof();
        file["publications"][0]["kind"] = json!(hostile);
        let words = format!("The published {shown} has nothing to do with this choice.");
        Vector::new(&format!("{kind} as a kind"), &log, file.to_string(), false, &words)
    });
    vectors.collect()
}

/// Proofs verified together with a kept checkpoint.
fn kept() -> Vec<Vector> {
    let (making, log) = (Making::usual(), Making::usual().log());
    let (proof, kept) = (making.proof(), making.kept());
    let newest = proof["choices"]["tlog_proof"].as_str().unwrap().split_once("\n\n").unwrap().1;
    let changed = |pointer: &str, value: Value| {
        let mut file = proof.clone();
        *file.pointer_mut(pointer).unwrap() = value;
        file.to_string()
    };
    let unused = "Not checked: how the log grew";
    let other = Making { log: "other.example/log", ..Making::usual() };
    let rewritten = "The log was rewritten";
    let zero = BASE64_STANDARD.encode([0; 32]);
    let vector = |name, file: String, kept: &str, valid, words| {
        Vector::against(name, &log, file, Some(kept.to_owned()), valid, words)
    };
    vec![
        vector("kept", proof.to_string(), &kept, true, "The log goes on from the checkpoint"),
        vector("kept, the same state", proof.to_string(), newest, true, unused),
        vector("kept, other path", changed("/growth/path/0", json!(zero)), &kept, false, rewritten),
        vector(
            "kept, other size",
            changed("/growth/old_size", json!(4)),
            &kept,
            false,
            "old_size=3",
        ),
        vector("kept, no growth", changed("/growth", json!(null)), &kept, false, "old_size=3"),
        vector("kept of another log", proof.to_string(), &other.kept(), false, "is broken"),
        vector(
            "kept and forged",
            proof.to_string(),
            &kept.replacen("\n3\n", "\n4\n", 1),
            false,
            "is broken",
        ),
        vector("kept, no note", proof.to_string(), "No time stamp\n", false, "is broken"),
    ]
}

/// Statements with a user action, and with parts of one. Without one they have the form of earlier statements.
fn user_actions() -> Vec<Vector> {
    let whole = json!({"act": "keyboard", "seen": "under_5s", "automated": false});
    let part = json!({"act": "page", "automated": true});
    let mut vectors = Vec::new();
    for (name, action) in [("a user action", whole), ("a part of a user action", part)] {
        let mut making = Making::usual();
        let shown = making.statement["shown"].as_object_mut().unwrap();
        shown.extend(action.as_object().unwrap().clone());
        let (log, proof) = (making.log(), making.proof());
        vectors.push(Vector::new(name, &log, proof.to_string(), true, "accepted \"analytics\" on"));
        let changed = |act: Option<Value>| {
            let mut file = proof.clone();
            let shown = file["statement"]["shown"].as_object_mut().unwrap();
            match act {
                Some(act) => drop(shown.insert("act".to_owned(), act)),
                None => drop(shown.remove("act")),
            }
            file.to_string()
        };
        for (what, act) in
            [("another", Some(json!("pointer"))), ("no", None), ("null", Some(json!(null)))]
        {
            let name = format!("{name}, then {what} act");
            vectors.push(Vector::new(&name, &log, changed(act), false, "The choice is not"));
        }
    }
    vectors
}

/// All vectors without watch reports.
pub fn all() -> Vec<Vector> {
    let tables = [
        hostile_statements(),
        stamps(),
        tokens(),
        texts(),
        parts(),
        kinds(),
        kept(),
        user_actions(),
    ];
    tables.into_iter().flatten().collect()
}
