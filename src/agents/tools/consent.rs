//! Asking for consent, and what came of it.

use chrono::NaiveDate;
use rmcp::handler::server::wrapper::Json;
use rmcp::{tool, tool_router};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Key, Parameters, PixelArguments, ToolServer};
use crate::agents::outcome::Refusal;
use crate::consent::configuration::{self, Configured, ConsentRequest};
use crate::consent::log::{self, ConsentLog};
use crate::consent::notice;
use crate::consent::stats::{self, DayRange, Stats};
use crate::consent::terms::ConsentState;
use crate::error::Error;
use crate::http::body::present;
use crate::ids::PixelId;

#[derive(Deserialize, JsonSchema)]
struct ConfigureConsent {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    /// `true` shows what would happen and stores nothing.
    dry_run: Option<bool>,
    #[serde(flatten)]
    settings: ConsentRequest,
    #[serde(flatten)]
    _key: Key,
}

/// What configuring did, or with `dry_run` what it would do.
#[derive(Serialize, JsonSchema)]
struct ConsentOutcome {
    dry_run: bool,
    /// Whether visitors who have chosen already are asked again, because what they are told has
    /// changed.
    visitors_asked_again: bool,
    /// The privacy notice that visitors read, in English.
    notice: String,
    #[serde(flatten)]
    configured: Configured,
}

/// A popup that is off.
#[derive(Serialize, JsonSchema)]
struct ConsentOff {
    pixel_id: PixelId,
    consent_enabled: bool,
}

#[derive(Deserialize, JsonSchema)]
struct LogArguments {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    /// Only choices of this kind; all of them without it.
    #[schemars(with = "Option<ConsentState>")]
    state: Option<String>,
    #[serde(flatten)]
    _key: Key,
}

#[derive(Deserialize, JsonSchema)]
struct StatsArguments {
    /// The pixel's id, as `create_pixel` gave it.
    pixel_id: String,
    /// First UTC day, `YYYY-MM-DD`; 30 days up to `to` without it.
    #[schemars(with = "Option<NaiveDate>")]
    from: Option<String>,
    /// Last UTC day, `YYYY-MM-DD`; today without it.
    #[schemars(with = "Option<NaiveDate>")]
    to: Option<String>,
    #[serde(flatten)]
    _key: Key,
}

#[tool_router(router = consent_tools, vis = "pub(super)")]
impl ToolServer {
    /// Publishes the pixel's privacy notice and turns the consent popup on. Put the returned
    /// `snippet` into the `<head>` of every page. Identification needs the purpose `resolution`.
    /// With `dry_run` nothing is stored: the answer shows a draft of the notice, and whether visitors
    /// would be asked again.
    #[tool(annotations(
        title = "Configure consent",
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn configure_consent(
        &self,
        call: Parameters<ConfigureConsent>,
    ) -> Result<Json<ConsentOutcome>, Refusal> {
        let caller = self.active(&call).await?;
        let arguments = call.json()?;
        let settings = arguments.settings.check()?;
        let (platform, pixel_id) = (&self.platform, arguments.pixel_id.as_str());
        let dry_run = arguments.dry_run.unwrap_or(false);
        let revised = match dry_run {
            true => configuration::rehearse(platform, &caller, pixel_id, settings).await?,
            false => configuration::configure(platform, &caller, pixel_id, settings).await?,
        };
        Ok(Json(ConsentOutcome {
            dry_run,
            visitors_asked_again: revised.revision.asks_again(),
            notice: notice::plain_text(&revised.revision.policy),
            configured: revised.configured,
        }))
    }

    /// Turns the pixel's popup off: nobody is asked, and nobody is identified by the consent tag.
    /// Policies and receipts stay.
    #[tool(annotations(
        title = "Turn consent off",
        read_only_hint = false,
        destructive_hint = true,
        idempotent_hint = true,
        open_world_hint = false
    ))]
    async fn turn_off_consent(
        &self,
        call: Parameters<PixelArguments>,
    ) -> Result<Json<ConsentOff>, Refusal> {
        let caller = self.active(&call).await?;
        let arguments = call.validated()?;
        let pixel_id =
            configuration::turn_off(&self.platform, &caller, &arguments.pixel_id).await?;
        Ok(Json(ConsentOff { pixel_id, consent_enabled: false }))
    }

    /// Reads the newest choices of the pixel's visitors, at most 200, each with its signed receipt.
    #[tool(annotations(
        title = "Read the consent log",
        read_only_hint = true,
        open_world_hint = false
    ))]
    async fn read_consent_log(
        &self,
        call: Parameters<LogArguments>,
    ) -> Result<Json<ConsentLog>, Refusal> {
        let caller = self.active(&call).await?;
        let arguments = call.validated()?;
        let state = present(arguments.state.as_deref());
        let state = state.map(|text| ConsentState::parse(text).ok_or(Error::InvalidState));
        let state = state.transpose()?;
        Ok(Json(log::read_log(&self.platform, &caller, &arguments.pixel_id, state).await?))
    }

    /// Counts per UTC day how often the popup was shown and what visitors answered.
    #[tool(annotations(
        title = "Read the consent statistics",
        read_only_hint = true,
        open_world_hint = false
    ))]
    async fn read_consent_stats(
        &self,
        call: Parameters<StatsArguments>,
    ) -> Result<Json<Stats>, Refusal> {
        let caller = self.active(&call).await?;
        let arguments = call.validated()?;
        let today = self.platform.clock.now().date_naive();
        let (from, to) = (arguments.from.as_deref(), arguments.to.as_deref());
        let range = DayRange::parse(present(from), present(to), today)?;
        Ok(Json(stats::count(&self.platform, &caller, &arguments.pixel_id, range).await?))
    }
}
