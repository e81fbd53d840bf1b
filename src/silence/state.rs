use chrono::{DateTime, Utc};
use uuid::Uuid;

use super::view::SiteVerdict;
use crate::infra::events::EventKind;
use crate::infra::outbox;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KnownSilence {
    pub verdict: Option<SiteVerdict>,
    pub reported_at: Option<DateTime<Utc>>,
    pub report_id: Option<Uuid>,
    pub broken_since: Option<DateTime<Utc>>,
    pub own_verdict: Option<SiteVerdict>,
    pub own_at: Option<DateTime<Utc>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilenceChange {
    Broken,
    Restored,
}

impl SilenceChange {
    pub fn event(self) -> EventKind {
        match self {
            Self::Broken => EventKind::SilenceBroken,
            Self::Restored => EventKind::SilenceRestored,
        }
    }

    pub fn mail(self) -> outbox::Kind {
        match self {
            Self::Broken => outbox::Kind::SilenceBroken,
            Self::Restored => outbox::Kind::SilenceRestored,
        }
    }
}

pub struct NewReport {
    pub report_id: Uuid,
    pub verdict: SiteVerdict,
    pub by_service: bool,
    /// The time when it was made, or when it was received if that is earlier.
    pub at: DateTime<Utc>,
    /// Hosts that it lists separately because they are allowed.
    pub allowed_hosts: Vec<String>,
}

/// The state after a report. Unless it is newer than all others, a report can change only the service's own verdict.
pub fn after(known: KnownSilence, new: &NewReport) -> (KnownSilence, Option<SilenceChange>) {
    let mut known = known;
    if new.by_service && known.own_at.is_none_or(|at| new.at > at) {
        (known.own_verdict, known.own_at) = (Some(new.verdict), Some(new.at));
    }
    if known.reported_at.is_some_and(|at| new.at <= at) {
        return (known, None);
    }
    let was_broken = known.broken_since.is_some();
    let change = match new.verdict {
        SiteVerdict::Leaks if !was_broken => Some(SilenceChange::Broken),
        SiteVerdict::Silent if was_broken => Some(SilenceChange::Restored),
        _ => None,
    };
    known.broken_since = match change {
        Some(SilenceChange::Broken) => Some(new.at),
        Some(SilenceChange::Restored) => None,
        None => known.broken_since,
    };
    (known.verdict, known.reported_at) = (Some(new.verdict), Some(new.at));
    known.report_id = Some(new.report_id);
    (known, change)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(verdict: SiteVerdict, minute: i64) -> NewReport {
        let at = DateTime::from_timestamp(minute * 60, 0).unwrap();
        let by_service = minute % 2 == 0;
        NewReport { report_id: Uuid::nil(), verdict, by_service, at, allowed_hosts: Vec::new() }
    }

    #[test]
    fn a_site_breaks_once_and_recovers_once() {
        let reports = [
            (SiteVerdict::Silent, 1, None),
            (SiteVerdict::Leaks, 2, Some(SilenceChange::Broken)),
            (SiteVerdict::Leaks, 3, None),
            (SiteVerdict::NotObserved, 4, None),
            (SiteVerdict::Silent, 2, None),
            (SiteVerdict::Silent, 5, Some(SilenceChange::Restored)),
            (SiteVerdict::NotObserved, 6, None),
            (SiteVerdict::Silent, 7, None),
        ];
        let mut known = KnownSilence::default();
        for (verdict, minute, expected) in reports {
            let (next, change) = after(known, &report(verdict, minute));
            assert_eq!(change, expected, "{minute}");
            known = next;
        }
        assert_eq!((known.verdict, known.broken_since), (Some(SiteVerdict::Silent), None));
        assert_eq!(known.own_verdict, Some(SiteVerdict::NotObserved));
    }
}
