//! Whose turn it is to store.
//!
//! Stores of one account wait for each other in the database (its row is locked), and each would
//! hold a connection while it waits: one busy account could take all of a node's connections.
//! So they wait here first, with nothing in hand.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Mutex, MutexGuard};

use crate::error::{Error, Result};
use crate::ids::AccountId;

/// Accounts that share a door wait for each other too, which does no harm.
const DOORS: usize = 256;
const PATIENCE: Duration = Duration::from_secs(10);

/// Lets one store per account through at a time. Clones are the same doors.
#[derive(Clone)]
pub struct Turns {
    doors: Arc<[Mutex<()>]>,
    hasher: RandomState,
}

impl Turns {
    pub fn new() -> Self {
        let doors = std::iter::repeat_with(|| Mutex::new(())).take(DOORS).collect();
        Self { doors, hasher: RandomState::new() }
    }

    /// Waits for the account's turn, which lasts until the guard is dropped.
    pub async fn take(&self, account_id: &AccountId) -> Result<MutexGuard<'_, ()>> {
        let hash = self.hasher.hash_one(account_id);
        // Below DOORS, so it fits whatever the size of a pointer.
        let door = &self.doors[(hash % DOORS as u64) as usize];
        let turn = tokio::time::timeout(PATIENCE, door.lock()).await;
        turn.map_err(|_| Error::Busy { retry_after: 1 })
    }
}

impl Default for Turns {
    fn default() -> Self {
        Self::new()
    }
}
