use serde::{Deserialize, Serialize};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::accounts::access::Caller;
use crate::accounts::account::{Account, Status};
use crate::accounts::introduction::Introduction;
use crate::accounts::mails::recipient;
use crate::accounts::scope::Scope;
use crate::accounts::store::{self, StoredMember};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, NewMail, Outbox, Retry};
use crate::infra::requested_language::Requested;
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::email::Email;

#[derive(Deserialize, Serialize)]
struct Invited {
    member_id: Uuid,
    /// The language of the member who invites.
    #[serde(default)]
    requested: Requested,
}

/// Queues the mail; `None` where no mail server is configured. The caller has counted it against the mailbox.
pub async fn put(
    connection: &mut PgConnection,
    outbox: &Outbox,
    caller: &Caller,
    member_id: Uuid,
) -> Result<Option<ClaimedMail>> {
    let account_id = Some(caller.account_id());
    let requested = recipient::language_of_sender(connection, caller.address()).await?;
    let new = NewMail { kind: Kind::Invitation, account_id, pixel_id: None };
    outbox.put(connection, new, &Invited { member_id, requested }).await
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
    let Invited { member_id, requested } = infra.outbox.secrets(mail)?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    let mut connection = infra.pool.acquire().await?;
    let account = store::find_account(&mut connection, account_id).await?;
    let stored = store::find_member_by_id(&mut connection, account_id, member_id).await?;
    let account = account.filter(|account| account.status == Status::Active);
    let (Some(account), Some(stored)) = (account, stored) else { return Ok(None) };
    let recipient = recipient::in_language_of(&mut connection, &stored.email, requested).await?;
    let to = Email::parse(&stored.email)?.address().map_err(Error::internal)?;
    let notice = notice(infra.base_url(), &account, &stored);
    notice.rendered(to, recipient, infra.base_url()).map(Some).map_err(Error::internal)
}

fn notice(base_url: &str, account: &Account, stored: &StoredMember) -> Notice {
    let Introduction { account_id, name, .. } = Introduction::from(account);
    let who = match &name {
        Some(name) => {
            tr("{{ name }} ({{ account_id }}) added this address as a member.").with("name", name)
        }
        None => tr("The account {{ account_id }} added this address as a member."),
    };
    let role = match stored.role {
        Scope::Full => tr("Admin"),
        Scope::Operate => tr("Editor"),
        Scope::Read => tr("Read-only"),
    };
    let of_role = match stored.sites.are_all() {
        true => tr("Your role is {{ role }}."),
        false => tr("Your role is {{ role }}, for some of its sites."),
    };
    let url = format!("{base_url}/console/sign-in");
    Notice {
        subject: tr("You are a member of an Assent account"),
        paragraphs: vec![
            Message::Sentences(vec![
                who.with("account_id", &account_id),
                of_role.with("role", role),
            ]),
            tr("Sign in with this address at {{ base_url }}/console; there is no password.")
                .with("base_url", base_url),
            tr(
                "If you do not know the account, you can ignore this email. Its members see this address, and when you sign in to the account or switch to it, but nothing else about you.",
            ),
        ],
        link: Some(NoticeLink { label: tr("Sign in"), url }),
        account_id: Some(account_id.to_string()),
        account_name: name,
        ..Notice::default()
    }
}
