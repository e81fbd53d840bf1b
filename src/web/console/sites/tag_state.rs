//! The state of a site's tag in one sentence, from install checks and visits.

use chrono::{DateTime, NaiveDate, Utc};

use super::findings;
use crate::clock::Timestamp;
use crate::infra::templates::{Message, tr};
use crate::page_analysis::diagnostics::finding::{FindingKind, Severity};
use crate::pixels::install_check::InstallView;
use crate::pixels::pixel::{DayZone, InstallStatus};
use crate::receipts::daily_counts::stats::{Counts, SiteStats};
use crate::web::console::kit::words::{PastDay, past_day};

/// The latest days with visits, in a time zone.
pub struct Visits {
    zone: DayZone,
    answered: Option<NaiveDate>,
    shown: Option<NaiveDate>,
}

impl Visits {
    pub fn of(SiteStats { zone, stats }: &SiteStats) -> Self {
        let last = |count: fn(&Counts) -> i64| {
            let busy = stats.days.iter().rev().find(|day| count(&day.counts) > 0);
            busy.map(|day| day.day)
        };
        Self {
            zone: *zone,
            answered: last(|counts| counts.accepted + counts.declined + counts.withdrawn),
            shown: last(|counts| counts.shown),
        }
    }

    /// The latest UTC days with a response and with a popup that was shown.
    pub fn on(answered: Option<NaiveDate>, shown: Option<NaiveDate>) -> Self {
        Self { zone: DayZone::UTC, answered, shown }
    }

    /// Evidence that the tag works, from today or yesterday and later than `after`.
    fn of_late(&self, after: Option<NaiveDate>, today: NaiveDate) -> Option<Message> {
        let past = |day: Option<NaiveDate>| {
            let day = day.filter(|day| after.is_none_or(|after| *day > after))?;
            Some(past_day(day, today)).filter(|past| *past != PastDay::Earlier)
        };
        match (past(self.answered), past(self.shown)) {
            (Some(PastDay::Today), _) => Some(tr("Works: last response today")),
            (Some(_), _) => Some(tr("Works: last response yesterday")),
            (None, Some(PastDay::Today)) => Some(tr("Works: last shown today")),
            (None, Some(_)) => Some(tr("Works: last shown yesterday")),
            (None, None) => None,
        }
    }
}

/// The state of an installation, determined by its worst finding. A recent visit outweighs a check that did not find
/// the tag, because tag managers add it where the check cannot see it. A Content-Security-Policy that blocks the tag
/// does so wherever the tag comes from, so it outweighs visits before the check.
pub fn state_of(
    install: &InstallView,
    visits: &Visits,
    now: DateTime<Utc>,
) -> (Message, &'static str) {
    let is_installed = install.install_status == InstallStatus::Installed;
    let mut errors = install.findings.iter().filter(|it| it.severity == Severity::Error);
    // A single check that failed or did not find the tag does not mean that an installed tag has stopped.
    let was_found =
        is_installed && install.check_error.is_none() && install.missing_since.is_none();
    let is_decisive = |kind| was_found || is_block(kind);
    let worst = errors.find(|finding| is_decisive(finding.kind));
    let day_of = |time: Timestamp| visits.zone.day_of(time.0);
    let missing = install.missing_since.map(day_of);
    let checked = worst.and(install.checked_at).map(day_of);
    let works = match is_installed {
        true => None,
        false => visits.of_late(missing.max(checked), visits.zone.day_of(now)),
    };
    match (works, worst) {
        (Some(works), _) => (works, "good"),
        (None, Some(worst)) if is_installed => {
            (explained(tr("Installed, but with a problem"), &worst.found), "bad")
        }
        _ => looked_at(install, now),
    }
}

fn is_block(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::PolicyForbidsScript | FindingKind::PolicyForbidsConnection)
}

fn looked_at(install: &InstallView, now: DateTime<Utc>) -> (Message, &'static str) {
    let Some(checked_at) = install.checked_at.map(|time| Message::DayOf(time.0)) else {
        return (tr("Not verified"), "none");
    };
    let error = install.check_error.as_deref();
    match (install.install_status, install.missing_since) {
        (InstallStatus::Installed, missing) => {
            (installed(install, missing.map(|since| since.0), checked_at, now), "good")
        }
        (InstallStatus::NotInstalled, Some(missing)) => {
            let state = missing_since(missing.0, now);
            let why = install.findings.first().filter(|finding| finding.kind != FindingKind::NoTag);
            let state = match why {
                Some(finding) => explained(state, &finding.found),
                None => with_error(state, error),
            };
            (state, "bad")
        }
        (InstallStatus::NotInstalled, None) => {
            (tr("Snippet not found on {{ day }}").with("day", checked_at), "bad")
        }
        (InstallStatus::Unreachable, _) => {
            let state = tr("The page could not be read on {{ day }}").with("day", checked_at);
            (with_error(state, error), "bad")
        }
        (InstallStatus::NotChecked, _) => (tr("Not verified"), "none"),
    }
}

/// A state, and a sentence about its reason.
fn explained(state: Message, found: &str) -> Message {
    tr("{{ state }}. {{ reason }}").with("state", state).with("reason", findings::sentence(found))
}

fn with_error(state: Message, error: Option<&str>) -> Message {
    let Some(error) = error else { return state };
    tr("{{ state }}: {{ error }}").with("state", state).with("error", findings::error(error))
}

fn missing_since(since: DateTime<Utc>, now: DateTime<Utc>) -> Message {
    match past_day(since.date_naive(), now.date_naive()) {
        PastDay::Today => tr("Snippet missing since today"),
        PastDay::Yesterday => tr("Snippet missing since yesterday"),
        PastDay::Earlier => {
            tr("Snippet missing since {{ day }}").with("day", Message::DayOf(since))
        }
    }
}

fn installed(
    install: &InstallView,
    missing: Option<DateTime<Utc>>,
    checked_at: Message,
    now: DateTime<Utc>,
) -> Message {
    let since = install.installed_since.map(|since| Message::DayOf(since.0));
    if let Some(error) = install.check_error.as_deref() {
        let text = tr(
            "Installed{% if since %} since {{ since }}{% endif %}; on {{ day }} the page could not be read: {{ error }}",
        );
        return text
            .with("since", since)
            .with("day", checked_at)
            .with("error", findings::error(error));
    }
    let missed = missing.map(|missing| past_day(missing.date_naive(), now.date_naive()));
    let text = match missed {
        None => tr("Installed{% if since %} since {{ since }}{% endif %}"),
        Some(PastDay::Today) => {
            tr("Installed{% if since %} since {{ since }}{% endif %}; first missed today")
        }
        Some(PastDay::Yesterday) => {
            tr("Installed{% if since %} since {{ since }}{% endif %}; first missed yesterday")
        }
        Some(PastDay::Earlier) => {
            tr("Installed{% if since %} since {{ since }}{% endif %}; first missed on {{ day }}")
        }
    };
    text.with("since", since).with("day", missing.map(Message::DayOf))
}
