//! Rejection of a sign-up: closes an account that somebody opened with another person's address. The links
//! of the confirmation mails prove that their holder reads the mailbox, even after they can no longer be
//! used to confirm. Only an unused account is closed; a code gives the mailbox's owner access to a used one.

use chrono::Duration;
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;

use crate::accounts::access::Anybody;
use crate::accounts::account::Account;
use crate::accounts::capability::Capability;
use crate::accounts::input::OfLink;
use crate::accounts::introduction::Introduction;
use crate::accounts::members::membership_end;
use crate::accounts::store::{self, erasure};
use crate::accounts::tool::Tool;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::AccountId;

/// A checkout may be paid up to this long after its start: the provider's page is open for a day, and
/// may be opened nearly a day after the start.
const CHECKOUT_LIFE: Duration = Duration::hours(48);

/// An account that was closed.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct RejectedSignup {
    pub account_id: AccountId,
    /// Always true.
    pub closed: bool,
}

pub struct RejectableSignup {
    pub account: Introduction,
    pub in_use: bool,
}

/// Finds the account that the link would close, without side effects.
pub async fn find_rejectable(
    pool: &PgPool,
    clock: &Clock,
    link_token: &str,
) -> Result<RejectableSignup> {
    let mut connection = pool.acquire().await?;
    let account_id = account_of_link(&mut connection, link_token).await?;
    let account = store::find_account(&mut connection, &account_id).await?;
    let account = account.ok_or(Error::DisownLinkNotFound)?;
    let in_use = is_in_use(clock, &mut connection, &account).await?;
    Ok(RejectableSignup { account: Introduction::from(&account), in_use })
}

/// Deletes the account of the link with its credentials, so that its address can sign up again.
pub async fn reject_signup(
    pool: &PgPool,
    clock: &Clock,
    link_token: &str,
) -> Result<RejectedSignup> {
    let mut transaction = pool.begin().await?;
    let account_id = account_of_link(&mut transaction, link_token).await?;
    // Creating a pixel and paying lock the same row, so either they are seen here, or they find no account.
    let account = store::lock_account(&mut transaction, &account_id).await?;
    let account = account.ok_or(Error::DisownLinkNotFound)?;
    if is_in_use(clock, &mut transaction, &account).await? {
        return Err(Error::AccountInUse);
    }
    membership_end::end_all(&mut transaction, &account).await?;
    erasure::delete_account_and_credentials(&mut transaction, &account_id).await?;
    transaction.commit().await?;
    tracing::info!(%account_id, "account disowned");
    Ok(RejectedSignup { account_id, closed: true })
}

async fn account_of_link(connection: &mut PgConnection, link_token: &str) -> Result<AccountId> {
    let link = store::find_confirmation_link(connection, &secret_hash(link_token)).await?;
    link.map(|link| link.account_id).ok_or(Error::DisownLinkNotFound)
}

async fn is_in_use(
    clock: &Clock,
    connection: &mut PgConnection,
    account: &Account,
) -> Result<bool> {
    let checkouts_since = clock.now() - CHECKOUT_LIFE;
    erasure::is_in_use(connection, &account.account_id, checkouts_since).await
}

pub struct DisownAccount;

impl Capability for DisownAccount {
    const NAME: &'static str = "disown_account";
    const TOOL: Option<Tool> = Some(Tool::DESTRUCTIVE.described(
        "Disown an account",
        "Closes an account that somebody else opened with the person's address: \"this was not \
         me\". Takes either link of the confirmation mail. Only while the account has no pixel \
         and has not paid; of any other, `renew_signup_token` ends the keys.",
    ));
    type Service = Infra;
    type Access = Anybody;
    type Input = OfLink;
    type Output = RejectedSignup;

    fn refusals() -> Vec<Error> {
        vec![Error::VerificationTokenRequired, Error::DisownLinkNotFound, Error::AccountInUse]
    }

    async fn run(infra: &Infra, (): (), link: OfLink) -> Result<RejectedSignup> {
        reject_signup(&infra.pool, &infra.clock, &link.token()?).await
    }
}
