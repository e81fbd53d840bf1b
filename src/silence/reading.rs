//! Reading reports back.

use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::leaks::{lines_of, unobserved};
use super::store;
use super::view::{WatchReportDetail, WatchReportPage, WatchReportSummary};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::error::{Error, FieldError, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::text::{page_limit, present};
use crate::watch::report::Report;

/// The maximum and default number of reports of a page.
const MOST: i64 = 200;
const LIMIT: &str = "must be from 1 to 200";

pub struct PageRequest {
    pub pixel_id: String,
    /// The `next_before` of the previous page.
    pub before: Option<String>,
    pub limit: Option<String>,
}

/// Reads a page of reports.
pub struct ListWatchReports;

impl Capability for ListWatchReports {
    const NAME: &'static str = "list_watch_reports";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List watch reports",
        "Lists what visits of the site found, newest first: silent, or leaks before consent.",
    ));
    type Part = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = PageRequest;
    type Output = WatchReportPage;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, wrong("limit", LIMIT)]
    }

    async fn run(infra: &Infra, caller: Caller, request: PageRequest) -> Result<WatchReportPage> {
        let before = match present(request.before.as_deref()) {
            Some(text) => Some(
                text.parse::<Uuid>()
                    .map_err(|_| wrong("before", "must be the next_before of a page"))?,
            ),
            None => None,
        };
        let limit = match present(request.limit.as_deref()) {
            Some(text) => page_limit(text, MOST).ok_or_else(|| wrong("limit", LIMIT))?,
            None => MOST,
        };
        let pixel_id = find_for(infra, &caller, &request.pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let mut reports =
            store::reports::list_reports(&mut connection, &pixel_id, before, limit + 1).await?;
        let limit = usize::try_from(limit).map_err(Error::internal)?;
        let has_more = reports.len() > limit;
        reports.truncate(limit);
        let next_before = reports.last().filter(|_| has_more).map(|last| last.report_id);
        Ok(WatchReportPage { pixel_id, reports, next_before })
    }
}

fn wrong(name: &str, wanted: &str) -> Error {
    Error::Validation(vec![FieldError::new(&["query", name], wanted, "value_error")])
}

/// A report of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfReport {
    pub pixel_id: String,
    pub report_id: String,
}

/// Reads one report.
pub struct ReadWatchReport;

impl Capability for ReadWatchReport {
    const NAME: &'static str = "read_watch_report";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read a watch report",
        "Names each leak with host, kind, the script and line that caused it, and the gated line to \
         paste instead.",
    ));
    type Part = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfReport;
    type Output = WatchReportDetail;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::WatchReportNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfReport) -> Result<WatchReportDetail> {
        let pixel_id = find_for(infra, &caller, &request.pixel_id).await?.pixel_id;
        let report_id = request.report_id.parse().map_err(|_| Error::WatchReportNotFound)?;
        let mut connection = infra.pool.acquire().await?;
        let report = store::reports::find_report(&mut connection, &pixel_id, report_id).await?;
        let files = store::reports::find_files(&mut connection, &pixel_id, report_id).await?;
        let (Some(view), Some(files)) = (report, files) else {
            return Err(Error::WatchReportNotFound);
        };
        let parsed = serde_json::from_str::<Report>(&files.report).map_err(Error::internal)?;
        let summary = WatchReportSummary {
            report: view,
            pages: parsed.pages.iter().map(|page| page.url.clone()).collect(),
            leaks: lines_of(&parsed),
            not_observed: unobserved(&parsed),
        };
        Ok(WatchReportDetail { summary, text: files.report, note: files.note })
    }
}
