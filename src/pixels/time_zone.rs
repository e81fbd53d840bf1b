//! The time zone in which the statistics of a site count days, on pages and in the digest. The HTTP API and the tools
//! always count days in UTC.

use chrono::Duration;
use chrono_tz::Tz;
use schemars::JsonSchema;
use serde::Deserialize;

use super::input::OfPixel;
use super::pixel::DayZone;
use super::setup::find_for;
use super::store;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::event::ActivityKind;
use crate::accounts::preferences::zones;
use crate::accounts::scope::{Operates, Reads};
use crate::error::{Error, Result, wrong_field};
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::types::ids::PixelParam;

/// After this time every node stores impressions with a new time zone.
const KNOWN_AFTER: Duration = Duration::minutes(1);

pub struct ShowTimeZone;

impl Capability for ShowTimeZone {
    const NAME: &'static str = "show_time_zone";
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfPixel;
    type Output = DayZone;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, OfPixel { pixel_id }: OfPixel) -> Result<DayZone> {
        Ok(find_for(&infra.pool, &caller, &pixel_id).await?.day_zone())
    }
}

#[derive(Deserialize, JsonSchema)]
pub struct TimeZoneRequest {
    pub pixel_id: PixelParam,
    /// A name of the IANA database, or `UTC`.
    pub time_zone: String,
}

/// Sets the time zone of a site. Its days are counted again.
pub struct ChangeTimeZone;

impl Capability for ChangeTimeZone {
    const NAME: &'static str = "change_time_zone";
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Service = Infra;
    type Access = ActiveAccount<Operates>;
    type Input = TimeZoneRequest;
    type Output = DayZone;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, unknown_zone()]
    }

    async fn run(infra: &Infra, caller: Caller, request: TimeZoneRequest) -> Result<DayZone> {
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let zone = zones::find(&request.time_zone).ok_or_else(unknown_zone)?;
        let stored = (zone != Tz::UTC).then(|| zone.name());
        if let Some(name) = stored
            && !store::is_zone_known(&mut *infra.pool.acquire().await?, name).await?
        {
            return Err(unknown_zone());
        }
        let mut transaction = infra.pool.begin().await?;
        let pixel =
            store::lock_pixel(&mut transaction, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
        let before = pixel.day_zone();
        if before.zone == zone {
            return Ok(before);
        }
        let now = infra.clock.now();
        let first = DayZone { zone, ..DayZone::UTC }.day_of(now + KNOWN_AFTER).succ_opt();
        let shown_from = first.filter(|_| stored.is_some());
        store::update_time_zone(&mut transaction, &pixel_id, stored, shown_from).await?;
        store::delete_local_counts(&mut transaction, &pixel_id).await?;
        let (kind, subject) = (ActivityKind::TimeZoneChanged, Some(pixel_id.as_str()));
        caller.record(&mut transaction, now, &pixel.account_id, kind, subject).await?;
        infra.changes.commit(transaction, &Invalidation::of_pixel(&pixel_id)).await?;
        Ok(DayZone::of_stored(stored, shown_from))
    }
}

fn unknown_zone() -> Error {
    wrong_field("time_zone", "must be a time zone of the list, such as Europe/Berlin")
}
