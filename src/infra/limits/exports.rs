//! How many exports an account may have under way, so that slow readers do not hold the memory of a node.
//!
//! Counted per node, in memory, whatever `RATE_LIMITS` says. A permit is held by the stream and given
//! back when it is dropped: at its end, or when its reader has gone.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::types::ids::AccountId;

/// Exports of one account at a time.
const AT_A_TIME: usize = 2;
/// After which another export may be tried.
const RETRY_AFTER_SECONDS: u64 = 10;

type UnderWay = HashMap<AccountId, usize>;

/// The exports of all accounts. Clones share them.
#[derive(Clone, Default)]
pub struct ExportLimits(Arc<Mutex<UnderWay>>);

/// The right to one export, until it is dropped.
pub struct ExportPermit {
    account_id: AccountId,
    under_way: Arc<Mutex<UnderWay>>,
}

impl ExportLimits {
    /// The right to one more export of the account, or `too many requests`.
    pub fn take(&self, account_id: &AccountId) -> Result<ExportPermit> {
        let mut under_way = lock(&self.0);
        let count = under_way.entry(account_id.clone()).or_default();
        if *count >= AT_A_TIME {
            return Err(Error::TooManyRequests { retry_after: RETRY_AFTER_SECONDS });
        }
        *count += 1;
        Ok(ExportPermit { account_id: account_id.clone(), under_way: Arc::clone(&self.0) })
    }
}

impl Drop for ExportPermit {
    fn drop(&mut self) {
        let mut under_way = lock(&self.under_way);
        if let Some(count) = under_way.get_mut(&self.account_id) {
            *count -= 1;
            if *count == 0 {
                under_way.remove(&self.account_id);
            }
        }
    }
}

/// Nothing that holds the lock can panic halfway.
fn lock(under_way: &Mutex<UnderWay>) -> MutexGuard<'_, UnderWay> {
    under_way.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_account_has_two_exports_at_a_time_and_not_those_of_others() {
        let limits = ExportLimits::default();
        let (ann, bob) = (AccountId::from("ann".to_owned()), AccountId::from("bob".to_owned()));
        let held = [limits.take(&ann), limits.take(&ann)];
        assert!(held.iter().all(Result::is_ok) && limits.take(&bob).is_ok());
        assert_eq!(limits.take(&ann).err().unwrap().retry_after(), Some(10));
        drop(held);
        assert!(limits.take(&ann).is_ok());
        assert!(lock(&limits.0).is_empty());
    }
}
