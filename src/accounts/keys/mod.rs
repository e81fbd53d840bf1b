pub mod key_attempts;
pub mod key_issuing;
pub mod key_refusals;
pub mod key_uses;

use std::fmt;

use chrono::{DateTime, Duration, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;

use super::access::{Caller, KeyHolder};
use super::actor::Actor;
use super::capability::{Capability, NoInput};
use super::credentials::PREFIX_LEN;
use super::event::ActivityKind;
use super::events;
use super::input::OfKey;
use super::scope::{Governs, Oversees, Scope};
use super::store::{self, LiveKey};
use super::tool::Tool;
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimit;
use crate::types::ids::{AccountId, PixelId};

/// An expired key stays in the list for this long.
pub const EXPIRED_LISTED: Duration = Duration::days(30);

/// A key that works or has expired, without its secret.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct KeyView {
    /// The key's first 12 characters.
    #[schema(example = "px_3vTqYb0wK")]
    pub prefix: String,
    /// As it was issued.
    #[schema(required = true)]
    pub name: Option<String>,
    pub scope: Scope,
    /// The only pixels that it may use; null for all of the account.
    #[schema(required = true, value_type = Option<Vec<PixelId>>)]
    pub pixels: Option<Vec<String>>,
    /// Who made it: the address of a member, the prefix of another key, `signup token` or `operator`; null
    /// for a key from before this was noted.
    #[schema(required = true, example = "ann@shop.example")]
    pub made_by: Option<String>,
    pub created_at: Timestamp,
    /// Null for a key that works until it is revoked.
    #[schema(required = true)]
    pub expires_at: Option<Timestamp>,
    /// Whether that time has passed: the key is refused, and leaves the list 30 days later.
    pub expired: bool,
    /// To the hour; null for a key that was never used.
    #[schema(required = true)]
    pub last_used_at: Option<Timestamp>,
}

impl fmt::Display for KeyView {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let day = |time: &Timestamp| time.0.format("%Y-%m-%d %H:%M").to_string();
        let used = self.last_used_at.as_ref().map_or_else(|| "never".to_owned(), day);
        let (prefix, issued) = (&self.prefix, day(&self.created_at));
        let name = self.name.as_deref().unwrap_or_default();
        let scope = self.scope.as_str();
        let ends = match (&self.expires_at, self.expired) {
            (Some(end), true) => format!("expired {}  ", day(end)),
            (Some(end), false) => format!("expires {}  ", day(end)),
            (None, _) => String::new(),
        };
        let sites = match &self.pixels {
            Some(pixels) => format!("pixels {}  ", pixels.join(",")),
            None => String::new(),
        };
        let line =
            format!("{prefix}  {scope:<7}  issued {issued}  used {used:<16}  {ends}{sites}{name}");
        formatter.write_str(line.trim_end())
    }
}

/// The account's keys that work, and those that expired in the last 30 days, oldest first.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct KeyList {
    pub api_keys: Vec<KeyView>,
}

impl KeyView {
    fn at(key: LiveKey, now: DateTime<Utc>) -> Self {
        Self {
            expired: key.expires_at.is_some_and(|end| end <= now),
            expires_at: key.expires_at.map(Timestamp),
            pixels: key.sites.listed().map(<[String]>::to_vec),
            prefix: key.prefix,
            name: key.name,
            scope: key.scope,
            made_by: key.made_by,
            created_at: Timestamp(key.created_at),
            last_used_at: key.last_used_at.map(Timestamp),
        }
    }
}

pub async fn list_keys(pool: &PgPool, clock: &Clock, account_id: &AccountId) -> Result<KeyList> {
    let mut connection = pool.acquire().await?;
    let now = clock.now();
    let keys = store::list_live_keys(&mut connection, account_id, now - EXPIRED_LISTED).await?;
    Ok(KeyList { api_keys: keys.into_iter().map(|key| KeyView::at(key, now)).collect() })
}

/// A key that has ended.
#[derive(Serialize, JsonSchema)]
pub struct RevokedKey {
    prefix: String,
    /// Always true.
    revoked: bool,
}

/// Ends a key of the account, on every node at once; the key of the call may be ended too. One that
/// has ended, or is another account's, is not found.
pub struct RevokeApiKey;

impl Capability for RevokeApiKey {
    const NAME: &'static str = "revoke_api_key";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Revoke an API key",
        "Ends an API key at once, for good. The key of this call may be ended too.",
    ));
    const ACCOUNT_LIMIT: AccountLimit = AccountLimit::Control;
    type Service = Infra;
    type Access = KeyHolder<Governs>;
    type Input = OfKey;
    type Output = RevokedKey;

    fn refusals() -> Vec<Error> {
        vec![Error::ApiKeyNotFound]
    }

    async fn run(infra: &Infra, caller: Caller, OfKey { prefix }: OfKey) -> Result<RevokedKey> {
        if !is_prefix(&prefix) {
            return Err(Error::ApiKeyNotFound);
        }
        let account_id = caller.account_id();
        let mut transaction = infra.pool.begin().await?;
        // The lock serialises this with issuing a key and with other revocations.
        store::lock_account(&mut transaction, account_id).await?.ok_or(Error::ApiKeyNotFound)?;
        let now = infra.clock.now();
        if !store::update_own_key_revoked(&mut transaction, account_id, &prefix, now).await? {
            return Err(Error::ApiKeyNotFound);
        }
        let (kind, subject) = (ActivityKind::KeyRevoked, Some(prefix.as_str()));
        caller.record(&mut transaction, now, account_id, kind, subject).await?;
        transaction.commit().await?;
        tracing::info!(%account_id, "API key revoked");
        Ok(RevokedKey { prefix, revoked: true })
    }
}

/// Revokes keys of an account and records an event for each. The account's row must be locked.
pub async fn end_keys(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    actor: &Actor,
    prefixes: &[String],
) -> Result<()> {
    for prefix in prefixes {
        if store::update_own_key_revoked(connection, account_id, prefix, now).await? {
            let (kind, subject) = (ActivityKind::KeyRevoked, Some(&**prefix));
            events::record(connection, now, account_id, actor, kind, subject).await?;
        }
    }
    Ok(())
}

fn is_prefix(text: &str) -> bool {
    text.len() == PREFIX_LEN
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The account's keys that work, and those that expired lately.
pub struct ListApiKeys;

impl Capability for ListApiKeys {
    const NAME: &'static str = "list_api_keys";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List API keys",
        "Lists the account's API keys that work or expired in the last 30 days: prefix, name, pixels, \
         when they were issued, expire and were last used (to the hour). Secrets are never shown again.",
    ));
    type Service = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = NoInput;
    type Output = KeyList;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<KeyList> {
        list_keys(&infra.pool, &infra.clock, caller.account_id()).await
    }
}

/// The prefixes and names of all keys, also of those that have ended. Only the audit log of the console shows them.
pub struct ListKeyNames;

impl Capability for ListKeyNames {
    const NAME: &'static str = "list_key_names";
    type Service = Infra;
    type Access = KeyHolder<Oversees>;
    type Input = NoInput;
    type Output = Vec<(String, String)>;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Vec<(String, String)>> {
        let mut connection = infra.pool.acquire().await?;
        store::list_key_names(&mut connection, caller.account_id()).await
    }
}
