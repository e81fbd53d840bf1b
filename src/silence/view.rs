use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use super::leaks::LeakLine;
use crate::clock::Timestamp;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;
use crate::types::text_enum::text_enum;

text_enum! {
    /// What a report says of a site.
    pub enum SiteVerdict {
        Silent = "silent",
        /// Something was loaded or stored without consent.
        Leaks = "leaks",
        /// Nothing leaked, but not every visit could be observed.
        NotObserved = "not_observed",
    }
}

/// A report about a pixel's site.
#[derive(Clone, Debug, Serialize, JsonSchema, ToSchema)]
pub struct WatchReportView {
    pub report_id: Uuid,
    pub received_at: Timestamp,
    /// As the watcher signed it.
    pub made_at: Timestamp,
    pub verdict: SiteVerdict,
    pub leak_count: i32,
    /// Whether the service made it, and not a watcher that submitted it.
    pub by_service: bool,
    /// The verifier key of the watcher (c2sp.org/signed-note).
    pub watcher: String,
    /// SHA-256 of the report, lowercase hex.
    pub sha256: String,
    /// The entry of the public log that has this hash; null until it is added.
    #[schema(required = true)]
    pub log_entry: Option<i64>,
}

#[derive(Debug, Serialize)]
pub struct SignedReport {
    #[serde(flatten)]
    pub report: WatchReportView,
    /// The text of `report.json`, byte for byte.
    pub text: String,
    /// The signed note over it, `report.note`.
    pub note: String,
}

/// A page of a pixel's reports, newest first.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct WatchReportPage {
    pub pixel_id: PixelId,
    pub reports: Vec<WatchReportView>,
    /// The next `before`; null after the last page.
    #[schema(required = true)]
    pub next_before: Option<Uuid>,
}

/// A report with its leaks.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct WatchReportSummary {
    #[serde(flatten)]
    pub report: WatchReportView,
    /// The addresses of its pages.
    pub pages: Vec<String>,
    /// Its leaks, each once for all visits; at most 100.
    pub leaks: Vec<LeakLine>,
    /// Hosts of what would be leaks if it were not allowed, for identifiers their owners; at most 100.
    pub allowed: Vec<String>,
    /// What could not be observed, and why.
    pub not_observed: Vec<String>,
}

/// A report with its leaks, and as it was signed.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct WatchReportDetail {
    #[serde(flatten)]
    pub summary: WatchReportSummary,
    /// The text of `report.json`, byte for byte.
    pub text: String,
    /// The signed note over it, `report.note`.
    pub note: String,
}

impl From<WatchReportDetail> for WatchReportSummary {
    fn from(detail: WatchReportDetail) -> Self {
        detail.summary
    }
}

/// The silence of a site, and how it is watched.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct WatchView {
    pub pixel_id: PixelId,
    pub domain: SiteHost,
    /// Of the newest report; null without one.
    #[schema(required = true)]
    pub verdict: Option<SiteVerdict>,
    /// When the newest report was made.
    #[schema(required = true)]
    pub reported_at: Option<Timestamp>,
    /// Since when reports have found leaks; null after a silent one.
    #[schema(required = true)]
    pub broken_since: Option<Timestamp>,
    /// When the service watches the site next; null where it does not.
    #[schema(required = true)]
    pub next_watch_at: Option<Timestamp>,
    /// Sites and hosts whose requests the service's reports list separately.
    pub watch_allow: Vec<String>,
    /// The public page with the last verdict of the service; null while it is off.
    #[schema(required = true)]
    pub public_page: Option<String>,
}
