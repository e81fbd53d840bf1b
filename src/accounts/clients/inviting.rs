use chrono::{DateTime, Duration, Utc};
use sqlx::{PgConnection, PgPool};

use super::client_mails;
use super::person::{lock_first_account, proven_recently};
use crate::accounts::access::{Credentials, UncheckedCredentials};
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::limits::mailbox;
use crate::accounts::scope::Scope;
use crate::accounts::signup::signup_request::{Signup, SignupRequest};
use crate::accounts::store::{self, ClientInvitation};
use crate::clock::Clock;
use crate::error::{Error, Result, wrong_field};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::secret_hash::secret_hash;
use crate::types::email::Email;
use crate::types::ids::{random_text, uuid_v7};

/// A client can confirm for this long after the latest mail.
pub const INVITATION_LIFE: Duration = Duration::days(7);
/// The maximum number of open invitations per person.
pub const MAX_PENDING: usize = 20;
pub(super) const TOKEN_LEN: usize = 43;

/// The account that a client is offered.
pub struct Offer {
    pub email: String,
    pub display_name: String,
    /// The role of the asker in the client's account.
    pub role: Scope,
}

/// Mails a client the offer of an account. Nothing is opened before the client confirms. When the mail
/// server refuses the mail, nobody is invited.
pub struct InviteClient;

impl Capability for InviteClient {
    const NAME: &'static str = "invite_client";
    const LIMIT: Option<Limit> = Some(Limit::Mails);
    type Service = Infra;
    type Access = UncheckedCredentials;
    type Input = Offer;
    type Output = ();

    fn refusals() -> Vec<Error> {
        vec![
            Error::SignInRequired,
            Error::InvalidEmail,
            Error::DisplayNameRequired,
            Error::AccountNotActive,
            Error::InvitationFailed,
        ]
    }

    async fn run(infra: &Infra, credentials: Credentials, offer: Offer) -> Result<()> {
        let person = proven_recently(&infra.outbox, &infra.clock, credentials)?;
        let request = SignupRequest {
            email: Some(offer.email),
            display_name: Some(offer.display_name),
            external_user_id: None,
            code: None,
        };
        let Signup { email, display_name, .. } = request.check()?;
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        let first = lock_first_account(&mut transaction, now, &person).await?;
        admit(&mut transaction, now, &person.address, &email).await?;
        let token = random_text(TOKEN_LEN);
        let invitation = ClientInvitation {
            invitation_id: uuid_v7(now),
            account_id: first.account_id,
            asker: person.address,
            client: email.as_str().to_owned(),
            display_name,
            role: offer.role,
            created_at: now,
            mailed_at: now,
            expires_at: now + INVITATION_LIFE,
            declined_at: None,
        };
        let token_hash = secret_hash(&token);
        store::insert_client_invitation(&mut transaction, &invitation, &token_hash).await?;
        record(&mut transaction, now, &invitation, ActivityKind::ClientInvited).await?;
        let too_many = |retry_after| Error::TooManyRequests { retry_after };
        mailbox::admit(&mut transaction, &infra.outbox, now, &email, too_many).await?;
        let mail =
            client_mails::put_offer(&mut transaction, &infra.outbox, &invitation, &token).await?;
        transaction.commit().await?;
        if client_mails::attempt(infra, mail.as_ref()).await? {
            return Ok(());
        }
        take_back(&infra.pool, &infra.clock, &invitation, &email).await?;
        Err(Error::InvitationFailed)
    }
}

pub(super) async fn record(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    invitation: &ClientInvitation,
    kind: ActivityKind,
) -> Result<()> {
    let (account_id, actor) = (&invitation.account_id, Actor::Member(invitation.asker.clone()));
    events::record(connection, now, account_id, &actor, kind, Some(&invitation.client)).await
}

/// Refuses the person's own address, a client who is invited or has declined, and too many open invitations.
async fn admit(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    asker: &str,
    client: &Email,
) -> Result<()> {
    let wrong = |message: &str| Err(wrong_field("email", message));
    if client.as_str() == asker {
        return wrong("this is your own address: open another account for yourself instead");
    }
    let stored = store::list_client_invitations(connection, asker).await?;
    if let Some(former) = stored.iter().find(|stored| stored.client == client.as_str()) {
        if former.declined_at.is_some() && former.expires_at > now {
            return wrong("this client has declined an account");
        }
        if former.is_open(now) {
            return wrong("this client has been invited already: send the mail again instead");
        }
        store::delete_client_invitation(connection, former.invitation_id).await?;
    }
    if stored.iter().filter(|stored| stored.is_open(now)).count() < MAX_PENDING {
        return Ok(());
    }
    wrong(&format!("{MAX_PENDING} clients are invited at the moment: cancel an invitation first"))
}

async fn take_back(
    pool: &PgPool,
    clock: &Clock,
    invitation: &ClientInvitation,
    email: &Email,
) -> Result<()> {
    let now = clock.now();
    let mut transaction = pool.begin().await?;
    store::delete_client_invitation(&mut transaction, invitation.invitation_id).await?;
    mailbox::give_back(&mut transaction, email).await?;
    record(&mut transaction, now, invitation, ActivityKind::ClientInvitationCancelled).await?;
    transaction.commit().await?;
    Ok(())
}
