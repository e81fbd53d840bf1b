//! Accepts reports: checks, stores and logs them, and notifies the owner if the site has started or stopped leaking.

use chrono::Duration;
use schemars::JsonSchema;
use serde::Deserialize;

use super::given::{CheckedReport, GivenReport};
use super::leaks::allowed_hosts;
use super::state::{NewReport, after};
use super::view::WatchReportView;
use super::{mails, store};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::scope::Operates;
use crate::error::{Error, Result, wrong_field};
use crate::infra::Infra;
use crate::infra::events::{self, NewEvent};
use crate::infra::outbox::ClaimedMail;
use crate::pixels::lock_pixel;
use crate::pixels::pixel::Pixel;
use crate::pixels::setup::find_for;
use crate::proof::format::entry::Kind;
use crate::proof::publications;
use crate::types::ids::{PixelParam, uuid_v7};

/// Maximum number of reports that watchers may submit for a pixel in 24 hours.
const MAX_PER_DAY: i64 = 100;

/// A report about the site of a pixel.
#[derive(Deserialize, JsonSchema)]
pub struct SubmittedReport {
    pub pixel_id: PixelParam,
    #[serde(flatten)]
    pub given: GivenReport,
}

/// Stores a watcher's report. One that the pixel has already is answered as it is.
pub struct SubmitWatchReport;

impl Capability for SubmitWatchReport {
    const NAME: &'static str = "submit_watch_report";
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Service = Infra;
    type Access = ActiveAccount<Operates>;
    type Input = SubmittedReport;
    type Output = WatchReportView;

    fn refusals() -> Vec<Error> {
        vec![
            Error::PixelNotFound,
            wrong_field("report", "must be a report.json of schema assent/watch/v1"),
            Error::BodyTooLarge,
            Error::TooManyRequests { retry_after: 3600 },
        ]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        SubmittedReport { pixel_id, given }: SubmittedReport,
    ) -> Result<WatchReportView> {
        let pixel = find_for(&infra.pool, &caller, &pixel_id).await?;
        let checked = given.check(&pixel.domain)?;
        let Taken { view, mail } = take(infra, &pixel, &given, &checked, false).await?;
        if let Some(mail) = mail {
            // Spawned, so that the response does not wait for the mail server.
            let infra = infra.clone();
            tokio::spawn(async move {
                if let Err(error) = mails::send(&infra, &mail).await {
                    tracing::error!(
                        ?error,
                        "the outcome of a mail about a site could not be stored"
                    );
                }
            });
        }
        Ok(view)
    }
}

/// A stored report.
pub struct Taken {
    pub view: WatchReportView,
    /// The mail to the owner, if the site has started or stopped leaking.
    pub mail: Option<ClaimedMail>,
}

/// Stores a report. Fails with `PixelNotFound` if the pixel was deleted or moved meanwhile.
pub async fn take(
    infra: &Infra,
    pixel: &Pixel,
    given: &GivenReport,
    checked: &CheckedReport,
    by_service: bool,
) -> Result<Taken> {
    let pixel_id = &pixel.pixel_id;
    let subscribers = infra.events.subscribers(&pixel.account_id).await?;
    let mut transaction = infra.pool.begin().await?;
    let current = lock_pixel(&mut transaction, pixel_id).await?;
    current.filter(|current| current.domain == pixel.domain).ok_or(Error::PixelNotFound)?;
    let now = infra.clock.now();
    let known = store::reports::find_by_hash(&mut transaction, pixel_id, &checked.sha256).await?;
    if let Some(view) = known {
        return Ok(Taken { view, mail: None });
    }
    if !by_service {
        let since = now - Duration::days(1);
        if store::reports::count_since(&mut transaction, pixel_id, since).await? >= MAX_PER_DAY {
            return Err(Error::TooManyRequests { retry_after: 3600 });
        }
    }
    let new = NewReport {
        report_id: uuid_v7(now),
        verdict: checked.verdict,
        by_service,
        at: checked.made_at.min(now),
        allowed_hosts: allowed_hosts(&checked.report),
    };
    store::reports::insert_report(&mut transaction, pixel_id, &new, checked, given, now).await?;
    publications::queue(&mut transaction, Kind::Watch, &checked.sha256, now).await?;
    let site = store::sites::find_site(&mut transaction, pixel_id).await?;
    let (known, change) = after(site.known, &new);
    store::sites::upsert_known(&mut transaction, pixel_id, &pixel.domain, &known).await?;
    let mut mail = None;
    if let Some(change) = change {
        let event = NewEvent {
            kind: change.event(),
            pixel_id: Some(pixel_id),
            subject: serde_json::json!({"report_id": new.report_id}),
            occurred_at: now,
        };
        events::put(&mut transaction, &subscribers, &[event]).await?;
        mail = mails::put(&mut transaction, &infra.outbox, pixel_id, change).await?;
    }
    let view = store::reports::find_report(&mut transaction, pixel_id, new.report_id).await?;
    transaction.commit().await?;
    if change.is_some() {
        infra.events.wake();
    }
    tracing::info!(%pixel_id, verdict = checked.verdict.as_str(), by_service, "report of a watcher stored");
    Ok(Taken { view: view.ok_or_else(|| Error::internal("a stored report is missing"))?, mail })
}
