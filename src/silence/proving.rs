use chrono::{DateTime, Days, NaiveTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgPool;
use utoipa::ToSchema;

use super::given::GivenReport;
use super::store::reports::{find_files, list_of_period};
use crate::error::{Error, Result};
use crate::proof::format::entry::Kind;
use crate::proof::format::watch_report::WatchResult;
use crate::proof::log::Log;
use crate::proof::proving::LogProof;
use crate::types::ids::PixelId;

/// Maximum number of reports of a day.
const MOST: usize = 5;
/// Maximum total size of a day's reports, in bytes, so that a proof can be sent to the service.
const MAX_BYTES: usize = 1 << 20;

/// A watch report, and the proof that its hash is in the log.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct WatchReportProof {
    /// The text of `report.json`, byte for byte.
    pub report: String,
    /// The text of `report.note`.
    pub note: String,
    #[serde(flatten)]
    pub proof: LogProof,
}

/// The reports about a site that were received on the UTC day of a time and are in the log: at most five, of
/// at most 1 MiB together. Those of the service come first, then the newest.
pub async fn prove_reports(
    pool: &PgPool,
    log: &Log,
    pixel_id: &PixelId,
    time: DateTime<Utc>,
) -> Result<Vec<WatchReportProof>> {
    let from = time.date_naive().and_time(NaiveTime::MIN).and_utc();
    let mut connection = pool.acquire().await?;
    let listed = list_of_period(&mut connection, pixel_id, from, from + Days::new(1)).await?;
    let state = log.state(&mut connection).await?;
    let (mut proofs, mut bytes) = (Vec::new(), 0);
    for (report_id, sha256) in listed {
        if proofs.len() == MOST {
            break;
        }
        let files = find_files(&mut connection, pixel_id, report_id).await?;
        let Some(GivenReport { report, note }) = files else { continue };
        // A report in a form that verifiers reject would invalidate the proof of the choice.
        let is_readable = WatchResult::read(&report, &note).is_some();
        if !is_readable || bytes + report.len() + note.len() > MAX_BYTES {
            continue;
        }
        let proof = state.prove_publication(&mut connection, Kind::Watch.as_str(), &sha256).await;
        match proof {
            Ok(Some(proof)) => {
                bytes += report.len() + note.len();
                proofs.push(WatchReportProof { report, note, proof });
            }
            Ok(None) | Err(Error::NotSealedYet { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(proofs)
}
