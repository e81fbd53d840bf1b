use std::sync::Arc;

use super::keys::key_attempts::KeyMemory;
use crate::infra::Infra;
use crate::infra::limits::per_account::AccountLimits;
use crate::infra::limits::per_client::RateLimits;

#[derive(Clone)]
pub struct Accounts {
    pub infra: Infra,
    pub limits: Arc<RateLimits>,
    pub account_limits: Arc<AccountLimits>,
    pub key_memory: KeyMemory,
}

impl Accounts {
    pub fn start(infra: Infra) -> Self {
        let limits = Arc::new(RateLimits::new(infra.clock.clone(), infra.config.rate_limits));
        let account_limits = AccountLimits::new(infra.clock.clone(), infra.config.rate_limits);
        let account_limits = Arc::new(account_limits);
        let key_memory = KeyMemory::start(infra.clock.clone(), infra.pool.clone());
        Self { infra, limits, account_limits, key_memory }
    }
}
