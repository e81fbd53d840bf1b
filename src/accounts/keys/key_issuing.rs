use chrono::{DateTime, Duration, Utc};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::key_refusals::KeyRefusals;
use crate::accounts::access::{
    Access, AnyKey, Credentials, KeyHolder, SignupToken, UncheckedCredentials,
};
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::credentials::{
    Accepts, ApiKey, KeyLookup, KeyOrigin, KeyTerms, issue_api_key, issue_key_for_signup,
    look_up_key,
};
use crate::accounts::mails::safety;
use crate::accounts::recheck::recheck;
use crate::accounts::scope::{Governs, Needs, Scope};
use crate::accounts::service::Accounts;
use crate::accounts::site_choice;
use crate::accounts::store;
use crate::accounts::tool::Tool;
use crate::clock::{Clock, Timestamp};
use crate::error::{BODY, Error, FieldError, Result, missing_field};
use crate::idempotency;
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{AccountId, PixelId};
use crate::types::text::present;

const MAX_NAME: usize = 100;
const MAX_DAYS: i64 = 730;

/// What the new key is called, and what it may ask for.
#[derive(Default, Deserialize, JsonSchema, ToSchema)]
pub struct KeyRequest {
    /// What people tell the key apart by in the list: one line of at most 100 characters.
    #[schemars(length(max = 100))]
    #[schema(
        max_length = 100,
        pattern = "^[^\\u0000-\\u001f\\u007f-\\u009f]*$",
        example = "shop server"
    )]
    pub name: Option<String>,
    /// What it may ask for; `full` when left out.
    pub scope: Option<Scope>,
    /// Days until it ends; never, or with the key that issues it, when left out.
    #[schemars(range(min = 1, max = 730))]
    #[schema(minimum = 1, maximum = 730, example = 90)]
    pub expires_in_days: Option<i64>,
    /// The only pixels that it may use, 1 to 100; all when left out.
    #[schema(value_type = Option<Vec<PixelId>>)]
    pub pixels: Option<Vec<String>>,
}

impl KeyRequest {
    fn check(self) -> Result<Self> {
        let name = present(self.name.as_deref());
        let fits =
            |name: &str| name.chars().count() <= MAX_NAME && !name.chars().any(char::is_control);
        if name.is_some_and(|name| !fits(name)) {
            let problem = "must be one line of at most 100 characters";
            let problem = FieldError::new(&[BODY, "name"], problem, "value_error");
            return Err(Error::Validation(vec![problem]));
        }
        if self.expires_in_days.is_some_and(|days| !(1..=MAX_DAYS).contains(&days)) {
            return Err(wrong_days());
        }
        Ok(self)
    }

    fn expires_at(&self, now: DateTime<Utc>) -> Option<DateTime<Utc>> {
        self.expires_in_days.map(|days| now + Duration::days(days))
    }

    fn terms<'a>(
        &'a self,
        origin: KeyOrigin,
        now: DateTime<Utc>,
        actor: &'a Actor,
    ) -> KeyTerms<'a> {
        KeyTerms {
            origin,
            name: present(self.name.as_deref()),
            scope: self.scope.unwrap_or(Scope::Full),
            pixels: self.pixels.as_deref(),
            expires_at: self.expires_at(now),
            actor,
        }
    }
}

fn wrong_days() -> Error {
    let problem = "must be from 1 to 730";
    Error::Validation(vec![FieldError::new(&[BODY, "expires_in_days"], problem, "value_error")])
}

/// A new key as its caller reads it, this once.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct IssuedKey {
    /// The secret, `px_` and 43 letters and digits.
    pub api_key: String,
    /// The key's first 12 characters.
    pub prefix: String,
    /// Only for a key that ends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl IssuedKey {
    fn new(key: &ApiKey, terms: &KeyTerms<'_>) -> Self {
        Self {
            api_key: key.expose().to_owned(),
            prefix: key.prefix().to_owned(),
            expires_at: terms.expires_at.map(Timestamp),
        }
    }
}

pub struct KeyOrder {
    /// The account of the key. Required with a signup token; a key or session determines it otherwise.
    pub account_id: Option<String>,
    /// Evaluated after the credential, so that a stranger learns only that the credential is missing.
    pub request: Result<KeyRequest>,
}

/// Issues a key for a signup token, or for an API key where no token was sent.
pub struct IssueApiKey;

impl Capability for IssueApiKey {
    const NAME: &'static str = "issue_api_key";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.described(
        "Issue an API key",
        "Issues an API key: the first one with the signup token and `account_id` once the \
         address is confirmed, another one with a key. The secret is shown only in this answer.",
    ));
    const ACCEPTS: Accepts = Accepts::SignupTokenOrKey;
    const SCOPES: &'static [Scope] = Governs::SCOPES;
    const LIMIT: Option<Limit> = Some(Limit::KeyIssues);
    type Service = Accounts;
    type Access = UncheckedCredentials;
    type Input = KeyOrder;
    type Output = IssuedKey;

    fn refusals() -> Vec<Error> {
        let own = [
            Error::AccountIdRequired,
            Error::ApiKeyOrSignupTokenRequired,
            Error::AccountNotFound,
            Error::AccountNotActive,
            Error::ConfirmEmailFirst,
            Error::KeyAllowanceReached,
            Error::PixelNotFound,
            Error::RestrictedToSites,
            missing_field("name"),
            wrong_days(),
            site_choice::wrong_number(),
        ];
        own.into_iter()
            .chain(SignupToken::refusals())
            .chain(AnyKey::<Governs>::refusals())
            .collect()
    }

    async fn run(
        accounts: &Accounts,
        credentials: Credentials,
        order: KeyOrder,
    ) -> Result<IssuedKey> {
        let KeyOrder { account_id, request } = order;
        let account_id = present(account_id.as_deref()).map(IdParam::from);
        match &credentials.signup_token {
            Some(token) => issue_with_token(&accounts.infra, account_id, token, request).await,
            None if credentials.member.is_some()
                || credentials.api_key.is_some()
                || credentials.authorization_sent =>
            {
                issue_with_key(accounts, &credentials, account_id, request).await
            }
            None => Err(Error::ApiKeyOrSignupTokenRequired),
        }
    }
}

async fn issue_with_token(
    infra: &Infra,
    account_id: Option<IdParam<AccountId>>,
    token: &str,
    request: Result<KeyRequest>,
) -> Result<IssuedKey> {
    let account_id = account_id.ok_or(Error::AccountIdRequired)?;
    let account_id = account_id.into_id().ok_or(Error::SignupTokenRequired)?;
    let request = request?.check()?;
    let mut transaction = infra.pool.begin().await?;
    let (now, actor) = (infra.clock.now(), &Actor::SignupToken);
    let terms = request.terms(KeyOrigin::SignupToken, now, actor);
    let token = Some(token);
    let key = issue_key_for_signup(&mut transaction, now, &account_id, token, terms).await?;
    let details = (key.prefix(), terms.name, terms.scope);
    let (outbox, clock) = (&infra.outbox, &infra.clock);
    let mail =
        safety::put_new_key(&mut transaction, outbox, clock, &account_id, details, actor).await?;
    let issued = IssuedKey::new(&key, &terms);
    idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(201), &issued).await?;
    transaction.commit().await?;
    safety::send(infra, mail);
    Ok(issued)
}

/// Issues another key to the holder of a key, or to a member. Refuses an `account_id` other than the credential's.
async fn issue_with_key(
    accounts: &Accounts,
    credentials: &Credentials,
    account_id: Option<IdParam<AccountId>>,
    request: Result<KeyRequest>,
) -> Result<IssuedKey> {
    let infra = &accounts.infra;
    let caller = KeyHolder::<Governs>::admit(accounts, credentials.clone()).await?;
    caller.require_fresh()?;
    let key = credentials.api_key.as_deref();
    if account_id.is_some_and(|named| named.into_id().as_ref() != Some(caller.account_id())) {
        return Err(Error::AccountNotFound);
    }
    let request = request?.check()?;
    let account_id = caller.account_id();
    let mut transaction = infra.pool.begin().await?;
    let (origin, end) = match key {
        Some(key) => origin_of(&mut transaction, &infra.clock, account_id, key).await?,
        None => {
            store::lock_account(&mut transaction, account_id).await?;
            recheck(&mut transaction, infra.clock.now(), &caller).await?;
            (KeyOrigin::Member, None)
        }
    };
    let now = infra.clock.now();
    let mut terms = request.terms(origin, now, &caller.actor);
    // The new key must not outlast the key that issues it.
    terms.expires_at = terms.expires_at.into_iter().chain(end).min();
    let key = issue_api_key(&mut transaction, now, account_id, terms).await?;
    let details = (key.prefix(), terms.name, terms.scope);
    let (outbox, clock, actor) = (&infra.outbox, &infra.clock, terms.actor);
    let mail =
        safety::put_new_key(&mut transaction, outbox, clock, account_id, details, actor).await?;
    let issued = IssuedKey::new(&key, &terms);
    idempotency::keep(&infra.answer_encryptor, &mut transaction, Some(201), &issued).await?;
    transaction.commit().await?;
    safety::send(infra, mail);
    Ok(issued)
}

/// Returns the origin and the expiry of the caller's key, which the new key inherits. The key is looked up again
/// under the lock, so that a key that was revoked in the meantime cannot issue another.
async fn origin_of(
    connection: &mut PgConnection,
    clock: &Clock,
    account_id: &AccountId,
    key: &str,
) -> Result<(KeyOrigin, Option<DateTime<Utc>>)> {
    store::lock_account(connection, account_id).await?;
    match look_up_key(connection, key, clock.now()).await? {
        KeyLookup::Valid { origin, expires_at, .. } => Ok((origin, expires_at)),
        KeyLookup::Revoked => Err(KeyRefusals::who_am_i().revoked),
        KeyLookup::Expired => Err(Error::ApiKeyExpired),
        KeyLookup::Unknown => Err(KeyRefusals::who_am_i().unknown),
    }
}
