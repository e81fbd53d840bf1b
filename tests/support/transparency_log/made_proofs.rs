//! Proof files built by the tests with a log of their own, including valid ones that no service would
//! produce.

use assent::proof::format::checkpoint::Checkpoint;
use assent::proof::format::cosignature::CosigningKey;
use assent::proof::format::entry::{self, Kind};
use assent::proof::format::hashes::{Hash, complete, leaf};
use assent::proof::format::note::{NoteSigner, Verifier};
use assent::proof::format::path::{consistency, inclusion};
use assent::proof::format::policy::TrustPolicy;
use assent::proof::format::tlog_proof::TlogProof;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

const SALT: [u8; 32] = [7; 32];
/// Number of entries before those of the proof.
const EARLIER: u64 = 5;
/// Size of the log at the kept checkpoint.
const KEPT: u64 = 3;

/// A log and its one witness.
pub struct MadeLog {
    signer: NoteSigner,
    witness: CosigningKey,
    entries: Vec<String>,
}

/// The parameters of a proof.
pub struct Making {
    pub log: &'static str,
    pub witness: &'static str,
    pub statement: Value,
    /// The value of `at` in the entry of the choice.
    pub entered_at: String,
    /// The GeneralizedTime of the token.
    pub stamped_at: String,
    /// Watch reports with their notes.
    pub watch_reports: Vec<(String, String)>,
}

pub const NOTICE: &str = "Shop Ltd asks for analytics.\n";

pub fn policy_of_site() -> Value {
    json!({"controller": {"name": "Shop Ltd"}, "lifetime_days": 180, "purposes": ["analytics"]})
}

fn sha256(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

pub fn hex_of(bytes: &[u8]) -> String {
    hex::encode(sha256(bytes))
}

impl Making {
    /// The same values as the service uses.
    pub fn usual() -> Self {
        let policy = serde_json_canonicalizer::to_vec(&policy_of_site()).unwrap();
        Self {
            log: "shop.example/log",
            witness: "w.example/1",
            statement: json!({
                "receipt": {
                    "consent_state": "accepted",
                    "origin": "https://shop.example",
                    "pixel_id": "Zr5LxN2h3vTqYb0wKd8m",
                    "policy_hash": hex_of(&policy),
                    "purposes": ["analytics"],
                    "receipt_id": "019cd7a5-5c60-7000-8000-000000000001",
                    "recorded_at": "2026-03-10T12:00:01.000Z",
                    "visitor_id": "v-1",
                },
                "shown": {
                    "language": "en",
                    "notice": hex_of(NOTICE.as_bytes()),
                    "script": hex_of(b"script"),
                },
            }),
            entered_at: "2026-03-10T12:00:09.500Z".to_owned(),
            stamped_at: "20260310235900Z".to_owned(),
            watch_reports: Vec::new(),
        }
    }

    /// Replaces the text at a pointer of the statement.
    pub fn with(mut self, pointer: &str, text: impl Into<Value>) -> Self {
        *self.statement.pointer_mut(pointer).expect(pointer) = text.into();
        self
    }

    pub fn log(&self) -> MadeLog {
        MadeLog {
            signer: NoteSigner::new(self.log, &[1; 32]).unwrap(),
            witness: CosigningKey::new(self.witness, &[2; 32]).unwrap(),
            entries: (0..EARLIER).map(|number| format!("entry {number}\n")).collect(),
        }
    }

    /// The complete file, as it would be served.
    pub fn proof(&self) -> Value {
        let mut log = self.log();
        let statement = serde_json_canonicalizer::to_vec(&self.statement).unwrap();
        let root = leaf(&[&SALT[..], &statement].concat());
        let at = "2026-03-10T12:00:00.000Z".parse::<DateTime<Utc>>().unwrap();
        let choice =
            entry::choices(&root, at).replace("2026-03-10T12:00:00.000Z", &self.entered_at);
        let named = |pointer: &str| self.statement.pointer(pointer).and_then(Value::as_str);
        let mut published = Vec::new();
        for (kind, pointer) in [
            (Kind::Policy, "/receipt/policy_hash"),
            (Kind::Notice, "/shown/notice"),
            (Kind::Script, "/shown/script"),
        ] {
            let hash = named(pointer).and_then(|hash| hex::decode(hash).ok()?.try_into().ok());
            let Some(hash) = hash else { continue };
            published.push((kind.as_str(), log.entries.len()));
            log.entries.push(entry::publication(kind, &hash, at));
        }
        let mut watched = Vec::new();
        for (report, note) in &self.watch_reports {
            watched.push((report, note, log.entries.len()));
            log.entries.push(entry::publication(Kind::Watch, &sha256(report.as_bytes()), at));
        }
        let number = log.entries.len();
        log.entries.push(choice);
        let extra = [&SALT[..], &0_u64.to_be_bytes(), &1_u64.to_be_bytes()].concat();
        let stamped = log.checkpoint(log.size());
        let token = token(&sha256(stamped.as_bytes()), &self.stamped_at);
        let timestamp = json!({
            "token": BASE64_STANDARD.encode(token),
            "tlog_proof": log.proof_at(number, log.size(), None),
        });
        log.entries.push("a later entry\n".to_owned());
        let publication = |(kind, number): &(&str, usize)| {
            json!({
                "kind": kind,
                "entry": log.entries[*number],
                "tlog_proof": log.proof_at(*number, log.size(), None),
            })
        };
        let watch_report = |(report, note, number): &(&String, &String, usize)| {
            json!({
                "report": report,
                "note": note,
                "entry": log.entries[*number],
                "tlog_proof": log.proof_at(*number, log.size(), None),
            })
        };
        let mut file = json!({
            "format": "assent/proof/v1",
            "statement": self.statement,
            "salt": hex::encode(SALT),
            "policy": policy_of_site(),
            "notice": NOTICE,
            "choices": {
                "entry": log.entries[number],
                "tlog_proof": log.proof_at(number, log.size(), Some(extra)),
            },
            "publications": published.iter().map(publication).collect::<Vec<_>>(),
            "growth": {"old_size": KEPT, "path": log.growth(KEPT)},
            "timestamp": timestamp,
        });
        if !watched.is_empty() {
            file["watch_reports"] = watched.iter().map(watch_report).collect();
        }
        file
    }

    /// The kept checkpoint.
    pub fn kept(&self) -> String {
        self.log().checkpoint(KEPT)
    }
}

impl MadeLog {
    pub fn key(&self) -> Verifier {
        self.signer.verifier().clone()
    }

    /// The text of a policy that names the log and its witness.
    pub fn policy(&self) -> String {
        format!("log {}\nwitness w {}\nquorum w\n", self.key(), self.witness.cosigner())
    }

    pub fn trusted(&self) -> TrustPolicy {
        TrustPolicy::trusting(&self.policy()).unwrap()
    }

    fn size(&self) -> u64 {
        self.entries.len().try_into().unwrap()
    }

    fn node(&self, level: u32, index: u64) -> Option<Hash> {
        let range =
            usize::try_from(index << level).ok()?..usize::try_from((index + 1) << level).ok()?;
        let leaves = self.entries.get(range)?.iter().map(|entry| leaf(entry.as_bytes()));
        Some(complete(&leaves.collect::<Vec<_>>()))
    }

    /// The signed and cosigned state of the first entries.
    fn checkpoint(&self, size: u64) -> String {
        let first = &self.entries[..usize::try_from(size).unwrap()];
        let leaves = first.iter().map(|entry| leaf(entry.as_bytes())).collect::<Vec<_>>();
        let root = BASE64_STANDARD.decode(super::public_log::root(&leaves)).unwrap();
        let origin = self.signer.verifier().name().to_owned();
        let state = Checkpoint { origin, size, root: root.try_into().unwrap() }.to_string();
        format!("{}{}", self.signer.sign(&state), self.witness.cosign(&state, 1_773_144_020))
    }

    fn proof_at(&self, number: usize, size: u64, extra: Option<Vec<u8>>) -> String {
        let index = number.try_into().unwrap();
        let path = inclusion(index, size, &|level, index| self.node(level, index)).unwrap();
        TlogProof { extra, index, path, checkpoint: self.checkpoint(size) }.to_string()
    }

    fn growth(&self, old: u64) -> Vec<String> {
        let path = consistency(old, self.size(), &|level, index| self.node(level, index));
        path.unwrap().iter().map(|hash| BASE64_STANDARD.encode(hash)).collect()
    }
}

/// A DER value.
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len();
    let head = match length {
        0..0x80 => vec![tag, u8::try_from(length).unwrap()],
        _ => vec![
            tag,
            0x82,
            u8::try_from(length >> 8).unwrap(),
            u8::try_from(length & 0xff).unwrap(),
        ],
    };
    // Short lengths must not use the long form in DER.
    let head = if (0x80..0x100).contains(&length) { vec![tag, 0x81, head[3]] } else { head };
    [head, content.to_vec()].concat()
}

/// A time-stamp token (RFC 3161) over a hash, with an invalid signature.
pub fn token(imprint: &Hash, time: &str) -> Vec<u8> {
    let oid = |hex: &str| der(0x06, &hex::decode(hex).unwrap());
    let algorithm = der(0x30, &[oid("608648016503040201"), der(0x05, &[])].concat());
    let info = [
        der(0x02, &[1]),
        oid("2a0304"),
        der(0x30, &[algorithm, der(0x04, imprint)].concat()),
        der(0x02, &[9]),
        der(0x18, time.as_bytes()),
        der(0x02, &[0x41]),
    ];
    let info = der(0x04, &der(0x30, &info.concat()));
    let inner = [oid("2a864886f70d0109100104"), der(0xa0, &info)].concat();
    let signed =
        [der(0x02, &[3]), der(0x31, &[]), der(0x30, &inner), der(0x31, b"nobody")].concat();
    let content = der(0xa0, &der(0x30, &signed));
    der(0x30, &[oid("2a864886f70d010702"), content].concat())
}
