use chrono::{DateTime, Utc};
use serde_json::json;
use uuid::Uuid;

use super::body;
use super::delivery::DeliveryView;
use super::endpoint::PausedBecause;
use super::endpoints::find;
use super::input::OfEndpoint;
use super::kinds::TEST;
use super::pausing::pause;
use super::secrets::open_secrets;
use super::sending::attempt::{Target, attempt};
use super::sending::bodies::Made;
use super::sending::outcome::Attempted;
use super::store::claims::{self, EndpointHealth};
use super::store::deliveries::{self, Delivery};
use super::store::waiting::{self, DueDelivery, KEPT_DELIVERIES};
use crate::accounts::access::{AllSites, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Operates;
use crate::accounts::tool::Tool;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::types::ids::{AccountId, uuid_v7};

/// Sends a test event, even to a paused endpoint. A success clears the endpoint's failures.
pub struct TestWebhook;

impl Capability for TestWebhook {
    const NAME: &'static str = "test_webhook";
    const TOOL: Option<Tool> = Some(Tool::ADDITIVE.open_world().described(
        "Test a webhook",
        "Sends a test event to a webhook and tells how it was answered.",
    ));
    type Service = Infra;
    type Access = AllSites<Operates>;
    type Input = OfEndpoint;
    type Output = DeliveryView;

    fn refusals() -> Vec<Error> {
        vec![Error::WebhookNotFound, Error::TooManyRequests { retry_after: 6 }]
    }

    async fn run(infra: &Infra, caller: Caller, request: OfEndpoint) -> Result<DeliveryView> {
        let endpoint_id = request.id()?;
        let (account_id, _guard) = (caller.account_id(), infra.shutdown.delay());
        let (endpoint, secrets) = {
            let mut connection = infra.pool.acquire().await?;
            let endpoint = find(&mut connection, &caller, endpoint_id).await?;
            (
                endpoint,
                open_secrets(&infra.clock, &infra.webhook_encryptor, &mut connection, endpoint_id)
                    .await?,
            )
        };
        if secrets.is_empty() {
            return Err(Error::internal("no receipt secret opens the secret of a webhook"));
        }
        let _slot = infra.fetch_slots.take(account_id.as_str())?;
        let target =
            Target::find(&infra.webhook_post, &endpoint.url, &endpoint.format, secrets).await?;
        let event = test_event(infra.clock.now(), account_id, endpoint_id);
        let body = body::of(infra, target.format, &[&event]).await?.pop().flatten();
        let attempted = attempt(&infra.clock, &target, event, Made::of(body)).await;
        infra.metrics.webhooks.count(attempted.result());
        let mut transaction = infra.pool.begin().await?;
        let delivery = delivery(&attempted);
        claims::lock(&mut transaction, endpoint_id).await?;
        deliveries::insert_attempted(&mut transaction, &attempted.due, &delivery).await?;
        waiting::delete_settled(&mut transaction, &[endpoint_id], KEPT_DELIVERIES).await?;
        if attempted.is_delivered() && endpoint.failing_since.is_some() {
            claims::update_health(&mut transaction, &[&EndpointHealth::good(endpoint_id)]).await?;
            waiting::update_due_now(&mut transaction, &[endpoint_id], attempted.at).await?;
        }
        transaction.commit().await?;
        if attempted.says_gone() {
            pause(infra, account_id, endpoint_id, PausedBecause::Gone).await?;
        }
        infra.events.wake();
        Ok(DeliveryView::of(delivery, account_id))
    }
}

fn test_event(now: DateTime<Utc>, account_id: &AccountId, endpoint_id: Uuid) -> DueDelivery {
    DueDelivery {
        endpoint_id,
        partition_key: account_id.to_string(),
        seq: 0,
        event_id: uuid_v7(now),
        kind: TEST.to_owned(),
        subject: json!({}),
        occurred_at: now,
        attempts: 0,
        failing_since: None,
    }
}

/// The delivery of a test event, which is not retried automatically.
fn delivery(attempted: &Attempted) -> Delivery {
    let (due, settled) = (&attempted.due, attempted.settled());
    let settled = settled.as_ref();
    Delivery {
        event_id: due.event_id,
        kind: due.kind.clone(),
        partition_key: due.partition_key.clone(),
        occurred_at: due.occurred_at,
        attempts: 1,
        attempted_at: Some(attempted.at),
        next_attempt_at: None,
        delivered_at: attempted.is_delivered().then_some(attempted.at),
        status: settled.and_then(|settled| settled.status),
        answer: settled.and_then(|settled| settled.answer.clone()),
        failure: settled.and_then(|settled| settled.failure.clone()),
    }
}
