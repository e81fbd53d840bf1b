//! The arguments of tools that differ from the input of their capability: by default, a page has fewer
//! rows, to save space in the context of a model.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::accounts::activity_log::EventQuery;
use crate::accounts::profile::{Changed, Profile};
use crate::contacts::reading::selection::WithdrawnRequest;
use crate::contacts::suppressions::list;
use crate::erasure::owner;
use crate::erasure::view::ErasureRequestStatus;
use crate::pixels::input::OnPixel;
use crate::pixels::snippets::snippet_mail::{MailedSnippet, SnippetMailRequest};
use crate::policies::screenshots::reading as screenshots;
use crate::receipts::check::check_request::{CheckRequest, OfVisitor};
use crate::receipts::consent_log::LogRequest;
use crate::receipts::log_query::LogFilter;
use crate::silence::reading;
use crate::types::ids::PixelParam;
use crate::types::text::present;

/// Default number of rows of a page.
pub const USUAL_ROWS: i64 = 25;
const USUAL_CHOICES: i64 = 10;

fn limit_or(limit: Option<i64>, usual: i64) -> String {
    limit.unwrap_or(usual).to_string()
}

#[derive(Deserialize, JsonSchema)]
pub struct EventArguments {
    /// The `next_before` of the page before.
    before: Option<String>,
    /// 25 when left out.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<i64>,
}

impl From<EventArguments> for EventQuery {
    fn from(EventArguments { before, limit }: EventArguments) -> Self {
        Self { before, limit: Some(limit_or(limit, USUAL_ROWS)) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct LogArguments {
    pixel_id: PixelParam,
    #[serde(flatten)]
    filter: LogFilter,
    /// Choices of one page; 10 when left out.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<i64>,
}

impl From<LogArguments> for LogRequest {
    fn from(LogArguments { pixel_id, filter, limit }: LogArguments) -> Self {
        let state = present(filter.state.as_deref()).map(str::to_owned);
        let filter = LogFilter { state, ..filter };
        Self { pixel_id, filter, limit: limit_or(limit, USUAL_CHOICES) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct WithdrawnArguments {
    pixel_id: PixelParam,
    /// 0 first, then `high_water` until the page is empty.
    #[schemars(range(min = 0))]
    after: Option<i64>,
    /// Entries of one page; 25 when left out.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<i64>,
}

impl From<WithdrawnArguments> for WithdrawnRequest {
    fn from(WithdrawnArguments { pixel_id, after, limit }: WithdrawnArguments) -> Self {
        let after = after.map(|after| after.to_string());
        Self { pixel_id, after, limit: Some(limit_or(limit, USUAL_ROWS)) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct SuppressionArguments {
    /// The `next_after` of the page before.
    after: Option<String>,
    /// Suppressions of one page; 25 when left out.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<i64>,
}

impl From<SuppressionArguments> for list::PageRequest {
    fn from(SuppressionArguments { after, limit }: SuppressionArguments) -> Self {
        Self { after, limit: Some(limit_or(limit, USUAL_ROWS)) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct ErasureRequestArguments {
    pixel_id: PixelParam,
    /// Only requests with this status.
    #[schemars(with = "Option<ErasureRequestStatus>")]
    status: Option<String>,
    /// The `next_after` of the page before.
    after: Option<String>,
    /// Requests of one page; 25 when left out.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<i64>,
}

impl From<ErasureRequestArguments> for owner::PageRequest {
    fn from(arguments: ErasureRequestArguments) -> Self {
        let ErasureRequestArguments { pixel_id, status, after, limit } = arguments;
        Self { pixel_id, status, after, limit: Some(limit_or(limit, USUAL_ROWS)) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct WatchReportArguments {
    pixel_id: PixelParam,
    /// The `next_before` of the page before.
    before: Option<String>,
    /// Reports of one page; 25 when left out.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<i64>,
}

impl From<WatchReportArguments> for reading::PageRequest {
    fn from(WatchReportArguments { pixel_id, before, limit }: WatchReportArguments) -> Self {
        Self { pixel_id, before, limit: Some(limit_or(limit, USUAL_ROWS)) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct ScreenshotArguments {
    pixel_id: PixelParam,
    /// Only those in this language.
    language: Option<String>,
    /// The `next_before` of the page before.
    before: Option<String>,
    /// Screenshots of one page; 25 when left out.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<i64>,
}

impl From<ScreenshotArguments> for screenshots::PageRequest {
    fn from(arguments: ScreenshotArguments) -> Self {
        let ScreenshotArguments { pixel_id, language, before, limit } = arguments;
        Self { pixel_id, language, before, limit: Some(limit_or(limit, USUAL_ROWS)) }
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct SnippetMailArguments {
    pixel_id: PixelParam,
    /// Who can paste the snippet.
    #[schemars(with = "String")]
    email: Option<String>,
    /// `immediate` when omitted.
    snippet: Option<MailedSnippet>,
}

impl From<SnippetMailArguments> for OnPixel<SnippetMailRequest> {
    fn from(SnippetMailArguments { pixel_id, email, snippet }: SnippetMailArguments) -> Self {
        Self { pixel_id, input: SnippetMailRequest { email, snippet, method: None } }
    }
}

/// A check in which an empty purpose is one that is left out.
#[derive(Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct CheckArguments(CheckRequest);

impl From<CheckArguments> for CheckRequest {
    fn from(CheckArguments(request): CheckArguments) -> Self {
        let required_purpose = present(request.required_purpose.as_deref()).map(str::to_owned);
        Self { required_purpose, ..request }
    }
}

impl From<OfVisitor> for CheckRequest {
    fn from(visitor: OfVisitor) -> Self {
        Self { visitor, required_purpose: None }
    }
}

impl From<Changed> for Profile {
    fn from(changed: Changed) -> Self {
        changed.profile
    }
}
