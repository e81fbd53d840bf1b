//! Exports of all consent data of a pixel for its owner: one JSON document per line (NDJSON).

use chrono::{DateTime, Utc};
use futures_util::stream::{self, BoxStream, StreamExt};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::days::Times;
use super::proofs::proof_file::{ProofFile, prove_stored};
use super::service::Receipts;
use super::store::reading::{self, StoredReceipt};
use crate::accounts::access::Caller;
use crate::clock::Timestamp;
use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::{Receipt, ReceiptEnvelope};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::exports::ExportPermit;
use crate::pixels;
use crate::policies::{self, PolicyVersion};
use crate::proof::log::Log;
use crate::types::host::SiteHost;
use crate::types::ids::{PixelId, PixelParam};
use crate::types::parameter::wrong;
use crate::types::text::present;
use crate::types::text_enum::text_enum;

/// Bytes after which a chunk of an export is sent. An export holds at most this and one line in memory,
/// however slowly it is read.
pub const PIECE_BYTES: usize = 128 << 10;
/// Rows per query. Rows that do not fit into the chunk are read again for the next one.
const PAGE: i64 = 200;
/// Rows per query with proofs, which take a few milliseconds and some kilobytes each.
const PROVED_PAGE: i64 = 20;

/// One version of the policy. `policy` is the text as it was hashed: the SHA-256 of its bytes is
/// `policy_hash`.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct PolicyLine<'a> {
    pub policy_version: i32,
    pub policy_hash: &'a str,
    pub published_at: Timestamp,
    pub domain: &'a SiteHost,
    #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
    #[schema(value_type = Object)]
    pub policy: &'a RawValue,
}

impl<'a> PolicyLine<'a> {
    pub fn of(version: &'a PolicyVersion) -> Result<Self> {
        Ok(Self {
            policy_version: version.version,
            policy_hash: &version.policy_hash,
            published_at: Timestamp(version.published_at),
            domain: &version.domain,
            policy: serde_json::from_str(&version.document).map_err(Error::internal)?,
        })
    }
}

/// A receipt, and what the visitor saw, as the consent tag said it; null when nothing did.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct ReceiptLine {
    #[serde(flatten)]
    pub envelope: ReceiptEnvelope,
    #[schema(required = true)]
    pub shown: Option<Shown>,
    /// With `proofs`: all that it takes to check the choice without the service, null while it is not in
    /// the log yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProofFile>)]
    pub proof: Option<Option<ProofFile>>,
}

/// The last line of a failed export, which marks it as incomplete.
#[derive(Serialize)]
struct BrokenOff {
    error: String,
}

/// A running export. It holds no connection between two pages, so slow readers do not use up connections.
struct Export {
    infra: Infra,
    _permit: ExportPermit,
    proofs: Option<Log>,
    pixel_id: PixelId,
    /// Receipts recorded after the start of the export are left out.
    last_seq: i64,
    times: Times,
    cursor: Cursor,
}

enum Cursor {
    PoliciesAfter(i32),
    /// The time and position of the last receipt that was exported.
    ReceiptsAfter(DateTime<Utc>, i64),
    End,
}

/// Lines that are sent while they are generated.
pub type Lines = BoxStream<'static, Vec<u8>>;

text_enum! {
    /// The form of an export.
    pub enum ExportFormat {
        Ndjson = "ndjson",
        Dpv = "dpv",
    }
}

/// The pixel and the UTC days to export; either end may be open.
pub struct ExportRequest {
    pub pixel_id: PixelParam,
    pub from: Option<String>,
    pub to: Option<String>,
    /// `true` for receipts with their proofs.
    pub proofs: Option<String>,
    pub format: ExportFormat,
}

/// Starts an export: every policy version, then every receipt of the given times, each in ascending order of
/// time. Access is checked and the first page is read before a byte is sent, so that an export that cannot
/// start fails like any other request.
pub async fn export(
    receipts: &Receipts,
    caller: &Caller,
    request: &ExportRequest,
) -> Result<Lines> {
    let infra = &receipts.infra;
    let times = Times::parse(request.from.as_deref(), request.to.as_deref())?;
    let proofs = log_for(receipts, request.proofs.as_deref())?;
    let pixel_id = pixels::setup::find_for(&infra.pool, caller, &request.pixel_id).await?.pixel_id;
    let permit = infra.exports.take(caller.account_id())?;
    let mut connection = infra.read_pool.acquire().await?;
    let last_seq = reading::find_last_seq(&mut connection, &pixel_id).await?;
    drop(connection);
    let (infra, cursor) = (infra.clone(), Cursor::PoliciesAfter(0));
    let mut export = Export { infra, _permit: permit, proofs, pixel_id, last_seq, times, cursor };
    let first = export.next_lines().await?;
    let rest = stream::unfold(export, |mut export| async {
        let lines = match export.next_lines().await {
            Ok(lines) => lines?,
            Err(error) => export.break_off(&error),
        };
        Some((lines, export))
    });
    Ok(stream::iter(first).chain(rest).boxed())
}

fn log_for(receipts: &Receipts, proofs: Option<&str>) -> Result<Option<Log>> {
    match present(proofs) {
        None | Some("false") => Ok(None),
        Some("true") => {
            receipts.log.verifier()?;
            Ok(Some(receipts.log.clone()))
        }
        Some(_) => Err(neither_true_nor_false()),
    }
}

pub fn neither_true_nor_false() -> Error {
    wrong("proofs", "must be true or false")
}

impl Export {
    /// The lines of the next page; `None` at the end.
    async fn next_lines(&mut self) -> Result<Option<Vec<u8>>> {
        match self.cursor {
            Cursor::PoliciesAfter(version) => self.policies(version).await.map(Some),
            Cursor::ReceiptsAfter(time, seq) => self.receipts(time, seq).await.map(Some),
            Cursor::End => Ok(None),
        }
    }

    async fn policies(&mut self, after: i32) -> Result<Vec<u8>> {
        let mut connection = self.infra.read_pool.acquire().await?;
        let page = (PAGE, PIECE_BYTES as i64);
        let page =
            policies::list_policies(&mut connection, &self.pixel_id, after, page.0, page.1).await?;
        drop(connection);
        self.cursor = match page.last() {
            Some(last) => Cursor::PoliciesAfter(last.version),
            None => Cursor::ReceiptsAfter(self.times.from, 0),
        };
        let mut lines = Vec::new();
        for version in &page {
            write_line(&mut lines, &PolicyLine::of(version)?)?;
        }
        Ok(lines)
    }

    async fn receipts(&mut self, time: DateTime<Utc>, after: i64) -> Result<Vec<u8>> {
        let mut held = self.infra.read_pool.acquire().await?;
        let (pixel_id, last) = (&self.pixel_id, self.last_seq);
        let limit = if self.proofs.is_some() { PROVED_PAGE } else { PAGE };
        let after = (time, after);
        let page =
            reading::list_exported(&mut held, pixel_id, self.times, after, last, limit).await?;
        drop(held);
        let mut lines = Vec::new();
        self.cursor = Cursor::End;
        for StoredReceipt { signed, shown, seq } in page {
            let reached = Cursor::ReceiptsAfter(signed.receipt.recorded_at, seq);
            let proof = self.prove(&signed.receipt).await?;
            write_line(&mut lines, &ReceiptLine { envelope: signed.into(), shown, proof })?;
            self.cursor = reached;
            if lines.len() >= PIECE_BYTES {
                break;
            }
        }
        Ok(lines)
    }

    /// The proof of a receipt, if the export includes proofs.
    async fn prove(&self, receipt: &Receipt) -> Result<Option<Option<ProofFile>>> {
        let Some(log) = &self.proofs else { return Ok(None) };
        let mut connection = self.infra.pool.acquire().await?;
        prove_stored(&mut connection, log, receipt).await.map(Some)
    }

    /// The status has already been sent, so the last line reports the failure.
    fn break_off(&mut self, error: &Error) -> Vec<u8> {
        if let Error::Internal(cause) = error {
            tracing::error!(cause, pixel_id = %self.pixel_id, "an export broke off");
        }
        self.cursor = Cursor::End;
        let mut line = Vec::new();
        match write_line(&mut line, &BrokenOff { error: error.to_string() }) {
            Ok(()) => line,
            Err(_) => Vec::new(),
        }
    }
}

fn write_line(lines: &mut Vec<u8>, document: &impl Serialize) -> Result<()> {
    serde_json::to_writer(&mut *lines, document).map_err(Error::internal)?;
    lines.push(b'\n');
    Ok(())
}
