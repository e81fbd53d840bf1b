use super::stripe::Stripe;
use crate::accounts::service::Accounts;
use crate::infra::Infra;

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
