//! Capabilities: operations that can be requested, each defined once, in its feature. A transport
//! (HTTP, tools, pages) reads credentials and input, calls the capability and formats the answer.

use schemars::JsonSchema;
use serde::Deserialize;

use super::access::{Access, Credentials};
use super::credentials::Accepts;
use super::scope::Scope;
use super::service::Accounts;
use super::tool::Tool;
use crate::error::{Error, FieldError, Result};
use crate::infra::limits::limit_status::LimitStatus;
use crate::infra::limits::per_account::AccountLimit;
use crate::infra::limits::per_client::{Client, Limit};

/// An operation that can be requested.
pub trait Capability {
    /// The id of the operation in the API's description, and the name of the tool.
    const NAME: &'static str;
    /// The tool; `None` if the capability is not offered to agents.
    const TOOL: Option<Tool> = None;
    /// The credentials that are named in the descriptions of the route and the tool.
    const ACCEPTS: Accepts = Self::Access::ACCEPTS;
    /// The scopes of keys and members that may call it.
    const SCOPES: &'static [Scope] = Self::Access::SCOPES;
    /// The limit of calls per client. It is checked before credentials and input are read.
    const LIMIT: Option<Limit> = None;
    /// The limit against which the calls of an account's keys and members count if they write.
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Writes;
    /// The refusal of input of the wrong shape.
    const INVALID_INPUT: InvalidInput = InvalidInput::Listed;

    /// The state that [`Self::run`] receives.
    type Service: Sync + 'static;
    /// The required credentials, and the required state of the account.
    type Access: Access;
    type Input: Send;
    type Output: Send;

    /// The refusals in addition to those of the limit and the access.
    fn refusals() -> Vec<Error> {
        Vec::new()
    }

    fn run(
        service: &Self::Service,
        caller: CallerOf<Self>,
        input: Self::Input,
    ) -> impl Future<Output = Result<Self::Output>> + Send;
}

pub type CallerOf<C> = <<C as Capability>::Access as Access>::Caller;

/// The refusal of input of the wrong shape.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum InvalidInput {
    /// 422 with a list of the errors.
    Listed,
    /// 400 `invalid request` with a list of the errors.
    InvalidRequest,
}

impl InvalidInput {
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
    admit_counted::<C>(accounts, credentials, &mut Vec::new()).await
}

/// Like [`admit`]. Also adds the remaining quota of each limit to `left`, including a limit that refuses the call.
pub async fn admit_counted<C: Capability>(
    accounts: &Accounts,
    credentials: Credentials,
    left: &mut Vec<LimitStatus>,
) -> Result<CallerOf<C>> {
    let client = Client::new(&accounts.limits, credentials.net);
    if let Some(limit) = C::LIMIT {
        record_remaining(left, client.take(limit), limit.used_up())?;
    }
    let caller = C::Access::admit(accounts, credentials).await?;
    if let Some(limit) = C::Access::limit(&caller) {
        record_remaining(left, client.take(limit), limit.used_up())?;
    }
    if let Some(writer) = C::Access::writer(&caller).filter(|writer| !writer.is_unlimited()) {
        let account_id = writer.account_id();
        let taken = accounts.account_limits.admit(C::ACCOUNT_LIMIT, account_id, &writer.actor);
        record_remaining(left, taken, C::ACCOUNT_LIMIT.used_up())?;
    }
    Ok(caller)
}

fn record_remaining<E>(
    left: &mut Vec<LimitStatus>,
    taken: Result<Option<LimitStatus>, E>,
    used_up: LimitStatus,
) -> Result<(), E> {
    match taken {
        Ok(state) => left.extend(state),
        Err(refusal) => {
            left.push(used_up);
            return Err(refusal);
        }
    }
    Ok(())
}

pub fn refusals_before<C: Capability>() -> Vec<Error> {
    let limited = C::LIMIT.map(|_| Error::TooManyRequests { retry_after: 20 });
    limited.into_iter().chain(C::Access::refusals()).collect()
}

/// The input of a capability that needs no input.
#[derive(Deserialize, JsonSchema)]
#[schemars(extend("properties" = {}))]
pub struct NoInput {}
