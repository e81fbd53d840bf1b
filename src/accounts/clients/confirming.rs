//! The client's answer to the offer of an account. The token in the mail proves that the client reads the
//! mailbox, and can be used once.

use chrono::{DateTime, Duration, Utc};
use sqlx::{PgConnection, PgPool};

use super::client_mails;
use crate::accounts::access::Anybody;
use crate::accounts::actor::Actor;
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::introduction::shown_name;
use crate::accounts::signup::opening::open_confirmed;
use crate::accounts::sites::Sites;
use crate::accounts::store::{self, ClientInvitation, StoredMember};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::{AccountId, uuid_v7};

/// For this long after a client has declined, the same person cannot invite the client again.
const DECLINED_FOR: Duration = Duration::days(365);

pub struct OpenOffer {
    pub invitation: ClientInvitation,
    /// The name of the asker's first account, if it may be shown to strangers.
    pub asker_name: Option<String>,
}

/// Finds the offer of a link, without side effects.
pub async fn find_offer(pool: &PgPool, clock: &Clock, token: &str) -> Result<OpenOffer> {
    let now = clock.now();
    let mut connection = pool.acquire().await?;
    let found = store::find_client_invitation(&mut connection, &secret_hash(token)).await?;
    let invitation = found.filter(|it| it.is_open(now)).ok_or(Error::NotFound)?;
    let first = store::find_account(&mut connection, &invitation.account_id).await?;
    let name = first.as_ref().and_then(|account| shown_name(&account.display_name));
    Ok(OpenOffer { asker_name: name.map(str::to_owned), invitation })
}

/// An account that a client has confirmed.
pub struct ConfirmedClient {
    pub email: String,
    pub asker: String,
}

/// Opens the account of an offer for its client, and makes the asker a member. The input is the token.
pub struct ConfirmOffer;

impl Capability for ConfirmOffer {
    const NAME: &'static str = "confirm_offer";
    const LIMIT: Option<Limit> = Some(Limit::Signups);
    type Service = Infra;
    type Access = Anybody;
    type Input = String;
    type Output = ConfirmedClient;

    fn refusals() -> Vec<Error> {
        vec![Error::NotFound]
    }

    async fn run(infra: &Infra, (): (), token: String) -> Result<ConfirmedClient> {
        let now = infra.clock.now();
        let mut transaction = infra.pool.begin().await?;
        let found = store::lock_client_invitation(&mut transaction, &secret_hash(&token)).await?;
        let offer = found.filter(|it| it.is_open(now)).ok_or(Error::NotFound)?;
        let account_id = AccountId::random();
        let (client, name) = (&offer.client, &offer.display_name);
        open_confirmed(&mut transaction, now, &account_id, client, name).await?;
        let stored = StoredMember {
            member_id: uuid_v7(now),
            account_id: account_id.clone(),
            email: offer.asker.clone(),
            role: offer.role,
            sites: Sites::ALL,
            created_at: now,
        };
        store::insert_member(&mut transaction, &stored).await?;
        store::delete_client_invitation(&mut transaction, offer.invitation_id).await?;
        let actor = Actor::Member(client.clone());
        let (invited, asker) = (ActivityKind::MemberInvited, Some(&*offer.asker));
        events::record(&mut transaction, now, &account_id, &actor, invited, asker).await?;
        record(&mut transaction, now, &offer, ActivityKind::ClientConfirmed).await?;
        let mail =
            client_mails::put_confirmed(&mut transaction, &infra.outbox, &account_id, &offer)
                .await?;
        transaction.commit().await?;
        client_mails::send(infra, mail);
        tracing::info!(%account_id, "account opened for a client");
        Ok(ConfirmedClient { email: offer.client, asker: offer.asker })
    }
}

/// Records the client's answer in the activity log of the asker.
async fn record(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    offer: &ClientInvitation,
    kind: ActivityKind,
) -> Result<()> {
    let (account_id, client) = (&offer.account_id, &offer.client);
    let actor = Actor::Member(client.clone());
    events::record(connection, now, account_id, &actor, kind, Some(client)).await
}

/// Declines an offer. The asker cannot invite the client again for a year.
pub async fn decline(pool: &PgPool, clock: &Clock, token: &str) -> Result<String> {
    let now = clock.now();
    let mut transaction = pool.begin().await?;
    let found = store::lock_client_invitation(&mut transaction, &secret_hash(token)).await?;
    let offer = found.filter(|it| it.is_open(now)).ok_or(Error::NotFound)?;
    let (id, until) = (offer.invitation_id, now + DECLINED_FOR);
    store::update_client_invitation_declined(&mut transaction, id, now, until).await?;
    record(&mut transaction, now, &offer, ActivityKind::ClientDeclined).await?;
    transaction.commit().await?;
    Ok(offer.asker)
}
