use chrono::{DateTime, Utc};
use sqlx::{PgConnection, PgPool};

use super::opening::open_session;
use super::secrets::{SIGN_IN_LIFE, code_hash};
use super::store::{self, Row};
use crate::accounts::access::Anybody;
use crate::accounts::account::Account;
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::limits::retry_after::seconds;
use crate::accounts::mails::safety::SignInMethod;
use crate::accounts::members::member::{Membership, membership_in};
use crate::accounts::sessions::{Browser, Finished};
use crate::accounts::signup::confirmation::redeem;
use crate::accounts::store as accounts;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::MAX_WRONG_TRIES;

/// Opens a session for the code in the browser with the secret of the sign-in, and ends its
/// previous session. A code works once, only for the account that it was mailed for, and only
/// while that membership lasts; every failure is `invalid code`. The member is notified by mail,
/// except after a sign-up or a repeated sign-in.
pub struct FinishSignIn;

/// The secret and the code, as the browser sends them.
pub struct SignInProof {
    pub secret: Option<String>,
    pub code: String,
    /// The browser's name in the list of sessions.
    pub browser: String,
    /// The secret of the browser's current session, if it has one.
    pub former: Option<String>,
}

impl Capability for FinishSignIn {
    const NAME: &'static str = "finish_sign_in";
    const LIMIT: Option<Limit> = Some(Limit::Codes);
    type Service = Infra;
    type Access = Anybody;
    type Input = SignInProof;
    type Output = Finished;

    fn refusals() -> Vec<Error> {
        vec![Error::InvalidCode, Error::TooManyAttempts { retry_after: 60 }]
    }

    async fn run(infra: &Infra, (): (), proof: SignInProof) -> Result<Finished> {
        // People copy the code together with spaces around and between its digits.
        let code = proof.code.split_whitespace().collect::<String>();
        let browser = Browser { name: &proof.browser, former: proof.former.as_deref() };
        let token_hash = secret_hash(proof.secret.as_deref().ok_or(Error::InvalidCode)?);
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        // The account is locked first, in the same order as when a membership ends, to avoid deadlocks.
        if let Some(account_id) =
            store::find_account_of_sign_in(&mut transaction, &token_hash).await?
        {
            accounts::lock_account(&mut transaction, &account_id).await?;
        }
        let found = store::lock_sign_in(&mut transaction, &token_hash).await?;
        let sign_in = found.filter(|row| row.expires_at > now).ok_or(Error::InvalidCode)?;
        let is_signup = sign_in.account_id.is_some();
        let evaluated = match is_signup {
            true => evaluate_signup(&mut transaction, now, &sign_in, &code).await?,
            false => evaluate(&mut transaction, now, &token_hash, &sign_in, &code).await?,
        };
        let membership = match evaluated {
            Ok(membership) => membership,
            Err(refusal) => {
                // The wrong try is counted even though the request fails.
                transaction.commit().await?;
                return Err(refusal);
            }
        };
        store::delete_sign_in(&mut transaction, &token_hash).await?;
        let (address, by) = (&sign_in.address, (!is_signup).then_some(SignInMethod::Code));
        open_session(infra, transaction, now, &membership, address, browser, by).await
    }
}

/// Returns the membership that the code signs in to, or a refusal. Counts a wrong try.
async fn evaluate(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    token_hash: &[u8],
    sign_in: &Row,
    code: &str,
) -> Result<Result<Membership>> {
    if sign_in.wrong_tries >= MAX_WRONG_TRIES {
        return Ok(Err(Error::TooManyAttempts { retry_after: seconds(SIGN_IN_LIFE) }));
    }
    let membership = match &sign_in.destination {
        Some(to) => membership_in(connection, &to.account_id, &sign_in.address)
            .await?
            .filter(|membership| membership.member_id == to.member_id),
        None => None,
    };
    // Hashes are compared, so the timing of the comparison reveals nothing about the code.
    let is_right = sign_in.code_hash == code_hash(token_hash, code);
    match membership.filter(|_| is_right) {
        Some(Membership { account, member_id: None, .. }) => {
            confirm(connection, now, account).await.map(|account| Ok(Membership::of_own(account)))
        }
        Some(membership) => Ok(Ok(membership)),
        None => {
            store::update_wrong_tries(connection, token_hash).await?;
            Ok(Err(Error::InvalidCode))
        }
    }
}

/// Confirms the address, because the member reads its mailbox. Somebody else may have opened an
/// unconfirmed account, so its earlier credentials end.
async fn confirm(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account: Account,
) -> Result<Account> {
    let account_id = &account.account_id;
    if accounts::update_email_verified(connection, account_id, now).await? {
        accounts::delete_signup_token(connection, account_id).await?;
        if accounts::update_token_keys_revoked(connection, account_id, now).await? > 0 {
            let (actor, kind) = (Actor::Member(account.email.clone()), ActivityKind::KeysRevoked);
            events::record(connection, now, account_id, &actor, kind, None).await?;
        }
    }
    Ok(account)
}

async fn evaluate_signup(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    sign_in: &Row,
    code: &str,
) -> Result<Result<Membership>> {
    let Some(account_id) = &sign_in.account_id else { return Ok(Err(Error::InvalidCode)) };
    let account = accounts::find_account(connection, account_id).await?;
    if account.is_none_or(|account| account.email != sign_in.address) {
        return Ok(Err(Error::InvalidCode));
    }
    let redeemed = redeem(connection, now, account_id, code).await?;
    Ok(redeemed.map(Membership::of_own))
}

pub async fn cancel_sign_in(pool: &PgPool, secret: Option<&str>) -> Result<()> {
    match secret {
        Some(secret) => {
            let mut connection = pool.acquire().await?;
            store::delete_sign_in(&mut connection, &secret_hash(secret)).await
        }
        None => Ok(()),
    }
}
