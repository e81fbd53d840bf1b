//! The plans that the service offers.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::account::{Plan, TRIAL};

/// All plans.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PlanList {
    pub plans: Vec<PlanOffer>,
}

/// A plan, and what it costs beside the subscription.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct PlanOffer {
    pub id: Plan,
    /// Whether a public signup may ask for it.
    pub selectable: bool,
    /// Days before a subscription is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trial_days: Option<i64>,
    /// US cents, once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setup_fee_cents: Option<i64>,
    /// US cents per contact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resolved_contact_cents: Option<i64>,
}

/// The plans in the order in which they are shown.
pub fn offered() -> PlanList {
    let trial = PlanOffer {
        id: Plan::Free,
        selectable: true,
        trial_days: Some(TRIAL.num_days()),
        setup_fee_cents: Some(0),
        resolved_contact_cents: Some(0),
    };
    let unlimited = PlanOffer {
        id: Plan::Unlimited,
        selectable: false,
        trial_days: None,
        setup_fee_cents: None,
        resolved_contact_cents: None,
    };
    PlanList { plans: vec![trial, unlimited] }
}
