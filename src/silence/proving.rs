//! Proofs that reports are in the public log.

use chrono::{DateTime, Days, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::given::GivenReport;
use super::store::reports::list_of_period;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::proof::format::entry::Kind;
use crate::proof::log::Log;
use crate::proof::proving::LogProof;
use crate::types::ids::PixelId;

/// The most reports of a day.
const MOST: i64 = 5;

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

/// The reports about a site that were received on the UTC day of a time and are in the log: the newest five,
/// newest first.
pub async fn prove_reports(
    infra: &Infra,
    log: &Log,
    pixel_id: &PixelId,
    time: DateTime<Utc>,
) -> Result<Vec<WatchReportProof>> {
    let day = time.date_naive();
    let from = day.and_time(chrono::NaiveTime::MIN).and_utc();
    let mut connection = infra.pool.acquire().await?;
    let reports =
        list_of_period(&mut connection, pixel_id, from, from + Days::new(1), MOST).await?;
    let state = log.state(&mut connection).await?;
    let mut proofs = Vec::new();
    for (GivenReport { report, note }, sha256) in reports {
        let proof = state.prove_publication(&mut connection, Kind::Watch.as_str(), &sha256).await;
        match proof {
            Ok(Some(proof)) => proofs.push(WatchReportProof { report, note, proof }),
            Ok(None) | Err(Error::NotSealedYet { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(proofs)
}
