use schemars::JsonSchema;
use serde::Deserialize;
use uuid::Uuid;

use super::leaks::{allowed_hosts, lines_of, unobserved};
use super::store;
use super::view::{WatchReportDetail, WatchReportPage, WatchReportSummary};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::ids::PixelParam;
use crate::types::ids::id_param::IdParam;
use crate::types::paging::{Page, wrong_limit};
use crate::watch::report::Report;

/// The maximum and default number of reports of a page.
const MOST: u16 = 200;

pub struct PageRequest {
    pub pixel_id: PixelParam,
    /// The `next_before` of the previous page.
    pub before: Option<String>,
    pub limit: Option<String>,
}

pub struct ListWatchReports;

impl Capability for ListWatchReports {
    const NAME: &'static str = "list_watch_reports";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List watch reports",
        "Lists what visits of the site found, newest first: silent, or leaks before consent.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = PageRequest;
    type Output = WatchReportPage;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, wrong_limit(MOST)]
    }

    async fn run(infra: &Infra, caller: Caller, request: PageRequest) -> Result<WatchReportPage> {
        let PageRequest { pixel_id, before, limit } = &request;
        let page = Page::read("before", before, limit, MOST, |text| text.parse().ok())?;
        let pixel_id = find_for(&infra.pool, &caller, pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let listing =
            store::reports::list_reports(&mut connection, &pixel_id, page.start, page.rows());
        let mut reports = listing.await?;
        let next_before = page.cut(&mut reports).map(|last| last.report_id);
        Ok(WatchReportPage { pixel_id, reports, next_before })
    }
}

/// A report of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfReport {
    pub pixel_id: PixelParam,
    pub report_id: IdParam<Uuid>,
}

pub struct ReadWatchReport;

impl Capability for ReadWatchReport {
    const NAME: &'static str = "read_watch_report";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read a watch report",
        "Names each leak with host, kind, the script and line that caused it, and the gated line to \
         paste instead.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfReport;
    type Output = WatchReportDetail;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::WatchReportNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfReport) -> Result<WatchReportDetail> {
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let report_id = request.report_id.into_id().ok_or(Error::WatchReportNotFound)?;
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
            allowed: allowed_hosts(&parsed),
            not_observed: unobserved(&parsed),
        };
        Ok(WatchReportDetail { summary, text: files.report, note: files.note })
    }
}
