//! Who may ask: one way of looking at credentials per family of capabilities, since each family
//! answers a bad key in its own way (`docs/reference.md`, "Credentials").

use std::marker::PhantomData;

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::account::{Account, Plan, Status};
use super::actor::Actor;
use super::credentials::{KeyLookup, look_up_key};
use super::event::EventKind;
use super::events;
use super::keys::key_attempts::KeyAttempts;
use super::members::member::Member;
use super::scope::{Needs, Scope};
use super::service::Accounts;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::client_net::ClientNet;
use crate::infra::limits::per_client::Client;
use crate::types::ids::AccountId;

/// The account behind a valid API key or session.
#[derive(Clone, Debug)]
pub struct Caller {
    pub account: Account,
    pub actor: Actor,
    pub scope: Scope,
    /// Whether a member has signed in a moment ago.
    pub is_fresh: bool,
    /// `None` unless the caller is a signed-in member.
    pub session_id: Option<Uuid>,
}

impl Caller {
    pub fn account_id(&self) -> &AccountId {
        &self.account.account_id
    }

    /// Notes what the caller does in an account. In another's than their own, callers are the
    /// operator.
    pub async fn note(
        &self,
        connection: &mut PgConnection,
        now: DateTime<Utc>,
        account_id: &AccountId,
        kind: EventKind,
        subject: Option<&str>,
    ) -> Result<()> {
        let own = account_id == self.account_id();
        let actor = if own { &self.actor } else { &Actor::Operator };
        events::note(connection, now, account_id, actor, kind, subject).await
    }

    /// Whether a person has signed in, and no program calls with a key.
    pub fn is_member(&self) -> bool {
        matches!(self.actor, Actor::Member(_))
    }

    /// Refuses a member whose sign-in is too old, because the browser may have been left unattended. Keys
    /// have no sign-in; sensitive calls ask them for a code.
    pub fn require_fresh(&self) -> Result<()> {
        (self.is_fresh || !self.is_member()).then_some(()).ok_or(Error::SignInRequired)
    }

    /// Whether the caller may read and configure every account's pixels.
    pub fn is_unlimited(&self) -> bool {
        self.account.plan == Plan::Unlimited
    }
}

/// How a family of routes answers when a key does not do.
pub struct KeyRefusals {
    pub missing: Error,
    pub unknown: Error,
    pub revoked: Error,
}

impl KeyRefusals {
    /// Routes that tell who a caller is: always 401.
    pub fn who_am_i() -> Self {
        Self {
            missing: Error::ApiKeyRequired,
            unknown: Error::InvalidApiKey { status: 401 },
            revoked: Error::ApiKeyRevoked { status: 401 },
        }
    }

    /// Setup, pixel, contact and billing routes: a key that does not do is 403.
    pub fn setup() -> Self {
        Self {
            missing: Error::ApiKeyRequired,
            unknown: Error::InvalidApiKey { status: 403 },
            revoked: Error::ApiKeyRevoked { status: 403 },
        }
    }

    /// Consent configuration and log: a revoked key is an invalid one.
    pub fn consent() -> Self {
        Self {
            missing: Error::ApiKeyRequired,
            unknown: Error::InvalidApiKey { status: 401 },
            revoked: Error::InvalidApiKey { status: 401 },
        }
    }

    /// Routes for unlimited keys, which say by themselves what a missing key is called.
    pub fn unlimited(missing: Error) -> Self {
        Self { missing, ..Self::consent() }
    }

    /// Every refusal of the family.
    fn all(self) -> Vec<Error> {
        vec![self.missing, self.unknown, self.revoked]
    }
}

/// Finds the caller of a session or of a key, or the family's refusal.
async fn identify(
    infra: &Infra,
    credentials: &Credentials,
    refusals: KeyRefusals,
) -> Result<Caller> {
    if let Some(member) = &credentials.member {
        let (account, address) = (member.account.clone(), member.address.clone());
        let (actor, is_fresh) = (Actor::Member(address), member.is_fresh(infra.clock.now()));
        let (scope, session_id) = (member.role, Some(member.session_id));
        return Ok(Caller { account, actor, scope, is_fresh, session_id });
    }
    let key = credentials.api_key.as_deref().ok_or(refusals.missing)?;
    let mut connection = infra.pool.acquire().await?;
    match look_up_key(&mut connection, key).await? {
        KeyLookup::Valid { account, prefix, scope, .. } => {
            let (account, actor) = (*account, Actor::Key(prefix));
            Ok(Caller { account, actor, scope, is_fresh: false, session_id: None })
        }
        KeyLookup::Revoked => Err(refusals.revoked),
        KeyLookup::Unknown => Err(refusals.unknown),
    }
}

fn active_or(caller: &Caller, refusal: Error) -> Result<()> {
    (caller.account.status == Status::Active).then_some(()).ok_or(refusal)
}

fn active_and_unlimited(caller: &Caller) -> Result<()> {
    active_or(caller, Error::NotInGoodStanding)?;
    caller.is_unlimited().then_some(()).ok_or(Error::UnlimitedKeyRequired { status: 403 })
}

/// What a request brings along to say who it is from, whatever the door. Has no `Debug`: it holds
/// secrets.
#[derive(Clone)]
pub struct Credentials {
    pub api_key: Option<String>,
    pub signup_token: Option<String>,
    /// Who is signed in: the console has looked at the session.
    pub member: Option<Box<Member>>,
    /// Whether there was an `Authorization` header at all, usable or not.
    pub authorization_sent: bool,
    /// Whose requests are counted together with this one.
    pub net: ClientNet,
}

impl Credentials {
    /// Keys of the same sender that failed are counted with these.
    pub fn attempts<'a>(&self, accounts: &'a Accounts) -> KeyAttempts<'a> {
        KeyAttempts::new(Client::new(&accounts.limits, self.net), &accounts.key_memory)
    }
}

/// Who may ask for a capability: the credential, and the status of the account behind it.
pub trait Access {
    /// What is known of who asks.
    type Caller: Send;

    /// Every way in which this refuses.
    fn refusals() -> Vec<Error>;

    /// The caller, or the refusal.
    fn admit(
        accounts: &Accounts,
        credentials: Credentials,
    ) -> impl Future<Output = Result<Self::Caller>> + Send;

    /// The caller whose account's write limit this call counts against. `None` for calls that only read,
    /// and where the account is not known before the input is.
    fn writer(_: &Self::Caller) -> Option<&Caller> {
        None
    }
}

/// Nothing is asked for.
pub struct Anybody;

impl Access for Anybody {
    type Caller = ();

    fn refusals() -> Vec<Error> {
        Vec::new()
    }

    async fn admit(_: &Accounts, _: Credentials) -> Result<()> {
        Ok(())
    }
}

/// The capability itself looks at what was presented: either of two credentials will do, or what
/// they may be depends on the input.
pub struct Presented;

impl Access for Presented {
    type Caller = Credentials;

    fn refusals() -> Vec<Error> {
        Vec::new()
    }

    async fn admit(_: &Accounts, credentials: Credentials) -> Result<Credentials> {
        Ok(credentials)
    }
}

/// The signup token of the account that the input names; the capability compares them.
pub struct SignupToken;

impl Access for SignupToken {
    type Caller = Option<String>;

    fn refusals() -> Vec<Error> {
        vec![Error::SignupTokenRequired, Error::SignupTokenExpired]
    }

    async fn admit(_: &Accounts, credentials: Credentials) -> Result<Option<String>> {
        Ok(credentials.signup_token)
    }
}

/// Declares an access by API key or session, for what needs a scope.
macro_rules! key_access {
    ($(#[$doc:meta])* $name:ident, $keys:expr, $standing:expr, [$($refusal:expr),*]) => {
        $(#[$doc])*
        pub struct $name<N>(PhantomData<N>);

        impl<N: Needs> $name<N> {
            const STANDING: fn(&Caller) -> Result<()> = $standing;
        }

        impl<N: Needs> Access for $name<N> {
            type Caller = Caller;

            fn refusals() -> Vec<Error> {
                let keys = KeyAttempts::refusals().into_iter().chain($keys.all());
                keys.chain([$($refusal),*]).chain(N::refusals()).collect()
            }

            async fn admit(accounts: &Accounts, credentials: Credentials) -> Result<Caller> {
                let key = credentials.api_key.as_deref();
                let find = async {
                    let caller = identify(&accounts.infra, &credentials, $keys).await?;
                    (Self::STANDING)(&caller).map(|()| caller)
                };
                let caller = credentials.attempts(accounts).watch(key, find).await?;
                N::check(caller.scope)?;
                Ok(caller)
            }

            fn writer(caller: &Caller) -> Option<&Caller> {
                N::is_writing().then_some(caller)
            }
        }
    };
}

key_access!(
    /// Setup, pixel, contact and billing routes.
    GoodStanding,
    KeyRefusals::setup(),
    |caller| active_or(caller, Error::NotInGoodStanding),
    [Error::NotInGoodStanding]
);
key_access!(
    /// Consent configuration, log and stats.
    ActiveAccount,
    KeyRefusals::consent(),
    |caller| active_or(caller, Error::AccountNotActive),
    [Error::AccountNotActive]
);
key_access!(
    /// Routes that tell who a caller is.
    AnyKey,
    KeyRefusals::who_am_i(),
    |_| Ok(()),
    []
);
key_access!(
    /// The account itself: its keys, members and address.
    KeyHolder,
    KeyRefusals::who_am_i(),
    |caller| active_or(caller, Error::AccountNotActive),
    [Error::AccountNotActive]
);
key_access!(
    /// `POST /v1/accounts/{account_id}/activate`.
    ActivatingKey,
    KeyRefusals::unlimited(Error::UnlimitedKeyRequired { status: 401 }),
    active_and_unlimited,
    [Error::NotInGoodStanding, Error::UnlimitedKeyRequired { status: 403 }]
);
key_access!(
    /// `POST /v1/pixels/pipeline`.
    PipelineKey,
    KeyRefusals::unlimited(Error::ApiKeyRequired),
    active_and_unlimited,
    [Error::NotInGoodStanding, Error::UnlimitedKeyRequired { status: 403 }]
);
