use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use crate::accounts::access::{AllSites, Caller};
use crate::accounts::account::{CONTACT_CENTS, MONTHLY_CENTS, Plan, SETUP_CENTS};
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::scope::Oversees;
use crate::accounts::tool::Tool;
use crate::contacts::allowance::{self, Allowance};
use crate::error::Result;
use crate::infra::Infra;

/// What the present month costs; amounts in US cents.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct Quote {
    pub plan: Plan,
    /// New contacts stored in the present UTC calendar month.
    pub contact_count: i64,
    pub setup_cents: i64,
    /// Per contact.
    pub contact_cents: i64,
    /// For all contacts of the month.
    pub usage_cents: i64,
    /// Subscription and usage; zero for trial and unlimited plans.
    pub total_cents: i64,
    pub allowance: Allowance,
}

/// Calculates what the account's plan costs in the present month. Charges nothing.
pub struct ShowQuote;

impl Capability for ShowQuote {
    const NAME: &'static str = "show_quote";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Show the quote",
        "Tells what the account costs this month, and its allowance. Charges nothing.",
    ));
    type Service = Infra;
    type Access = AllSites<Oversees>;
    type Input = NoInput;
    type Output = Quote;

    async fn run(infra: &Infra, caller: Caller, _: NoInput) -> Result<Quote> {
        let account = &caller.account;
        let mut connection = infra.pool.acquire().await?;
        let now = infra.clock.now();
        let allowance = allowance::current(&mut connection, now, account).await?;
        let usage_cents = allowance.contacts_used * CONTACT_CENTS;
        let monthly_cents = match account.plan {
            Plan::Paid => MONTHLY_CENTS,
            Plan::Free | Plan::Unlimited => 0,
        };
        Ok(Quote {
            plan: account.plan,
            contact_count: allowance.contacts_used,
            setup_cents: SETUP_CENTS,
            contact_cents: CONTACT_CENTS,
            usage_cents,
            total_cents: monthly_cents + usage_cents,
            allowance,
        })
    }
}
