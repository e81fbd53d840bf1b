//! Verifies a proof file, using only the file and the keys of the log and its witnesses. A file has
//! exactly one valid form. Any changed value invalidates its part, unless the verdict reports it as
//! not checked: the growth of the log without a kept checkpoint, the identity of the time-stamp
//! authority, and which watch reports there are and who made them.

use std::collections::HashSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::format::checkpoint::Checkpoint;
use super::format::entry;
use super::format::hashes::{self, Hash};
use super::format::note::{Note, NoteError, Verifier};
use super::format::path::{is_consistent, root_of_inclusion};
use super::format::policy::TrustPolicy;
use super::format::tlog_proof::TlogProof;
use super::format::watch_report::{WatchResult, sha256};
use super::timestamp::stamped::{Stamped, time_of_token};
use super::verdict::{Broken, ProofPart, ProofVerdict};
use super::words::{self, Cosigned, Found};
use crate::types::json::strict::{self, Object};

pub const FORMAT: &str = "assent/proof/v1";
/// Length of salt, index and size, which precede the path of a choice.
const BEFORE_PATH: usize = 48;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    statement: Object<Statement>,
    salt: String,
    #[serde(deserialize_with = "Option::deserialize")]
    policy: Option<Value>,
    #[serde(deserialize_with = "Option::deserialize")]
    notice: Option<String>,
    choices: Object<Proof>,
    publications: Vec<Object<Publication>>,
    #[serde(deserialize_with = "Option::deserialize")]
    growth: Option<Object<Growth>>,
    timestamp: Option<Object<Stamped>>,
    watch_reports: Option<Vec<Object<WatchReport>>>,
}

#[derive(Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    receipt: Value,
    shown: Value,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Proof {
    entry: String,
    tlog_proof: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Publication {
    kind: String,
    entry: String,
    tlog_proof: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WatchReport {
    report: String,
    note: String,
    entry: String,
    tlog_proof: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Growth {
    old_size: u64,
    path: Vec<String>,
}

pub fn verify(file: &str, trusted: &TrustPolicy, kept: Option<&str>) -> ProofVerdict {
    let read = strict::read_object::<File>(file.as_bytes()).map_err(|_| Broken::Form);
    read.and_then(|file| evaluate(&file, trusted, kept)).into()
}

fn evaluate(file: &File, trusted: &TrustPolicy, kept: Option<&str>) -> Result<Vec<String>, Broken> {
    if file.format != FORMAT {
        return Err(Broken::Form);
    }
    let growth = file.growth.as_ref().map(|Object(growth)| GrowthPath::read(growth)).transpose()?;
    let Object(Proof { entry, tlog_proof }) = &file.choices;
    let (proof, signed) = evaluate_entry(ProofPart::Choice, entry, tlog_proof, trusted)?;
    let mut found = evaluate_choice(file, entry, &proof)?;
    let Signed { state: signed, cosigned, other_keys } = signed;
    (found.log, found.size) = (signed.origin.clone(), signed.size);
    (found.cosigned, found.other_keys) = (cosigned, other_keys);
    evaluate_words(file, trusted, &mut found)?;
    evaluate_reports(file, trusted, &mut found)?;
    found.stamped = evaluate_timestamp(file, trusted, &found)?;
    if let Some(kept) = kept {
        found.kept = Some(evaluate_growth(growth.as_ref(), &signed, kept, &trusted.logs)?);
    }
    found.has_unused_growth = growth.is_some() && found.kept.is_none_or(|kept| kept == signed.size);
    Ok(words::sentences(&found))
}

struct Signed {
    state: Checkpoint,
    cosigned: Vec<Cosigned>,
    other_keys: usize,
}

fn evaluate_entry(
    part: ProofPart,
    entry: &str,
    proof: &str,
    trusted: &TrustPolicy,
) -> Result<(TlogProof, Signed), Broken> {
    let proof = TlogProof::parse(proof).ok_or_else(|| Broken::Lines(part.clone()))?;
    let signed = evaluate_state(&part, &proof.checkpoint, trusted)?;
    let leaf = hashes::leaf(entry.as_bytes());
    match root_of_inclusion(leaf, proof.index, signed.state.size, &proof.path) {
        Some(root) if root == signed.state.root => Ok((proof, signed)),
        _ => Err(Broken::Entry(part)),
    }
}

/// Verifies that a state is signed by one of the logs, and by a quorum of witnesses.
fn evaluate_state(part: &ProofPart, note: &str, trusted: &TrustPolicy) -> Result<Signed, Broken> {
    let broken = |error| Broken::Checkpoint(part.clone(), error);
    let state = open(note, &trusted.logs, broken)?.ok_or_else(|| Broken::Origin(part.clone()))?;
    let note = Note::parse(note).map_err(broken)?;
    let mut cosigned = Vec::new();
    for witness in &trusted.witnesses {
        let Some(key) = &witness.cosigner else { continue };
        let forged = |_| Broken::Cosignature(part.clone(), key.name().to_owned());
        if let Some(time) = key.time_of(&note).map_err(forged)? {
            let (of, name) = (witness.name.clone(), key.name().to_owned());
            cosigned.push(Cosigned { of, name, time });
        }
    }
    if !trusted.is_met(|witness| cosigned.iter().any(|found| found.of == witness.name)) {
        return Err(Broken::Quorum(part.clone(), cosigned.len()));
    }
    let other_keys = note.signatures.len().saturating_sub(1 + cosigned.len());
    Ok(Signed { state, cosigned, other_keys })
}

/// The checkpoint signed by one of the keys; `None` if it is not a state of the key's own log.
fn open(
    note: &str,
    trusted: &[Verifier],
    broken: impl Fn(NoteError) -> Broken,
) -> Result<Option<Checkpoint>, Broken> {
    let mut refused = NoteError::Unsigned;
    for key in trusted {
        match key.open(note) {
            Ok(text) => {
                return Ok(Checkpoint::parse(text).filter(|signed| signed.origin == key.name()));
            }
            Err(NoteError::Unsigned) => {}
            Err(error) => refused = error,
        }
    }
    Err(broken(refused))
}

fn evaluate_choice(file: &File, entry: &str, proof: &TlogProof) -> Result<Found, Broken> {
    let extra = proof.extra.as_deref().unwrap_or_default();
    let (before, path) = extra.split_at_checked(BEFORE_PATH).ok_or(Broken::Choice)?;
    let (salt, numbers) = before.split_at(32);
    if hex::encode(salt) != file.salt {
        return Err(Broken::Salt);
    }
    let number = |bytes: &[u8]| bytes.try_into().map(u64::from_be_bytes).unwrap_or_default();
    let (index, size) = (number(&numbers[..8]), number(&numbers[8..]));
    let (path, rest) = path.as_chunks::<32>();
    let statement =
        serde_json_canonicalizer::to_vec(&file.statement.0).map_err(|_| Broken::Form)?;
    let leaf = leaf_of(salt, &statement);
    let root = root_of_inclusion(leaf, index, size, path).filter(|_| rest.is_empty());
    let at = root.and_then(|root| entry::time_of_choices(entry, &root)).ok_or(Broken::Choice)?;
    let at = entry::time(at).ok_or(Broken::Time(ProofPart::Choice))?;
    let Object(Statement { receipt, shown }) = &file.statement;
    Ok(Found::new(receipt.clone(), shown.clone(), &at))
}

/// The leaf of a choice: a hash of its salt and its statement, which is canonical JSON.
pub fn leaf_of(salt: &[u8], statement: &[u8]) -> Hash {
    hashes::leaf(&[salt, statement].concat())
}

fn evaluate_words(file: &File, trusted: &TrustPolicy, found: &mut Found) -> Result<(), Broken> {
    if let Some(policy) = &file.policy {
        let policy = serde_json_canonicalizer::to_vec(policy).map_err(|_| Broken::Form)?;
        if found.names("policy") != Some(&*sha256(&policy)) {
            return Err(Broken::Policy);
        }
        found.has_policy = true;
    }
    if let Some(notice) = &file.notice {
        if found.names("notice") != Some(&*sha256(notice.as_bytes())) {
            return Err(Broken::Notice);
        }
        found.has_notice = true;
    }
    for Object(Publication { kind, entry, tlog_proof }) in &file.publications {
        let named = found.names(kind).ok_or_else(|| Broken::Foreign(kind.clone()))?.to_owned();
        let part = || ProofPart::Publication(kind.clone());
        let (proof, _) = evaluate_entry(part(), entry, tlog_proof, trusted)?;
        let at = entry::time_of_publication(entry, kind, &named).filter(|_| proof.extra.is_none());
        let at = at.ok_or_else(|| Broken::Foreign(kind.clone()))?;
        let at = entry::time(at).ok_or_else(|| Broken::Time(part()))?;
        if found.published.iter().any(|(known, _)| known == kind) {
            return Err(Broken::Twice(kind.clone()));
        }
        found.published.push((kind.clone(), at));
    }
    Ok(())
}

/// Verifies that each report is signed by the watcher that it names, and that its hash is in the log.
fn evaluate_reports(file: &File, trusted: &TrustPolicy, found: &mut Found) -> Result<(), Broken> {
    let mut known = HashSet::new();
    for Object(included) in file.watch_reports.iter().flatten() {
        let WatchReport { report, note, entry, tlog_proof } = included;
        let (proof, _) = evaluate_entry(ProofPart::WatchReport, entry, tlog_proof, trusted)?;
        let hash = sha256(report.as_bytes());
        let at = entry::time_of_publication(entry, "watch", &hash);
        let at = at.filter(|_| proof.extra.is_none()).ok_or(Broken::WatchReport)?;
        let at = entry::time(at).ok_or(Broken::Time(ProofPart::WatchReport))?;
        let result = WatchResult::read(report, note).ok_or(Broken::Watcher)?;
        if !known.insert(hash) {
            return Err(Broken::WatchReportTwice);
        }
        found.watch_reports.push((result, at));
    }
    Ok(())
}

/// Verifies that the timestamp covers a state of the log with the choice; returns its time and size.
fn evaluate_timestamp(
    file: &File,
    trusted: &TrustPolicy,
    found: &Found,
) -> Result<Option<(String, u64)>, Broken> {
    let Some(Object(Stamped { token, tlog_proof })) = &file.timestamp else { return Ok(None) };
    let entry = &file.choices.0.entry;
    let (proof, signed) = evaluate_entry(ProofPart::Timestamp, entry, tlog_proof, trusted)?;
    let time = time_of_token(token, &proof.checkpoint).filter(|_| proof.extra.is_none());
    let time = time.ok_or(Broken::Timestamp)?;
    if found.recorded_at().is_some_and(|recorded| time.is_before(recorded)) {
        return Err(Broken::Early);
    }
    Ok(Some((time.to_string(), signed.state.size)))
}

/// Verifies that the log extends an earlier checkpoint; returns the size at that checkpoint.
fn evaluate_growth(
    growth: Option<&GrowthPath>,
    signed: &Checkpoint,
    kept: &str,
    trusted: &[Verifier],
) -> Result<u64, Broken> {
    let kept = open(kept, trusted, Broken::Kept)?;
    let kept = kept.filter(|kept| kept.origin == signed.origin).ok_or(Broken::KeptOrigin)?;
    let old = (kept.size, kept.root);
    if kept.size == signed.size {
        return if kept.root == signed.root { Ok(kept.size) } else { Err(Broken::Rewritten) };
    }
    let growth = growth.filter(|growth| growth.old_size == kept.size);
    let growth = growth.ok_or(Broken::Growth(kept.size))?;
    let extends_kept = is_consistent(old, (signed.size, signed.root), &growth.path);
    if extends_kept { Ok(kept.size) } else { Err(Broken::Rewritten) }
}

struct GrowthPath {
    old_size: u64,
    path: Vec<Hash>,
}

impl GrowthPath {
    fn read(growth: &Growth) -> Result<Self, Broken> {
        let hash = |text: &String| BASE64_STANDARD.decode(text).ok()?.try_into().ok();
        let path = growth.path.iter().map(hash).collect::<Option<_>>();
        Ok(Self { old_size: growth.old_size, path: path.ok_or(Broken::Form)? })
    }
}
