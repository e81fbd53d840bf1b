//! What can be asked for about a pixel's policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::configuration::{self, Configured};
use super::consent_request::ConsentRequest;
use super::history::{self, ConsentConfiguration};
use super::notice;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::scope::{Governs, Operates, Reads};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result, wrong_field};
use crate::infra::Infra;
use crate::pixels::input::OfPixel;
use crate::types::ids::PixelId;
use crate::types::locales;

/// What a pixel's visitors are to be asked and told.
#[derive(Deserialize, JsonSchema)]
pub struct ConfigureRequest {
    pub pixel_id: String,
    /// `true` shows what would happen and stores nothing.
    pub dry_run: Option<bool>,
    #[serde(flatten)]
    pub settings: ConsentRequest,
}

/// What configuring did, or with `dry_run` what it would do.
#[derive(Serialize, JsonSchema)]
pub struct ConsentOutcome {
    dry_run: bool,
    /// Whether visitors who have chosen already are asked again, because what they are told has
    /// changed.
    pub visitors_asked_again: bool,
    /// The privacy notice that visitors read, in English.
    pub notice: String,
    #[serde(flatten)]
    pub configured: Configured,
}

/// A policy is published, and the popup turned on.
pub struct ConfigureConsent;

impl Capability for ConfigureConsent {
    const NAME: &'static str = "configure_consent";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Publishes the pixel's privacy notice and turns the consent popup on. Put the returned \
         `snippet` into the `<head>` of every page. Identification needs the purpose \
         `resolution`. With `dry_run` nothing is stored: the answer shows a draft of the \
         notice, and whether visitors would be asked again.",
    ));
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Part = Infra;
    type Access = ActiveAccount<Operates>;
    type Input = ConfigureRequest;
    type Output = ConsentOutcome;

    fn refusals() -> Vec<Error> {
        vec![
            wrong_field("data_sharing", "must be true or false"),
            wrong_field("consent_days", "must be from 1 to 365"),
            ControllerNameRequired,
            PurposeRequired,
            ControllerTypeUnknown,
            SitePolicyUrlNotHttps,
            ContrastTooLow,
            PixelNotFound,
            PolicyAllowanceReached,
            TooManyRequests { retry_after: 30 },
        ]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: ConfigureRequest,
    ) -> Result<ConsentOutcome> {
        let ConfigureRequest { pixel_id, dry_run, settings } = request;
        let (settings, dry_run) = (settings.check()?, dry_run.unwrap_or(false));
        let revised = match dry_run {
            true => configuration::preview(infra, &caller, &pixel_id, settings).await?,
            false => configuration::configure(infra, &caller, &pixel_id, settings).await?,
        };
        Ok(ConsentOutcome {
            dry_run,
            visitors_asked_again: revised.revision.asks_again(),
            notice: notice::plain_text(&revised.revision.policy, locales::english()),
            configured: revised.configured,
        })
    }
}

/// How a pixel asks, and every version of what its visitors were told.
pub struct ReadConsentConfiguration;

impl Capability for ReadConsentConfiguration {
    const NAME: &'static str = "read_consent_configuration";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "How a pixel asks: the settings of its consent, and the versions of its notice.",
    ));
    type Part = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfPixel;
    type Output = ConsentConfiguration;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<ConsentConfiguration> {
        history::read(infra, &caller, &pixel_id).await
    }
}

/// A popup that is off.
#[derive(Serialize, JsonSchema)]
pub struct ConsentOff {
    pixel_id: PixelId,
    consent_enabled: bool,
}

/// The popup is turned off. Policies and receipts stay.
pub struct TurnOffConsent;

impl Capability for TurnOffConsent {
    const NAME: &'static str = "turn_off_consent";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Turns the pixel's popup off: nobody is asked, and nobody is identified by the consent \
         tag. Policies and receipts stay.",
    ));
    type Part = Infra;
    type Access = ActiveAccount<Governs>;
    type Input = OfPixel;
    type Output = ConsentOff;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<ConsentOff> {
        let pixel_id = configuration::turn_off(infra, &caller, &pixel_id).await?;
        Ok(ConsentOff { pixel_id, consent_enabled: false })
    }
}
