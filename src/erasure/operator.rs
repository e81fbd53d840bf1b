use std::fmt;

use sqlx::{PgConnection, PgPool};

use super::view::ErasedRows;
use super::{store, visitor};
use crate::accounts::limits::mailbox;
use crate::accounts::signup::code_pause::key_of;
use crate::clock::Clock;
use crate::error::Error;
use crate::infra::changes::Invalidation;
use crate::infra::{Infra, postgres};
use crate::types::email::Email;
use crate::types::ids::{AccountId, PixelRef, VisitorId};
use crate::{accounts, contacts, pixels, receipts};

#[derive(Debug, thiserror::Error)]
pub enum OperatorError {
    #[error("no pixel has the id {0}")]
    NoSuchPixel(String),
    #[error("a visitor id has 1 to 128 letters, digits, '-' or '_'")]
    MalformedVisitor,
    #[error(transparent)]
    Account(#[from] accounts::operator::OperatorError),
    #[error(transparent)]
    Failed(#[from] Error),
}

impl From<sqlx::Error> for OperatorError {
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(error.into())
    }
}

pub struct Erased(Vec<(&'static str, u64)>);

impl fmt::Display for Erased {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(what, count)| writeln!(formatter, "{what}: {count}"))
    }
}

/// Deletes the data of a pixel's visitor, as its owner can. The pixel is named by its id or an
/// alias; a deleted one, whose receipts remain, by its id.
pub async fn erase_visitor(
    pool: &PgPool,
    clock: &Clock,
    pixel: &str,
    visitor_id: &str,
) -> Result<Erased, OperatorError> {
    let unknown = || OperatorError::NoSuchPixel(pixel.to_owned());
    let name = PixelRef::parse(pixel).ok_or_else(unknown)?;
    let visitor_id = VisitorId::parse(visitor_id).ok_or(OperatorError::MalformedVisitor)?;
    let mut transaction = pool.begin().await?;
    let pixel_id = receipts::find_canonical(&mut transaction, &name).await?.ok_or_else(unknown)?;
    // Waits for transactions that store contacts of the visitor; a deleted pixel has none.
    pixels::lock_pixel(&mut transaction, &pixel_id).await?;
    let erased = visitor::erase(&mut transaction, clock, &pixel_id, &visitor_id).await?;
    transaction.commit().await?;
    let ErasedRows { receipts, contacts, days_shown } = erased;
    Ok(Erased(vec![
        ("receipts", receipts.unsigned_abs()),
        ("contacts", contacts.unsigned_abs()),
        ("days shown", days_shown.unsigned_abs()),
    ]))
}

/// Deletes an account with all data of its pixels, present and former, and their visitors. Suspends
/// the account first and waits for running recordings, so that no node records anything for it
/// afterwards. An interrupted deletion is completed by a repeated call.
pub async fn erase_account(infra: &Infra, account_id: &AccountId) -> Result<Erased, OperatorError> {
    accounts::operator::suspend(infra, account_id).await?;
    let mut connection = infra.pool.acquire().await?;
    receipts::wait_for_recorders(&mut connection).await?;
    drop(connection);

    let unknown = || accounts::operator::OperatorError::NoSuchAccount(account_id.to_string());
    let mut transaction = infra.pool.begin().await?;
    postgres::without_time_limit(&mut transaction).await?;
    let account =
        accounts::lock_account(&mut transaction, account_id).await?.ok_or_else(unknown)?;
    let pixel_ids = receipts::list_pixels_ever(&mut transaction, account_id).await?;
    let asked = store::delete_requests_of_pixels(&mut transaction, &pixel_ids).await?;
    // Pixels are deleted first: this waits for transactions that publish a policy, because they lock its pixel.
    let ended = pixels::delete_pixels_of(&mut transaction, account_id).await?;
    let consent = receipts::delete_all_of_pixels(&mut transaction, &pixel_ids).await?;
    let suppressed =
        contacts::suppressions::delete_of_account(&mut transaction, account_id).await?;
    let account_rows =
        accounts::delete_account_and_credentials(&mut transaction, account_id).await?;
    let (requests, mailed) = forget_mailbox(&mut transaction, &account.email).await?;
    accounts::sign_in::delete_of_address(&mut transaction, &account.email).await?;
    infra.changes.commit(transaction, &Invalidation::of_account(account_id)).await?;
    Ok(Erased(vec![
        ("accounts", account_rows.accounts),
        ("API keys", account_rows.api_keys),
        ("members", account_rows.members),
        ("events", account_rows.events),
        ("signup tokens, links and codes", account_rows.verifications),
        ("counts of requested codes", requests),
        ("counts of mails", mailed),
        ("pixels", ended.pixels),
        ("aliases", ended.aliases),
        ("contacts", ended.contacts),
        ("suppressions", suppressed),
        ("requests for erasure", asked),
        ("consent policies", consent.policies),
        ("appearances", consent.appearances + ended.appearances),
        ("receipts", consent.receipts),
        ("days shown", consent.shown),
    ]))
}

/// Resets the limits of codes and mails for an address. Nothing is counted for addresses that
/// cannot receive mail, such as the demo account's.
async fn forget_mailbox(connection: &mut PgConnection, address: &str) -> Result<(u64, u64), Error> {
    let Ok(email) = Email::parse(address) else { return Ok((0, 0)) };
    let key = key_of(&email);
    let codes = accounts::delete_code_requests(connection, key.as_bytes()).await?;
    Ok((codes, mailbox::forget(connection, &email).await?))
}
