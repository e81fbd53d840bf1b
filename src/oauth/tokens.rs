//! Tokens of apps: opaque, stored as hashes. An access token is valid for an hour, a refresh token for one use.

use chrono::Duration;
use serde::Serialize;
use sqlx::PgConnection;
use utoipa::ToSchema;

use super::refusal::{Failure, Refusal};
use super::service::OAuth;
use super::store;
use crate::accounts::access::Credentials;
use crate::accounts::actor::Actor;
use crate::accounts::grants;
use crate::accounts::grants::grant_caller::{self, GrantCaller};
use crate::accounts::scope::Scope;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::random_text;

const ACCESS_LIFE: Duration = Duration::hours(1);
/// A refresh token, and its grant with it, ends after this time without a refresh.
pub const REFRESH_LIFE: Duration = Duration::days(60);

/// For this long after a call beyond its scope, an app cannot refresh, so that it requests authorization instead.
const STEP_UP: Duration = Duration::seconds(10);

const ACCESS: &str = "oat_";
const REFRESH: &str = "ort_";
const SECRET_LEN: usize = 43;

/// Tokens as the app receives them, this once (RFC 6749, 5.1).
#[derive(Serialize, ToSchema)]
pub struct Tokens {
    #[schema(example = "oat_Nq7cVx2RkLw9YtBz4HsJd6FgMp3Ea8Uo5Ti1Xb0ZnCQ")]
    access_token: String,
    /// Always `Bearer`.
    token_type: &'static str,
    /// Seconds.
    expires_in: i64,
    #[schema(example = "ort_Xb0ZnCQNq7cVx2RkLw9YtBz4HsJd6FgMp3Ea8Uo5Ti1")]
    refresh_token: String,
    scope: Scope,
}

pub fn is_access_token(text: &str) -> bool {
    text.starts_with(ACCESS)
}

pub async fn issue(
    connection: &mut PgConnection,
    clock: &Clock,
    grant_id: &str,
    scope: Scope,
) -> Result<Tokens> {
    let now = clock.now();
    let access_token = format!("{ACCESS}{}", random_text(SECRET_LEN));
    let refresh_token = format!("{REFRESH}{}", random_text(SECRET_LEN));
    for (token, is_refresh, life) in
        [(&access_token, false, ACCESS_LIFE), (&refresh_token, true, REFRESH_LIFE)]
    {
        let hash = secret_hash(token);
        store::insert_token(connection, &hash, grant_id, is_refresh, now + life).await?;
    }
    let (token_type, expires_in) = ("Bearer", ACCESS_LIFE.num_seconds());
    Ok(Tokens { access_token, token_type, expires_in, refresh_token, scope })
}

const WRONG: Refusal =
    Refusal::invalid_grant("the refresh token is not valid, has expired or was used");

/// Exchanges a refresh token for new tokens. A second use of a refresh token ends the grant, because the
/// token may have been stolen.
pub async fn refresh(
    oauth: &OAuth,
    token: &str,
    client_id: &str,
    scope: Option<&str>,
) -> Result<Tokens, Failure> {
    let (infra, hash) = (&oauth.infra, secret_hash(token));
    let (now, mut transaction) = (infra.clock.now(), infra.pool.begin().await?);
    let found = store::find_token(&mut transaction, &hash).await?.ok_or(WRONG)?;
    let grant = grants::lock_grant(&mut transaction, &found.grant_id, now).await?.ok_or(WRONG)?;
    let row = store::find_token(&mut transaction, &hash).await?.ok_or(WRONG)?;
    if !row.is_refresh || grant.client_id != client_id {
        return Err(WRONG.into());
    }
    if row.is_used {
        grants::end(&mut transaction, now, &row.grant_id, &Actor::Service).await?;
        transaction.commit().await?;
        tracing::warn!("a refresh token of an app was used again");
        return Err(WRONG.into());
    }
    // Some clients that need a wider scope refresh their token first, which cannot widen it.
    if grant.exceeded_at.is_some_and(|exceeded| now - exceeded < STEP_UP) {
        let detail =
            "the scope did not suffice a moment ago; ask for authorization with more of it";
        return Err(Refusal::invalid_grant(detail).into());
    }
    let holder = grant_caller::find(&mut transaction, &row.grant_id, now).await?;
    let holder = holder.filter(|_| row.expires_at > now).ok_or(WRONG)?;
    let is_granted = |scope: &str| scope == holder.scope.as_str();
    if !scope.unwrap_or_default().split_ascii_whitespace().all(is_granted) {
        let detail = "the scope is not the one that was granted; ask for authorization again";
        return Err(Refusal::new("invalid_scope", detail).into());
    }
    store::update_token_used(&mut transaction, &hash).await?;
    let expires_at = now + REFRESH_LIFE;
    grants::update_grant_extended(&mut transaction, &row.grant_id, expires_at).await?;
    let tokens = issue(&mut transaction, &infra.clock, &row.grant_id, holder.scope).await?;
    transaction.commit().await?;
    Ok(tokens)
}

/// Ends the grant of a token (RFC 7009). An invalid token is not an error.
pub async fn revoke(oauth: &OAuth, token: &str, client_id: Option<&str>) -> Result<(), Failure> {
    let (infra, hash) = (&oauth.infra, secret_hash(token));
    let (now, mut transaction) = (infra.clock.now(), infra.pool.begin().await?);
    let Some(found) = store::find_token(&mut transaction, &hash).await? else { return Ok(()) };
    let Some(grant) = grants::lock_grant(&mut transaction, &found.grant_id, now).await? else {
        return Ok(());
    };
    if client_id.is_some_and(|client_id| client_id != grant.client_id) {
        return Err(Refusal::new("invalid_client", "the token is another app's").into());
    }
    let actor = Actor::App(grant.grant_id);
    grants::end(&mut transaction, now, &found.grant_id, &actor).await?;
    transaction.commit().await?;
    Ok(())
}

/// Identifies the holder of an access token. Invalid tokens are counted like failed keys.
pub async fn admit(oauth: &OAuth, credentials: &Credentials, token: &str) -> Result<GrantCaller> {
    let find = async {
        let now = oauth.infra.clock.now();
        let mut connection = oauth.infra.pool.acquire().await?;
        let row = store::find_token(&mut connection, &secret_hash(token)).await?;
        let holder = match row.filter(|row| !row.is_refresh && row.expires_at > now) {
            Some(row) => grant_caller::find(&mut connection, &row.grant_id, now).await?,
            None => None,
        };
        holder.ok_or(Error::InvalidApiKey { status: 401 })
    };
    credentials.attempts(&oauth.accounts).watch(Some(token), find).await
}
