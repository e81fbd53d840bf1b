use serde::{Deserialize, Serialize};
use sqlx::PgConnection;

use crate::accounts::account::{Account, Status, TRIAL, monthly_amount};
use crate::accounts::introduction::shown_name;
use crate::accounts::mails::recipient;
use crate::accounts::members::member::membership_in;
use crate::accounts::scope::Scope;
use crate::accounts::store::{self, ClientInvitation};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{Attempt, ClaimedMail, Kind, NewMail, Outbox};
use crate::infra::requested_language::Requested;
use crate::infra::secret_hash::secret_hash;
use crate::infra::smtp::{Notice, NoticeLink, RenderedMail};
use crate::infra::templates::{Message, tr};
use crate::types::email::Email;
use crate::types::ids::AccountId;

#[derive(Deserialize, Serialize)]
struct Offered {
    token: String,
    /// The language of the person who makes the offer.
    #[serde(default)]
    requested: Requested,
}

#[derive(Deserialize, Serialize)]
struct Confirmed {
    asker: String,
}

/// Queues the mail to the client; `None` where no mail server is configured. The caller has counted it
/// against the mailbox.
pub async fn put_offer(
    connection: &mut PgConnection,
    outbox: &Outbox,
    invitation: &ClientInvitation,
    token: &str,
) -> Result<Option<ClaimedMail>> {
    let account_id = Some(&invitation.account_id);
    let new = NewMail { kind: Kind::ClientOffer, account_id, pixel_id: None };
    let requested = recipient::language_of_sender(connection, &invitation.asker).await?;
    outbox.put(connection, new, &Offered { token: token.to_owned(), requested }).await
}

/// Queues the mail to the asker. It is deleted with the client's account.
pub async fn put_confirmed(
    connection: &mut PgConnection,
    outbox: &Outbox,
    account_id: &AccountId,
    invitation: &ClientInvitation,
) -> Result<Option<ClaimedMail>> {
    let asker = invitation.asker.clone();
    let account_id = Some(account_id);
    let new = NewMail { kind: Kind::ClientConfirmed, account_id, pixel_id: None };
    outbox.put(connection, new, &Confirmed { asker }).await
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
            tracing::error!(?error, "a rejected mail could not be removed from the outbox");
        }
    });
}

/// Renders the mail; `None` once a newer mail has replaced its link, or the offer or the membership has ended.
pub async fn rendered(infra: &Infra, mail: &ClaimedMail) -> Result<Option<RenderedMail>> {
    let mut connection = infra.pool.acquire().await?;
    let Some(account_id) = &mail.account_id else { return Ok(None) };
    if mail.kind == Kind::ClientConfirmed {
        let Confirmed { asker } = infra.outbox.secrets(mail)?;
        let membership = membership_in(&mut connection, account_id, &asker).await?;
        let Some(membership) = membership else { return Ok(None) };
        let notice = confirmed(infra.base_url(), &membership.account);
        let recipient = recipient::of(&mut connection, &asker).await?;
        let to = Email::parse(&asker)?.address().map_err(Error::internal)?;
        let rendered = notice.rendered(to, recipient, infra.base_url());
        return rendered.map(Some).map_err(Error::internal);
    }
    let Offered { token, requested } = infra.outbox.secrets(mail)?;
    let found = store::find_client_invitation(&mut connection, &secret_hash(&token)).await?;
    let first = store::find_account(&mut connection, account_id).await?;
    let first = first.filter(|account| account.status == Status::Active);
    let open = found.filter(|invitation| invitation.is_open(infra.clock.now()));
    let (Some(first), Some(invitation)) = (first, open) else { return Ok(None) };
    let client = &invitation.client;
    let recipient = recipient::in_language_of(&mut connection, client, requested).await?;
    let to = Email::parse(client)?.address().map_err(Error::internal)?;
    let notice = offer(infra.base_url(), &first, &invitation, &token);
    notice.rendered(to, recipient, infra.base_url()).map(Some).map_err(Error::internal)
}

fn offer(base_url: &str, first: &Account, invitation: &ClientInvitation, token: &str) -> Notice {
    let ClientInvitation { asker, client, display_name, role, expires_at, .. } = invitation;
    let who = match shown_name(&first.display_name) {
        Some(name) => tr(
            "{{ asker }} ({{ name }}) wants to set up Assent, a consent popup, for your websites.",
        )
        .with("name", name),
        None => tr("{{ asker }} wants to set up Assent, a consent popup, for your websites."),
    };
    let url = format!("{base_url}/console/clients/confirm?token={token}");
    Notice {
        subject: tr("{{ asker }} wants to set up Assent for you").with("asker", asker),
        paragraphs: vec![
            who.with("asker", asker),
            priced(tr(
                "You would own the account and pay for it: nothing for {{ days }} days, then {{ amount }} a month if you subscribe. {{ asker }} would become a member, whom you can remove at any time.",
            ))
            .with("asker", asker),
            tr(
                "Nothing exists until you confirm. If you do nothing, nothing is created. You can also decline on the page: then you are not asked by this person again for a year.",
            ),
        ],
        facts: vec![
            (tr("Account"), shown_name(display_name).map_or(tr("as the page shows it"), Message::plain)),
            (tr("Owner"), client.clone().into()),
            (tr("Member"), membership(*role).with("asker", asker)),
            (tr("Price"), priced(tr("{{ amount }} a month after {{ days }} days, if you subscribe"))),
            (tr("Valid until"), Message::Moment(*expires_at)),
        ],
        link: Some(NoticeLink { label: tr("Review and confirm"), url }),
        ..Notice::default()
    }
}

fn priced(text: Message) -> Message {
    text.with("days", TRIAL.num_days()).with("amount", monthly_amount())
}

fn membership(role: Scope) -> Message {
    match role {
        Scope::Full => tr("{{ asker }}, with the role Admin"),
        Scope::Operate => tr("{{ asker }}, with the role Editor"),
        Scope::Read => tr("{{ asker }}, with the role Read-only"),
    }
}

fn confirmed(base_url: &str, account: &Account) -> Notice {
    let url = format!("{base_url}/console/all-sites");
    Notice {
        subject: tr("Your client has confirmed an Assent account"),
        paragraphs: vec![tr(
            "The account exists, and you are a member of it. The next step is to add a site.",
        )],
        facts: vec![
            (tr("Account"), account.display_name.clone().into()),
            (tr("Owner"), account.email.clone().into()),
        ],
        link: Some(NoticeLink { label: tr("See all sites"), url }),
        account_id: Some(account.account_id.to_string()),
        ..Notice::default()
    }
}
