//! What can be asked for about the people that were resolved on a pixel's site.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::contact::Contact;
use super::counts::{self, ContactCounts, CountRequest};
use super::erasure;
use super::intake::incoming::{StoreRequest, people_among};
use super::intake::{self, Stored};
use super::reading::selection::{ReadRequest, WithdrawnRequest};
use super::reading::{self, Written, finding};
use super::service::Contacts;
use super::withdrawn::{self, WithdrawnContacts};
use crate::accounts::access::{Caller, GoodStanding};
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::scope::{Governs, Operates, Reads};
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, FieldError, Result, wrong_field};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::types::hem::Hem;
use crate::types::ids::PixelId;

/// Contacts by cursor or by day.
pub struct ReadContacts;

impl Capability for ReadContacts {
    const NAME: &'static str = "read_contacts";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Reads resolved people, by the day on which they were first resolved, from an id on, or \
         by what has changed, page by page. People whose consent has ended are left out.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = ReadRequest;
    /// Each door shapes what comes: a day may be too long to be held.
    type Output = Written;

    fn refusals() -> Vec<Error> {
        vec![
            OnOrAfterMissing,
            OnAndAfter,
            OnMalformed,
            AfterMalformed,
            InvalidRequest,
            PixelNotFound,
        ]
    }

    async fn run(infra: &Infra, caller: Caller, request: ReadRequest) -> Result<Written> {
        let (selection, format) = (request.selection()?, request.format()?);
        reading::read(infra, &caller, &request.pixel_id, selection, format).await
    }
}

/// The contacts whose consent has ended, those included that are erased since.
pub struct ListWithdrawnContacts;

impl Capability for ListWithdrawnContacts {
    const NAME: &'static str = "list_withdrawn_contacts";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Lists people whose consent has ended, so that copies elsewhere are deleted; `hem` is \
         null once they are erased here.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = WithdrawnRequest;
    type Output = WithdrawnContacts;

    fn refusals() -> Vec<Error> {
        vec![AfterMalformed, InvalidRequest, PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        request: WithdrawnRequest,
    ) -> Result<WithdrawnContacts> {
        withdrawn::list(infra, &caller, &request).await
    }
}

/// Resolved people are stored: all that consent permits, or on an error none.
pub struct StoreContacts;

impl Capability for StoreContacts {
    const NAME: &'static str = "store_contacts";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Stores resolved people: new ones count against the month's allowance, known ones are \
         updated and keep their id. All are stored, or on an error none; those that consent \
         does not permit are `refused`.",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Intake;
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Part = Contacts;
    type Access = GoodStanding<Operates>;
    type Input = StoreRequest;
    type Output = Stored;

    fn refusals() -> Vec<Error> {
        vec![
            wrong_field("contacts", "must be a list"),
            ContactEntryNotObject,
            ContactNotObject,
            HemMalformed,
            SeenAtMalformed,
            SubscriptionRequired { remaining: 0 },
            ContactAllowanceReached { remaining: 12 },
            PixelNotFound,
            Busy { retry_after: 1 },
        ]
    }

    async fn run(part: &Contacts, caller: Caller, request: StoreRequest) -> Result<Stored> {
        let StoreRequest { pixel_id, contacts } = request;
        let people = people_among(contacts, part.infra.clock.now())?;
        intake::store_contacts(part, &caller, &pixel_id, people).await
    }
}

/// How many people were resolved first on each day.
pub struct CountContacts;

impl Capability for CountContacts {
    const NAME: &'static str = "count_contacts";
    const TOOL: Option<Tool> =
        Some(Tool::READ_ONLY.described("Counts people by the day on which they were seen first."));
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = CountRequest;
    type Output = ContactCounts;

    fn refusals() -> Vec<Error> {
        let from = FieldError::new(&["query", "from"], "must not be after to", "value_error");
        vec![PixelNotFound, Validation(vec![from])]
    }

    async fn run(infra: &Infra, caller: Caller, request: CountRequest) -> Result<ContactCounts> {
        counts::count(infra, &caller, &request).await
    }
}

/// What a pixel stores of a person.
pub struct FindContact;

impl Capability for FindContact {
    const NAME: &'static str = "find_contact";
    const TOOL: Option<Tool> =
        Some(Tool::READ_ONLY.described("Finds what the pixel stores of a person."));
    type Part = Infra;
    type Access = GoodStanding<Reads>;
    type Input = OfContact;
    type Output = Contact;

    fn refusals() -> Vec<Error> {
        vec![HemMalformed, PixelNotFound, ContactNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfContact) -> Result<Contact> {
        let hem = Hem::parse(&request.hem)?;
        finding::find(infra, &caller, &request.pixel_id, hem).await
    }
}

/// A person on a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct OfContact {
    pub pixel_id: String,
    /// The person's hashed email address, 64 hex digits.
    #[schemars(regex(pattern = "^[0-9A-Fa-f]{64}$"))]
    pub hem: String,
}

/// A person who is not stored any more.
#[derive(Serialize, JsonSchema)]
pub struct ErasedContact {
    pixel_id: PixelId,
    erased: bool,
}

/// What a pixel stores of a person is erased; nothing stored is fine too.
pub struct EraseContact;

impl Capability for EraseContact {
    const NAME: &'static str = "erase_contact";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.idempotent().described(
        "Erases what the pixel stores of a person who asks for it. Cannot be undone, and gives \
         nothing back of the allowance.",
    ));
    type Part = Infra;
    type Access = GoodStanding<Governs>;
    type Input = OfContact;
    type Output = ErasedContact;

    fn refusals() -> Vec<Error> {
        vec![HemMalformed, PixelNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfContact) -> Result<ErasedContact> {
        let hem = Hem::parse(&request.hem)?;
        let pixel_id = erasure::erase(infra, &caller, &request.pixel_id, &hem).await?;
        Ok(ErasedContact { pixel_id, erased: true })
    }
}
