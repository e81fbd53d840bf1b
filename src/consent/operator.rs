//! What the operator erases from the command line, on a person's or a customer's demand.

use std::fmt;

use super::directory;
use super::store::erasure;
use crate::accounts;
use crate::accounts::code_requests::address_hash;
use crate::error::Error;
use crate::ids::{AccountId, PixelRef, VisitorId};
use crate::pixels;
use crate::platform::Platform;

/// A refusal in one sentence for the terminal.
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

/// What was deleted, and how many of each; one line each.
pub struct Erased(Vec<(&'static str, u64)>);

impl fmt::Display for Erased {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|(what, count)| writeln!(formatter, "{what}: {count}"))
    }
}

/// Deletes what a pixel's visitor left: receipts, and the days on which the popup was shown.
///
/// The pixel is named by its id or an alias; a deleted one, whose receipts remain, by its id.
pub async fn erase_visitor(
    platform: &Platform,
    pixel: &str,
    visitor_id: &str,
) -> Result<Erased, OperatorError> {
    let unknown = || OperatorError::NoSuchPixel(pixel.to_owned());
    let name = PixelRef::parse(pixel).ok_or_else(unknown)?;
    let visitor_id = VisitorId::parse(visitor_id).ok_or(OperatorError::MalformedVisitor)?;
    let mut transaction = platform.pool.begin().await?;
    let pixel_id = erasure::find_canonical(&mut transaction, &name).await?.ok_or_else(unknown)?;
    let receipts =
        erasure::delete_receipts_of_visitor(&mut transaction, &pixel_id, &visitor_id).await?;
    let shown = erasure::delete_shown_of_visitor(&mut transaction, &pixel_id, &visitor_id).await?;
    transaction.commit().await?;
    Ok(Erased(vec![("receipts", receipts), ("days shown", shown)]))
}

/// Deletes an account with all that is kept of its pixels, present and former, and their visitors.
///
/// It is suspended first and a few seconds pass, until every node has stopped recording for it;
/// what was cut off before the end is finished by calling this again.
pub async fn erase_account(platform: &Platform, account_id: &str) -> Result<Erased, OperatorError> {
    accounts::operator::suspend(platform, account_id).await?;
    tokio::time::sleep(directory::LIFE).await;

    let unknown = || accounts::operator::OperatorError::NoSuchAccount(account_id.to_owned());
    let id = AccountId::parse(account_id).ok_or_else(unknown)?;
    let mut transaction = platform.pool.begin().await?;
    let account =
        accounts::store::lock_account(&mut transaction, &id).await?.ok_or_else(unknown)?;
    let pixel_ids = erasure::list_pixels_ever(&mut transaction, &id).await?;
    let consent = erasure::delete_all_of_pixels(&mut transaction, &pixel_ids).await?;
    let ended = pixels::store::delete_pixels_of(&mut transaction, &id).await?;
    let account_rows =
        accounts::store::erasure::delete_account_and_credentials(&mut transaction, &id).await?;
    let hash = address_hash(&account.email);
    let requests = accounts::store::erasure::delete_code_requests(&mut transaction, &hash).await?;
    platform.changes.commit(transaction).await?;
    Ok(Erased(vec![
        ("accounts", account_rows.accounts),
        ("API keys", account_rows.api_keys),
        ("signup tokens, links and codes", account_rows.proofs),
        ("counts of requested codes", requests),
        ("pixels", ended.pixels),
        ("aliases", ended.aliases),
        ("contacts", ended.contacts),
        ("consent policies", consent.policies),
        ("appearances", consent.appearances + ended.appearances),
        ("receipts", consent.receipts),
        ("days shown", consent.shown),
    ]))
}
