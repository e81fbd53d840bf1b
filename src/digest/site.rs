//! The state of a site in a digest. It contains counts only, and nothing about single visitors.

use crate::erasure::OpenCount;
use crate::error::Result;
use crate::infra::Infra;
use crate::infra::smtp::NoticeSection;
use crate::pixels::pixel::{InstallStatus, Pixel};
use crate::receipts::daily_counts::stats::{Counts, DayCounts, count_days};
use crate::receipts::days::DayRange;
use crate::silence;
use crate::silence::view::SiteVerdict;
use crate::types::formatting::{number, percent};

const WEEK: usize = 7;

/// `days` are two weeks, of which the second one is reported and compared with the first one.
pub async fn section(
    infra: &Infra,
    site: &Pixel,
    days: DayRange,
    requests: Option<&OpenCount>,
) -> Result<NoticeSection> {
    let stats = count_days(infra, site.pixel_id.clone(), days).await?;
    let (before, current) = stats.days.split_at(WEEK.min(stats.days.len()));
    let (before, current) = (total(before), total(current));
    let watch = watch(infra, site).await?;
    Ok(NoticeSection {
        title: site.domain.to_string(),
        url: format!("{}/console/sites/{}/overview", infra.base_url(), site.pixel_id),
        facts: vec![
            ("Responses", responses(answered(&current), answered(&before))),
            ("Acceptance rate", rate(acceptance(&current), acceptance(&before))),
            ("Erasure requests", open_requests(requests)),
            ("Installation", installation(site)),
            ("Watch", watch),
        ],
    })
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

fn responses(current: i64, before: i64) -> String {
    let change = match percent((current - before).abs(), before) {
        None => "none in the week before".to_owned(),
        Some(0) => "as in the week before".to_owned(),
        Some(part) if current > before => format!("{part}% more than in the week before"),
        Some(part) => format!("{part}% fewer than in the week before"),
    };
    format!("{} ({change})", number(current))
}

fn rate(current: Option<i64>, before: Option<i64>) -> String {
    let Some(current) = current else { return "No responses".to_owned() };
    let change = match before.map(|before| current - before) {
        None => "no responses in the week before".to_owned(),
        Some(0) => "as in the week before".to_owned(),
        Some(more @ 1..) => format!("{} higher than in the week before", points(more)),
        Some(less) => format!("{} lower than in the week before", points(-less)),
    };
    format!("{current}% ({change})")
}

fn points(count: i64) -> String {
    if count == 1 { "1 point".to_owned() } else { format!("{count} points") }
}

fn open_requests(requests: Option<&OpenCount>) -> String {
    match requests {
        None => "None open".to_owned(),
        Some(OpenCount { open, overdue: 0, .. }) => format!("{} open", number(*open)),
        Some(OpenCount { open, overdue, .. }) => {
            format!("{} open, {} overdue", number(*open), number(*overdue))
        }
    }
}

fn installation(site: &Pixel) -> String {
    let state = match site.install_status {
        InstallStatus::NotChecked => return "Not verified".to_owned(),
        InstallStatus::Installed => "Installed",
        InstallStatus::NotInstalled => "Snippet not found",
        InstallStatus::Unreachable => "The page could not be read",
    };
    match site.checked_at {
        Some(at) => format!("{state}, checked on {}", at.format("%-d %B %Y")),
        None => state.to_owned(),
    }
}

async fn watch(infra: &Infra, site: &Pixel) -> Result<String> {
    let mut connection = infra.pool.acquire().await?;
    let known = silence::find_site(&mut connection, &site.pixel_id).await?.known;
    Ok(match (known.broken_since, known.verdict) {
        (Some(since), _) => {
            format!("Loads something without consent, since {}", since.format("%-d %B %Y"))
        }
        (None, Some(SiteVerdict::Silent)) => "Silent".to_owned(),
        (None, Some(SiteVerdict::Leaks)) => "Loads something without consent".to_owned(),
        (None, Some(SiteVerdict::NotObserved)) => "Could not be observed".to_owned(),
        (None, None) => "No report yet".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_told_in_words() {
        let current = [(1_200, 1_000), (900, 1_000), (5, 5), (3, 0)].map(|(a, b)| responses(a, b));
        assert_eq!(current[0], "1,200 (20% more than in the week before)");
        assert_eq!(current[1], "900 (10% fewer than in the week before)");
        assert_eq!(current[2], "5 (as in the week before)");
        assert_eq!(current[3], "3 (none in the week before)");
        let current =
            [(Some(52), Some(50)), (Some(49), Some(50)), (Some(0), None), (None, Some(1))];
        let current = current.map(|(current, before)| rate(current, before));
        assert_eq!(current[0], "52% (2 points higher than in the week before)");
        assert_eq!(current[1], "49% (1 point lower than in the week before)");
        assert_eq!(current[2], "0% (no responses in the week before)");
        assert_eq!(current[3], "No responses");
    }
}
