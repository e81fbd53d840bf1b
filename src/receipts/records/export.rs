//! Export of a pixel's choices as one document of records, streamed.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use futures_util::stream::{self, StreamExt};
use serde_json::Value;

use super::answered::Answered;
use super::record::CONTEXT;
use crate::accounts::access::Caller;
use crate::consent_receipt::receipt::Receipt;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::exports::ExportPermit;
use crate::pixels;
use crate::policies;
use crate::policies::policy::Policy;
use crate::receipts::days::Times;
use crate::receipts::export::{ExportRequest, Lines, PIECE_BYTES};
use crate::receipts::store::reading::{self, StoredReceipt};
use crate::types::ids::PixelId;
use crate::types::parameter::wrong;
use crate::types::text::present;

/// Rows per query. Rows that do not fit into the chunk are read again for the next one.
const PAGE: i64 = 200;
/// Number of cached policies: most receipts refer to the same few.
const MAX_POLICIES: usize = 2;

const END: &[u8] = b"\n]}\n";
/// Written instead of the closing brackets, so that a truncated export is invalid JSON.
const BROKEN_OFF: &[u8] = b"\nerror: the export broke off here\n";

struct Export {
    infra: Infra,
    _permit: ExportPermit,
    pixel_id: PixelId,
    /// Receipts recorded after the start of the export are left out.
    last_seq: i64,
    times: Times,
    cursor: Cursor,
    policies: HashMap<String, Option<Policy>>,
}

#[derive(Clone, Copy)]
enum Cursor {
    Beginning,
    /// The time and position of the last receipt that was exported.
    After(DateTime<Utc>, i64),
    End,
}

/// Starts an export. As in an export of lines, the first page is generated before a byte is sent.
pub async fn export(infra: &Infra, caller: &Caller, request: &ExportRequest) -> Result<Lines> {
    if present(request.proofs.as_deref()).is_some_and(|proofs| proofs != "false") {
        return Err(wrong("proofs", "goes with the format ndjson only"));
    }
    let times = Times::parse(request.from.as_deref(), request.to.as_deref())?;
    let pixel_id = pixels::setup::find_for(&infra.pool, caller, &request.pixel_id).await?.pixel_id;
    let permit = infra.exports.take(caller.account_id())?;
    let mut connection = infra.read_pool.acquire().await?;
    let last_seq = reading::find_last_seq(&mut connection, &pixel_id).await?;
    drop(connection);
    let (infra, cursor, policies) = (infra.clone(), Cursor::Beginning, HashMap::new());
    let mut export = Export { infra, _permit: permit, pixel_id, last_seq, times, cursor, policies };
    let first = export.next_part().await?;
    let rest = stream::unfold(export, |mut export| async {
        let part = match export.next_part().await {
            Ok(part) => part?,
            Err(error) => export.break_off(&error),
        };
        Some((part, export))
    });
    Ok(stream::iter(first).chain(rest).boxed())
}

impl Export {
    /// The next page of records; `None` at the end.
    async fn next_part(&mut self) -> Result<Option<Vec<u8>>> {
        let (mut part, after) = match self.cursor {
            Cursor::Beginning => (beginning(), (self.times.from, 0)),
            Cursor::After(time, seq) => (Vec::new(), (time, seq)),
            Cursor::End => return Ok(None),
        };
        let mut connection = self.infra.read_pool.acquire().await?;
        let (times, last) = (self.times, self.last_seq);
        let page =
            reading::list_exported(&mut connection, &self.pixel_id, times, after, last, PAGE)
                .await?;
        drop(connection);
        let mut is_first = matches!(self.cursor, Cursor::Beginning);
        self.cursor = Cursor::End;
        for stored in &page {
            part.extend_from_slice(if is_first { b"\n" } else { b",\n" });
            let record = self.record(stored).await?;
            serde_json::to_writer(&mut part, &record).map_err(Error::internal)?;
            is_first = false;
            self.cursor = Cursor::After(stored.signed.receipt.recorded_at, stored.seq);
            if part.len() >= PIECE_BYTES {
                break;
            }
        }
        if page.is_empty() {
            part.extend_from_slice(END);
        }
        Ok(Some(part))
    }

    async fn record(&mut self, stored: &StoredReceipt) -> Result<Value> {
        let receipt = &stored.signed.receipt;
        self.find_policy(receipt).await?;
        let answered = Answered {
            receipt,
            shown: stored.shown.as_ref(),
            policy: self.policies.get(&receipt.policy_hash).and_then(Option::as_ref),
            base_url: self.infra.base_url(),
        };
        Ok(answered.record())
    }

    async fn find_policy(&mut self, receipt: &Receipt) -> Result<()> {
        let Receipt { pixel_id, policy_hash, recorded_at, .. } = receipt;
        if self.policies.contains_key(policy_hash) {
            return Ok(());
        }
        if self.policies.len() >= MAX_POLICIES {
            self.policies.clear();
        }
        let mut connection = self.infra.read_pool.acquire().await?;
        let at = Some(*recorded_at);
        let found =
            policies::find_policy_by_hash(&mut connection, pixel_id, policy_hash, at).await?;
        self.policies.insert(policy_hash.clone(), found);
        Ok(())
    }

    /// The status has already been sent, so the failure is reported at the end.
    fn break_off(&mut self, error: &Error) -> Vec<u8> {
        if let Error::Internal(cause) = error {
            tracing::error!(cause, pixel_id = %self.pixel_id, "an export broke off");
        }
        self.cursor = Cursor::End;
        BROKEN_OFF.to_vec()
    }
}

fn beginning() -> Vec<u8> {
    format!("{{\"@context\":{},\"@graph\":[", *CONTEXT).into_bytes()
}
