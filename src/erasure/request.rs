use chrono::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sqlx::PgPool;
use utoipa::ToSchema;

use super::store::{self, NewRequest};
use crate::accounts::access::Anybody;
use crate::accounts::capability::Capability;
use crate::error::{Error, FieldError, Result, missing_field};
use crate::infra::events::{self, EventKind, Events, NewEvent};
use crate::infra::limits::per_client::Limit;
use crate::infra::limits::per_pixel::VisitorWrite;
use crate::policies::sites::Site;
use crate::receipts::delete_test_receipts_of_visitor;
use crate::receipts::service::Receipts;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{PixelId, PixelRef, VisitorId, uuid_v7};
use crate::types::text::present;

pub(super) const TIME: Duration = Duration::days(30);

/// A visitor who wants to be erased.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ErasureRequest {
    /// Canonical id, alias or test id.
    #[schemars(with = "PixelRef")]
    #[schema(value_type = PixelRef)]
    pub pixel_id: Option<String>,
    #[schemars(with = "VisitorId")]
    #[schema(value_type = VisitorId)]
    pub visitor_id: Option<String>,
}

/// A request that was heard, whether there is such a visitor or not.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ErasureReceived {
    /// Always true.
    pub received: bool,
}

/// Keeps the request if the pixel has a receipt of the visitor and no open request. Nobody learns
/// which it was: ids that are nobody's are limited as those of pixels are. Test choices are deleted at once.
pub struct RequestErasure;

impl Capability for RequestErasure {
    const NAME: &'static str = "request_erasure";
    const LIMIT: Option<Limit> = Some(Limit::ErasureRequests);
    type Service = Receipts;
    type Access = Anybody;
    type Input = ErasureRequest;
    type Output = ErasureReceived;

    fn refusals() -> Vec<Error> {
        vec![missing_field("visitor_id"), Error::TooManyRequests { retry_after: 1 }]
    }

    async fn run(receipts: &Receipts, (): (), request: ErasureRequest) -> Result<ErasureReceived> {
        let (name, visitor_id) = request.ids()?;
        let received = ErasureReceived { received: true };
        let Some(name) = name.into_id() else { return Ok(received) };
        let site = receipts.sites.find(&name).await?;
        let of_nobody = || PixelId::from(name.to_string());
        let pixel_id = site.as_ref().map_or_else(of_nobody, |site| site.pixel.pixel_id.clone());
        receipts.limits.admit(VisitorWrite::ErasureRequest, &pixel_id)?;
        let Some(visitor_id) = visitor_id.into_id() else { return Ok(received) };
        if let Some(site) = receipts.sites.find_tested(&name).await? {
            let (pixel_id, mut connection) =
                (&site.pixel.pixel_id, receipts.infra.pool.acquire().await?);
            delete_test_receipts_of_visitor(&mut connection, pixel_id, &visitor_id).await?;
            return Ok(received);
        }
        let now = receipts.infra.clock.now();
        let new = NewRequest {
            pixel_id: &pixel_id,
            request_id: uuid_v7(now),
            visitor_id: &visitor_id,
            requested_at: now,
            due_at: now + TIME,
        };
        keep(&receipts.infra.pool, &receipts.infra.events, site.as_deref(), &new).await?;
        Ok(received)
    }
}

async fn keep(
    pool: &PgPool,
    events: &Events,
    site: Option<&Site>,
    new: &NewRequest<'_>,
) -> Result<()> {
    let Some(site) = site else { return Ok(()) };
    let subscribers = events.subscribers(&site.pixel.account_id).await?;
    let mut transaction = pool.begin().await?;
    if !store::insert_request(&mut transaction, new).await? {
        return Ok(());
    }
    let event = NewEvent {
        kind: EventKind::ErasureRequested,
        pixel_id: Some(new.pixel_id),
        subject: json!({"request_id": new.request_id}),
        occurred_at: new.requested_at,
    };
    let is_wanted = subscribers.want(event.kind, event.pixel_id);
    if is_wanted {
        events::put(&mut transaction, &subscribers, &[event]).await?;
    }
    transaction.commit().await?;
    if is_wanted {
        events.wake();
    }
    tracing::info!(pixel_id = %new.pixel_id, "a visitor asks for erasure");
    Ok(())
}

impl ErasureRequest {
    pub(super) fn ids(&self) -> Result<(IdParam<PixelRef>, IdParam<VisitorId>)> {
        let ids = [("pixel_id", &self.pixel_id), ("visitor_id", &self.visitor_id)];
        let ids = ids.map(|(name, text)| (name, present(text.as_deref())));
        let missing = ids.iter().filter(|(_, text)| text.is_none());
        let missing =
            missing.map(|(name, _)| FieldError::new(&["body", name], "field required", "missing"));
        match ids {
            [(_, Some(pixel_id)), (_, Some(visitor_id))] => {
                Ok((pixel_id.into(), visitor_id.into()))
            }
            _ => Err(Error::Validation(missing.collect())),
        }
    }
}
