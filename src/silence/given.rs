//! Parses and checks reports from watchers.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Deserialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::view::SiteVerdict;
use crate::browser::site::host_of;
use crate::error::{Error, Result, wrong_field};
use crate::proof::format::hashes::Hash;
use crate::proof::format::watch_report::{SCHEMA, WatchNote, WatchNoteError};
use crate::types::host::SiteHost;
use crate::watch::report::{MAX_JSON, Report};

/// The longest `report.json`, in bytes.
pub const MAX_REPORT: usize = MAX_JSON;
const MAX_NOTE: usize = 64 << 10;

/// The files of a report, as they were written.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct GivenReport {
    /// The text of `report.json`, byte for byte; at most 1 MiB.
    pub report: String,
    /// The text of `report.note`.
    pub note: String,
}

/// A report that its watcher has signed, about pages of one site.
#[derive(Debug)]
pub struct CheckedReport {
    pub report: Report,
    pub sha256: Hash,
    pub made_at: DateTime<Utc>,
    pub watcher: String,
    pub verdict: SiteVerdict,
    pub leak_count: i32,
}

impl GivenReport {
    /// Checks schema, signature and pages.
    pub fn check(&self, domain: &SiteHost) -> Result<CheckedReport> {
        if self.report.len() > MAX_REPORT {
            return Err(Error::BodyTooLarge);
        }
        if self.note.len() > MAX_NOTE {
            return Err(wrong_field("note", "must be the report.note of the report"));
        }
        let unlike = |_| wrong_field("report", "must be a report.json of schema assent/watch/v1");
        let report = serde_json::from_str::<Report>(&self.report).map_err(unlike)?;
        if report.schema != SCHEMA {
            return Err(wrong_field("report", "must be a report.json of schema assent/watch/v1"));
        }
        let signed = WatchNote::open(&self.note, self.report.as_bytes(), None).map_err(unsigned)?;
        let made_at = DateTime::parse_from_rfc3339(&signed.time).ok();
        let Some(made_at) = made_at.filter(|_| signed.time == report.time) else {
            return Err(wrong_field("note", "must have the time of the report"));
        };
        let is_of_site = |url: &str| host_of(url).is_some_and(|host| domain.covers(&host));
        if report.pages.is_empty() || !report.pages.iter().all(|page| is_of_site(&page.url)) {
            return Err(wrong_field("report", format!("must be about pages of {domain}")));
        }
        let leaks = report.pages.iter().flat_map(|page| &page.visits);
        let leak_count = leaks.map(|visit| visit.leaks.len()).sum::<usize>();
        let verdict = match report.exit_code() {
            0 => SiteVerdict::Silent,
            1 => SiteVerdict::Leaks,
            _ => SiteVerdict::NotObserved,
        };
        Ok(CheckedReport {
            sha256: Sha256::digest(self.report.as_bytes()).into(),
            made_at: made_at.to_utc(),
            watcher: signed.watcher.to_string(),
            verdict,
            leak_count: i32::try_from(leak_count).unwrap_or(i32::MAX),
            report,
        })
    }
}

fn unsigned(error: WatchNoteError) -> Error {
    match error {
        WatchNoteError::NoWatcher => wrong_field("report", "must name its watcher"),
        WatchNoteError::Changed(_) => {
            wrong_field("report", "was changed after the report was signed")
        }
        WatchNoteError::Note(error) => wrong_field("note", error.to_string()),
        WatchNoteError::OtherNote => wrong_field("note", "must be the report.note of the report"),
    }
}
