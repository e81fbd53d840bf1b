use crate::accounts::codes::account_code_order::prove_member;
use crate::accounts::members::member::Member;
use crate::accounts::sessions::{self, NewSession};
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::infra::Infra;

/// Makes a member's sign-in recent with a code that was mailed for keys and members. The session gets another
/// secret, so that a stolen old secret does not gain a recent sign-in.
pub async fn renew(infra: &Infra, member: &Member, code: &str) -> Result<NewSession> {
    let mut transaction = infra.pool.begin().await?;
    let account = store::lock_account(&mut transaction, &member.account.account_id).await?;
    account.ok_or(Error::SignInRequired)?;
    let renewed =
        match prove_member(&mut transaction, &infra.outbox, &infra.clock, member, code).await? {
            Ok(()) => sessions::renew(&mut transaction, &infra.clock, member).await?,
            Err(error) => {
                // The wrong try is counted even though the request fails.
                transaction.commit().await?;
                return Err(error);
            }
        };
    transaction.commit().await?;
    renewed.ok_or(Error::SignInRequired)
}
