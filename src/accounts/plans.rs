use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::access::Anybody;
use super::account::{
    CONTACT_CENTS, CONTACTS_INCLUDED, MONTHLY_CENTS, PIXELS_INCLUDED, Plan, SETUP_CENTS, TRIAL,
};
use super::capability::{Capability, NoInput};
use super::tool::Tool;
use crate::error::Result;
use crate::infra::Infra;

/// All plans.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PlanList {
    pub plans: Vec<PlanOffer>,
}

/// A plan, what it costs and what it includes. What is left out has no bound, or no price.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PlanOffer {
    pub id: Plan,
    /// Whether a public signup may ask for it.
    pub selectable: bool,
    /// Days before a subscription is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial_days: Option<i64>,
    /// US cents per account and month, once the trial is over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub monthly_cents: Option<i64>,
    /// US cents, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_fee_cents: Option<i64>,
    /// US cents per contact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_contact_cents: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pixels_included: Option<i64>,
    /// New contacts per UTC calendar month.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub contacts_included: Option<i64>,
}

pub fn offered() -> PlanList {
    let trial = PlanOffer {
        id: Plan::Free,
        selectable: true,
        trial_days: Some(TRIAL.num_days()),
        monthly_cents: Some(MONTHLY_CENTS),
        setup_fee_cents: Some(SETUP_CENTS),
        resolved_contact_cents: Some(CONTACT_CENTS),
        pixels_included: Some(PIXELS_INCLUDED),
        contacts_included: Some(CONTACTS_INCLUDED),
    };
    let unlimited = PlanOffer {
        id: Plan::Unlimited,
        selectable: false,
        trial_days: None,
        monthly_cents: None,
        setup_fee_cents: None,
        resolved_contact_cents: None,
        pixels_included: None,
        contacts_included: None,
    };
    PlanList { plans: vec![trial, unlimited] }
}

/// The plans that there are.
pub struct ListPlans;

impl Capability for ListPlans {
    const NAME: &'static str = "list_plans";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "List plans",
        "Tells the plans: what a trial includes, and what it costs after that. Needs no key.",
    ));
    type Service = Infra;
    type Access = Anybody;
    type Input = NoInput;
    type Output = PlanList;

    async fn run(_: &Infra, (): (), _: NoInput) -> Result<PlanList> {
        Ok(offered())
    }
}
