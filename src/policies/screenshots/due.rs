use chrono::{DateTime, Duration, Utc};
use sqlx::{PgConnection, PgPool};

use super::store;
pub use super::store::due::Due;
use super::store::due::Plan;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::policies::appearance::Appearance;
use crate::policies::policy::Policy;
use crate::policies::sharing::Sharing;
use crate::policies::store::find_site;
use crate::types::ids::{PixelId, PixelRef};

/// The lease of a node on a popup: longer than any run, so that another node takes over only if this one has died.
const TURN: Duration = Duration::minutes(10);
const DAY: Duration = Duration::days(1);
/// Maximum number of forms of one popup with pictures in 24 hours. Beyond it, forms that are soon replaced get none.
pub const MOST_PER_DAY: i64 = 10;
const AFTER_MOST: Duration = Duration::hours(1);

/// The parts of a popup of which pictures are taken.
pub struct Popup {
    pub policy: Policy,
    pub appearance: Option<Appearance>,
}

/// Records a new form of a popup, in the transaction that configures it and holds the lock on the pixel.
pub async fn record(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<()> {
    store::forms::update_replaced(connection, pixel_id, now).await?;
    store::due::upsert_due(connection, pixel_id, now).await
}

/// Whether the present form of a popup has no pictures yet.
pub async fn is_due(pool: &PgPool, pixel_id: &PixelId) -> Result<bool> {
    let mut connection = pool.acquire().await?;
    store::due::is_due(&mut connection, pixel_id).await
}

/// Takes the lease on the popup that has waited longest. The attempt counts as failed until it succeeds.
pub async fn take(pool: &PgPool, clock: &Clock) -> Result<Option<Due>> {
    let now = clock.now();
    loop {
        let mut transaction = pool.begin().await?;
        let Some(due) = store::due::lock_due(&mut transaction, now).await? else { return Ok(None) };
        let (pixel_id, failures) = (&due.pixel_id, due.failures);
        let forms = store::forms::count_forms(&mut transaction, pixel_id, now - DAY).await?;
        let is_taken = forms < MOST_PER_DAY;
        let plan = match is_taken {
            true => Plan {
                next_at: now + TURN.max(pause_after(failures)),
                busy_until: Some(now + TURN),
                failures: failures.saturating_add(1),
            },
            false => Plan { next_at: now + AFTER_MOST, busy_until: None, failures },
        };
        store::due::update_plan(&mut transaction, &due, &plan).await?;
        transaction.commit().await?;
        if is_taken {
            return Ok(Some(due));
        }
    }
}

/// The present popup of a pixel; `None` if the pixel is deleted or has no policy.
pub async fn find_popup(pool: &PgPool, clock: &Clock, pixel_id: &PixelId) -> Result<Option<Popup>> {
    let mut connection = pool.acquire().await?;
    let name = PixelRef::from(pixel_id.to_string());
    let Some(site) = find_site(&mut connection, &name).await? else { return Ok(None) };
    let Some(mut policy) = site.policy else { return Ok(None) };
    policy.shares_subdomains = Sharing::of(&site.pixel, clock.now()) == Sharing::On;
    let appearance = site.appearance.map(serde_json::from_value).transpose();
    Ok(Some(Popup { policy, appearance: appearance.map_err(Error::internal)? }))
}

/// Makes a popup due again without counting a failure, because the service is shutting down.
pub async fn put_back(pool: &PgPool, clock: &Clock, due: &Due) -> Result<()> {
    end(pool, clock, due, Duration::zero(), due.failures).await
}

/// Schedules a retry for a popup, with exponential backoff.
pub async fn try_later(pool: &PgPool, clock: &Clock, due: &Due) -> Result<()> {
    end(pool, clock, due, pause_after(due.failures), due.failures.saturating_add(1)).await
}

async fn end(
    pool: &PgPool,
    clock: &Clock,
    due: &Due,
    pause: Duration,
    failures: i32,
) -> Result<()> {
    let mut connection = pool.acquire().await?;
    let plan = Plan { next_at: clock.now() + pause, busy_until: None, failures };
    store::due::update_plan(&mut connection, due, &plan).await
}

/// The interval before a retry: five minutes after the first failure, then doubled up to a day.
fn pause_after(failures: i32) -> Duration {
    Duration::minutes(5 << failures.clamp(0, 9)).min(DAY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_become_longer_up_to_a_day() {
        let minutes = [0, 1, 5, 8, 9, i32::MAX].map(|failures| pause_after(failures).num_minutes());
        assert_eq!(minutes, [5, 10, 160, 1280, 1440, 1440]);
    }
}
