use std::collections::BTreeMap;

use chrono::NaiveDate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::store::reading as store;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::receipts::days::{DayRange, wrong_order};
use crate::types::ids::{PixelId, PixelParam};

/// The days to count.
#[derive(Deserialize, JsonSchema)]
pub struct CountRequest {
    pub pixel_id: PixelParam,
    /// First UTC day; 30 days up to `to` without it.
    #[schemars(with = "Option<NaiveDate>")]
    pub from: Option<String>,
    /// Last UTC day; today without it.
    #[schemars(with = "Option<NaiveDate>")]
    pub to: Option<String>,
}

/// A day with its contacts.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ContactCountOfDay {
    /// `YYYY-MM-DD`, UTC.
    pub day: NaiveDate,
    /// People first seen on it who are stored and not hidden, as of some seconds ago.
    pub contacts: i64,
}

/// Every day of the range, oldest first, also those without contacts.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ContactCounts {
    pub pixel_id: PixelId,
    /// The first day, `YYYY-MM-DD`.
    pub from: NaiveDate,
    /// The last day, `YYYY-MM-DD`.
    pub to: NaiveDate,
    /// Of all these days together.
    pub total: i64,
    pub days: Vec<ContactCountOfDay>,
}

pub struct CountContacts;

impl Capability for CountContacts {
    const NAME: &'static str = "count_contacts";
    const TOOL: Option<Tool> = Some(
        Tool::READ_ONLY
            .described("Count contacts", "Counts people by the day on which they were seen first."),
    );
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = CountRequest;
    type Output = ContactCounts;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, wrong_order()]
    }

    async fn run(infra: &Infra, caller: Caller, request: CountRequest) -> Result<ContactCounts> {
        let today = infra.clock.now().date_naive();
        let range = DayRange::parse(request.from.as_deref(), request.to.as_deref(), today)?;
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let mut connection = infra.read_pool.acquire().await?;
        let DayRange { from, to } = range;
        let counted = store::count_contacts_by_day(&mut connection, &pixel_id, from, to).await?;
        let counted = counted.into_iter().collect::<BTreeMap<_, _>>();
        let of_day =
            |day| ContactCountOfDay { day, contacts: counted.get(&day).copied().unwrap_or(0) };
        let total = counted.values().sum();
        Ok(ContactCounts { pixel_id, from, to, total, days: range.days().map(of_day).collect() })
    }
}
