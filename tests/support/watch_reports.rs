//! Reports of watchers, made and signed without a browser.

use assent::proof::format::note::NoteSigner;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const VISITS: [&str; 6] =
    ["untouched", "declined", "accepted_then_withdrawn", "gpc", "returning", "blocked"];

/// A report about the home page of a host, silent at first.
pub struct ReportMade {
    pub report: Value,
    signer: NoteSigner,
}

impl ReportMade {
    pub fn of(host: &str) -> Self {
        Self::by(7, host)
    }

    /// By the watcher whose key has this seed.
    pub fn by(seed: u8, host: &str) -> Self {
        let visit = |visit: &str| {
            json!({
                "visit": visit, "silent": true, "unobserved": null, "leaks": [], "allowed": [],
                "kept": [], "cookies": [], "storage": [], "screenshot": null,
            })
        };
        let signer = NoteSigner::new("assent-watch", &[seed; 32]).unwrap();
        let report = json!({
            "schema": "assent/watch/v1",
            "program": "1.0.0",
            "time": "2026-03-01T00:00:00.000Z",
            "watcher": signer.verifier().to_string(),
            "browser": {"version": "Chrome/1", "sandbox": true},
            "seconds": 4.0,
            "not_covered": [],
            "pages": [{
                "url": format!("https://{host}/"),
                "service": null,
                "tag": null,
                "visits": VISITS.map(visit),
            }],
        });
        Self { report, signer }
    }

    pub fn at(mut self, time: &str) -> Self {
        self.report["time"] = json!(time);
        self
    }

    /// With a script of this host in the visits `untouched` and `gpc`.
    pub fn leaking_to(mut self, host: &str) -> Self {
        for visit in [0, 3] {
            let visit = &mut self.report["pages"][0]["visits"][visit];
            visit["silent"] = json!(false);
            visit["leaks"] = json!([{
                "url": format!("https://{host}/t.js"), "host": host, "kind": "script", "at_ms": 12,
                "initiator": {"url": "https://shop.example/", "line": 7},
            }]);
        }
        self
    }

    /// With a script of this host that is allowed.
    pub fn excepting(mut self, host: &str) -> Self {
        self.report["pages"][0]["visits"][0]["allowed"] = json!([{
            "url": format!("https://{host}/t.js"), "host": host, "kind": "script", "at_ms": 12,
            "initiator": null,
        }]);
        self
    }

    pub fn unobserved(mut self) -> Self {
        let visit = &mut self.report["pages"][0]["visits"][1];
        visit["silent"] = Value::Null;
        visit["unobserved"] = json!("nothing could be declined");
        self
    }

    pub fn text(&self) -> String {
        serde_json::to_string_pretty(&self.report).unwrap()
    }

    pub fn sha256(&self) -> String {
        hex::encode(Sha256::digest(self.text()))
    }

    pub fn note(&self) -> String {
        self.signed(&format!("assent/watch/v1\n{}\n{} report.json\n", self.time(), self.sha256()))
    }

    /// The verifier key of the watcher.
    pub fn watcher(&self) -> &str {
        self.report["watcher"].as_str().unwrap()
    }

    pub fn time(&self) -> &str {
        self.report["time"].as_str().unwrap()
    }

    /// Any text, signed by the watcher.
    pub fn signed(&self, text: &str) -> String {
        self.signer.sign(text)
    }

    /// What is submitted.
    pub fn body(&self) -> Value {
        json!({"report": self.text(), "note": self.note()})
    }
}
