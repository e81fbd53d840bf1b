//! Watch reports in proof files: valid ones, and ones that verifiers refuse.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::tables::{FORM, Vector, hostile_texts};
use crate::support::transparency_log::made_proofs::Making;
use crate::support::watch_reports::ReportMade;

/// The note of a report whose time may be of another type.
fn odd_note(report: &ReportMade) -> String {
    let time = report.report["time"].as_str().unwrap_or("2026-03-01T00:00:00.000Z");
    report.signed(&format!("assent/watch/v1\n{time}\n{} report.json\n", report.sha256()))
}

/// A proof with watch reports.
fn with_reports(reports: &[ReportMade]) -> Making {
    let files = reports.iter().map(|made| (made.text(), made.note()));
    Making { watch_reports: files.collect(), ..Making::usual() }
}

/// Watch reports beside a choice: their results, and changes of their parts.
pub fn vectors() -> Vec<Vector> {
    const SILENT: &str = "It found nothing that was loaded or stored without consent.";
    const WATCHER: &str = "A watch report cannot be read, or was not signed";
    const OTHER: &str = "A watch report is not the one that was put into the log.";
    let made = || ReportMade::of("shop.example");
    let mut two_pages = made();
    let page = two_pages.report["pages"][0].clone();
    two_pages.report["pages"] = json!([page, page]);
    let changed = |visit: &str, value: Value| {
        let mut report = made();
        report.report["pages"][0]["visits"][0][visit] = value;
        report
    };
    let leak = made().leaking_to("t.example").report["pages"][0]["visits"][0]["leaks"].clone();
    let (one_leak, allowed) = (changed("leaks", leak.clone()), changed("allowed", leak));
    let loud = changed("silent", json!(false));
    let mut unvisited = made();
    unvisited.report["pages"][0]["visits"] = json!([]);
    let mut partial = made();
    partial.report["pages"][0]["visits"].as_array_mut().unwrap().pop();
    let renamed = changed("visit", json!("gpc"));
    let mut vectors = Vec::new();
    let results = [
        ("a silent report", vec![made()], SILENT),
        ("a leaking report", vec![made().leaking_to("t.example")], "without consent (leaks: 2)."),
        (
            "an incomplete report",
            vec![made().unobserved()],
            "It names no leak, but not every visit was observed.",
        ),
        ("a report with one leak", vec![one_leak], "without consent (leaks: 1)."),
        ("a report with allowed sites", vec![allowed], "lists as allowed (entries: 1)."),
        ("a report without visits", vec![unvisited], "not every visit was observed."),
        ("a report of five visits", vec![partial], "not every visit was observed."),
        ("a report with a visit twice", vec![renamed], "not every visit was observed."),
        ("a report that is not silent", vec![loud], "not every visit was observed."),
        ("a report of two pages", vec![two_pages], "and other pages (2 in all) is in"),
        (
            "two reports",
            vec![made(), made().at("2026-03-02T00:00:00.000Z")],
            "A watch report of 2026-03-02T00:00:00.000Z about \"https://shop.example/\" is in",
        ),
    ];
    for (name, reports, words) in results {
        let making = with_reports(&reports);
        let proof = making.proof().to_string();
        vectors.push(Vector::new(name, &making.log(), proof, true, words));
    }
    for (kind, text, shown) in hostile_texts() {
        let mut report = made();
        report.report["pages"][0]["url"] = json!(text);
        let making = with_reports(&[report]);
        let (log, proof) = (making.log(), making.proof().to_string());
        vectors.push(Vector::new(&format!("{kind} as a page"), &log, proof, true, &shown));
    }
    // Reports that are signed and in the log, but are no reports.
    let odd: [(&str, Value); 12] = [
        ("time", json!("noon")),
        ("time", json!("2026-02-30T00:00:00.000Z")),
        ("pages", json!([])),
        ("pages", json!({})),
        ("pages", json!([{"url": 1, "visits": []}])),
        ("pages", json!([{"url": "u", "visits": [{"silent": true}]}])),
        ("pages", json!([{"url": "u", "visits": [{"silent": 1, "leaks": []}]}])),
        ("pages", json!([["u", []]])),
        ("pages", json!([{"url": "u", "visits": [[true, []]]}])),
        ("pages", json!([{"url": "u", "visits": [{"silent": true, "leaks": [], "allowed": 1}]}])),
        ("watcher", json!("nobody")),
        ("watcher", json!(7)),
    ];
    for (number, (field, value)) in odd.into_iter().enumerate() {
        let mut report = made();
        report.report[field] = value;
        let making =
            Making { watch_reports: vec![(report.text(), odd_note(&report))], ..Making::usual() };
        let (log, proof) = (making.log(), making.proof().to_string());
        vectors.push(Vector::new(&format!("odd report {number}"), &log, proof, false, WATCHER));
    }
    // Texts of reports, signed as they are.
    let text = made().text();
    let deep = |levels: usize| {
        let (open, close) = ("[".repeat(levels), "]".repeat(levels));
        text.replacen('{', &format!("{{\"x\": {open}{close},"), 1)
    };
    let texts = [
        ("a name twice", text.replacen('{', "{\"time\": \"2026-03-01T00:00:00.000Z\",", 1), false),
        ("126 levels in an object", deep(126), true),
        ("127 levels in an object", deep(127), false),
        ("a large number", text.replacen('{', "{\"x\": 1e308,", 1), true),
        ("a number beyond a double", text.replacen('{', "{\"x\": 1e309,", 1), false),
        (
            "a reserved name",
            text.replacen('{', "{\"$serde_json::private::Number\": \"1\",", 1),
            false,
        ),
        ("NUL", text.replacen('{', "{\"x\": \"a\\u0000b\",", 1), false),
        ("a list", format!("[{text}]"), false),
    ];
    for (name, text, valid) in texts {
        let hash = hex::encode(Sha256::digest(&text));
        let note = format!("assent/watch/v1\n{}\n{hash} report.json\n", made().time());
        let watch_reports = vec![(text, made().signed(&note))];
        let making = Making { watch_reports, ..Making::usual() };
        let (log, proof) = (making.log(), making.proof().to_string());
        let words = if valid { SILENT } else { WATCHER };
        vectors.push(Vector::new(&format!("a report with {name}"), &log, proof, valid, words));
    }
    // Notes over a valid report.
    let (time, hash) = (made().time().to_owned(), made().sha256());
    let lines = |lines: &str| format!("assent/watch/v1\n{time}\n{lines}");
    let notes = [
        ("more files", lines(&format!("{hash} report.json\n00 a b.png\n")), true),
        (
            "another time",
            format!("assent/watch/v1\n2026-03-01T00:00:01.000Z\n{hash} report.json\n"),
            false,
        ),
        ("another schema", format!("assent/watch/v2\n{time}\n{hash} report.json\n"), false),
        ("a path", lines(&format!("{hash} report.json\n00 a/b\n")), false),
        ("a hidden file", lines(&format!("{hash} report.json\n00 .b\n")), false),
        ("a line without a name", lines(&format!("{hash} report.json\n00\n")), false),
        ("two hashes", lines(&format!("{hash} report.json\n00 report.json\n")), false),
        ("no report", lines(&format!("{hash} report.html\n")), false),
    ];
    for (name, note, valid) in notes {
        let watch_reports = vec![(made().text(), made().signed(&note))];
        let making = Making { watch_reports, ..Making::usual() };
        let (log, proof) = (making.log(), making.proof().to_string());
        let words = if valid { SILENT } else { WATCHER };
        vectors.push(Vector::new(&format!("a note with {name}"), &log, proof, valid, words));
    }
    // Changes of a valid file.
    let making = with_reports(&[made(), made().leaking_to("t.example")]);
    let (log, proof) = (making.log(), making.proof());
    let mut changed = |name: &str, change: &dyn Fn(&mut Value), words: &str, valid| {
        let mut file = proof.clone();
        change(&mut file["watch_reports"]);
        vectors.push(Vector::new(name, &log, file.to_string(), valid, words));
    };
    let text = |value: &Value, from: &str, to: &str| {
        let text = value.as_str().unwrap();
        assert!(text.contains(from), "{from}: {text}");
        json!(text.replacen(from, to, 1))
    };
    changed("no reports", &|all| *all = Value::Null, "accepted", true);
    changed("an empty list of reports", &|all| *all = json!([]), "accepted", true);
    changed("reports in an object", &|all| *all = json!({}), FORM, false);
    changed("a report as a text", &|all| all[0] = json!("x"), FORM, false);
    changed("a report as a list", &|all| all[0] = json!(["r", "n", "e", "p"]), FORM, false);
    changed("more in a report", &|all| all[0]["more"] = json!(1), FORM, false);
    changed("no note", &|all| drop(all[0].as_object_mut().unwrap().remove("note")), FORM, false);
    changed(
        "a changed report",
        &|all| {
            all[0]["report"] = text(&all[0]["report"], "shop", "stop");
        },
        OTHER,
        false,
    );
    changed(
        "a note without its signature",
        &|all| {
            all[0]["note"] = text(&all[0]["note"], "report.json", "report.jsom");
        },
        WATCHER,
        false,
    );
    changed(
        "the note of another report",
        &|all| all[0]["note"] = all[1]["note"].clone(),
        WATCHER,
        false,
    );
    changed(
        "a note with two signatures",
        &|all| {
            let note = all[0]["note"].as_str().unwrap();
            let line = note.lines().last().unwrap();
            all[0]["note"] = json!(format!("{note}{line}\n"));
        },
        WATCHER,
        false,
    );
    changed(
        "the entry of another report",
        &|all| {
            for part in ["entry", "tlog_proof"] {
                all[0][part] = all[1][part].clone();
            }
        },
        OTHER,
        false,
    );
    changed(
        "a changed entry",
        &|all| {
            all[0]["entry"] = text(&all[0]["entry"], "watch", "match");
        },
        "The entry of a watch report is not in the log",
        false,
    );
    changed(
        "a report twice",
        &|all| all[1] = all[0].clone(),
        "A watch report is in this file twice.",
        false,
    );
    vectors
}
