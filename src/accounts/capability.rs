//! What can be asked for, defined once: who may, how often, what goes in, what comes out, and what
//! is refused.
//!
//! A door (HTTP, tools, pages) only translates. It reads credentials and input in its own way, asks
//! for the capability, and shapes the answer in its own way.

use schemars::JsonSchema;
use serde::Deserialize;

use super::access::{Access, Credentials};
use super::service::Accounts;
use crate::error::{Error, FieldError, Result};
use crate::infra::limits::per_account::AccountLimit;
use crate::infra::limits::per_client::{Client, Limit};

/// Something that can be asked for.
pub trait Capability {
    /// The id of the operation in the API's description, and the name of the tool.
    const NAME: &'static str;
    /// How often one client may ask. Counted before anything else is looked at.
    const LIMIT: Option<Limit> = None;
    /// The limit that calls of an account's keys and members count against if they write.
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Writes;
    /// How input of the wrong shape is refused.
    const INVALID_INPUT: InvalidInput = InvalidInput::Listed;

    /// The part of the app that it works with.
    type Part: Sync + 'static;
    /// Who may ask.
    type Access: Access;
    type Input: Send;
    type Output: Send;

    /// What it refuses beyond its limit and its access.
    fn refusals() -> Vec<Error>;

    fn run(
        part: &Self::Part,
        caller: CallerOf<Self>,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

/// What a capability is told of who asks.
pub type CallerOf<C> = <<C as Capability>::Access as Access>::Caller;

/// How input of the wrong shape is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InvalidInput {
    /// 422, a list of what is wrong.
    Listed,
    /// 400 `invalid request`, and beside it what is wrong.
    InvalidRequest,
}

impl InvalidInput {
    /// The refusal of input in which this is wrong.
    pub fn refusal(self, wrong: Vec<FieldError>) -> Error {
        match self {
            Self::Listed => Error::Validation(wrong),
            Self::InvalidRequest => Error::InvalidRequest.naming(wrong),
        }
    }
}

/// Counts the call against the capability's limits, and identifies the caller.
pub async fn admit<C: Capability>(
    accounts: &Accounts,
    credentials: Credentials,
) -> Result<CallerOf<C>> {
    if let Some(limit) = C::LIMIT {
        Client::new(&accounts.limits, credentials.net).admit(limit)?;
    }
    let caller = C::Access::admit(accounts, credentials).await?;
    if let Some(writer) = C::Access::writer(&caller).filter(|writer| !writer.is_unlimited()) {
        accounts.account_limits.admit(C::ACCOUNT_LIMIT, writer.account_id(), &writer.actor)?;
    }
    Ok(caller)
}

/// What [`admit`] may refuse.
pub fn refusals_before<C: Capability>() -> Vec<Error> {
    let limited = C::LIMIT.map(|_| Error::TooManyRequests { retry_after: 20 });
    limited.into_iter().chain(C::Access::refusals()).collect()
}

/// The input of a capability that needs none.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("properties" = {}))]
pub struct NoInput {}
