use super::allowance::pause::Pauses;
use super::intake::account_locks::AccountLocks;
use crate::infra::Infra;

#[derive(Clone)]
pub struct Contacts {
    pub infra: Infra,
    pub locks: AccountLocks,
    pub pauses: Pauses,
}

impl Contacts {
    pub fn new(infra: Infra) -> Self {
        Self { locks: AccountLocks::new(), pauses: Pauses::new(&infra), infra }
    }
}
