use chrono::{DateTime, Duration, Utc};
use serde_json::json;
use sqlx::PgConnection;

use super::observation::Observation;
use super::page_check::PageCheck;
use crate::error::{Error, Result};
use crate::infra::events::{self, EventKind, NewEvent, Subscribers};
use crate::page_analysis::diagnostics::finding::Finding;
use crate::pixels::pixel::{InstallStatus, Pixel};
use crate::pixels::store::install_checks::KnownInstall;
use crate::types::ids::PixelId;
use crate::types::text_enum::text_enum;

/// The interval between daily checks.
pub const DAY: Duration = Duration::days(1);
/// Consecutive daily checks that must fail before an installed pixel counts as vanished.
const MISSES: i32 = 3;
/// Maximum number of daily checks of a pixel that has moved to another host and was never found there.
const FIRST_CHECKS: i32 = 30;
/// Period in which a pixel that has vanished is still checked.
const CHECKED_FOR: Duration = Duration::days(30);

text_enum! {
    /// What has become of an install.
    pub enum InstallChange {
        /// Found for the first time.
        Installed = "installed",
        /// Not found any more.
        Vanished = "vanished",
        /// Found again after it had vanished.
        Back = "back",
    }
}

impl InstallChange {
    /// The change from status `was` to status `is`; `before` is the state that was stored.
    fn between(was: InstallStatus, is: InstallStatus, before: &KnownInstall) -> Option<Self> {
        match (was == InstallStatus::Installed, is == InstallStatus::Installed) {
            (false, true) if before.vanished_at.is_some() => Some(Self::Back),
            (false, true) => Some(Self::Installed),
            (true, false) => Some(Self::Vanished),
            (true, true) | (false, false) => None,
        }
    }
}

/// Stores the event for a change; `false` if no endpoint subscribes to it.
pub async fn put_event(
    connection: &mut PgConnection,
    subscribers: &Subscribers,
    pixel_id: &PixelId,
    change: Option<InstallChange>,
    now: DateTime<Utc>,
) -> Result<bool> {
    let kind = EventKind::InstallChanged;
    let wanted = change.filter(|_| subscribers.want(kind, Some(pixel_id)));
    let Some(change) = wanted else { return Ok(false) };
    let event = NewEvent {
        kind,
        pixel_id: Some(pixel_id),
        subject: json!({"change": change}),
        occurred_at: now,
    };
    events::put(connection, subscribers, &[event]).await?;
    Ok(true)
}

/// The state of an install after a check, and the pixel's new status.
pub struct AfterCheck {
    pub known: KnownInstall,
    pub status: InstallStatus,
    pub change: Option<InstallChange>,
}

impl AfterCheck {
    fn of(
        before: &KnownInstall,
        pixel: &Pixel,
        known: KnownInstall,
        status: InstallStatus,
    ) -> Self {
        let change = InstallChange::between(pixel.install_status, status, before);
        Self { known, status, change }
    }
}

/// The state after a check that a person requested, which takes effect at once. `before` is of the same host.
pub fn after_check(
    before: KnownInstall,
    pixel: &Pixel,
    check: &PageCheck,
    now: DateTime<Utc>,
) -> Result<AfterCheck> {
    let known = with_findings(&before, check, now)?;
    let was_installed = pixel.install_status == InstallStatus::Installed;
    let known = match check.observation {
        Observation::Present => found(known, pixel, now),
        Observation::Absent if was_installed => vanished(known, now),
        Observation::Absent | Observation::Failed(_) => known,
    };
    let status = check.observation.status_after(pixel.install_status);
    Ok(AfterCheck::of(&before, pixel, known, status))
}

/// The state after a daily check of a pixel that is installed, has vanished or has moved. One failure is no evidence.
pub fn after_daily_check(
    before: KnownInstall,
    pixel: &Pixel,
    check: &PageCheck,
    now: DateTime<Utc>,
) -> Result<AfterCheck> {
    let known = with_findings(&before, check, now)?;
    if check.observation == Observation::Present {
        let known = found(known, pixel, now);
        return Ok(AfterCheck::of(&before, pixel, known, InstallStatus::Installed));
    }
    // As a requested check reports it, because the pixel was never found on this site.
    let status = match (pixel.install_status, check.observation) {
        (InstallStatus::Unreachable, Observation::Absent) => InstallStatus::NotInstalled,
        (InstallStatus::NotInstalled, Observation::Failed(_)) if known.vanished_at.is_none() => {
            InstallStatus::Unreachable
        }
        (status, _) => status,
    };
    let is_installed = status == InstallStatus::Installed;
    let missed_days = known.missed_days.saturating_add(1);
    if !is_installed && known.vanished_at.is_none() {
        let next_look_at = (missed_days < FIRST_CHECKS).then(|| now + DAY);
        let known = KnownInstall { missed_days, next_look_at, ..known };
        return Ok(AfterCheck::of(&before, pixel, known, status));
    }
    let known = KnownInstall {
        missed_days,
        missing_since: known.missing_since.or(Some(now)),
        next_look_at: known.vanished_at.is_none_or(|at| now < at + CHECKED_FOR).then(|| now + DAY),
        ..known
    };
    let (known, status) = match is_installed && known.missed_days >= MISSES {
        true => (vanished(known, now), InstallStatus::NotInstalled),
        false => (known, status),
    };
    Ok(AfterCheck::of(&before, pixel, known, status))
}

fn with_findings(
    before: &KnownInstall,
    check: &PageCheck,
    now: DateTime<Utc>,
) -> Result<KnownInstall> {
    let findings = serde_json::to_value(&check.findings).map_err(Error::internal)?;
    Ok(KnownInstall { looked_at: Some(now), findings, ..before.clone() })
}

fn found(known: KnownInstall, pixel: &Pixel, now: DateTime<Utc>) -> KnownInstall {
    KnownInstall {
        installed_since: Some(since(&known, pixel).unwrap_or(now)),
        next_look_at: Some(now + DAY),
        missed_days: 0,
        missing_since: None,
        vanished_at: None,
        ..known
    }
}

fn vanished(known: KnownInstall, now: DateTime<Utc>) -> KnownInstall {
    KnownInstall {
        installed_since: None,
        next_look_at: Some(now + DAY),
        missing_since: known.missing_since.or(Some(now)),
        vanished_at: Some(now),
        ..known
    }
}

/// The time since which the pixel has been installed. If an older version found it, the time of its last check.
fn since(known: &KnownInstall, pixel: &Pixel) -> Option<DateTime<Utc>> {
    let is_installed = pixel.install_status == InstallStatus::Installed;
    known.installed_since.or(pixel.checked_at).filter(|_| is_installed)
}

/// The findings, if they are of the last check. Findings that only a newer version knows are omitted.
pub fn kept_findings(pixel: &Pixel, known: &KnownInstall) -> Vec<Finding> {
    if known.looked_at.is_none() || known.looked_at != pixel.checked_at {
        return Vec::new();
    }
    let kept = known.findings.as_array().into_iter().flatten();
    kept.filter_map(|finding| serde_json::from_value(finding.clone()).ok()).collect()
}
