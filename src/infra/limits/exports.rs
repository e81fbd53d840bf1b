//! The limit of concurrent exports per account and node, so that slow readers cannot use up its memory.
//! It applies regardless of `RATE_LIMITS`. The stream of an export owns the permit.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::types::ids::AccountId;

const AT_A_TIME: usize = 2;
const RETRY_AFTER_SECONDS: u64 = 10;

type UnderWay = HashMap<AccountId, usize>;

#[derive(Clone, Default)]
pub struct ExportLimits(Arc<Mutex<UnderWay>>);

pub struct ExportPermit {
    account_id: AccountId,
    under_way: Arc<Mutex<UnderWay>>,
}

impl ExportLimits {
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

/// Ignores poisoning: no code under the lock can panic halfway through a change.
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
