//! Access to capabilities. Each family of capabilities evaluates credentials in its own way,
//! because each answers an invalid key differently (`docs/reference.md`, "Credentials").

use std::marker::PhantomData;

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::account::{Account, Plan, Status};
use super::actor::Actor;
use super::credentials::{Accepts, KeyLookup, look_up_key};
use super::event::ActivityKind;
use super::events;
use super::grants::grant_caller::GrantCaller;
use super::keys::key_attempts::KeyAttempts;
use super::keys::key_refusals::KeyRefusals;
use super::members::member::Member;
use super::scope::{Needs, Scope};
use super::service::Accounts;
use super::sites::Sites;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::limits::client_net::ClientNet;
use crate::infra::limits::per_client::{Client, Limit};
use crate::types::ids::AccountId;

#[derive(Clone, Debug)]
pub struct Caller {
    pub account: Account,
    pub actor: Actor,
    pub scope: Scope,
    /// Checked on every look-up of a pixel and on every access to the account as a whole.
    pub sites: Sites,
    pub is_fresh: bool,
    pub session_id: Option<Uuid>,
}

impl Caller {
    pub fn account_id(&self) -> &AccountId {
        &self.account.account_id
    }

    /// Records an event in an account. A caller that acts in another account is recorded as the operator.
    pub async fn record(
        &self,
        connection: &mut PgConnection,
        now: DateTime<Utc>,
        account_id: &AccountId,
        kind: ActivityKind,
        subject: Option<&str>,
    ) -> Result<()> {
        let own = account_id == self.account_id();
        let actor = if own { &self.actor } else { &Actor::Operator };
        events::record(connection, now, account_id, actor, kind, subject).await
    }

    /// The address of the member, or of the account whose key or app calls.
    pub fn address(&self) -> &str {
        match &self.actor {
            Actor::Member(address) => address,
            _ => &self.account.email,
        }
    }

    pub fn is_member(&self) -> bool {
        matches!(self.actor, Actor::Member(_))
    }

    /// Refuses a member whose sign-in is too old, because the browser may have been left
    /// unattended. Keys have no sign-in; sensitive calls require a mailed code from them. Apps are
    /// refused, because a key that an app made would outlast its grant.
    pub fn require_fresh(&self) -> Result<()> {
        if matches!(self.actor, Actor::App(_)) {
            return Err(Error::ScopeNotAllowed);
        }
        (self.is_fresh || !self.is_member()).then_some(()).ok_or(Error::SignInRequired)
    }

    pub fn is_unlimited(&self) -> bool {
        self.account.plan == Plan::Unlimited
    }
}

async fn identify(
    pool: &PgPool,
    clock: &Clock,
    credentials: &Credentials,
    refusals: KeyRefusals,
) -> Result<Caller> {
    if let Some(member) = &credentials.member {
        let (account, address) = (member.account.clone(), member.address.clone());
        let (actor, is_fresh) = (Actor::Member(address), member.is_fresh(clock.now()));
        let (scope, sites) = (member.role, member.sites.clone());
        let session_id = Some(member.session_id);
        return Ok(Caller { account, actor, scope, sites, is_fresh, session_id });
    }
    if let Some(holder) = &credentials.grant {
        let GrantCaller { account, scope, sites, grant_id, .. } = (**holder).clone();
        let actor = Actor::App(grant_id);
        return Ok(Caller { account, actor, scope, sites, is_fresh: false, session_id: None });
    }
    let key = credentials.api_key.as_deref().ok_or(refusals.missing)?;
    let mut connection = pool.acquire().await?;
    match look_up_key(&mut connection, key, clock.now()).await? {
        KeyLookup::Valid { account, prefix, scope, sites, .. } => {
            let (account, actor) = (*account, Actor::Key(prefix));
            Ok(Caller { account, actor, scope, sites, is_fresh: false, session_id: None })
        }
        KeyLookup::Expired => Err(Error::ApiKeyExpired),
        KeyLookup::Revoked => Err(refusals.revoked),
        KeyLookup::Unknown => Err(refusals.unknown),
    }
}

fn active_or(caller: &Caller, refusal: Error) -> Result<()> {
    (caller.account.status == Status::Active).then_some(()).ok_or(refusal)
}

fn active_with_all_sites(caller: &Caller, refusal: Error) -> Result<()> {
    active_or(caller, refusal)?;
    caller.sites.require_all()
}

fn active_and_unlimited(caller: &Caller) -> Result<()> {
    active_with_all_sites(caller, Error::NotInGoodStanding)?;
    caller.is_unlimited().then_some(()).ok_or(Error::UnlimitedKeyRequired { status: 403 })
}

/// The credentials of a request, independent of the transport. No `Debug`, because it contains secrets.
#[derive(Clone)]
pub struct Credentials {
    pub api_key: Option<String>,
    pub signup_token: Option<String>,
    /// The signed-in member, whose session the console has checked.
    pub member: Option<Box<Member>>,
    /// The grant of an app, whose token the tool server has checked.
    pub grant: Option<Box<GrantCaller>>,
    pub authorization_sent: bool,
    pub net: ClientNet,
}

impl Credentials {
    pub fn attempts<'a>(&self, accounts: &'a Accounts) -> KeyAttempts<'a> {
        KeyAttempts::new(Client::new(&accounts.limits, self.net), &accounts.key_memory)
    }
}

pub trait Access {
    const ACCEPTS: Accepts = Accepts::Nothing;

    /// The permitted scopes of keys and members.
    const SCOPES: &'static [Scope] = Scope::ALL;

    /// The identity of the caller.
    type Caller: Send;

    fn refusals() -> Vec<Error>;

    fn admit(
        accounts: &Accounts,
        credentials: Credentials,
    ) -> impl Future<Output = Result<Self::Caller>> + Send;

    /// A limit per client that depends on who calls.
    fn limit(_: &Self::Caller) -> Option<Limit> {
        None
    }

    /// The caller against whose write limit the call counts; `None` for reads, and for unknown accounts.
    fn writer(_: &Self::Caller) -> Option<&Caller> {
        None
    }
}

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

/// The capability evaluates the credentials itself, because it accepts two kinds or the kind depends on the input.
pub struct UncheckedCredentials;

impl Access for UncheckedCredentials {
    type Caller = Credentials;

    fn refusals() -> Vec<Error> {
        Vec::new()
    }

    async fn admit(_: &Accounts, credentials: Credentials) -> Result<Credentials> {
        Ok(credentials)
    }
}

/// The signup token of the account in the input; the capability compares them.
pub struct SignupToken;

impl Access for SignupToken {
    const ACCEPTS: Accepts = Accepts::SignupToken;

    type Caller = Option<String>;

    fn refusals() -> Vec<Error> {
        vec![Error::SignupTokenRequired, Error::SignupTokenExpired]
    }

    async fn admit(_: &Accounts, credentials: Credentials) -> Result<Option<String>> {
        Ok(credentials.signup_token)
    }
}

macro_rules! key_access {
    ($(#[$doc:meta])* $name:ident, $keys:expr, $standing:expr, [$($refusal:expr),*]) => {
        $(#[$doc])*
        pub struct $name<N>(PhantomData<N>);

        impl<N: Needs> $name<N> {
            const STANDING: fn(&Caller) -> Result<()> = $standing;
        }

        impl<N: Needs> Access for $name<N> {
            const ACCEPTS: Accepts = Accepts::Key;

            const SCOPES: &'static [Scope] = N::SCOPES;

            type Caller = Caller;

            fn refusals() -> Vec<Error> {
                let keys = KeyAttempts::refusals().into_iter().chain($keys.all());
                keys.chain([$($refusal),*]).chain(N::refusals()).collect()
            }

            async fn admit(accounts: &Accounts, credentials: Credentials) -> Result<Caller> {
                let key = credentials.api_key.as_deref();
                let find = async {
                    let (pool, clock) = (&accounts.infra.pool, &accounts.infra.clock);
                    let caller = identify(pool, clock, &credentials, $keys).await?;
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
    /// Setup, pixel and contact routes.
    GoodStanding,
    KeyRefusals::setup(),
    |caller| active_or(caller, Error::NotInGoodStanding),
    [Error::NotInGoodStanding]
);
key_access!(
    /// Like [`GoodStanding`], for routes that concern all sites of the account.
    AllSites,
    KeyRefusals::setup(),
    |caller| active_with_all_sites(caller, Error::NotInGoodStanding),
    [Error::NotInGoodStanding, Error::RestrictedToSites]
);
key_access!(
    /// Consent configuration, log and statistics.
    ActiveAccount,
    KeyRefusals::consent(),
    |caller| active_or(caller, Error::AccountNotActive),
    [Error::AccountNotActive]
);
key_access!(
    /// Routes that identify the caller.
    AnyKey,
    KeyRefusals::who_am_i(),
    |_| Ok(()),
    []
);
key_access!(
    /// The account itself: its keys, members and address.
    KeyHolder,
    KeyRefusals::who_am_i(),
    |caller| active_with_all_sites(caller, Error::AccountNotActive),
    [Error::AccountNotActive, Error::RestrictedToSites]
);
key_access!(
    /// The activity log. Callers that are restricted to sites see only the events of these sites.
    LogReader,
    KeyRefusals::who_am_i(),
    |caller| active_or(caller, Error::AccountNotActive),
    [Error::AccountNotActive]
);
key_access!(
    ActivatingKey,
    KeyRefusals::unlimited(Error::UnlimitedKeyRequired { status: 401 }),
    active_and_unlimited,
    [
        Error::NotInGoodStanding,
        Error::RestrictedToSites,
        Error::UnlimitedKeyRequired { status: 403 }
    ]
);
key_access!(
    PipelineKey,
    KeyRefusals::unlimited(Error::ApiKeyRequired),
    active_and_unlimited,
    [
        Error::NotInGoodStanding,
        Error::RestrictedToSites,
        Error::UnlimitedKeyRequired { status: 403 }
    ]
);
