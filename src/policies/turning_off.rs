use schemars::JsonSchema;
use serde::Serialize;

use super::publication_limit::count_publication;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::Governs;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::pixels;
use crate::pixels::input::OfPixel;
use crate::pixels::pixel::Pixel;
use crate::types::ids::PixelId;

/// A popup that is off.
#[derive(Serialize, JsonSchema)]
pub struct ConsentOff {
    pixel_id: PixelId,
    consent_enabled: bool,
}

/// Turns the popup off. Policies and receipts stay: they prove what was asked and answered.
pub struct TurnOffConsent;

impl Capability for TurnOffConsent {
    const NAME: &'static str = "turn_off_consent";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Turn the popup off",
        "Turns the pixel's popup off: nobody is asked, and nobody is identified by the consent \
         tag. Policies and receipts stay.",
    ));
    type Service = Infra;
    type Access = ActiveAccount<Governs>;
    type Input = OfPixel;
    type Output = ConsentOff;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<ConsentOff> {
        let pixel = pixels::setup::find_for(&infra.pool, &caller, &pixel_id).await?;
        let Pixel { pixel_id, account_id, .. } = pixel;
        let mut transaction = infra.pool.begin().await?;
        let is_changed = pixels::update_consent_enabled(&mut transaction, &pixel_id, false).await?;
        if is_changed {
            let (now, kind) = (infra.clock.now(), ActivityKind::ConsentTurnedOff);
            let subject = Some(pixel_id.as_str());
            caller.record(&mut transaction, now, &account_id, kind, subject).await?;
            count_publication(&mut transaction, &infra.clock, &infra.config, &account_id).await?;
        }
        let invalidation =
            if is_changed { Invalidation::of_pixel(&pixel_id) } else { Invalidation::none() };
        infra.changes.commit(transaction, &invalidation).await?;
        tracing::info!(%pixel_id, "consent turned off");
        Ok(ConsentOff { pixel_id, consent_enabled: false })
    }
}
