//! Codes that an app exchanges for its first tokens: valid once, and for a minute.

use chrono::Duration;
use sha2::{Digest, Sha256};
use sqlx::PgPool;

use super::client::Client;
use super::refusal::{Failure, Refusal};
use super::service::OAuth;
use super::store::{self, CodeRow};
use super::tokens::{self, Tokens};
use crate::accounts::account::Status;
use crate::accounts::actor::Actor;
use crate::accounts::grants::grant_caller::may_grant;
use crate::accounts::grants::{self, NewGrant};
use crate::accounts::mails::safety;
use crate::accounts::members::member::{Member, Membership, lock_membership};
use crate::accounts::scope::Scope;
use crate::accounts::sessions;
use crate::clock::Clock;
use crate::error::Result;
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::random_text;

const CODE_LIFE: Duration = Duration::seconds(60);
const CODE_LEN: usize = 43;

pub struct NewCode<'a> {
    /// The account that was chosen, which need not be that of the session.
    pub membership: &'a Membership,
    pub member: &'a Member,
    pub client: &'a Client,
    pub redirect_uri: &'a str,
    pub challenge: &'a [u8],
    pub scope: Scope,
}

pub async fn issue(pool: &PgPool, clock: &Clock, new: &NewCode<'_>) -> Result<String> {
    let code = format!("oac_{}", random_text(CODE_LEN));
    let now = clock.now();
    let row = CodeRow {
        account_id: new.membership.account.account_id.clone(),
        member_id: new.membership.member_id,
        address: new.member.address.clone(),
        session_id: new.member.session_id,
        client_id: new.client.client_id.clone(),
        client_name: new.client.name.clone(),
        client_host: new.client.host.clone(),
        redirect_uri: new.redirect_uri.to_owned(),
        challenge: new.challenge.to_vec(),
        scope: new.scope,
        expires_at: now + CODE_LIFE,
        is_used: false,
        grant_id: None,
    };
    let mut transaction = pool.begin().await?;
    store::insert_code(&mut transaction, &secret_hash(&code), &row).await?;
    if new.client.host.is_none() {
        store::update_client_used(&mut transaction, &new.client.client_id, now).await?;
    }
    transaction.commit().await?;
    Ok(code)
}

pub struct PresentedCode<'a> {
    pub code: &'a str,
    pub client_id: &'a str,
    pub redirect_uri: Option<&'a str>,
    pub verifier: &'a str,
}

const WRONG: Refusal = Refusal::invalid_grant("the code is not valid, has expired or was used");

/// Exchanges a code for the first tokens of a grant. An invalid request uses up the code too. A second use of a
/// code ends the grant, because the code may have been stolen.
pub async fn redeem(oauth: &OAuth, presented: &PresentedCode<'_>) -> Result<Tokens, Failure> {
    let infra = &oauth.infra;
    let (now, code_hash) = (infra.clock.now(), secret_hash(presented.code));
    let mut transaction = infra.pool.begin().await?;
    // The account is locked first, as when a membership ends, to avoid deadlocks.
    let whose = store::find_owner_of_code(&mut transaction, &code_hash).await?.ok_or(WRONG)?;
    let membership = lock_membership(&mut transaction, &whose.account_id, &whose.address).await?;
    let row = store::lock_code(&mut transaction, &code_hash).await?.ok_or(WRONG)?;
    if row.is_used {
        if let Some(grant_id) = &row.grant_id {
            grants::end(&mut transaction, now, grant_id, &Actor::Service).await?;
            tracing::warn!("a code of an app was used again");
        }
        transaction.commit().await?;
        return Err(WRONG.into());
    }
    store::update_code_used(&mut transaction, &code_hash).await?;
    let membership = membership.filter(|membership| {
        membership.member_id == row.member_id
            && may_grant(membership.role, row.scope)
            && membership.account.status == Status::Active
    });
    let is_shown = row.expires_at > now
        && row.client_id == presented.client_id
        && presented.redirect_uri.is_none_or(|uri| uri == row.redirect_uri)
        && Sha256::digest(presented.verifier.as_bytes())[..] == row.challenge[..]
        && sessions::is_alive(&mut transaction, row.session_id, now).await?;
    let Some(membership) = membership.filter(|_| is_shown) else {
        transaction.commit().await?;
        return Err(WRONG.into());
    };
    let new = NewGrant {
        grant_id: "",
        account_id: &row.account_id,
        member_id: row.member_id,
        address: &row.address,
        session_id: row.session_id,
        client_id: &row.client_id,
        client_name: &row.client_name,
        client_host: row.client_host.as_deref(),
        scope: row.scope,
        created_at: now,
        expires_at: now + tokens::REFRESH_LIFE,
    };
    let grant_id = grants::give(&mut transaction, new).await?;
    store::update_grant_of_code(&mut transaction, &code_hash, &grant_id).await?;
    let issued = tokens::issue(&mut transaction, &infra.clock, &grant_id, row.scope).await?;
    let new = safety::NewGrant {
        app: row.client_name,
        host: row.client_host,
        scope: row.scope,
        made_by: row.address,
        at: now,
    };
    let (account, outbox) = (&membership.account, &infra.outbox);
    let mail = safety::put_new_grant(&mut transaction, outbox, account, &new).await?;
    transaction.commit().await?;
    safety::send(infra, mail);
    Ok(issued)
}
