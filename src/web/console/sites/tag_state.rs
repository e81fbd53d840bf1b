//! The state of a site's tag in one sentence, from install checks and visits.

use chrono::{DateTime, NaiveDate, Utc};

use crate::pixels::diagnostics::finding::{FindingKind, Severity};
use crate::pixels::install_check::InstallView;
use crate::pixels::pixel::InstallStatus;
use crate::receipts::daily_counts::stats::{Counts, Stats};
use crate::web::console::kit::words::{date_of_late, day, past_day};

#[derive(Default)]
pub struct Visits {
    answered: Option<NaiveDate>,
    shown: Option<NaiveDate>,
}

impl Visits {
    pub fn of(stats: &Stats) -> Self {
        let last = |count: fn(&Counts) -> i64| {
            let busy = stats.days.iter().rev().find(|day| count(&day.counts) > 0);
            busy.map(|day| day.day)
        };
        Self {
            answered: last(|counts| counts.accepted + counts.declined + counts.withdrawn),
            shown: last(|counts| counts.shown),
        }
    }

    /// The latest days with a response and with a popup that was shown.
    pub fn on(answered: Option<NaiveDate>, shown: Option<NaiveDate>) -> Self {
        Self { answered, shown }
    }

    /// Evidence that the tag works, from today or yesterday and later than `after`.
    fn of_late(&self, after: Option<NaiveDate>, today: NaiveDate) -> Option<String> {
        let words = |day: Option<NaiveDate>, what: &str| {
            let day = day.filter(|day| after.is_none_or(|after| *day > after))?;
            Some(format!("Works: {what} {}", date_of_late(day, today)?))
        };
        words(self.answered, "last response").or_else(|| words(self.shown, "last shown"))
    }
}

/// The state of an installation, which is that of its worst finding. A recent visit counts more than a check
/// that did not find the tag, because tag managers add it where no check sees it. A policy that blocks the tag
/// blocks it wherever it comes from, so it counts more than visits before the check.
pub fn state_of(
    install: &InstallView,
    visits: &Visits,
    now: DateTime<Utc>,
) -> (String, &'static str) {
    let is_installed = install.install_status == InstallStatus::Installed;
    let mut errors = install.findings.iter().filter(|it| it.severity == Severity::Error);
    // One look that failed, or missed the tag once, does not mean that an installed tag has stopped.
    let was_found =
        is_installed && install.check_error.is_none() && install.missing_since.is_none();
    let is_decisive = |kind| was_found || is_block(kind);
    let worst = errors.find(|finding| is_decisive(finding.kind));
    let missing = install.missing_since.map(|since| since.0.date_naive());
    let checked = worst.and(install.checked_at).map(|time| time.0.date_naive());
    let works = match is_installed {
        true => None,
        false => visits.of_late(missing.max(checked), now.date_naive()),
    };
    match (works, worst) {
        (Some(works), _) => (works, "good"),
        (None, Some(worst)) if is_installed => {
            (format!("Installed, but: {}", clause(&worst.found)), "bad")
        }
        _ => looked_at(install, now),
    }
}

fn is_block(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::PolicyForbidsScript | FindingKind::PolicyForbidsConnection)
}

fn looked_at(install: &InstallView, now: DateTime<Utc>) -> (String, &'static str) {
    let Some(checked_at) = install.checked_at.map(|time| day(time.0)) else {
        return ("Not verified".to_owned(), "none");
    };
    let error = install.check_error.as_deref();
    let detail = error.map(|error| format!(": {error}")).unwrap_or_default();
    let missing = install.missing_since.map(|since| past_day(since.0, now));
    match (install.install_status, missing) {
        (InstallStatus::Installed, missing) => (installed(install, missing, &checked_at), "good"),
        (InstallStatus::NotInstalled, Some(missing)) => {
            let why = install.findings.first().filter(|finding| finding.kind != FindingKind::NoTag);
            let why = why.map(|finding| format!(": {}", clause(&finding.found)));
            let since = missing.trim_start_matches("on ");
            (format!("Snippet missing since {since}{}", why.unwrap_or(detail)), "bad")
        }
        (InstallStatus::NotInstalled, None) => {
            (format!("Snippet not found on {checked_at}"), "bad")
        }
        (InstallStatus::Unreachable, _) => {
            (format!("The page could not be read on {checked_at}{detail}"), "bad")
        }
        (InstallStatus::NotChecked, _) => ("Not verified".to_owned(), "none"),
    }
}

fn installed(install: &InstallView, missing: Option<String>, checked_at: &str) -> String {
    let since = match install.installed_since {
        Some(since) => format!("Installed since {}", day(since.0)),
        None => "Installed".to_owned(),
    };
    match (install.check_error.as_deref(), missing) {
        (Some(error), _) => {
            format!("{since}; on {checked_at} the page could not be read: {error}")
        }
        (None, Some(missing)) => format!("{since}; first missed {missing}"),
        (None, None) => since,
    }
}

fn clause(sentence: &str) -> String {
    let mut characters = sentence.trim_end_matches('.').chars();
    let first = characters.next().map(char::to_lowercase).into_iter().flatten();
    first.chain(characters).collect()
}
