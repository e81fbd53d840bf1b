//! Client invitations, as managed by the person who sent them.

use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use uuid::Uuid;

use super::client_mails;
use super::inviting::{INVITATION_LIFE, TOKEN_LEN, record};
use super::person::proven;
use crate::accounts::access::{Credentials, UncheckedCredentials};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::limits::mailbox;
use crate::accounts::limits::retry_after::not_before;
use crate::accounts::members::member::Member;
use crate::accounts::scope::Scope;
use crate::accounts::signup::email_verification::RESEND_PAUSE;
use crate::accounts::store::{self, ClientInvitation};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::secret_hash::secret_hash;
use crate::types::email::Email;
use crate::types::ids::{AccountId, random_text};

/// Lists the person's open and declined invitations, oldest first.
pub async fn list(infra: &Infra, person: &Member) -> Result<Vec<ClientInvitation>> {
    // Without a mail server, it is unproven that the person reads the mailbox.
    if !infra.outbox.mailer.is_configured() {
        return Ok(Vec::new());
    }
    let now = infra.clock.now();
    let mut connection = infra.pool.acquire().await?;
    let mut stored = store::list_client_invitations(&mut connection, &person.address).await?;
    stored.retain(|invitation| invitation.expires_at > now);
    Ok(stored)
}

/// An invitation in the export of an account.
#[derive(Serialize)]
pub struct InvitationLine {
    asker: String,
    client: String,
    display_name: String,
    role: Scope,
    created_at: Timestamp,
    expires_at: Timestamp,
    declined_at: Option<Timestamp>,
}

/// All invitations that are recorded in the account.
pub async fn export(
    connection: &mut PgConnection,
    account_id: &AccountId,
) -> Result<Vec<InvitationLine>> {
    let stored = store::list_client_invitations_of_account(connection, account_id).await?;
    let line = |invitation: ClientInvitation| InvitationLine {
        asker: invitation.asker,
        client: invitation.client,
        display_name: invitation.display_name,
        role: invitation.role,
        created_at: Timestamp(invitation.created_at),
        expires_at: Timestamp(invitation.expires_at),
        declined_at: invitation.declined_at.map(Timestamp),
    };
    Ok(stored.into_iter().map(line).collect())
}

/// Mails the offer once more, at most once a minute. The links of earlier mails end.
pub struct ResendOffer;

impl Capability for ResendOffer {
    const NAME: &'static str = "resend_offer";
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Service = Infra;
    type Access = UncheckedCredentials;
    type Input = Uuid;
    type Output = ();

    fn refusals() -> Vec<Error> {
        vec![Error::SignInRequired, Error::NotFound, Error::InvitationFailed]
    }

    async fn run(infra: &Infra, credentials: Credentials, invitation_id: Uuid) -> Result<()> {
        let person = proven(&infra.outbox, credentials)?;
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        let found =
            store::lock_own_client_invitation(&mut transaction, &person.address, invitation_id);
        let invitation = found.await?.filter(|it| it.is_open(now)).ok_or(Error::NotFound)?;
        let too_many = |retry_after| Error::TooManyRequests { retry_after };
        not_before(invitation.mailed_at + RESEND_PAUSE, now, too_many)?;
        let email = Email::parse(&invitation.client)?;
        mailbox::admit(&mut transaction, &infra.outbox, now, &email, too_many).await?;
        let (token, expires_at) = (random_text(TOKEN_LEN), now + INVITATION_LIFE);
        let token_hash = secret_hash(&token);
        let id = invitation.invitation_id;
        store::update_client_invitation_mailed(&mut transaction, id, &token_hash, now, expires_at)
            .await?;
        let mail =
            client_mails::put_offer(&mut transaction, &infra.outbox, &invitation, &token).await?;
        transaction.commit().await?;
        match client_mails::attempt(infra, mail.as_ref()).await? {
            true => Ok(()),
            false => Err(Error::InvitationFailed),
        }
    }
}

/// Cancels an open invitation.
pub async fn cancel(
    pool: &PgPool,
    clock: &Clock,
    person: &Member,
    invitation_id: Uuid,
) -> Result<()> {
    let now = clock.now();
    let mut transaction = pool.begin().await?;
    let found = store::lock_own_client_invitation(&mut transaction, &person.address, invitation_id);
    let invitation = found.await?.filter(|it| it.is_open(now)).ok_or(Error::NotFound)?;
    store::delete_client_invitation(&mut transaction, invitation.invitation_id).await?;
    record(&mut transaction, now, &invitation, ActivityKind::ClientInvitationCancelled).await?;
    transaction.commit().await?;
    Ok(())
}
