//! The time zones that people can choose: the zones of the IANA database, without alternative names.

use chrono_tz::{TZ_VARIANTS, Tz};
use serde::Serialize;

use crate::infra::templates::{Message, tr};

pub const UTC: &str = "UTC";

/// The first parts of zone names, each with its display name.
const REGIONS: [(&str, Message); 10] = [
    ("Africa", tr("Africa")),
    ("America", tr("America")),
    ("Antarctica", tr("Antarctica")),
    ("Arctic", tr("Arctic")),
    ("Asia", tr("Asia")),
    ("Atlantic", tr("Atlantic Ocean")),
    ("Australia", tr("Australia")),
    ("Europe", tr("Europe")),
    ("Indian", tr("Indian Ocean")),
    ("Pacific", tr("Pacific Ocean")),
];

/// Former names, and names of parts of a zone. `zone.tab` of the IANA database does not list them.
const OTHER_NAMES: &[&str] = &[
    "Africa/Asmera",
    "Africa/Timbuktu",
    "America/Argentina/ComodRivadavia",
    "America/Atka",
    "America/Buenos_Aires",
    "America/Catamarca",
    "America/Coral_Harbour",
    "America/Cordoba",
    "America/Ensenada",
    "America/Fort_Wayne",
    "America/Godthab",
    "America/Indianapolis",
    "America/Jujuy",
    "America/Knox_IN",
    "America/Louisville",
    "America/Mendoza",
    "America/Montreal",
    "America/Nipigon",
    "America/Pangnirtung",
    "America/Porto_Acre",
    "America/Rainy_River",
    "America/Rosario",
    "America/Santa_Isabel",
    "America/Shiprock",
    "America/Thunder_Bay",
    "America/Virgin",
    "America/Yellowknife",
    "Antarctica/South_Pole",
    "Asia/Ashkhabad",
    "Asia/Calcutta",
    "Asia/Choibalsan",
    "Asia/Chongqing",
    "Asia/Chungking",
    "Asia/Dacca",
    "Asia/Harbin",
    "Asia/Istanbul",
    "Asia/Kashgar",
    "Asia/Katmandu",
    "Asia/Macao",
    "Asia/Rangoon",
    "Asia/Saigon",
    "Asia/Tel_Aviv",
    "Asia/Thimbu",
    "Asia/Ujung_Pandang",
    "Asia/Ulan_Bator",
    "Atlantic/Faeroe",
    "Atlantic/Jan_Mayen",
    "Australia/ACT",
    "Australia/Canberra",
    "Australia/Currie",
    "Australia/LHI",
    "Australia/NSW",
    "Australia/North",
    "Australia/Queensland",
    "Australia/South",
    "Australia/Tasmania",
    "Australia/Victoria",
    "Australia/West",
    "Australia/Yancowinna",
    "Europe/Belfast",
    "Europe/Kiev",
    "Europe/Nicosia",
    "Europe/Tiraspol",
    "Europe/Uzhgorod",
    "Europe/Zaporozhye",
    "Pacific/Enderbury",
    "Pacific/Johnston",
    "Pacific/Ponape",
    "Pacific/Samoa",
    "Pacific/Truk",
    "Pacific/Yap",
];

#[derive(Serialize)]
pub struct Zone {
    pub name: &'static str,
    /// The display name of the city or island.
    pub location: String,
}

/// The zones of a continent or an ocean.
#[derive(Serialize)]
pub struct Region {
    pub name: Message,
    pub zones: Vec<Zone>,
}

/// Finds an offered zone, or UTC, by its name.
pub fn find(name: &str) -> Option<Tz> {
    if name == UTC {
        return Some(Tz::UTC);
    }
    offered().find(|zone| zone.name() == name)
}

/// All zones but UTC.
pub fn regions() -> Vec<Region> {
    let zones_of = |region| {
        let in_region = offered().filter(move |zone| region_of(zone.name()) == Some(region));
        let mut zones = in_region.map(Zone::of).collect::<Vec<_>>();
        zones.sort_by(|left, right| left.location.cmp(&right.location));
        zones
    };
    let region = |(part, name)| Region { name, zones: zones_of(part) };
    REGIONS.into_iter().map(region).collect()
}

impl Zone {
    fn of(zone: Tz) -> Self {
        let name = zone.name();
        let location = name.split_once('/').map_or(name, |(_, location)| location);
        Self { name, location: location.replace('_', " ").replace('/', ", ") }
    }
}

fn offered() -> impl Iterator<Item = Tz> {
    let is_offered = |zone: &Tz| {
        let name = zone.name();
        region_of(name).is_some_and(|region| REGIONS.iter().any(|(part, _)| *part == region))
            && !OTHER_NAMES.contains(&name)
    };
    TZ_VARIANTS.iter().copied().filter(is_offered)
}

fn region_of(name: &str) -> Option<&str> {
    name.split_once('/').map(|(region, _)| region)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zones_are_offered_and_other_names_are_not() {
        for name in ["UTC", "Europe/Berlin", "America/Argentina/Buenos_Aires", "Asia/Kolkata"] {
            assert_eq!(find(name).map(|zone| zone.name()), Some(name));
        }
        for name in ["", "CET", "Etc/GMT+1", "US/Eastern", "Asia/Calcutta", "europe/berlin"] {
            assert_eq!(find(name), None, "{name}");
        }
    }

    #[test]
    fn every_region_has_zones_and_every_other_name_is_known() {
        assert!(regions().iter().all(|region| !region.zones.is_empty()));
        let mut names = TZ_VARIANTS.iter().map(|zone| zone.name()).collect::<Vec<_>>();
        names.sort_unstable();
        assert!(OTHER_NAMES.iter().all(|name| names.binary_search(name).is_ok()));
        let argentina = regions().into_iter().flat_map(|region| region.zones);
        let argentina =
            argentina.map(|zone| zone.location).find(|location| location.starts_with("Argentina"));
        assert_eq!(argentina.as_deref(), Some("Argentina, Buenos Aires"));
    }
}
