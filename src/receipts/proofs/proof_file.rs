//! Proof files: one choice, the texts that it answers, and the proof that both are in the log. The file and the
//! log's key are sufficient for verification.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;
use sha2::Digest;
use sqlx::PgConnection;
use utoipa::ToSchema;

use crate::consent_receipt::leaf::Leaf;
use crate::consent_receipt::notice_snapshot::{Shown, StatedShown, as_stated};
use crate::consent_receipt::receipt::Receipt;
use crate::error::{Error, Result};
use crate::policies;
use crate::policies::notice::plain_text;
use crate::policies::policy::Policy;
use crate::proof::log::Log;
use crate::proof::proving::{LogProof, NOT_SEALED_YET, State};
use crate::proof::timestamp::proving::TimestampProof;
use crate::proof::verifying::FORMAT;
use crate::receipts::store::leaves::{self, ProvableChoice};
use crate::silence::proving::WatchReportProof;
use crate::types::locales;
use crate::types::parameter::wrong;

/// All that it takes to check a choice.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ProofFile {
    /// Always `assent/proof/v1`.
    pub format: &'static str,
    pub statement: Statement,
    /// 32 random bytes that nobody else has, 64 hex digits.
    pub salt: String,
    /// The policy that was answered, as it was hashed; null when it is not kept any more.
    #[schemars(with = "Option<serde_json::Map<String, Value>>")]
    #[schema(value_type = Option<Object>, required = true)]
    pub policy: Option<Value>,
    /// The text of the notice that was shown; null when it is not known, or cannot be written again as
    /// it was.
    #[schema(required = true)]
    pub notice: Option<String>,
    /// The entry in which the choice is. Before the path through the log, its proof has the salt and the
    /// path to this entry.
    pub choices: LogProof,
    /// The entries of the policy, the notice and the script.
    pub publications: Vec<PublicationProof>,
    /// How the log grew, if that was asked for; else null.
    #[schema(required = true)]
    pub growth: Option<Growth>,
    /// A time stamp of an outside authority over a state of the log in which the choice is; left out until
    /// there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamp: Option<TimestampProof>,
    /// Watch reports about the site on the day of the choice; only in the evidence that the owner downloads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub watch_reports: Vec<WatchReportProof>,
}

/// What is in the log: a hash of this, as canonical JSON, and of the salt.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Statement {
    pub receipt: Receipt,
    #[serde(serialize_with = "as_stated")]
    #[schema(value_type = Option<StatedShown<'static>>, required = true)]
    #[schemars(with = "Option<StatedShown<'static>>")]
    pub shown: Option<Shown>,
}

/// An entry of something that was published, and the proof that it is in the log.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PublicationProof {
    /// `policy`, `notice` or `script`.
    pub kind: &'static str,
    #[serde(flatten)]
    pub proof: LogProof,
}

/// That the log begins with the log as it was when it had another size.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Growth {
    pub old_size: u64,
    /// Hashes, base64, as in RFC 9162.
    pub path: Vec<String>,
}

/// The proof of a stored receipt; `None` if it is not in the log yet, or was erased meanwhile. A receipt
/// recorded without a log is added to it by this call.
pub async fn prove_stored(
    connection: &mut PgConnection,
    log: &Log,
    receipt: &Receipt,
) -> Result<Option<ProofFile>> {
    let Receipt { pixel_id, visitor_id, receipt_id, .. } = receipt;
    let found = leaves::find_provable(connection, pixel_id, visitor_id, Some(*receipt_id)).await?;
    let Some(choice) = found else { return Ok(None) };
    match file_of(connection, log, choice, None).await {
        Ok(file) => Ok(Some(file)),
        Err(Error::NotSealedYet { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

pub(super) async fn file_of(
    connection: &mut PgConnection,
    log: &Log,
    choice: ProvableChoice,
    old_size: Option<u64>,
) -> Result<ProofFile> {
    let ProvableChoice { signed, shown, salt, epoch, seq } = choice;
    let Some(salt) = salt else {
        let leaf = Leaf::of(&signed.receipt.canonical()?, shown.as_ref());
        let pixel_id = &signed.receipt.pixel_id;
        leaves::insert_late(connection, pixel_id, seq, &leaf).await?;
        return Err(NOT_SEALED_YET);
    };
    let epoch = epoch.ok_or(NOT_SEALED_YET)?;
    let salt = salt.try_into().map_err(|_| Error::internal("a salt has 32 bytes"))?;
    let leaf = Leaf::recomputed(salt, &signed.receipt, shown.as_ref())?;
    let state = log.state(connection).await?;
    let choices = state.prove_choice(connection, epoch, &leaf.salt, &leaf.hash).await?;
    let statement = Statement { receipt: signed.receipt, shown };
    let words = Words::find(connection, &statement).await?;
    Ok(ProofFile {
        format: FORMAT,
        publications: publications(connection, &state, &statement).await?,
        growth: growth(connection, &state, old_size).await?,
        timestamp: log.prove_time(connection, epoch).await?,
        watch_reports: Vec::new(),
        salt: hex::encode(leaf.salt),
        policy: words.policy,
        notice: words.notice,
        statement,
        choices,
    })
}

pub(super) fn wrong_size() -> Error {
    wrong("old_size", "must be a size that the log had")
}

/// The texts that a choice answers.
struct Words {
    policy: Option<Value>,
    notice: Option<String>,
}

impl Words {
    async fn find(connection: &mut PgConnection, choice: &Statement) -> Result<Self> {
        let Receipt { pixel_id, policy_hash, recorded_at, .. } = &choice.receipt;
        let at = Some(*recorded_at);
        let policy = policies::find_policy_by_hash(connection, pixel_id, policy_hash, at).await?;
        let Some(policy) = policy else { return Ok(Self { policy: None, notice: None }) };
        let notice = choice.shown.as_ref().and_then(|shown| notice(&policy, shown));
        let is_same = hex::encode(sha2::Sha256::digest(policy.text.canonical()?)) == *policy_hash;
        let text = serde_json::to_value(&policy.text).map_err(Error::internal)?;
        Ok(Self { policy: is_same.then_some(text), notice })
    }
}

/// The notice that was shown, if its present rendering is identical.
fn notice(policy: &Policy, shown: &Shown) -> Option<String> {
    let (locale, digest) = (locales::named(&shown.language)?, shown.notice?);
    let texts = [false, true].map(|shares_subdomains| {
        plain_text(&Policy { shares_subdomains, ..policy.clone() }, locale)
    });
    texts.into_iter().find(|text| sha2::Sha256::digest(text)[..] == digest)
}

async fn publications(
    connection: &mut PgConnection,
    state: &State,
    choice: &Statement,
) -> Result<Vec<PublicationProof>> {
    let shown = choice.shown.as_ref();
    let policy = hex::decode(&choice.receipt.policy_hash).ok();
    let notice = shown.and_then(|shown| shown.notice).map(Vec::from);
    let script = shown.and_then(|shown| shown.script).map(Vec::from);
    let mut proofs = Vec::new();
    for (kind, sha256) in [("policy", policy), ("notice", notice), ("script", script)] {
        let Some(sha256) = sha256 else { continue };
        let proof = state.prove_publication(connection, kind, &sha256).await?;
        proofs.extend(proof.map(|proof| PublicationProof { kind, proof }));
    }
    Ok(proofs)
}

async fn growth(
    connection: &mut PgConnection,
    state: &State,
    old_size: Option<u64>,
) -> Result<Option<Growth>> {
    let Some(old_size) = old_size else { return Ok(None) };
    let path = state.prove_growth(connection, old_size).await?.ok_or_else(wrong_size)?;
    Ok(Some(Growth { old_size, path }))
}
