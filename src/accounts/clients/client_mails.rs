use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::accounts::account::{Account, Status, TRIAL};
use crate::accounts::credentials::secret_hash;
use crate::accounts::introduction::{moment, shown_name};
use crate::accounts::members::member::membership_in;
use crate::accounts::plans::monthly_price;
use crate::accounts::scope::Scope;
use crate::accounts::store::{self, ClientInvitation};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, NewMail};
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::types::email::Email;
use crate::types::ids::AccountId;

#[derive(Deserialize, Serialize)]
struct Offered {
    token: String,
}

#[derive(Deserialize, Serialize)]
struct Confirmed {
    asker: String,
}

/// Queues the mail to the client; `None` where no mail server is configured. The caller has counted it
/// against the mailbox.
pub async fn put_offer(
    connection: &mut PgConnection,
    infra: &Infra,
    invitation: &ClientInvitation,
    token: &str,
) -> Result<Option<ClaimedMail>> {
    let account_id = Some(&invitation.account_id);
    let new = NewMail { kind: Kind::ClientOffer, account_id, pixel_id: None };
    infra.outbox.put(connection, new, &Offered { token: token.to_owned() }).await
}

/// Queues the mail to the asker. It is deleted with the client's account.
pub async fn put_confirmed(
    connection: &mut PgConnection,
    infra: &Infra,
    account_id: &AccountId,
    invitation: &ClientInvitation,
) -> Result<Option<ClaimedMail>> {
    let asker = invitation.asker.clone();
    let account_id = Some(account_id);
    let new = NewMail { kind: Kind::ClientConfirmed, account_id, pixel_id: None };
    infra.outbox.put(connection, new, &Confirmed { asker }).await
}

/// Makes one delivery attempt. Returns `false` and removes the mail when it is refused permanently.
pub async fn attempt(infra: &Infra, mail: Option<&ClaimedMail>) -> Result<bool> {
    let Some(mail) = mail else { return Ok(true) };
    let rendered = rendered(infra, mail).await;
    Ok(infra.outbox.deliver(mail, rendered).await? != Attempt::Failed)
}

pub fn send(infra: &Infra, mail: Option<ClaimedMail>) {
    let Some(mail) = mail else { return };
    infra.spawn(|infra| async move {
        if let Err(error) = attempt(&infra, Some(&mail)).await {
            tracing::error!(?error, "a mail that is refused could not be taken out");
        }
    });
}

/// Renders the mail; `None` once another mail has replaced its link, the offer has ended, or the membership.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let mut connection = infra.pool.acquire().await?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    if mail.kind == Kind::ClientConfirmed {
        let Confirmed { asker } = infra.outbox.secrets(mail)?;
        let membership = membership_in(&mut connection, account_id, &asker).await?;
        let account = membership.map(|membership| membership.account);
        return account.map(|account| confirmed(infra, &account, &asker)).transpose();
    }
    let Offered { token } = infra.outbox.secrets(mail)?;
    let found = store::find_client_invitation(&mut connection, &secret_hash(&token)).await?;
    let first = store::find_account(&mut connection, account_id).await?;
    let first = first.filter(|account| account.status == Status::Active);
    let open = found.filter(|invitation| invitation.is_open(infra.clock.now()));
    let (Some(first), Some(invitation)) = (first, open) else { return Ok(None) };
    offer(infra, &first, &invitation, &token).map(Some)
}

fn role_name(role: Scope) -> &'static str {
    match role {
        Scope::Full => "Admin",
        Scope::Operate => "Editor",
        Scope::Read => "Read-only",
    }
}

fn offer(
    infra: &Infra,
    first: &Account,
    invitation: &ClientInvitation,
    token: &str,
) -> Result<RenderedMail> {
    let ClientInvitation { asker, client, display_name, role, expires_at, .. } = invitation;
    let who = match shown_name(&first.display_name) {
        Some(name) => format!("{asker} ({name})"),
        None => asker.clone(),
    };
    let name = shown_name(display_name).unwrap_or("as the page shows it").to_owned();
    let (days, role) = (TRIAL.num_days(), role_name(*role));
    let price = monthly_price();
    let url = format!("{}/console/clients/confirm?token={token}", infra.base_url());
    let notice = Notice {
        subject: format!("{asker} wants to set up Assent for you"),
        paragraphs: vec![
            format!("{who} wants to set up Assent, a consent popup, for your websites."),
            format!(
                "You would own the account and pay for it: nothing for {days} days, then {price} if you \
                 subscribe. {asker} would become a member, whom you can remove at any time."
            ),
            "Nothing exists until you confirm. If you do nothing, nothing is created. You can also \
             decline on the page: then you are not asked by this person again for a year."
                .to_owned(),
        ],
        facts: vec![
            ("Account", name),
            ("Owner", client.clone()),
            ("Member", format!("{asker}, with the role {role}")),
            ("Price", format!("{price} after {days} days, if you subscribe")),
            ("Valid until", moment(*expires_at)),
        ],
        link: Some(NoticeLink { label: "Review and confirm", url }),
        ..Notice::default()
    };
    let to = Email::parse(client)?.address().map_err(Error::internal)?;
    notice.rendered(to, infra.base_url()).map_err(Error::internal)
}

fn confirmed(infra: &Infra, account: &Account, asker: &str) -> Result<RenderedMail> {
    let url = format!("{}/console/all-sites", infra.base_url());
    let notice = Notice {
        subject: "Your client has confirmed an Assent account".to_owned(),
        paragraphs: vec![
            "The account exists, and you are a member of it. The next step is to add a site."
                .to_owned(),
        ],
        facts: vec![("Account", account.display_name.clone()), ("Owner", account.email.clone())],
        link: Some(NoticeLink { label: "See all sites", url }),
        account_id: Some(account.account_id.to_string()),
        ..Notice::default()
    };
    let to = Email::parse(asker)?.address().map_err(Error::internal)?;
    notice.rendered(to, infra.base_url()).map_err(Error::internal)
}
