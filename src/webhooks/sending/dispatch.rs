use tracing::Instrument;
use uuid::Uuid;

use super::sender::{CLAIM, Sender};
use super::worker;
use crate::error::Result;
use crate::infra::supervise::survived;
use crate::webhooks::format::Format;
use crate::webhooks::kinds::known_kinds;
use crate::webhooks::store::claims::{self, ClaimedEndpoint};
use crate::webhooks::store::waiting;

/// Starts sending to every endpoint with due deliveries and no sender, without waiting for slow ones.
pub async fn send_due(sender: &Sender) -> Result<()> {
    if sender.infra.shutdown.has_begun() {
        return Ok(());
    }
    let (claim, known_version) = (Uuid::now_v7(), sender.infra.changes.version());
    for endpoint in claim_due(sender, claim).await? {
        let endpoint_id = endpoint.endpoint_id;
        sender.change_busy(|busy| busy.insert(endpoint_id));
        let sender = sender.clone();
        let work = async move {
            survived(worker::serve(&sender, endpoint, claim, known_version)).await;
            sender.change_busy(|busy| busy.remove(&endpoint_id));
        };
        tokio::spawn(work.in_current_span());
    }
    Ok(())
}

async fn claim_due(sender: &Sender, claim: Uuid) -> Result<Vec<ClaimedEndpoint>> {
    let (busy, room) = sender.busy();
    let mut connection = sender.infra.pool.acquire().await?;
    let now = sender.infra.clock.now();
    let formats = Format::ALL.iter().map(|format| format.as_str().to_owned()).collect::<Vec<_>>();
    let free = claims::list_free(&mut connection, now, &formats, &busy).await?;
    if free.is_empty() {
        return Ok(Vec::new());
    }
    let mut due = waiting::list_with_due(&mut connection, &free, &known_kinds(), now).await?;
    due.truncate(room);
    if due.is_empty() {
        return Ok(Vec::new());
    }
    claims::claim(&mut connection, &due, claim, now, now + CLAIM).await
}
