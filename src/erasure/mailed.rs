use chrono::{Duration, NaiveTime};
use schemars::JsonSchema;
use serde::Deserialize;
use utoipa::ToSchema;

use super::request::TIME;
use super::store::{self, MailedRequest};
use super::view::ErasureRequestView;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::event::ActivityKind;
use crate::accounts::scope::Operates;
use crate::accounts::tool::Tool;
use crate::error::{BODY, Error, FieldError, Result, missing_field};
use crate::infra::Infra;
use crate::pixels::lock_pixel;
use crate::pixels::setup::find_for;
use crate::types::hem::Hem;
use crate::types::ids::{PixelParam, uuid_v7};
use crate::types::seen_at::parse_day;
use crate::types::text::present;

/// The maximum age of a request that can be recorded.
const OLDEST: Duration = Duration::days(90);

/// A request that arrived by email.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct ReceivedRequest {
    /// Who asks.
    #[schemars(with = "Hem")]
    #[schema(value_type = Hem)]
    pub hem: Option<String>,
    /// One of the last 90 days; today when left out.
    #[schema(format = Date)]
    pub received_on: Option<String>,
}

/// A request that arrived by email, and the pixel that it concerns.
#[derive(Deserialize, JsonSchema)]
pub struct RequestOfPixel {
    pub pixel_id: PixelParam,
    #[serde(flatten)]
    pub request: ReceivedRequest,
}

/// Records a request that arrived by email. Idempotent while the person has an open one.
pub struct AddErasureRequest;

impl Capability for AddErasureRequest {
    const NAME: &'static str = "add_erasure_request";
    const TOOL: Option<Tool> = Some(
        Tool::ADDITIVE
            .idempotent()
            .described("Record an erasure request", "Records a request that arrived by email."),
    );
    type Service = Infra;
    type Access = ActiveAccount<Operates>;
    type Input = RequestOfPixel;
    type Output = ErasureRequestView;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::HemMalformed, missing_field("hem"), wrong_day()]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        input: RequestOfPixel,
    ) -> Result<ErasureRequestView> {
        let RequestOfPixel { pixel_id, request } = input;
        let pixel = find_for(&infra.pool, &caller, &pixel_id).await?;
        let pixel_id = &pixel.pixel_id;
        let hem = present(request.hem.as_deref());
        let hem = Hem::parse(hem.ok_or_else(|| missing_field("hem"))?)?;
        let now = infra.clock.now();
        let requested_at = match present(request.received_on.as_deref()) {
            None => now,
            Some(text) => {
                let day = parse_day(text).map_err(|_| wrong_day())?;
                let start = day.and_time(NaiveTime::MIN).and_utc();
                Some(start)
                    .filter(|start| (now - OLDEST..=now).contains(start))
                    .ok_or_else(wrong_day)?
            }
        };
        let request_id = uuid_v7(now);
        let due_at = requested_at + TIME;
        let new =
            MailedRequest { pixel_id, request_id, hem, requested_at, due_at, recorded_at: now };
        let mut transaction = infra.pool.begin().await?;
        lock_pixel(&mut transaction, pixel_id).await?.ok_or(Error::PixelNotFound)?;
        let kept = store::insert_mailed(&mut transaction, &new).await?;
        if kept == request_id {
            let (kind, subject) = (ActivityKind::ErasureRequestAdded, Some(pixel_id.as_str()));
            caller.record(&mut transaction, now, &pixel.account_id, kind, subject).await?;
        }
        let found = store::find_request(&mut transaction, pixel_id, kept).await?;
        transaction.commit().await?;
        found.ok_or(Error::ErasureRequestNotFound)
    }
}

fn wrong_day() -> Error {
    let msg = "must be a day of the last 90";
    Error::Validation(vec![FieldError::new(&[BODY, "received_on"], msg, "value_error")])
}
