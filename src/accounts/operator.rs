use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use super::account::{Account, Plan};
use super::actor::Actor;
use super::credentials::{ApiKey, KeyOrigin, KeyTerms, MAX_LIVE_KEYS, issue_api_key};
use super::event::ActivityKind;
use super::events;
use super::keys::{self, KeyView};
use super::mails::safety;
use super::members::membership_end;
use super::profile::address_change;
use super::scope::Scope;
use super::store::{self, NewAccount};
use crate::clock::Clock;
use crate::error::Error;
use crate::infra::Infra;
use crate::infra::changes::Invalidation;
use crate::types::email::Email;
use crate::types::ids::AccountId;

#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("{email} has an account of plan {plan}; pass --upgrade to make it unlimited")]
    OtherPlan { email: String, plan: &'static str },
    #[error("no API key has the prefix {0}")]
    NoSuchPrefix(String),
    #[error("no account has the id {0}")]
    NoSuchAccount(String),
    #[error(
        "{0} has {MAX_LIVE_KEYS} keys, as many as it may; see them with `assent keys {0}`, and end some"
    )]
    TooManyKeys(AccountId),
    #[error("no account has the address {0}")]
    NoSuchAddress(String),
    #[error("{email} is the address of several accounts, so name one of them by its id: {ids}")]
    SeveralAccounts { email: String, ids: String },
    #[error("{0} is the address of the account already")]
    SameAddress(String),
    #[error("{0} is the address of another account")]
    AddressTaken(String),
    #[error("set RECEIPT_SECRETS as the nodes have it: without it, nobody can be notified")]
    NoReceiptSecrets,
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<sqlx::Error> for OperatorError {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

/// Issues a key to an active account of plan `unlimited`, which is opened if needed. Refuses an
/// account of another plan unless `upgrade` is set.
pub async fn unlimited_key(
    infra: &Infra,
    email: &str,
    upgrade: bool,
) -> std::result::Result<ApiKey, OperatorError> {
    let now = infra.clock.now();
    let email = Email::parse(email)?;
    let mut transaction = infra.pool.begin().await?;
    let account_id = match store::find_account_by_email(&mut transaction, email.as_str()).await? {
        None => {
            let account_id = AccountId::random();
            let new = NewAccount::unlimited(&account_id, email.as_str(), email.as_str(), now);
            store::insert_account(&mut transaction, &new).await?;
            account_id
        }
        Some(account) if account.plan == Plan::Unlimited || upgrade => {
            store::update_plan(&mut transaction, &account.account_id, Plan::Unlimited).await?;
            store::update_email_verified(&mut transaction, &account.account_id, now).await?;
            // An unlimited key reaches every account, so earlier credentials from the sign-up end.
            if account.plan != Plan::Unlimited {
                let id = &account.account_id;
                store::update_token_keys_revoked(&mut transaction, id, now).await?;
                store::delete_signup_token(&mut transaction, id).await?;
            }
            account.account_id
        }
        Some(account) => {
            return Err(OperatorError::OtherPlan {
                email: account.email,
                plan: account.plan.as_str(),
            });
        }
    };
    let key = operators_key(&mut transaction, now, &account_id).await?;
    // A node sends the mail. It is skipped if the command runs without the secrets that encrypt mails.
    if !infra.config.receipt_secrets.is_empty() {
        let (details, actor) = ((key.prefix(), None, Scope::Full), &Actor::Operator);
        let (outbox, clock) = (&infra.outbox, &infra.clock);
        safety::put_new_key(&mut transaction, outbox, clock, &account_id, details, actor).await?;
    }
    // Nodes drop their cached data, because the new plan can end a pause of resolution.
    infra.changes.commit(transaction, &Invalidation::of_account(&account_id)).await?;
    Ok(key)
}

async fn operators_key(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
) -> std::result::Result<ApiKey, OperatorError> {
    let terms = KeyTerms::full(KeyOrigin::Operator, &Actor::Operator);
    let key = issue_api_key(connection, now, account_id, terms).await;
    key.map_err(|error| match error {
        Error::KeyAllowanceReached => OperatorError::TooManyKeys(account_id.clone()),
        error => error.into(),
    })
}

pub async fn revoke_key(
    pool: &PgPool,
    clock: &Clock,
    prefix: &str,
) -> std::result::Result<(), OperatorError> {
    let unknown = || OperatorError::NoSuchPrefix(prefix.to_owned());
    let mut transaction = pool.begin().await?;
    let account_id = store::find_key_owner(&mut transaction, prefix).await?.ok_or_else(unknown)?;
    // The lock serialises this with issuing a key and with other revocations.
    store::lock_account(&mut transaction, &account_id).await?.ok_or_else(unknown)?;
    let now = clock.now();
    store::update_key_revoked(&mut transaction, prefix, now).await?;
    record(&mut transaction, now, &account_id, ActivityKind::KeyRevoked, Some(prefix)).await?;
    transaction.commit().await?;
    Ok(())
}

async fn record(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    kind: ActivityKind,
    subject: Option<&str>,
) -> crate::error::Result<()> {
    events::record(connection, now, account_id, &Actor::Operator, kind, subject).await
}

/// Parses the account id that was given to a command.
pub fn id_of(text: &str) -> std::result::Result<AccountId, OperatorError> {
    AccountId::parse(text).ok_or_else(|| OperatorError::NoSuchAccount(text.to_owned()))
}

pub async fn list_keys(
    pool: &PgPool,
    clock: &Clock,
    account_id: &AccountId,
) -> std::result::Result<Vec<KeyView>, OperatorError> {
    let unknown = || OperatorError::NoSuchAccount(account_id.to_string());
    let account = store::find_account(&mut *pool.acquire().await?, account_id).await?;
    account.ok_or_else(unknown)?;
    Ok(keys::list_keys(pool, clock, account_id).await?.api_keys)
}

pub struct Ended {
    pub api_keys: u64,
    pub signup_tokens: u64,
}

pub async fn revoke_keys(
    pool: &PgPool,
    clock: &Clock,
    account_id: &AccountId,
) -> std::result::Result<Ended, OperatorError> {
    let unknown = || OperatorError::NoSuchAccount(account_id.to_string());
    let mut transaction = pool.begin().await?;
    store::lock_account(&mut transaction, account_id).await?.ok_or_else(unknown)?;
    let now = clock.now();
    let ended = Ended {
        api_keys: store::update_keys_revoked(&mut transaction, account_id, now).await?,
        signup_tokens: store::delete_signup_token(&mut transaction, account_id).await?,
    };
    store::delete_grants_since(&mut transaction, account_id, DateTime::UNIX_EPOCH).await?;
    record(&mut transaction, now, account_id, ActivityKind::KeysRevoked, None).await?;
    transaction.commit().await?;
    Ok(ended)
}

/// Suspends an account on every node: its keys are refused, its tags stop, its members are signed
/// out and its pending change of address is dropped. Idempotent.
pub async fn suspend(
    infra: &Infra,
    account_id: &AccountId,
) -> std::result::Result<(), OperatorError> {
    let unknown = || OperatorError::NoSuchAccount(account_id.to_string());
    let mut transaction = infra.pool.begin().await?;
    let account = store::lock_account(&mut transaction, account_id).await?.ok_or_else(unknown)?;
    store::update_suspended(&mut transaction, account_id).await?;
    membership_end::end_all(&mut transaction, &account).await?;
    let now = infra.clock.now();
    record(&mut transaction, now, account_id, ActivityKind::AccountSuspended, None).await?;
    infra.changes.commit(transaction, &Invalidation::of_account(account_id)).await?;
    Ok(())
}

/// Ends a suspension and restores the former status. An account that is not suspended stays as it is.
pub async fn resume(
    infra: &Infra,
    account_id: &AccountId,
) -> std::result::Result<(), OperatorError> {
    let unknown = || OperatorError::NoSuchAccount(account_id.to_string());
    let mut transaction = infra.pool.begin().await?;
    if !store::update_resumed(&mut transaction, account_id).await? {
        return Err(unknown());
    }
    let now = infra.clock.now();
    record(&mut transaction, now, account_id, ActivityKind::AccountResumed, None).await?;
    infra.changes.commit(transaction, &Invalidation::of_account(account_id)).await?;
    Ok(())
}

/// An account whose address was changed.
pub struct ChangedEmail {
    pub account_id: AccountId,
    pub from: String,
    pub to: String,
    /// The number of mails that a node sends about it.
    pub mails: usize,
}

/// Changes the address of an account, which is given by its id or its address. Sessions, codes and sign-ins of
/// both addresses end, and both mailboxes are notified.
pub async fn change_email(
    infra: &Infra,
    account: &str,
    new_email: &str,
) -> std::result::Result<ChangedEmail, OperatorError> {
    let new = Email::parse(new_email)?;
    if infra.outbox.mailer.is_configured() && infra.config.receipt_secrets.is_empty() {
        return Err(OperatorError::NoReceiptSecrets);
    }
    let mut transaction = infra.pool.begin().await?;
    let account = lock_named(&mut transaction, account).await?;
    let to = new.as_str().to_owned();
    if account.email == to {
        return Err(OperatorError::SameAddress(to));
    }
    if !store::list_accounts_by_email(&mut transaction, &to).await?.is_empty() {
        return Err(OperatorError::AddressTaken(to));
    }
    let (account_id, now) = (account.account_id.clone(), infra.clock.now());
    record(&mut transaction, now, &account_id, ActivityKind::AddressChanged, None).await?;
    // A node sends the mails.
    let (outbox, clock) = (&infra.outbox, &infra.clock);
    let mails =
        address_change::set_by_operator(&mut transaction, outbox, clock, &account, &new).await?;
    transaction.commit().await?;
    Ok(ChangedEmail { account_id, from: account.email, to, mails: mails.len() })
}

async fn lock_named(
    connection: &mut PgConnection,
    name: &str,
) -> std::result::Result<Account, OperatorError> {
    let unknown = || OperatorError::NoSuchAccount(name.to_owned());
    let account_id = match name.contains('@') {
        true => find_id(connection, name).await?,
        false => id_of(name)?,
    };
    store::lock_account(connection, &account_id).await?.ok_or_else(unknown)
}

async fn find_id(
    connection: &mut PgConnection,
    email: &str,
) -> std::result::Result<AccountId, OperatorError> {
    let email = Email::parse(email)?.as_str().to_owned();
    let accounts = store::list_accounts_by_email(connection, &email).await?;
    match &*accounts {
        [] => Err(OperatorError::NoSuchAddress(email)),
        [account] => Ok(account.account_id.clone()),
        several => {
            let ids = several.iter().map(|account| account.account_id.to_string());
            let ids = ids.collect::<Vec<_>>().join(", ");
            Err(OperatorError::SeveralAccounts { email, ids })
        }
    }
}
