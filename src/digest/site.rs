//! The state of a site in a digest. It contains counts only, and nothing about single visitors.

use sqlx::PgPool;

use crate::accounts::mails::weekly::due_at;
use crate::erasure::OpenCount;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::smtp::NoticeSection;
use crate::infra::templates::{Message, tr};
use crate::pixels::pixel::{DayZone, InstallStatus, Pixel};
use crate::receipts::daily_counts::stats::{Counts, DayCounts, count_days};
use crate::receipts::days::DayRange;
use crate::silence;
use crate::silence::view::SiteVerdict;
use crate::types::formatting::percent;

const WEEK: usize = 7;

/// `days` covers two weeks; the second is reported and compared with the first.
pub async fn section(
    infra: &Infra,
    site: &Pixel,
    days: DayRange,
    requests: Option<&OpenCount>,
) -> Result<NoticeSection> {
    let zone = zone_for(site, days);
    let stats = count_days(&infra.read_pool, site.pixel_id.clone(), zone, days).await?;
    let (before, current) = stats.days.split_at(WEEK.min(stats.days.len()));
    let (before, current) = (total(before), total(current));
    let watch = watch(&infra.pool, site).await?;
    let own_zone = has_time_zone(site).then(|| (tr("Time zone"), Message::plain(zone.name())));
    let facts = vec![
        (tr("Responses"), responses(answered(&current), answered(&before))),
        (tr("Acceptance rate"), rate(acceptance(&current), acceptance(&before))),
        (tr("Erasure requests"), open_requests(requests)),
        (tr("Installation"), installation(site)),
        (tr("Watch"), watch),
    ];
    Ok(NoticeSection {
        title: Message::plain(site.domain.to_string()),
        url: format!("{}/console/sites/{}/overview", infra.base_url(), site.pixel_id),
        facts: own_zone.into_iter().chain(facts).collect(),
    })
}

pub fn has_time_zone(site: &Pixel) -> bool {
    !site.day_zone().is_utc()
}

/// The time zone in which the digest counts days: that of the site, or UTC if the week ends there only after the
/// first digests are sent.
fn zone_for(site: &Pixel, days: DayRange) -> DayZone {
    let (zone, monday) = (site.day_zone(), days.to.succ_opt().unwrap_or(days.to));
    if zone.begin_of(monday) <= due_at(monday) { zone } else { DayZone::UTC }
}

fn total(days: &[DayCounts]) -> Counts {
    let mut total = Counts::default();
    for day in days {
        total.add(&day.counts);
    }
    total
}

fn answered(counts: &Counts) -> i64 {
    counts.accepted + counts.declined
}

fn acceptance(counts: &Counts) -> Option<i64> {
    percent(counts.accepted, answered(counts))
}

fn responses(current: i64, before: i64) -> Message {
    let text = match percent((current - before).abs(), before) {
        None => tr("{{ number }} (none in the week before)"),
        Some(0) => tr("{{ number }} (as in the week before)"),
        Some(part) => {
            let change = if current > before {
                tr("{{ number }} ({{ percent }} more than in the week before)")
            } else {
                tr("{{ number }} ({{ percent }} fewer than in the week before)")
            };
            change.with("percent", Message::WholePercent(part))
        }
    };
    text.with("number", Message::Number(current))
}

fn rate(current: Option<i64>, before: Option<i64>) -> Message {
    let Some(current) = current else { return tr("No responses") };
    let text = match before.map(|before| current - before) {
        None => tr("{{ percent }} (no responses in the week before)"),
        Some(0) => tr("{{ percent }} (as in the week before)"),
        Some(more @ 1..) => tr(
            "{{ percent }} ({{ points }} point{{ points | pluralize }} higher than in the week before)",
        )
        .with("points", more),
        Some(less) => tr(
            "{{ percent }} ({{ points }} point{{ points | pluralize }} lower than in the week before)",
        )
        .with("points", -less),
    };
    text.with("percent", Message::WholePercent(current))
}

fn open_requests(requests: Option<&OpenCount>) -> Message {
    match requests {
        None => tr("None open"),
        Some(OpenCount { open, overdue: 0, .. }) => {
            tr("{{ number }} open").with("number", Message::Number(*open))
        }
        Some(OpenCount { open, overdue, .. }) => tr("{{ open }} open, {{ overdue }} overdue")
            .with("open", Message::Number(*open))
            .with("overdue", Message::Number(*overdue)),
    }
}

fn installation(site: &Pixel) -> Message {
    let (state, checked) = match site.install_status {
        InstallStatus::NotChecked => return tr("Not verified"),
        InstallStatus::Installed => (tr("Installed"), tr("Installed, checked on {{ day }}")),
        InstallStatus::NotInstalled => {
            (tr("Snippet not found"), tr("Snippet not found, checked on {{ day }}"))
        }
        InstallStatus::Unreachable => (
            tr("The page could not be read"),
            tr("The page could not be read, checked on {{ day }}"),
        ),
    };
    site.checked_at.map_or(state, |at| checked.with("day", Message::DayOf(at)))
}

async fn watch(pool: &PgPool, site: &Pixel) -> Result<Message> {
    let mut connection = pool.acquire().await?;
    let known = silence::find_site(&mut connection, &site.pixel_id).await?.known;
    Ok(match (known.broken_since, known.verdict) {
        (Some(since), _) => tr("Loads something without consent, since {{ day }}")
            .with("day", Message::DayOf(since)),
        (None, Some(SiteVerdict::Silent)) => tr("Silent"),
        (None, Some(SiteVerdict::Leaks)) => tr("Loads something without consent"),
        (None, Some(SiteVerdict::NotObserved)) => tr("Could not be observed"),
        (None, None) => tr("No report yet"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn changes_are_described_in_words() {
        let current = [(1_200, 1_000), (900, 1_000), (5, 5), (3, 0)]
            .map(|(a, b)| in_english(&responses(a, b)));
        assert_eq!(current[0], "1,200 (20% more than in the week before)");
        assert_eq!(current[1], "900 (10% fewer than in the week before)");
        assert_eq!(current[2], "5 (as in the week before)");
        assert_eq!(current[3], "3 (none in the week before)");
        let current =
            [(Some(52), Some(50)), (Some(49), Some(50)), (Some(0), None), (None, Some(1))];
        let current = current.map(|(current, before)| in_english(&rate(current, before)));
        assert_eq!(current[0], "52% (2 points higher than in the week before)");
        assert_eq!(current[1], "49% (1 point lower than in the week before)");
        assert_eq!(current[2], "0% (no responses in the week before)");
        assert_eq!(current[3], "No responses");
    }
}
