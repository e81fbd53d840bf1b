use chrono::{Datelike, Days, NaiveDate};
use serde_json::{Value, json};

use crate::http::query::Query;
use crate::infra::templates::{Message, tr};
use crate::receipts::daily_counts::stats::StatsRequest;
use crate::types::ids::PixelParam;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Preset {
    Days(u64),
    ThisMonth,
    LastMonth,
}

const PRESETS: [Preset; 6] = [
    Preset::Days(7),
    USUAL,
    Preset::Days(90),
    Preset::Days(365),
    Preset::ThisMonth,
    Preset::LastMonth,
];
const USUAL: Preset = Preset::Days(30);

impl Preset {
    fn query(self) -> String {
        match self {
            Self::Days(days) => format!("days={days}"),
            Self::ThisMonth => "month=this".to_owned(),
            Self::LastMonth => "month=last".to_owned(),
        }
    }

    fn name(self) -> Message {
        match self {
            Self::Days(days) => tr("{{ days }} days").with("days", days),
            Self::ThisMonth => tr("This month"),
            Self::LastMonth => tr("Last month"),
        }
    }

    fn days(self, today: NaiveDate) -> (NaiveDate, NaiveDate) {
        let first = today.with_day(1).unwrap_or(today);
        match self {
            Self::Days(days) => {
                (today.checked_sub_days(Days::new(days - 1)).unwrap_or(today), today)
            }
            Self::ThisMonth => (first, today),
            Self::LastMonth => {
                let last = first.pred_opt().unwrap_or(first);
                (last.with_day(1).unwrap_or(last), last)
            }
        }
    }
}

pub struct Asked {
    preset: Option<Preset>,
    pub from: Option<String>,
    pub to: Option<String>,
}

impl Asked {
    pub fn of(query: &Query, today: NaiveDate) -> Self {
        let text = |name| query.present(name).map(str::to_owned);
        let (from, to) = (text("from"), text("to"));
        if from.is_some() || to.is_some() {
            return Self { preset: None, from, to };
        }
        let is_asked = |preset: &Preset| {
            let query_of = preset.query();
            query_of.split_once('=').is_some_and(|(name, value)| query.present(name) == Some(value))
        };
        Self::preset(PRESETS.into_iter().find(is_asked).unwrap_or(USUAL), today)
    }

    pub fn usual(today: NaiveDate) -> Self {
        Self::preset(USUAL, today)
    }

    fn preset(preset: Preset, today: NaiveDate) -> Self {
        let (from, to) = preset.days(today);
        Self { preset: Some(preset), from: Some(from.to_string()), to: Some(to.to_string()) }
    }

    pub fn request(&self, pixel_id: PixelParam) -> StatsRequest {
        StatsRequest { pixel_id, from: self.from.clone(), to: self.to.clone() }
    }
}

pub fn ranges(asked: &Asked) -> Vec<Value> {
    let link = |preset: Preset| {
        json!({
            "query": preset.query(),
            "name": preset.name(),
            "is_here": asked.preset == Some(preset),
        })
    };
    PRESETS.map(link).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn months_are_those_of_the_calendar() {
        let day = |text: &str| text.parse::<NaiveDate>().unwrap();
        let of = |preset: Preset, today: &str| preset.days(day(today));
        assert_eq!(of(Preset::ThisMonth, "2024-03-01"), (day("2024-03-01"), day("2024-03-01")));
        assert_eq!(of(Preset::LastMonth, "2024-03-31"), (day("2024-02-01"), day("2024-02-29")));
        assert_eq!(of(Preset::LastMonth, "2026-01-15"), (day("2025-12-01"), day("2025-12-31")));
        assert_eq!(of(Preset::Days(7), "2026-01-03"), (day("2025-12-28"), day("2026-01-03")));
    }
}
