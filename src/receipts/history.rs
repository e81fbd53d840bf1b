//! A visitor's access to their own choices at one site, and to what the popup showed.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;
use uuid::Uuid;

use super::check::check_request::Subject;
use super::check::{self, LatestReceipt, Reason};
use super::service::Receipts;
use super::store::history::{self, ReceiptWithSnapshot};
use super::test_choices;
use crate::accounts::access::Anybody;
use crate::accounts::capability::Capability;
use crate::accounts::tool::Tool;
use crate::clock::Timestamp;
use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::{Receipt, ReceiptEnvelope};
use crate::error::{Error, FieldError, Result, missing_field};
use crate::infra::limits::per_client::Limit;
use crate::policies::configuration::policy_url;
use crate::types::host::PageUrl;
use crate::types::ids::id_param::IdParam;
use crate::types::ids::{PixelRef, VisitorId};
use crate::types::paging::{Page, wanted_start};
use crate::types::text::present;

const MAX_CHOICES: u16 = 200;

/// Whose choices are asked for. Ids that nobody has are an answer, not an error.
#[derive(Deserialize, JsonSchema, ToSchema)]
pub struct HistoryRequest {
    /// The pixel's id or one of its aliases.
    #[schema(value_type = String, example = "Zr5LxN2h3vTqYb0wKd8m")]
    pub pixel_id: IdParam<PixelRef>,
    /// The visitor's id, as the consent tag made it.
    #[schema(value_type = String, example = "v-0wKd8mZr5LxN2h3vTqYb")]
    pub visitor_id: IdParam<VisitorId>,
    /// The `next_before` of the previous page; left out for the newest choices.
    pub before: Option<String>,
}

/// A choice, and where to read what was said then.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct PastChoice {
    #[serde(flatten)]
    pub envelope: ReceiptEnvelope,
    /// What the popup showed; null when that is not known.
    #[schema(required = true)]
    pub shown: Option<Shown>,
    /// The notice in the version that was answered, and in the language of the popup when that is known.
    pub policy_url: String,
}

/// What a visitor answered at one site.
#[derive(Serialize, JsonSchema, ToSchema)]
pub struct History {
    /// The site's host; null when there are no choices.
    #[schema(required = true)]
    pub site: Option<String>,
    /// As a check without a purpose says it of the newest choice.
    pub permitted: bool,
    pub reason: Reason,
    /// When the newest choice, an acceptance, ends; else null.
    #[schema(required = true)]
    pub expires_at: Option<Timestamp>,
    /// Whether that time is over.
    pub expired: bool,
    /// Newest first, at most 200.
    pub receipts: Vec<PastChoice>,
    /// Whether there are older ones.
    pub has_more: bool,
    /// The next `before`, a receipt id; null after the last page.
    #[schema(required = true)]
    pub next_before: Option<Uuid>,
}

impl History {
    const NONE: Self = Self {
        site: None,
        permitted: false,
        reason: Reason::NoConsentRecord,
        expires_at: None,
        expired: false,
        receipts: Vec::new(),
        has_more: false,
        next_before: None,
    };
}

/// Reads a visitor's choices at one site, up to the one that a check would evaluate now, or a page of older ones.
pub struct ReadConsentHistory;

impl Capability for ReadConsentHistory {
    const NAME: &'static str = "read_consent_history";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read a visitor's history",
        "Reads all that a visitor answered at a pixel's site, newest first: signed receipts, \
         and the notice that each answered. Needs no key.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Histories);
    type Service = Receipts;
    type Access = Anybody;
    type Input = HistoryRequest;
    type Output = History;

    fn refusals() -> Vec<Error> {
        vec![missing_field("visitor_id")]
    }

    async fn run(receipts: &Receipts, (): (), request: HistoryRequest) -> Result<History> {
        let before = match present(request.before.as_deref()) {
            Some(text) => Some(text.parse::<Uuid>().map_err(|_| wrong_before())?),
            None => None,
        };
        let (pixel, visitor_id) = (request.pixel_id.into_id(), request.visitor_id.into_id());
        let subject = Subject { pixel, visitor_id, required: None };
        let check = check::find_and_evaluate(receipts, subject).await?;
        let Some(latest) = &check.latest else { return Ok(History::NONE) };
        let page = Page::of(before, MAX_CHOICES);
        let mut choices = list_up_to(receipts, latest, page).await?;
        if before.is_none() && choices.is_empty() {
            return Ok(History::NONE);
        }
        let site = site_of(receipts, &latest.envelope.receipt).await?;
        let next_before = page.cut(&mut choices).map(|(signed, _)| signed.receipt.receipt_id);
        Ok(History {
            site: Some(site),
            permitted: check.permitted,
            reason: check.reason,
            expires_at: latest.expires_at,
            expired: latest.expired,
            receipts: choices.into_iter().map(|choice| with_notice(receipts, choice)).collect(),
            has_more: next_before.is_some(),
            next_before,
        })
    }
}

fn wrong_before() -> Error {
    let wanted = wanted_start("before");
    Error::Validation(vec![FieldError::new(&["body", "before"], wanted, "value_error")])
}

/// Reads from the primary, like a check: the visitor's latest action must be included.
async fn list_up_to(
    receipts: &Receipts,
    latest: &LatestReceipt,
    page: Page<Uuid>,
) -> Result<Vec<ReceiptWithSnapshot>> {
    let newest = &latest.envelope.receipt;
    if newest.is_test() {
        let mut choices = test_choices::list_like(&receipts.infra.pool, newest).await?;
        if let Some(before) = page.start {
            let known = choices.iter().position(|signed| signed.receipt.receipt_id == before);
            choices = choices.split_off(known.map_or(choices.len(), |index| index + 1));
        }
        return Ok(choices.into_iter().map(|signed| (signed, None)).collect());
    }
    let mut connection = receipts.infra.pool.acquire().await?;
    history::list_up_to(&mut connection, newest, page.start, page.rows()).await
}

/// The pixel's host; for a test or a deleted pixel the host of the page on which the choice was made.
async fn site_of(receipts: &Receipts, newest: &Receipt) -> Result<String> {
    let site = receipts.sites.find_text(newest.pixel_id.as_str()).await?;
    Ok(match (site, PageUrl::parse(&newest.origin)) {
        (Some(site), _) => site.pixel.domain.to_string(),
        (None, Some(page)) => page.host().to_owned(),
        (None, None) => newest.origin.clone(),
    })
}

fn with_notice(receipts: &Receipts, (signed, shown): ReceiptWithSnapshot) -> PastChoice {
    let Receipt { pixel_id, policy_hash, .. } = &signed.receipt;
    let language = shown.as_ref().map(|shown| format!("&lang={}", shown.language));
    let notice = policy_url(receipts.infra.base_url(), pixel_id);
    let policy_url = format!("{notice}?hash={policy_hash}{}", language.unwrap_or_default());
    PastChoice { envelope: signed.into(), shown, policy_url }
}
