use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Duration, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::incoming::{Item, Visitor};
use crate::contacts::contact::{Binding, Person};
use crate::contacts::store::consent as store;
use crate::contacts::store::writing::list_suppressed;
use crate::error::Result;
use crate::pixels::pixel::Pixel;
use crate::receipts::check::{Reason, evaluate};
use crate::receipts::{LatestConsent, PixelVisitor, find_named, list_by_persons, list_latest};
use crate::types::consent::Purpose;
use crate::types::hem::Hem;
use crate::types::ids::{PixelId, VisitorId};
use crate::types::text_enum::text_enum;

/// The maximum interval between evaluations of a contact. A newer acceptance may end before the one that was evaluated;
/// acceptances that last less than this interval cause an evaluation, and all others end after the next one.
pub const LOOK_AGAIN_AFTER: Duration = Duration::days(182);

text_enum! {
    /// Why an item was not stored.
    pub enum RefusedBecause {
        NoConsentRecord = "no_consent_record",
        ConsentOff = "consent_off",
        DeclinedOrWithdrawn = "declined_or_withdrawn",
        PolicyVersionStale = "policy_version_stale",
        PurposeNotGranted = "purpose_not_granted",
        ConsentRequired = "consent_required",
        /// The acceptance was made by a script of the page, in a browser that a program controlled, or without
        /// a report of the user action.
        ActRequired = "act_required",
        /// The person is on the list of the account's suppressions.
        Suppressed = "suppressed",
        /// The id is a test id.
        TestPixel = "test_pixel",
    }
}

impl RefusedBecause {
    fn of(reason: Reason) -> Option<Self> {
        match reason {
            Reason::NoConsentRecord => Some(Self::NoConsentRecord),
            Reason::ConsentOff => Some(Self::ConsentOff),
            Reason::DeclinedOrWithdrawn => Some(Self::DeclinedOrWithdrawn),
            Reason::PolicyVersionStale => Some(Self::PolicyVersionStale),
            Reason::PurposeNotGranted => Some(Self::PurposeNotGranted),
            Reason::Ok => None,
        }
    }
}

/// An item that was neither stored nor counted.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct RefusedItem {
    /// Its place in the request, from 0.
    pub index: usize,
    pub reason: RefusedBecause,
}

pub struct Admitted {
    pub people: Vec<(Option<i64>, Person)>,
    pub refused: Vec<RefusedItem>,
}

/// Evaluates items in order, as if each were sent alone. Of a repeated person, the first time and the
/// last contact are stored. The caller must hold the pixel's row lock and the binding lock.
pub async fn admit(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    pixel: &Pixel,
    items: Vec<Item>,
) -> Result<Admitted> {
    let mut consents = find_consents(connection, now, &pixel.pixel_id, &items).await?;
    if pixel.contacts_need_act {
        require_persons(connection, &pixel.pixel_id, &mut consents).await?;
    }
    let hems = items.iter().map(|item| item.hem).collect::<Vec<_>>();
    let suppressed = list_suppressed(connection, &pixel.account_id, &hems).await?;
    let known = store::list_known(connection, &pixel.pixel_id, now, &hems).await?;
    let states = known.into_iter().map(|known| {
        let store::KnownContact { hem, id, is_hidden, refused_seq } = known;
        (hem, ContactState { id: Some(id), is_hidden, refused_seq, index: None })
    });
    let mut admission = Admission {
        needs_consent: pixel.contacts_need_consent || pixel.contacts_need_act,
        suppressed: suppressed.into_iter().collect(),
        consents,
        states: states.collect(),
        admitted: Admitted { people: Vec::with_capacity(items.len()), refused: Vec::new() },
    };
    items.into_iter().for_each(|item| admission.take(item));
    Ok(admission.admitted)
}

struct Consent {
    binding: Result<Binding, RefusedBecause>,
    refused_seq: Option<i64>,
}

#[derive(Default)]
struct ContactState {
    id: Option<i64>,
    is_hidden: bool,
    /// The last refusal of a visitor under whose consent the contact was ever stored.
    refused_seq: Option<i64>,
    index: Option<usize>,
}

struct Admission {
    needs_consent: bool,
    suppressed: HashSet<Hem>,
    consents: HashMap<VisitorId, Consent>,
    states: HashMap<Hem, ContactState>,
    admitted: Admitted,
}

impl Admission {
    fn take(&mut self, item: Item) {
        match self.evaluate(&item) {
            Ok(binding) => self.admit(item, binding),
            Err(reason) => {
                self.admitted.refused.push(RefusedItem { index: item.index, reason });
            }
        }
    }

    fn evaluate(&self, item: &Item) -> Result<Option<Binding>, RefusedBecause> {
        if self.suppressed.contains(&item.hem) {
            return Err(RefusedBecause::Suppressed);
        }
        let state = self.states.get(&item.hem);
        let id = match &item.visitor {
            Visitor::Malformed => return Err(RefusedBecause::NoConsentRecord),
            Visitor::Unnamed if self.needs_consent => return Err(RefusedBecause::ConsentRequired),
            Visitor::Unnamed if state.is_some_and(|state| state.is_hidden) => {
                return Err(RefusedBecause::DeclinedOrWithdrawn);
            }
            Visitor::Unnamed => return Ok(None),
            Visitor::Named(id) => id,
        };
        let consent = self.consents.get(id).ok_or(RefusedBecause::NoConsentRecord)?;
        let binding = consent.binding.clone()?;
        match state.and_then(|state| state.refused_seq) {
            Some(refused) if refused > binding.seq => Err(RefusedBecause::DeclinedOrWithdrawn),
            _ => Ok(Some(binding)),
        }
    }

    fn admit(&mut self, item: Item, binding: Option<Binding>) {
        let state = self.states.entry(item.hem).or_default();
        let people = &mut self.admitted.people;
        let index = *state.index.get_or_insert_with(|| {
            people.push((state.id, Person::of(&item)));
            people.len() - 1
        });
        let person = &mut people[index].1;
        person.see(&item);
        person.contact = item.contact;
        if let Some(binding) = binding {
            let refused_seq =
                self.consents.get(&binding.visitor_id).and_then(|consent| consent.refused_seq);
            state.refused_seq = state.refused_seq.max(refused_seq);
            state.is_hidden = false;
            person.bind(binding);
        }
    }
}

impl Person {
    fn of(item: &Item) -> Self {
        Self {
            hem: item.hem,
            seen_at: item.seen_at.clone(),
            last_seen_at: item.seen_at.text.clone(),
            contact: String::new(),
            binding: None,
            visitor_ids: Vec::new(),
        }
    }

    fn see(&mut self, item: &Item) {
        // With the `Z`, a time with a fraction would sort before the same second without one.
        let is_later =
            item.seen_at.text.trim_end_matches('Z') > self.last_seen_at.trim_end_matches('Z');
        if is_later {
            self.last_seen_at.clone_from(&item.seen_at.text);
        }
    }

    fn bind(&mut self, binding: Binding) {
        if !self.visitor_ids.contains(&binding.visitor_id) {
            self.visitor_ids.push(binding.visitor_id.clone());
        }
        self.binding = Some(binding);
    }
}

async fn find_consents(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    pixel_id: &PixelId,
    items: &[Item],
) -> Result<HashMap<VisitorId, Consent>> {
    let mut named = items.iter().filter_map(Item::named).collect::<Vec<_>>();
    named.sort_unstable();
    named.dedup();
    if named.is_empty() {
        return Ok(HashMap::new());
    }
    let pixel = find_named(connection, pixel_id.as_str()).await?;
    let visitors = named.iter().map(|&visitor_id| PixelVisitor {
        pixel: pixel.clone(),
        visitor_id: VisitorId::from(visitor_id.to_owned()),
    });
    let visitors = visitors.collect::<Vec<_>>();
    let latest = list_latest(connection, &visitors).await?;
    let refused = store::list_refused(connection, pixel_id, &named).await?;
    let refused = refused.into_iter().collect::<HashMap<_, _>>();
    let consents = visitors.into_iter().zip(latest).map(|(visitor, latest)| {
        let visitor_id = visitor.visitor_id;
        let refused_seq = refused.get(&visitor_id).copied();
        let binding = match latest.transpose()? {
            Some(latest) => binding(&visitor_id, &latest, now),
            None => Err(RefusedBecause::NoConsentRecord),
        };
        Ok((visitor_id, Consent { binding, refused_seq }))
    });
    consents.collect()
}

/// Refuses the consents of visitors whose latest acceptance was not made by a person.
async fn require_persons(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    consents: &mut HashMap<VisitorId, Consent>,
) -> Result<()> {
    let positions =
        consents.values().filter_map(|consent| Some(consent.binding.as_ref().ok()?.seq));
    let positions = positions.collect::<Vec<_>>();
    let by_persons = list_by_persons(connection, pixel_id, &positions).await?;
    let by_persons = by_persons.into_iter().collect::<HashSet<_>>();
    for consent in consents.values_mut() {
        if consent.binding.as_ref().is_ok_and(|binding| !by_persons.contains(&binding.seq)) {
            consent.binding = Err(RefusedBecause::ActRequired);
        }
    }
    Ok(())
}

fn binding(
    visitor_id: &VisitorId,
    latest: &LatestConsent,
    now: DateTime<Utc>,
) -> Result<Binding, RefusedBecause> {
    let reason = evaluate(latest, Some(Purpose::Resolution), now);
    if let Some(refused) = RefusedBecause::of(reason) {
        return Err(refused);
    }
    let at_latest = now + LOOK_AGAIN_AFTER;
    Ok(Binding {
        visitor_id: visitor_id.clone(),
        receipt_id: latest.signed.receipt.receipt_id,
        seq: latest.seq,
        judge_at: latest.expires_at.map_or(at_latest, |expires_at| expires_at.min(at_latest)),
    })
}
