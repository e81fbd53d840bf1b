//! One store of contacts at a time for each account.
//!
//! Stores of one account wait for each other in the database (its row is locked), and each would
//! hold a connection while it waits: one busy account could take all of a node's connections.
//! So they wait here first, with nothing in hand.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::types::ids::AccountId;

/// Accounts that share a lock wait for each other too, which does no harm.
const LOCKS: usize = 256;
const WAIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Lets one store per account through at a time. Clones are the same locks.
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
        // Below LOCKS, so it fits whatever the size of a pointer.
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
