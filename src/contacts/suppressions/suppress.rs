use super::entry::SuppressionSource;
use super::store;
use crate::accounts::access::Caller;
use crate::accounts::event::EventKind;
use crate::accounts::lock_account;
use crate::contacts::erasure::erase_from_account;
use crate::contacts::service::Contacts;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::hem::Hem;

/// Erases a person on all pixels of the account, and prevents storing them again.
pub async fn suppress(contacts: &Contacts, caller: &Caller, hem: Hem) -> Result<()> {
    let Contacts { infra, locks, .. } = contacts;
    let account_id = caller.account_id();
    let _lock = locks.take(account_id).await?;
    let mut transaction = infra.pool.begin().await?;
    lock_account(&mut transaction, account_id).await?.ok_or(Error::NotInGoodStanding)?;
    let now = infra.clock.now();
    let source = SuppressionSource::Owner;
    let added =
        store::insert_suppressions(&mut transaction, account_id, &[hem], source, now).await?;
    if added > 0 {
        let kind = EventKind::PersonSuppressed;
        caller.note(&mut transaction, now, account_id, kind, None).await?;
    }
    let erased = erase_from_account(&mut transaction, account_id, &[hem]).await?;
    transaction.commit().await?;
    tracing::info!(%account_id, erased, "a person is suppressed");
    Ok(())
}

/// Allows storing a person again; erased contacts are not restored.
pub async fn unsuppress(infra: &Infra, caller: &Caller, hem: Hem) -> Result<()> {
    let (account_id, now) = (caller.account_id(), infra.clock.now());
    let mut transaction = infra.pool.begin().await?;
    if store::delete_suppression(&mut transaction, account_id, hem).await? {
        let kind = EventKind::PersonUnsuppressed;
        caller.note(&mut transaction, now, account_id, kind, None).await?;
    }
    transaction.commit().await?;
    Ok(())
}
