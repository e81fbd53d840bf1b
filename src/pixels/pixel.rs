use chrono::{DateTime, Duration, NaiveDate, NaiveTime, TimeZone, Utc};
use chrono_tz::Tz;

use crate::types::host::SiteHost;
use crate::types::ids::{AccountId, PixelId};
use crate::types::text_enum::text_enum;

text_enum! {
    /// What the last check of the site's home page found.
    pub enum InstallStatus {
        NotChecked = "not_checked",
        Installed = "installed",
        NotInstalled = "not_installed",
        Unreachable = "unreachable",
    }
}

#[derive(Clone, Debug)]
pub struct Pixel {
    pub pixel_id: PixelId,
    pub account_id: AccountId,
    pub domain: SiteHost,
    pub install_status: InstallStatus,
    pub checked_at: Option<DateTime<Utc>>,
    pub check_error: Option<String>,
    pub consent_enabled: bool,
    pub contacts_need_consent: bool,
    /// Whether contacts are only stored with an acceptance that a person made.
    pub contacts_need_act: bool,
    /// Whether a choice counts on all subdomains.
    pub share_subdomains: bool,
    /// The stored time zone of statistics; `None` for UTC.
    pub time_zone: Option<String>,
    pub time_zone_from: Option<NaiveDate>,
}

impl Pixel {
    pub fn day_zone(&self) -> DayZone {
        DayZone::of_stored(self.time_zone.as_deref(), self.time_zone_from)
    }
}

/// The time zone in which the statistics of a site count days.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DayZone {
    pub zone: Tz,
    /// Impressions of days before this one are those of the UTC day of the same date.
    pub shown_from: NaiveDate,
}

impl DayZone {
    pub const UTC: Self = Self { zone: Tz::UTC, shown_from: NaiveDate::MIN };

    /// An unknown name counts as UTC.
    pub fn of_stored(name: Option<&str>, shown_from: Option<NaiveDate>) -> Self {
        let zone = name.and_then(|name| name.parse::<Tz>().ok());
        zone.zip(shown_from).map_or(Self::UTC, |(zone, shown_from)| Self { zone, shown_from })
    }

    /// The name in the IANA database.
    pub fn name(self) -> &'static str {
        self.zone.name()
    }

    pub fn is_utc(self) -> bool {
        self.zone == Tz::UTC
    }

    pub fn day_of(self, time: DateTime<Utc>) -> NaiveDate {
        time.with_timezone(&self.zone).date_naive()
    }

    /// The first moment of a day. Midnight may occur twice, or not at all.
    pub fn begin_of(self, day: NaiveDate) -> DateTime<Utc> {
        let midnight = day.and_time(NaiveTime::MIN);
        let last_before = midnight - Duration::microseconds(1);
        let first = self.zone.from_local_datetime(&midnight).earliest();
        let after_last = self.zone.from_local_datetime(&last_before).latest();
        let after_last = after_last.map(|time| time + Duration::microseconds(1));
        let begin = first.or(after_last).map(|time| time.with_timezone(&Utc));
        begin.unwrap_or_else(|| midnight.and_utc())
    }
}

text_enum! {
    /// Through which pipeline a site gets its pixel.
    pub enum Pipeline {
        Utm = "utm",
        Cms = "cms",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(zone: Tz, day: &str) -> String {
        let days = DayZone { zone, shown_from: NaiveDate::MIN };
        let begin = days.begin_of(day.parse().unwrap());
        assert_eq!(days.day_of(begin).to_string(), day);
        assert_eq!(days.day_of(begin - Duration::microseconds(1)).succ_opt(), day.parse().ok());
        begin.format("%d %H:%M").to_string()
    }

    #[test]
    fn a_day_begins_at_its_first_moment() {
        assert_eq!(begin(Tz::UTC, "2026-03-10"), "10 00:00");
        assert_eq!(begin(Tz::Pacific__Auckland, "2026-03-10"), "09 11:00");
        // Midnight occurs twice, does not exist, and follows an hour that does not exist.
        assert_eq!(begin(Tz::Atlantic__Azores, "2026-10-25"), "25 00:00");
        assert_eq!(begin(Tz::America__Santiago, "2022-09-11"), "11 04:00");
        assert_eq!(begin(Tz::America__Nuuk, "2026-03-29"), "29 01:00");
    }

    #[test]
    fn unknown_zones_and_none_count_as_utc() {
        for name in [None, Some("Mars/Olympus"), Some("")] {
            assert_eq!(DayZone::of_stored(name, Some(NaiveDate::MAX)), DayZone::UTC);
        }
        assert_eq!(DayZone::of_stored(Some("Europe/Berlin"), None), DayZone::UTC);
        assert!(DayZone::UTC.is_utc());
    }
}
