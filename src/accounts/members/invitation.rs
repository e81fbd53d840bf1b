use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::accounts::account::Status;
use crate::accounts::introduction::Introduction;
use crate::accounts::store;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, NewMail, Retry};
use crate::infra::smtp::{Notice, RenderedMail};
use crate::types::email::Email;
use crate::types::ids::AccountId;

#[derive(Deserialize, Serialize)]
struct Invited {
    member_id: Uuid,
}

/// Queues the mail; `None` where no mail server is configured. The caller has counted it against the mailbox.
pub async fn put(
    connection: &mut PgConnection,
    infra: &Infra,
    account_id: &AccountId,
    member_id: Uuid,
) -> Result<Option<ClaimedMail>> {
    let new = NewMail { kind: Kind::Invitation, account_id: Some(account_id), pixel_id: None };
    infra.outbox.put(connection, new, &Invited { member_id }).await
}

/// Makes one delivery attempt. Returns `false` and removes the mail when it is refused permanently.
pub async fn attempt(infra: &Infra, mail: Option<&ClaimedMail>) -> Result<bool> {
    let Some(mail) = mail else { return Ok(true) };
    let rendered = rendered(infra, mail).await;
    if infra.outbox.attempt(mail, rendered, Retry::UnlessRefused).await != Attempt::Failed {
        return Ok(true);
    }
    let mut connection = infra.pool.acquire().await?;
    Ok(!infra.outbox.cancel(&mut connection, mail).await?)
}

/// Renders the mail; `None` when the address is no longer a member or the account is suspended.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let Invited { member_id } = infra.outbox.secrets(mail)?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let account = store::find_account(&mut connection, account_id).await?;
    let stored = store::find_member_by_id(&mut connection, account_id, member_id).await?;
    let account = account.filter(|account| account.status == Status::Active);
    let (Some(account), Some(stored)) = (account, stored) else { return Ok(None) };
    let who = match Introduction::from(&account).name {
        Some(name) => format!("{name} ({account_id})"),
        None => format!("The account {account_id}"),
    };
    let role = match stored.role.as_str() {
        "full" => "Admin",
        "operate" => "Editor",
        _ => "Read-only",
    };
    let sites = if stored.sites.are_all() { "" } else { ", for some of its sites" };
    let base_url = infra.base_url();
    let notice = Notice {
        subject: "You are a member of an Assent account".to_owned(),
        paragraphs: vec![
            format!("{who} added this address as a member. Your role is {role}{sites}."),
            format!("Sign in with this address at {base_url}/console; there is no password."),
            "If you do not know the account, you can ignore this email. Its members see this address, and when \
             you sign in to the account or switch to it, but nothing else about you."
                .to_owned(),
        ],
        ..Notice::default()
    };
    let to = Email::parse(&stored.email)?.address().map_err(Error::internal)?;
    notice.rendered(to, base_url).map(Some).map_err(Error::internal)
}
