//! Reads people in an order, page by page.
//!
//! Without a search, the index of the order is read from a position on. A search, and an order by name within a range
//! of days, first find a bounded number of people and then sort them in memory, because no single index has both.

use std::collections::{BTreeSet, HashMap, VecDeque};

use chrono::NaiveDate;
use sha2::{Digest, Sha256};
use sqlx::{PgConnection, PgPool};

use super::filter::{PeopleFilter, PeopleOrder, Position};
use crate::contacts::contact::Contact;
use crate::contacts::reading::evaluation::Evaluation;
use crate::contacts::store::people as store;
use crate::contacts::store::people::PersonKeys;
use crate::contacts::store::reading::list_people_with_ids;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::receipts::days::day;
use crate::types::hem::Hem;
use crate::types::ids::PixelId;

/// Maximum number of people for each field of a search, and for a range of days in the order of names.
const MOST_FOUND: i64 = 500;
const MOST_OF_DAYS: i64 = 2_000;

pub struct Listing {
    pub pixel_id: PixelId,
    /// Whether more people match than are listed.
    pub is_cut: bool,
    pool: PgPool,
    evaluation: Evaluation,
    source: Source,
    reached: Option<Position>,
    is_done: bool,
}

enum Source {
    /// The remaining people, in order.
    Known(VecDeque<Position>),
    /// All people after the position of the filter, read from an index.
    Index(PeopleFilter),
}

impl Listing {
    pub async fn open(infra: &Infra, pixel_id: &PixelId, filter: PeopleFilter) -> Result<Self> {
        let mut connection = infra.read_pool.acquire().await?;
        let after = match &filter.after {
            Some(Position { id, .. }) if filter.order == PeopleOrder::Name => {
                // If the person was erased meanwhile, the list starts from the beginning.
                let name = store::find_name(&mut connection, pixel_id, *id).await?;
                name.map(|key| Position { key, id: *id })
            }
            after => after.clone(),
        };
        let filter = PeopleFilter { after, ..filter };
        let found = find(&mut connection, pixel_id, &filter).await?;
        let (source, is_cut) = match found {
            Some((ids, is_cut)) => {
                let keys = store::list_keys(&mut connection, pixel_id, &ids).await?;
                (Source::Known(ordered(&filter, keys)), is_cut)
            }
            None => (Source::Index(filter), false),
        };
        let pool = infra.read_pool.clone();
        Ok(Self { is_cut, ..Self::new(infra, pixel_id, pool, source) })
    }

    /// Reads these people from the primary, which has every change.
    pub async fn of_people(infra: &Infra, pixel_id: &PixelId, hems: &[Hem]) -> Result<Self> {
        let ids = {
            let mut connection = infra.pool.acquire().await?;
            store::list_ids_of_hems(&mut connection, pixel_id, hems).await?
        };
        let positions = ids.into_iter().map(|id| Position { key: String::new(), id });
        let source = Source::Known(positions.collect());
        Ok(Self::new(infra, pixel_id, infra.pool.clone(), source))
    }

    fn new(infra: &Infra, pixel_id: &PixelId, pool: PgPool, source: Source) -> Self {
        Self {
            pixel_id: pixel_id.clone(),
            is_cut: false,
            pool,
            evaluation: Evaluation::of(infra, pixel_id),
            source,
            reached: None,
            is_done: false,
        }
    }

    /// The next people who may be read, at most `limit`; `None` at the end. People whose consent turns out to
    /// have ended make a page shorter.
    pub async fn next(&mut self, limit: usize) -> Result<Option<Vec<Contact>>> {
        while !self.is_done {
            let positions = self.next_positions(limit).await?;
            self.reached = positions.last().cloned();
            let ids = positions.iter().map(|position| position.id).collect::<Vec<_>>();
            let contacts = self.read(&ids).await?;
            if !contacts.is_empty() {
                return Ok(Some(contacts));
            }
        }
        Ok(None)
    }

    /// The position after which more people follow; `None` at the end of the list.
    pub fn end(&self) -> Option<&Position> {
        self.reached.as_ref().filter(|_| !self.is_done)
    }

    async fn next_positions(&mut self, limit: usize) -> Result<Vec<Position>> {
        match &mut self.source {
            Source::Known(left) => {
                let count = limit.min(left.len());
                let next = left.drain(..count).collect();
                self.is_done = left.is_empty();
                Ok(next)
            }
            Source::Index(filter) => {
                let one_more = i64::try_from(limit + 1).map_err(Error::internal)?;
                let mut connection = self.pool.acquire().await?;
                let mut next = follow(&mut connection, &self.pixel_id, filter, one_more).await?;
                self.is_done = next.len() <= limit;
                next.truncate(limit);
                filter.after = next.last().cloned();
                Ok(next)
            }
        }
    }

    /// Reads the contacts with these ids, in this order.
    async fn read(&self, ids: &[i64]) -> Result<Vec<Contact>> {
        let found = {
            let mut connection = self.pool.acquire().await?;
            list_people_with_ids(&mut connection, &self.pixel_id, ids).await?
        };
        let by_id = found.into_iter().map(|contact| (contact.contact.id, contact));
        let mut by_id = by_id.collect::<HashMap<_, _>>();
        let found = ids.iter().filter_map(|id| by_id.remove(id)).collect();
        let readable = self.evaluation.keep_readable(found).await?;
        Ok(readable.into_iter().map(|contact| contact.contact).collect())
    }
}

/// The people of a search, or of a range of days by name, and whether there are more; `None` without either.
async fn find(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    filter: &PeopleFilter,
) -> Result<Option<(Vec<i64>, bool)>> {
    if let Some(search) = &filter.search {
        let hem = hem_of(search);
        let found = store::list_matching(connection, pixel_id, search, hem, MOST_FOUND).await?;
        let mut counts = HashMap::<i32, i64>::new();
        for (field, _) in &found {
            *counts.entry(*field).or_default() += 1;
        }
        let is_cut = counts.values().any(|count| *count >= MOST_FOUND);
        let ids = found.into_iter().map(|(_, id)| id).collect::<BTreeSet<_>>();
        return Ok(Some((ids.into_iter().collect(), is_cut)));
    }
    if filter.order == PeopleOrder::Name && filter.has_days() {
        let (from, to) = filter.days();
        let ids = store::list_ids_of_days(connection, pixel_id, from, to, MOST_OF_DAYS).await?;
        let is_cut = i64::try_from(ids.len()).map_err(Error::internal)? >= MOST_OF_DAYS;
        return Ok(Some((ids, is_cut)));
    }
    Ok(None)
}

/// The hash of an email address, to find a person whose contact does not contain the address.
fn hem_of(search: &str) -> Option<Hem> {
    let hash = || <[u8; 32]>::from(Sha256::digest(search.trim().to_lowercase()));
    search.contains('@').then(|| Hem::from(hash()))
}

/// The positions of those people who are in the range of days and after the position of the filter.
fn ordered(filter: &PeopleFilter, keys: Vec<PersonKeys>) -> VecDeque<Position> {
    let (from, to) = filter.days();
    let (from, end) = (from.to_string(), after_day(to));
    let is_by_name = filter.order == PeopleOrder::Name;
    let positions = keys.into_iter().filter_map(|person| {
        let first = person.resolved_on.to_string();
        let time = if filter.order == PeopleOrder::Last { person.last_seen_at } else { first };
        let is_in_range = from <= time && time < end;
        let key = if is_by_name { person.name } else { time };
        is_in_range.then_some(Position { key, id: person.id })
    });
    let mut positions = positions.collect::<Vec<_>>();
    positions.sort_unstable();
    if !is_by_name {
        positions.reverse();
    }
    if let Some(after) = &filter.after {
        positions.retain(|one| if is_by_name { one > after } else { one < after });
    }
    positions.into()
}

/// Reads the positions after that of the filter from the index of its order.
async fn follow(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    filter: &PeopleFilter,
    limit: i64,
) -> Result<Vec<Position>> {
    let (from, to) = filter.days();
    let after = filter.after.as_ref();
    let positions = match filter.order {
        PeopleOrder::Last => {
            let (from, end) = (from.to_string(), after_day(to));
            let end = (&*end, 0);
            let before = after.map_or(end, |after| end.min((&*after.key, after.id)));
            store::list_last(connection, pixel_id, &from, before, limit).await?
        }
        PeopleOrder::First => {
            let end = (to, i64::MAX);
            let before = match after {
                Some(after) => end.min((day("after", &after.key)?, after.id)),
                None => end,
            };
            let found = store::list_first(connection, pixel_id, from, before, limit).await?;
            found.into_iter().map(|(first, id)| (first.to_string(), id)).collect()
        }
        PeopleOrder::Name => {
            let after = after.map_or(("", 0), |after| (&*after.key, after.id));
            store::list_names(connection, pixel_id, after, limit).await?
        }
    };
    Ok(positions.into_iter().map(|(key, id)| Position { key, id }).collect())
}

/// A text that is greater than all times of a day, and less than those of the next one.
fn after_day(day: NaiveDate) -> String {
    format!("{day}~")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn person(id: i64, last_seen_at: &str, resolved_on: &str, name: &str) -> PersonKeys {
        PersonKeys {
            id,
            last_seen_at: last_seen_at.to_owned(),
            resolved_on: resolved_on.parse().unwrap(),
            name: name.to_owned(),
        }
    }

    #[test]
    fn people_are_ordered_from_the_position_on_and_only_those_of_the_days() {
        let ids = |order: PeopleOrder, to: Option<&str>, after: Option<(&str, i64)>| {
            let filter = PeopleFilter {
                search: None,
                order,
                from: Some("2026-03-01".parse().unwrap()),
                to: to.map(|day| day.parse().unwrap()),
                after: after.map(|(key, id)| Position { key: key.to_owned(), id }),
            };
            let people = vec![
                person(1, "2026-03-10T08:00:00Z", "2026-03-02", "bob"),
                person(2, "2026-03-09T23:59:59Z", "2026-03-09", "ann"),
                person(3, "2026-03-10T08:00:00Z", "2026-02-28", "cid"),
            ];
            ordered(&filter, people).into_iter().map(|one| one.id).collect::<Vec<_>>()
        };
        assert_eq!(ids(PeopleOrder::Last, None, None), [3, 1, 2]);
        assert_eq!(ids(PeopleOrder::Last, Some("2026-03-09"), None), [2]);
        assert_eq!(ids(PeopleOrder::Last, None, Some(("2026-03-10T08:00:00Z", 3))), [1, 2]);
        assert_eq!(ids(PeopleOrder::First, None, None), [2, 1]);
        assert_eq!(ids(PeopleOrder::Name, None, None), [2, 1]);
        assert_eq!(ids(PeopleOrder::Name, None, Some(("ann", 2))), [1]);
    }
}
