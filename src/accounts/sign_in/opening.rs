use chrono::{DateTime, Utc};
use sqlx::{Postgres, Transaction};

use crate::accounts::mails::safety::{self, SignInMethod};
use crate::accounts::members::member::Membership;
use crate::accounts::sessions::{self, Browser, Finished, has_session};
use crate::error::Result;
use crate::infra::Infra;

/// Opens the session of a sign-in, and commits. The member is notified by mail, unless the sign-in is repeated or has
/// no method, as after a sign-up.
pub async fn open_session(
    infra: &Infra,
    mut transaction: Transaction<'_, Postgres>,
    now: DateTime<Utc>,
    membership: &Membership,
    address: &str,
    browser: Browser<'_>,
    method: Option<SignInMethod>,
) -> Result<Finished> {
    let is_renewal = has_session(&mut transaction, now, membership, address, browser).await?;
    let session = sessions::open(&mut transaction, now, membership, address, browser).await?;
    let account = &membership.account;
    let mail = match method {
        Some(by) if !is_renewal => {
            safety::put_new_sign_in(
                &mut transaction,
                &infra.outbox,
                &infra.clock,
                account,
                address,
                browser.name,
                by,
            )
            .await?
        }
        _ => None,
    };
    transaction.commit().await?;
    safety::send(infra, mail);
    Ok(Finished { session, is_renewal })
}
