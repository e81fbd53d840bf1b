use serde::Serialize;

use super::store;
use crate::accounts;
use crate::accounts::access::{Caller, KeyHolder};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::Governs;
use crate::billing;
use crate::error::Result;
use crate::infra::Infra;
use crate::pixels::list_pixels;
use crate::receipts::list_pixels_ever;

/// Larger numbers would take too long to count.
pub const MOST_COUNTED: i64 = 100_000;

/// The amount of data of an account. Counting stops one above [`MOST_COUNTED`].
#[derive(Debug, Serialize)]
pub struct Summary {
    pub hosts: Vec<String>,
    pub receipts: i64,
    pub contacts: i64,
    pub suppressions: i64,
    pub keys: i64,
    /// Without the account's own address.
    pub members: i64,
    pub has_subscription: bool,
}

/// Counts what is stored for the caller's account.
pub struct SummarizeAccount;

impl Capability for SummarizeAccount {
    const NAME: &'static str = "summarize_account";
    type Service = Infra;
    type Access = KeyHolder<Governs>;
    type Input = NoInput;
    type Output = Summary;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Summary> {
        let account_id = caller.account_id();
        let mut connection = infra.pool.acquire().await?;
        let pixels = list_pixels(&mut connection, account_id).await?;
        let pixel_ids = list_pixels_ever(&mut connection, account_id).await?;
        let most = MOST_COUNTED + 1;
        let counted = store::count_stored(&mut connection, account_id, &pixel_ids, most).await?;
        let keys = accounts::list_live_keys(&mut connection, account_id, infra.clock.now()).await?;
        let members = accounts::list_members(&mut connection, account_id).await?;
        let bought = billing::list_subscriptions(&mut connection, account_id).await?;
        let length = |length: usize| i64::try_from(length).unwrap_or(i64::MAX);
        Ok(Summary {
            hosts: pixels.into_iter().map(|pixel| pixel.domain.to_string()).collect(),
            receipts: counted.receipts,
            contacts: counted.contacts,
            suppressions: counted.suppressions,
            keys: length(keys.len()),
            members: length(members.len()),
            has_subscription: bought.iter().any(|known| !known.ended),
        })
    }
}
