//! Changes of an account's address: immediate with a code from the current mailbox, delayed by seven days
//! without one. The mailbox of an account is its second factor, so a person who can only read the new
//! mailbox must not replace it at once. Until a pending change takes effect, all mail goes to the current
//! mailbox, and its reader can cancel the change.

use chrono::{DateTime, Duration, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use sqlx::{PgConnection, PgPool};
use utoipa::ToSchema;
use uuid::Uuid;

use super::address_notice::{self, MadeBy, Step};
use crate::accounts::access::Caller;
use crate::accounts::account::{Account, Status};
use crate::accounts::actor::Actor;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::members::membership_end;
use crate::accounts::preferences;
use crate::accounts::sessions::store as sessions;
use crate::accounts::store::{self, AddressChange};
use crate::clock::{Clock, Timestamp};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::{ClaimedMail, Outbox};
use crate::infra::secret_hash::secret_hash;
use crate::types::email::Email;
use crate::types::ids::{AccountId, random_text};

pub const DELAY: Duration = Duration::days(7);
const LINK_TOKEN_LEN: usize = 43;

/// A change of address that waits.
#[derive(Clone, Debug, Serialize, JsonSchema, ToSchema)]
#[schemars(rename = "PendingAddress")]
pub struct PendingAddress {
    /// The address that the account is to have.
    #[schemars(with = "String")]
    #[schema(example = "ann@shop.example")]
    pub email: String,
    /// Seven days after the last request; until then the present mailbox can cancel the change.
    pub takes_effect_at: Timestamp,
}

impl From<AddressChange> for PendingAddress {
    fn from(change: AddressChange) -> Self {
        let takes_effect_at = Timestamp(change.takes_effect_at);
        Self { email: change.new_address, takes_effect_at }
    }
}

pub async fn find(pool: &PgPool, account_id: &AccountId) -> Result<Option<PendingAddress>> {
    let mut connection = pool.acquire().await?;
    let change = store::find_address_change(&mut connection, account_id).await?;
    Ok(change.map(PendingAddress::from))
}

/// Stores a pending change, replacing an existing one, and notifies both mailboxes. The seven days restart.
pub async fn request(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    caller: &Caller,
    account: &Account,
    new: &Email,
) -> Result<Vec<ClaimedMail>> {
    let (now, account_id) = (clock.now(), &account.account_id);
    if store::find_account_by_email(connection, new.as_str()).await?.is_some() {
        return Err(Error::EmailRegistered);
    }
    let former = store::find_cancellable_change(connection, account_id).await?;
    let change = AddressChange {
        new_address: new.as_str().to_owned(),
        began_at: former.map_or(now, |former| former.began_at),
        takes_effect_at: now + DELAY,
        withdrawn_at: None,
        asked_by: caller.actor.to_string(),
        asked_session: caller.session_id,
    };
    let token = random_text(LINK_TOKEN_LEN);
    let link_hash = secret_hash(&token);
    store::upsert_address_change(connection, account_id, &change, &link_hash).await?;
    let kind = ActivityKind::AddressChangeRequested;
    caller.record(connection, now, account_id, kind, None).await?;
    let steps = [Step::AskedAtPresent { token, asked_by: change.asked_by }, Step::AskedAtNew];
    let mut mails = Vec::new();
    for step in steps {
        let at = Some(change.takes_effect_at);
        mails.extend(address_notice::put_step(connection, outbox, account, new, at, step).await?);
    }
    Ok(mails)
}

/// Gives the account its new address and notifies the old one. Codes and sign-ins mailed to the old
/// address end, and so do the sessions of both addresses, except the caller's own session, which
/// continues under the new address.
pub async fn take_effect(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    account: &Account,
    new: &Email,
    kept: Option<Uuid>,
) -> Result<Option<ClaimedMail>> {
    replace(connection, outbox, clock, account, new, kept).await?;
    address_notice::put(connection, outbox, account, new, MadeBy::Account).await
}

/// Like [`take_effect`], for the operator, who has established that the owner cannot read the old mailbox. All
/// sessions end, and both mailboxes are notified.
pub async fn set_by_operator(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    account: &Account,
    new: &Email,
) -> Result<Vec<ClaimedMail>> {
    replace(connection, outbox, clock, account, new, None).await?;
    let warning = address_notice::put(connection, outbox, account, new, MadeBy::Operator).await?;
    let step = Step::SetByOperator;
    let notice = address_notice::put_step(connection, outbox, account, new, None, step).await?;
    Ok([warning, notice].into_iter().flatten().collect())
}

async fn replace(
    connection: &mut PgConnection,
    outbox: &Outbox,
    clock: &Clock,
    account: &Account,
    new: &Email,
    kept: Option<Uuid>,
) -> Result<()> {
    let (now, account_id) = (clock.now(), &account.account_id);
    // Without a mail server, it is unproven that the owner reads the new mailbox.
    let verified = outbox.mailer.is_configured().then_some(now);
    store::update_email(connection, account_id, new.as_str(), verified).await?;
    store::delete_address_change(connection, account_id).await?;
    store::delete_links_and_codes(connection, account_id).await?;
    for address in [&*account.email, new.as_str()] {
        membership_end::end(connection, account, address, kept).await?;
    }
    if let Some(session_id) = kept {
        sessions::update_address(connection, account_id, session_id, new.as_str()).await?;
    }
    store::delete_member_of(connection, account_id, new.as_str()).await?;
    preferences::insert_copy(connection, &account.email, new.as_str()).await
}

/// Withdraws the pending change, if there is one. Its links stay valid and still revoke everything that was
/// created since it was first requested: otherwise the person who requested it could protect new keys by
/// withdrawing it.
pub async fn withdraw(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    account_id: &AccountId,
    actor: &Actor,
) -> Result<()> {
    if store::update_change_withdrawn(connection, account_id, now).await? {
        let kind = ActivityKind::AddressChangeCancelled;
        events::record(connection, now, account_id, actor, kind, None).await?;
    }
    Ok(())
}

pub async fn apply_due(infra: &Infra) -> Result<()> {
    let now = infra.clock.now();
    let due = store::list_due_address_changes(&mut *infra.pool.acquire().await?, now).await?;
    for account_id in due {
        match apply(infra, &account_id).await {
            // An account was opened with the address during the transaction; the next run withdraws the change.
            Ok(()) | Err(Error::EmailRegistered) => {}
            // One failure must not delay the changes of other accounts.
            Err(error) => {
                tracing::error!(?error, %account_id, "a change of address did not take effect");
            }
        }
    }
    Ok(())
}

async fn apply(infra: &Infra, account_id: &AccountId) -> Result<()> {
    let (outbox, clock, now) = (&infra.outbox, &infra.clock, infra.clock.now());
    let mut transaction = infra.pool.begin().await?;
    let account = store::lock_account(&mut transaction, account_id).await?;
    // A suspended account keeps its pending change: its owner could not react to it.
    let Some(account) = account.filter(|it| it.status == Status::Active) else { return Ok(()) };
    let change = store::find_cancellable_change(&mut transaction, account_id).await?;
    let Some(change) = change.filter(|change| change.takes_effect_at <= now) else { return Ok(()) };
    if change.withdrawn_at.is_some() {
        store::delete_address_change(&mut transaction, account_id).await?;
        transaction.commit().await?;
        return Ok(());
    }
    let new = Email::parse(&change.new_address)?;
    let mail = match store::find_account_by_email(&mut transaction, new.as_str()).await? {
        Some(_) => {
            withdraw(&mut transaction, now, account_id, &Actor::Service).await?;
            let step = Step::Taken;
            address_notice::put_step(&mut transaction, outbox, &account, &new, None, step).await?
        }
        None => {
            let kind = ActivityKind::AddressChanged;
            events::record(&mut transaction, now, account_id, &Actor::Service, kind, None).await?;
            take_effect(&mut transaction, outbox, clock, &account, &new, None).await?
        }
    };
    transaction.commit().await?;
    address_notice::send(infra, mail);
    Ok(())
}
