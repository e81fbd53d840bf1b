//! The mail with the six digits.

use serde::{Deserialize, Serialize};

use super::secrets::{SIGN_IN_LIFE, Secrets};
use super::store;
use crate::accounts::member::{Membership, member_of};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, NewMail, Retry};
use crate::infra::smtp::Letter;
use crate::types::email::Email;

/// What must not lie in the clear.
#[derive(Deserialize, Serialize)]
struct Sealed {
    address: String,
    code: String,
    token_hash: Vec<u8>,
}

/// Mails the digits, should the address be a member's.
pub async fn send(infra: &Infra, email: &Email, secrets: &Secrets) -> Result<()> {
    let mut transaction = infra.pool.begin().await?;
    let membership = member_of(&mut transaction, email.as_str()).await?;
    let Some(Membership { account, .. }) = membership else { return Ok(()) };
    let sealed = Sealed {
        address: email.as_str().to_owned(),
        code: secrets.code.clone(),
        token_hash: secrets.token_hash(),
    };
    let account_id = Some(&account.account_id);
    let new = NewMail { kind: Kind::SignIn, account_id, pixel_id: None };
    let mail = infra.outbox.put(&mut transaction, new, &sealed).await?;
    transaction.commit().await?;
    let Some(mail) = mail else { return Ok(()) };
    let letter = letter(infra, &mail).await;
    if infra.outbox.attempt(&mail, letter, Retry::UnlessRefused).await == Attempt::Failed {
        let mut connection = infra.pool.acquire().await?;
        infra.outbox.cancel(&mut connection, &mail).await?;
    }
    Ok(())
}

/// The mail as it is now; `None` once the sign-in has come to its end.
pub async fn letter(infra: &Infra, mail: &ClaimedMail) -> Result<Option<Letter>> {
    let sealed = infra.outbox.secrets::<Sealed>(mail)?;
    let mut connection = infra.pool.acquire().await?;
    if !store::is_waiting(&mut connection, &sealed.token_hash, infra.clock.now()).await? {
        return Ok(None);
    }
    let mut context = tera::Context::new();
    context.insert("code", &sealed.code);
    context.insert("minutes", &SIGN_IN_LIFE.num_minutes());
    context.insert("base_url", infra.base_url());
    Ok(Some(Letter {
        to: Email::parse(&sealed.address)?.address().map_err(Error::internal)?,
        subject: format!("{} signs you in to Assent", sealed.code),
        context,
        unsubscribe_url: None,
    }))
}
