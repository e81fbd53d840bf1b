use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::contact::WithdrawnContact;
use super::reading::selection::WithdrawnRequest;
use super::store::withdrawn as store;
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::setup::find_for;
use crate::types::ids::PixelId;

/// Contacts whose consent has ended, in the order in which that was noted.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct WithdrawnContacts {
    pub pixel_id: PixelId,
    /// As it was asked for.
    pub after: i64,
    /// The next `after`; the same again when the page is empty.
    pub high_water: i64,
    pub withdrawn: Vec<WithdrawnContact>,
    /// Whether there may be a next page.
    #[serde(skip)]
    pub is_full: bool,
}

/// A page of the list, read from the primary.
pub struct ListWithdrawnContacts;

impl Capability for ListWithdrawnContacts {
    const NAME: &'static str = "list_withdrawn_contacts";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List withdrawn contacts",
        "Lists people whose consent has ended, so that copies elsewhere are deleted; `hem` is \
         null once they are erased here.",
    ));
    type Service = Infra;
    type Access = GoodStanding<Reads>;
    type Input = WithdrawnRequest;
    type Output = WithdrawnContacts;

    fn refusals() -> Vec<Error> {
        vec![Error::AfterMalformed, Error::InvalidRequest, Error::PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: WithdrawnRequest,
    ) -> Result<WithdrawnContacts> {
        let (after, limit) = request.page()?;
        let pixel_id = find_for(&infra.pool, &caller, &request.pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let withdrawn = store::list_withdrawn(&mut connection, &pixel_id, after, limit).await?;
        let high_water = withdrawn.last().map_or(after, |last| last.position);
        let is_full = i64::try_from(withdrawn.len()).is_ok_and(|length| length == limit);
        Ok(WithdrawnContacts { pixel_id, after, high_water, withdrawn, is_full })
    }
}
