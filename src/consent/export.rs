//! All that is stored of a pixel's consent, for its owner to keep: one JSON document per line
//! (NDJSON).

use futures_util::stream::{self, Stream, StreamExt};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::receipt::ReceiptEnvelope;
use super::store;
use crate::accounts::Caller;
use crate::clock::Timestamp;
use crate::error::{Error, Result};
use crate::ids::PixelId;
use crate::pixels::{self, SiteHost};
use crate::platform::Platform;

/// Rows that are read at a time: what an export holds in memory, however long it is.
const PAGE: i64 = 500;

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

/// The last line of an export that broke off, so that nobody takes it for a complete one.
#[derive(Serialize)]
struct BrokenOff {
    error: String,
}

/// An export on its way. It holds no connection between two pages, so slow readers block nobody.
struct Export {
    platform: Platform,
    pixel_id: PixelId,
    /// Receipts recorded after the export began are left to the next one.
    last_seq: i64,
    at: Place,
}

/// What comes next.
enum Place {
    PoliciesAfter(i32),
    ReceiptsAfter(i64),
    End,
}

/// Starts an export: every policy version, then every receipt, each oldest first. The caller's
/// right is checked and the first page is read before a byte is sent, so that an export that
/// cannot begin is an error like any other.
pub async fn export(
    platform: &Platform,
    caller: &Caller,
    pixel_id: &str,
) -> Result<impl Stream<Item = Vec<u8>> + Send + use<>> {
    let pixel_id = pixels::pixel::find_for(platform, caller, pixel_id).await?.pixel_id;
    let mut connection = platform.read_pool.acquire().await?;
    let last_seq = store::find_last_seq(&mut connection, &pixel_id).await?;
    drop(connection);
    let mut export =
        Export { platform: platform.clone(), pixel_id, last_seq, at: Place::PoliciesAfter(0) };
    let first = export.next_lines().await?;
    let rest = stream::unfold(export, |mut export| async {
        let lines = match export.next_lines().await {
            Ok(lines) => lines?,
            Err(error) => export.break_off(&error),
        };
        Some((lines, export))
    });
    Ok(stream::iter(first).chain(rest))
}

impl Export {
    /// The lines of the next page; `None` at the end.
    async fn next_lines(&mut self) -> Result<Option<Vec<u8>>> {
        match self.at {
            Place::PoliciesAfter(version) => self.policies(version).await.map(Some),
            Place::ReceiptsAfter(seq) => self.receipts(seq).await.map(Some),
            Place::End => Ok(None),
        }
    }

    async fn policies(&mut self, after: i32) -> Result<Vec<u8>> {
        let mut connection = self.platform.read_pool.acquire().await?;
        let page = store::list_policies(&mut connection, &self.pixel_id, after, PAGE).await?;
        self.at = match page.last() {
            Some(last) => Place::PoliciesAfter(last.version),
            None => Place::ReceiptsAfter(0),
        };
        let lines = page.iter().map(|version| {
            let policy = serde_json::from_str(&version.document).map_err(Error::internal)?;
            Ok(PolicyLine {
                policy_version: version.version,
                policy_hash: &version.policy_hash,
                published_at: Timestamp(version.published_at),
                domain: &version.domain,
                policy,
            })
        });
        to_lines(lines)
    }

    async fn receipts(&mut self, after: i64) -> Result<Vec<u8>> {
        let mut connection = self.platform.read_pool.acquire().await?;
        let (pixel_id, last_seq) = (&self.pixel_id, self.last_seq);
        let page =
            store::list_receipts_after(&mut connection, pixel_id, after, last_seq, PAGE).await?;
        self.at = match page.last() {
            Some((seq, _)) => Place::ReceiptsAfter(*seq),
            None => Place::End,
        };
        to_lines(page.into_iter().map(|(_, signed)| Ok(ReceiptEnvelope::from(signed))))
    }

    /// The status has been sent already, so the failure is told in the last line.
    fn break_off(&mut self, error: &Error) -> Vec<u8> {
        if let Error::Internal(cause) = error {
            tracing::error!(cause, pixel_id = %self.pixel_id, "an export broke off");
        }
        self.at = Place::End;
        let line = to_lines([Ok(BrokenOff { error: error.to_string() })]);
        line.unwrap_or_default()
    }
}

fn to_lines<T: Serialize>(documents: impl IntoIterator<Item = Result<T>>) -> Result<Vec<u8>> {
    let mut lines = Vec::new();
    for document in documents {
        serde_json::to_writer(&mut lines, &document?).map_err(Error::internal)?;
        lines.push(b'\n');
    }
    Ok(lines)
}
