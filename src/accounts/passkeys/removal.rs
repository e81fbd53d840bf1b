use uuid::Uuid;

use super::store;
use crate::accounts::actor::Actor;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::mails::passkey_notice::ChangedPasskey;
use crate::accounts::mails::safety::{self, put_changed_passkey};
use crate::accounts::members::member::{Member, lock_membership};
use crate::error::Result;
use crate::infra::Infra;

/// Removes a passkey of the member. `false` when the member has no such passkey.
pub async fn remove(infra: &Infra, member: &Member, passkey_id: Uuid) -> Result<bool> {
    let (now, address) = (infra.clock.now(), &member.address);
    let account_id = &member.account.account_id;
    let mut transaction = infra.pool.begin().await?;
    let membership = lock_membership(&mut transaction, account_id, address).await?;
    let Some(membership) = membership else { return Ok(false) };
    let removed = store::delete_passkey(&mut transaction, address, passkey_id).await?;
    let Some(name) = removed else { return Ok(false) };
    let (actor, kind) = (Actor::Member(address.clone()), ActivityKind::PasskeyRemoved);
    events::record(&mut transaction, now, account_id, &actor, kind, Some(&name)).await?;
    let change = ChangedPasskey { address: address.clone(), name, at: now, is_added: false };
    let account = &membership.account;
    let mail = put_changed_passkey(&mut transaction, &infra.outbox, account, &change).await?;
    transaction.commit().await?;
    safety::send(infra, mail);
    Ok(true)
}
