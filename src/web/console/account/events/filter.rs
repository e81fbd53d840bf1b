use chrono::{Days, NaiveDate, NaiveTime};
use serde::Serialize;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use url::form_urlencoded::Serializer;
use uuid::Uuid;

use super::groups::Group;
use super::names::Names;
use crate::accounts::activity_log::{EventFilter, ListEventActors};
use crate::accounts::capability::NoInput;
use crate::error::Result;
use crate::http::query::Query;
use crate::receipts::days::{day, wrong_order};
use crate::types::text::present;
use crate::web::console::kit::form::Form;
use crate::web::console::kit::member::Member;

/// The filter of the activity log, as typed.
#[derive(Serialize)]
pub struct Filter {
    /// The `Group::word` of a group.
    kind: String,
    /// The `mark` of an actor.
    actor: String,
    pub text: String,
    from: String,
    to: String,
}

/// A parsed filter. `end` is the first id after the last day.
pub struct Bounded {
    pub filter: EventFilter,
    pub end: Option<String>,
}

impl Filter {
    /// A query string never contains the text, which may be a member's email address.
    pub fn of_address(query: &Query) -> Self {
        let text = |name| query.present(name).unwrap_or_default().to_owned();
        Self {
            kind: text("kind"),
            actor: text("actor"),
            text: String::new(),
            from: text("from"),
            to: text("to"),
        }
    }

    pub fn of_form(form: &Form) -> Self {
        Self {
            kind: form.text("kind"),
            actor: form.text("actor"),
            text: form.text("text"),
            from: form.text("from"),
            to: form.text("to"),
        }
    }

    pub fn is_narrow(&self) -> bool {
        let all = [&self.kind, &self.actor, &self.text, &self.from, &self.to];
        all.iter().any(|text| !text.is_empty())
    }

    /// The query string of a page, which does not contain the text.
    pub fn query(&self, before: &str) -> String {
        let fields = [
            ("kind", &*self.kind),
            ("actor", &*self.actor),
            ("from", &*self.from),
            ("to", &*self.to),
            ("before", before),
        ];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        Serializer::new(String::new()).extend_pairs(given).finish()
    }

    /// Parses the filter. Fails if its days are malformed or in the wrong order.
    pub async fn read(
        &self,
        member: &Member<'_>,
        names: &Names,
        actors: &[String],
    ) -> Result<Bounded> {
        let days = |name, text: &str| present(Some(text)).map(|text| day(name, text)).transpose();
        let (from, to) = (days("from", &self.from)?, days("to", &self.to)?);
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            return Err(wrong_order());
        }
        let text = Some(self.text.to_lowercase()).filter(|text| !text.is_empty());
        let subjects = match &text {
            Some(text) => names.subjects(member, text).await?,
            None => Vec::new(),
        };
        // An unknown mark is used as the actor, and matches no event.
        let actor = actors.iter().find(|actor| mark(actor) == self.actor).unwrap_or(&self.actor);
        let filter = EventFilter {
            since: from.and_then(first_id),
            kinds: Group::parse(&self.kind).map(Group::kinds),
            actor: Some(actor.clone()).filter(|actor| !actor.is_empty()),
            text,
            subjects,
        };
        let end = to.and_then(|to| first_id(to.checked_add_days(Days::new(1))?));
        Ok(Bounded { filter, end: end.map(|end| end.to_string()) })
    }

    pub fn groups(&self, member: &Member<'_>) -> Vec<Value> {
        let sees_all = member.member.sites.are_all();
        let groups = Group::ALL.into_iter().filter(|group| sees_all || group.concerns_sites());
        let choice = |group: Group| {
            let is_on = group.word() == self.kind;
            json!({"word": group.word(), "name": group.name(), "is_on": is_on})
        };
        groups.map(choice).collect()
    }

    pub fn actors(&self, names: &Names, actors: &[String]) -> Vec<Value> {
        let choice = |actor: &String| {
            let mark = mark(actor);
            json!({"is_on": mark == self.actor, "name": names.who(actor), "word": mark})
        };
        actors.iter().map(choice).collect()
    }
}

pub async fn actors_of(member: &Member<'_>) -> Result<Vec<String>> {
    member.ask::<ListEventActors>(NoInput {}).await
}

/// A hash that identifies an actor in query strings, which must not contain email addresses.
fn mark(actor: &str) -> String {
    let hash = Sha256::digest(actor);
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// The first id of a day: ids begin with their time (UUID, version 7).
fn first_id(day: NaiveDate) -> Option<Uuid> {
    let begin = day.and_time(NaiveTime::MIN).and_utc();
    let milliseconds = u64::try_from(begin.timestamp_millis()).ok()?;
    Some(Uuid::from_u128(u128::from(milliseconds) << 80))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_of_a_day_is_between_its_bounds() {
        let day = NaiveDate::from_ymd_opt(2026, 3, 10).unwrap();
        let noon = day.and_hms_opt(12, 0, 0).unwrap().and_utc();
        let id = crate::types::ids::uuid_v7(noon);
        let next = first_id(day.succ_opt().unwrap()).unwrap();
        assert!(first_id(day).unwrap() < id && id < next);
        assert_eq!(first_id(NaiveDate::from_ymd_opt(1, 1, 1).unwrap()), None);
    }

    #[test]
    fn an_address_has_neither_the_text_nor_an_email_address() {
        let filter = Filter {
            kind: "keys".to_owned(),
            actor: mark("ann@shop.example"),
            text: "bob@shop.example".to_owned(),
            from: String::new(),
            to: "2026-03-10".to_owned(),
        };
        let query = filter.query("");
        assert!(query.starts_with("kind=keys&actor=") && query.ends_with("&to=2026-03-10"));
        assert!(!query.contains("shop") && mark("ann@shop.example").len() == 16);
    }
}
