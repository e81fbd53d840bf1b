//! Asking for consent, and what came of it.

use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{Keyed, Parameters, ToolServer};
use crate::mcp::outcome::{Json, Refusal};
use crate::pixels::input::OfPixel;
use crate::policies::capabilities::{
    ConfigureConsent, ConfigureRequest, ConsentOff, ConsentOutcome, ReadConsentConfiguration,
    TurnOffConsent,
};
use crate::policies::history::ConsentConfiguration;
use crate::receipts::capabilities::{ReadConsentLog, ReadConsentStats};
use crate::receipts::daily_counts::stats::{Stats, StatsRequest};
use crate::receipts::log::{ConsentLog, LogRequest};
use crate::receipts::log_query::LogFilter;
use crate::types::text::present;

/// Choices of one answer when its reader names no number: what a model reads without losing sight of
/// the rest.
const USUAL_ROWS: i64 = 10;

#[derive(Deserialize, JsonSchema)]
struct LogArguments {
    pixel_id: String,
    #[serde(flatten)]
    filter: LogFilter,
    /// Choices of one page; 10 when left out.
    #[schemars(range(min = 1, max = 200))]
    limit: Option<i64>,
}

impl From<LogArguments> for LogRequest {
    fn from(arguments: LogArguments) -> Self {
        let LogArguments { pixel_id, filter, limit } = arguments;
        let state = present(filter.state.as_deref()).map(str::to_owned);
        let filter = LogFilter { state, ..filter };
        Self { pixel_id, filter, limit: limit.unwrap_or(USUAL_ROWS).to_string() }
    }
}

#[tool_router(router = consent_tools, vis = "pub(super)")]
impl ToolServer {
    /// Publishes the pixel's privacy notice and turns the consent popup on. Put the returned
    /// `snippet` into the `<head>` of every page. Identification needs the purpose `resolution`.
    /// With `dry_run` nothing is stored: the answer shows a draft of the notice, and whether visitors
    /// would be asked again.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn configure_consent(
        &self,
        call: Parameters<Keyed<ConfigureRequest>>,
    ) -> Result<Json<ConsentOutcome>, Refusal> {
        self.run::<ConfigureConsent>(&call).await
    }

    /// How a pixel asks: the settings of its consent, and the versions of its notice.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_consent_configuration(
        &self,
        call: Parameters<Keyed<OfPixel>>,
    ) -> Result<Json<ConsentConfiguration>, Refusal> {
        self.run::<ReadConsentConfiguration>(&call).await
    }

    /// Turns the pixel's popup off: nobody is asked, and nobody is identified by the consent tag.
    /// Policies and receipts stay.
    #[tool(annotations(
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn turn_off_consent(
        &self,
        call: Parameters<Keyed<OfPixel>>,
    ) -> Result<Json<ConsentOff>, Refusal> {
        self.run::<TurnOffConsent>(&call).await
    }

    /// Reads the choices of the pixel's visitors, newest first, each with its signed receipt; older
    /// ones with `before`, until `next_before` is null.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_consent_log(
        &self,
        call: Parameters<Keyed<LogArguments>>,
    ) -> Result<Json<ConsentLog>, Refusal> {
        Ok(Json(self.ask::<ReadConsentLog, LogArguments>(&call, Into::into).await?))
    }

    /// Counts per UTC day how often the popup was shown and what visitors answered, also by policy
    /// version and by language.
    #[tool(annotations(read_only_hint = true, open_world_hint = false))]
    async fn read_consent_stats(
        &self,
        call: Parameters<Keyed<StatsRequest>>,
    ) -> Result<Json<Stats>, Refusal> {
        self.run::<ReadConsentStats>(&call).await
    }
}
