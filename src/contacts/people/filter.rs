use chrono::NaiveDate;

use crate::error::Result;
use crate::receipts::days::{day, wrong_order};
use crate::types::ids::PixelParam;
use crate::types::parameter;
use crate::types::text::present;
use crate::types::text_enum::text_enum;

/// All days on which people can have been identified.
const FIRST_DAY: NaiveDate = match NaiveDate::from_ymd_opt(1, 1, 1) {
    Some(day) => day,
    None => NaiveDate::MIN,
};
const LAST_DAY: NaiveDate = match NaiveDate::from_ymd_opt(9999, 12, 31) {
    Some(day) => day,
    None => NaiveDate::MAX,
};

text_enum! {
    /// The order of a list of people.
    pub enum PeopleOrder {
        /// The person who was identified last comes first.
        Last = "last",
        /// The person who was first identified last comes first.
        First = "first",
        Name = "name",
    }
}

/// A list of people as it is requested.
#[derive(Clone)]
pub struct PeopleRequest {
    pub pixel_id: PixelParam,
    /// The beginning of a name, a last name, a company or an email address.
    pub search: Option<String>,
    pub sort: Option<String>,
    /// Days of the last identification in the order `last`, and of the first one in other orders.
    pub from: Option<String>,
    pub to: Option<String>,
    /// The end of the previous page.
    pub after: Option<String>,
}

#[derive(Clone)]
pub struct PeopleFilter {
    pub search: Option<String>,
    pub order: PeopleOrder,
    pub from: Option<NaiveDate>,
    pub to: Option<NaiveDate>,
    pub after: Option<Position>,
}

/// The position of a person in a list: by a day, a time or a name, and then by id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    pub key: String,
    pub id: i64,
}

impl PeopleRequest {
    pub fn filter(&self) -> Result<PeopleFilter> {
        let wanted = "must be last, first or name";
        let order = parameter::read("sort", &self.sort, wanted, PeopleOrder::parse)?;
        let order = order.unwrap_or(PeopleOrder::Last);
        let from = present(self.from.as_deref()).map(|text| day("from", text)).transpose()?;
        let to = present(self.to.as_deref()).map(|text| day("to", text)).transpose()?;
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            return Err(wrong_order());
        }
        let parse = |text: &str| Position::parse(order, text);
        let after = parameter::read("after", &self.after, "must be the end of a page", parse)?;
        // A text in PostgreSQL cannot contain NUL.
        let search = self.search.as_deref().unwrap_or_default().replace('\0', "");
        let search = present(Some(&search)).map(str::to_owned);
        Ok(PeopleFilter { search, order, from, to, after })
    }
}

impl PeopleFilter {
    pub fn has_days(&self) -> bool {
        self.from.is_some() || self.to.is_some()
    }

    /// The first and the last day, inclusive.
    pub fn days(&self) -> (NaiveDate, NaiveDate) {
        (self.from.unwrap_or(FIRST_DAY), self.to.unwrap_or(LAST_DAY))
    }
}

impl Position {
    /// Parses a position that [`Self::text`] has written for the same order.
    fn parse(order: PeopleOrder, text: &str) -> Option<Self> {
        let (key, id) = text.rsplit_once('_')?;
        let id = id.parse::<i64>().ok()?;
        let is_of_time = |character: char| {
            character.is_ascii_digit() || matches!(character, '-' | ':' | '.' | 'T' | 'Z')
        };
        let is_valid = match order {
            PeopleOrder::Last => key.chars().all(is_of_time),
            PeopleOrder::First => day("after", key).is_ok(),
            PeopleOrder::Name => key.is_empty(),
        };
        is_valid.then(|| Self { key: key.to_owned(), id })
    }

    /// For use in a URL, so without the name, which is personal data and is looked up again by id.
    pub fn text(&self, order: PeopleOrder) -> String {
        let key = if order == PeopleOrder::Name { "" } else { &*self.key };
        format!("{key}_{}", self.id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_read_as_they_were_written_and_contain_no_name() {
        for (order, key) in [
            (PeopleOrder::Last, "2026-03-10T12:00:00.5Z"),
            (PeopleOrder::First, "2026-03-10"),
            (PeopleOrder::Name, ""),
        ] {
            let position = Position { key: key.to_owned(), id: 7 };
            assert_eq!(Position::parse(order, &position.text(order)), Some(position));
        }
        let ann = Position { key: "ann lee".to_owned(), id: 7 };
        assert_eq!(ann.text(PeopleOrder::Name), "_7");
        for (order, text) in [
            (PeopleOrder::Last, "ann_7"),
            (PeopleOrder::Last, "7"),
            (PeopleOrder::First, "2026-3-1_7"),
            (PeopleOrder::Name, "ann_7"),
            (PeopleOrder::Name, "_x"),
        ] {
            assert_eq!(Position::parse(order, text), None, "{text}");
        }
    }
}
