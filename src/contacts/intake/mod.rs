pub mod account_locks;
pub mod admission;
pub mod incoming;

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::json;
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;

use self::admission::{Admitted, RefusedBecause, RefusedItem};
use self::incoming::{Item, StoreRequest, people_among};
use super::allowance;
use super::contact::Person;
use super::service::Contacts;
use super::store::{consent, withdrawn, writing};
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::lock_account;
use crate::accounts::scope::Operates;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result, wrong_field};
use crate::idempotency;
use crate::infra::changes::Invalidation;
use crate::infra::events::{self, EventKind, NewEvent, Subscribers};
use crate::infra::limits::per_account::AccountLimit;
use crate::pixels::lock_pixel;
use crate::pixels::setup::{find_by_id, find_for};
use crate::types::ids::{PixelId, PixelParam};

/// The answer to a store.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Stored {
    pub pixel_id: PixelId,
    /// People written, updates included.
    pub stored: usize,
    /// Items that were neither stored nor counted.
    pub refused: Vec<RefusedItem>,
}

async fn refuse_test(
    pool: &PgPool,
    caller: &Caller,
    tested: &PixelId,
    items: &[Item],
) -> Result<Stored> {
    let pixel = find_by_id(pool, caller, tested).await?;
    let refused =
        |item: &Item| RefusedItem { index: item.index, reason: RefusedBecause::TestPixel };
    let refused = items.iter().map(refused).collect();
    Ok(Stored { pixel_id: pixel.pixel_id.test_id(), stored: 0, refused })
}

/// Stores people in one transaction: all that are permitted, or none on an error. New ones count against
/// the allowance of the pixel's owner, not the caller's. The lock on the owner's row until the commit
/// serialises everything that counts; the lock on the pixel's row prevents its deletion.
pub async fn store_contacts(
    Contacts { infra, locks, .. }: &Contacts,
    caller: &Caller,
    pixel_id: &PixelParam,
    items: Vec<Item>,
) -> Result<Stored> {
    if let Some(tested) = pixel_id.as_id().and_then(PixelId::tested) {
        return refuse_test(&infra.pool, caller, &tested, &items).await;
    }
    let pixel = find_for(&infra.pool, caller, pixel_id).await?;
    let pixel_id = pixel.pixel_id;
    if items.is_empty() {
        return Ok(Stored { pixel_id, stored: 0, refused: Vec::new() });
    }
    let subscribers = infra.events.subscribers(&pixel.account_id).await?;
    let _lock = locks.take(&pixel.account_id).await?;
    let mut transaction = infra.pool.begin().await?;
    if items.iter().any(|item| item.named().is_some()) {
        consent::lock_binding(&mut transaction, &pixel_id).await?;
    }
    let owner = lock_account(&mut transaction, &pixel.account_id).await?;
    let owner = owner.ok_or(Error::PixelNotFound)?;
    let pixel = lock_pixel(&mut transaction, &pixel_id).await?.ok_or(Error::PixelNotFound)?;
    let now = infra.clock.now();
    let Admitted { people, refused } =
        admission::admit(&mut transaction, now, &pixel, items).await?;
    let people = People::of(people);
    let stored = people.new.len() + people.known.len();
    let count = i64::try_from(people.new.len()).map_err(Error::internal)?;
    let spent = allowance::spend(&mut transaction, now, &owner, count).await?;
    let ids = people.write(&mut transaction, &pixel_id).await?;
    let events = ContactEvents { pixel_id: &pixel_id, ids: &ids, percent: spent.now_reached, now };
    let is_wanted = events.write_rows(&mut transaction, &subscribers).await?;
    let mut invalidation = Invalidation::none();
    if spent.now_paused {
        invalidation.add_account(&owner.account_id);
    }
    let answer = Stored { pixel_id, stored, refused };
    idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(200), &answer).await?;
    infra.changes.commit(transaction, &invalidation).await?;
    if is_wanted {
        infra.events.wake();
    }
    let (new, updated) = (people.new.len(), people.known.len());
    let (pixel_id, refused) = (&answer.pixel_id, answer.refused.len());
    tracing::info!(%pixel_id, new, updated, refused, "contacts stored");
    Ok(answer)
}

#[derive(Default)]
struct Ids {
    known: Vec<i64>,
    new: Vec<i64>,
}

struct ContactEvents<'a> {
    pixel_id: &'a PixelId,
    ids: &'a Ids,
    percent: Option<i16>,
    now: DateTime<Utc>,
}

impl ContactEvents<'_> {
    /// Writes the events; `false` if they have no subscribers.
    async fn write_rows(
        &self,
        connection: &mut PgConnection,
        subscribers: &Subscribers,
    ) -> Result<bool> {
        let of_contact = |kind, id: &i64| NewEvent {
            kind,
            pixel_id: Some(self.pixel_id),
            subject: json!({"contact_id": id}),
            occurred_at: self.now,
        };
        let updated = self.ids.known.iter().map(|id| of_contact(EventKind::ContactUpdated, id));
        let created = self.ids.new.iter().map(|id| of_contact(EventKind::ContactCreated, id));
        let reached = self.percent.map(|percent| NewEvent {
            kind: EventKind::AllowanceReached,
            pixel_id: None,
            subject: json!({"percent": percent}),
            occurred_at: self.now,
        });
        let all = updated.chain(created).chain(reached);
        let wanted = all.filter(|event| subscribers.want(event.kind, event.pixel_id));
        let wanted = wanted.collect::<Vec<_>>();
        events::put(connection, subscribers, &wanted).await?;
        Ok(!wanted.is_empty())
    }
}

struct People {
    known_ids: Vec<i64>,
    known: Vec<Person>,
    new: Vec<Person>,
}

impl People {
    fn of(people: Vec<(Option<i64>, Person)>) -> Self {
        let mut sorted = Self { known_ids: Vec::new(), known: Vec::new(), new: Vec::new() };
        for (id, person) in people {
            match id {
                Some(id) => {
                    sorted.known_ids.push(id);
                    sorted.known.push(person);
                }
                None => sorted.new.push(person),
            }
        }
        sorted
    }

    /// Changes and new ids use one counter, so that both follow the order of commits.
    async fn write(&self, connection: &mut PgConnection, pixel_id: &PixelId) -> Result<Ids> {
        let Self { known_ids, known, new } = self;
        let count = known.len() + new.len();
        if count == 0 {
            return Ok(Ids::default());
        }
        let binds = known.iter().chain(new).any(|person| person.binding.is_some());
        let before = writing::take_numbers(connection, pixel_id, count).await?;
        let first_new = before + i64::try_from(known.len()).map_err(Error::internal)?;
        writing::update_contacts(connection, pixel_id, before, known_ids, known).await?;
        writing::insert_contacts(connection, pixel_id, first_new, new).await?;
        if binds {
            self.write_visitors(connection, pixel_id, first_new).await?;
        }
        Ok(Ids { known: known_ids.clone(), new: (first_new + 1..).take(new.len()).collect() })
    }

    async fn write_visitors(
        &self,
        connection: &mut PgConnection,
        pixel_id: &PixelId,
        first_new: i64,
    ) -> Result<()> {
        let known = self.known_ids.iter().copied().zip(&self.known);
        let returned = known.clone().filter(|(_, person)| person.binding.is_some());
        let returned = returned.map(|(id, _)| id).collect::<Vec<_>>();
        let (mut ids, mut visitor_ids) = (Vec::new(), Vec::new());
        for (id, person) in known.chain((first_new + 1..).zip(&self.new)) {
            for visitor_id in &person.visitor_ids {
                ids.push(id);
                visitor_ids.push(visitor_id.as_str());
            }
        }
        writing::insert_visitors(connection, pixel_id, &ids, &visitor_ids).await?;
        withdrawn::delete_withdrawn(connection, pixel_id, &returned).await
    }
}

/// Resolved people are stored: all that consent permits, or on an error none.
pub struct StoreContacts;

impl Capability for StoreContacts {
    const NAME: &'static str = "store_contacts";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Store contacts",
        "Stores resolved people: new ones count against the month's allowance, known ones are \
         updated and keep their id. All are stored, or on an error none; those that consent \
         does not permit are `refused`.",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Intake;
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Service = Contacts;
    type Access = GoodStanding<Operates>;
    type Input = StoreRequest;
    type Output = Stored;

    fn refusals() -> Vec<Error> {
        vec![
            wrong_field("contacts", "must be a list"),
            Error::ContactEntryNotObject,
            Error::ContactNotObject,
            Error::HemMalformed,
            Error::SeenAtMalformed,
            Error::SubscriptionRequired { remaining: 0 },
            Error::ContactAllowanceReached { remaining: 12 },
            Error::PixelNotFound,
            Error::Busy { retry_after: 1 },
        ]
    }

    async fn run(part: &Contacts, caller: Caller, request: StoreRequest) -> Result<Stored> {
        let StoreRequest { pixel_id, contacts } = request;
        let people = people_among(contacts, part.infra.clock.now())?;
        store_contacts(part, &caller, &pixel_id, people).await
    }
}
