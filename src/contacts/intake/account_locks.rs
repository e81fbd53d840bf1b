//! Serialises stores of contacts per account. Stores of one account wait for the lock on its row, and each
//! would hold a connection meanwhile: one busy account could take all connections of a node. So they wait
//! here first, without a connection.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::types::ids::AccountId;

/// Accounts with the same lock wait for each other too, which is harmless.
const LOCKS: usize = 256;
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Lets one store per account through at a time. Clones share the locks.
#[derive(Clone)]
pub struct AccountLocks {
    locks: Arc<[Mutex<()>]>,
    hasher: RandomState,
}

impl AccountLocks {
    pub fn new() -> Self {
        let locks = std::iter::repeat_with(|| Mutex::new(())).take(LOCKS).collect();
        Self { locks, hasher: RandomState::new() }
    }

    /// Waits for the account's lock, which is held until the guard is dropped.
    pub async fn take(&self, account_id: &AccountId) -> Result<MutexGuard<'_, ()>> {
        let hash = self.hasher.hash_one(account_id);
        // The remainder is below `LOCKS`, so the cast is lossless on every platform.
        let lock = &self.locks[(hash % LOCKS as u64) as usize];
        let held = tokio::time::timeout(WAIT_TIMEOUT, lock.lock()).await;
        held.map_err(|_| Error::Busy { retry_after: 1 })
    }
}

impl Default for AccountLocks {
    fn default() -> Self {
        Self::new()
    }
}
