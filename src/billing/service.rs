//! What billing works with.

use super::stripe::Stripe;
use crate::accounts::service::Accounts;
use crate::infra::Infra;

/// The payment provider, and the accounts that pay through it.
#[derive(Clone)]
pub struct Billing {
    pub infra: Infra,
    pub accounts: Accounts,
    pub stripe: Stripe,
}

impl Billing {
    pub fn new(infra: Infra, accounts: Accounts) -> Self {
        Self { stripe: Stripe::new(&infra.config.stripe), infra, accounts }
    }
}
