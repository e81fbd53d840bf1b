//! Evidence in a dispute over a host: a token in its DNS, or a tag that runs on its home page, both
//! fetched for the decision. Visits, receipts, impressions, served tags and contacts can be forged
//! by anybody. They count only for a pixel that a check has confirmed at the host, and never
//! against the DNS. Every decision about the owner of a host uses this module.

use chrono::{DateTime, Duration, Utc};
use sqlx::PgConnection;

use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::fetch::FetchError;
use crate::infra::secret_hash::secret_hash;
use crate::page_analysis::diagnostics::live::LiveTags;
use crate::page_analysis::page::SitePage;
use crate::pixels::install_check::page_check::{BUSY_PAUSE, live_tags};
use crate::pixels::store;
use crate::pixels::store::usage::Confirmation;
use crate::types::host::SiteHost;
use crate::types::ids::PixelId;

/// Period in which a confirmed pixel counts as working after its last confirmation or visit.
const WORKING: Duration = Duration::days(30);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Proof {
    Dns,
    Page,
}

pub struct Evidence {
    since: DateTime<Utc>,
    records: Vec<Vec<u8>>,
    tags: LiveTags,
}

pub fn record_name(host: &str) -> String {
    format!("_assent.{host}")
}

impl Evidence {
    /// Fetches the TXT records, then the page, without holding a database connection.
    pub async fn collect(infra: &Infra, host: &SiteHost) -> Result<Self> {
        let since = infra.clock.now();
        let records = infra.txt_lookup.records(&record_name(host.as_str())).await;
        let records = records.iter().map(|record| secret_hash(record.trim()).to_vec()).collect();
        let tags = tags_on_page(infra, host).await?;
        Ok(Self { since, records, tags })
    }

    /// The proof of the claim with this token and reserved pixel, if the host has one. DNS takes
    /// precedence because it is the stronger proof.
    pub fn proof(&self, token: &str, pixel_id: &PixelId) -> Option<Proof> {
        if self.has_record(&secret_hash(token)) {
            return Some(Proof::Dns);
        }
        self.tags.has(pixel_id, &[]).then_some(Proof::Page)
    }

    fn has_record(&self, token_hash: &[u8]) -> bool {
        self.records.iter().any(|record| record == token_hash)
    }

    /// Whether a pixel keeps its host against a proof. Against DNS only present evidence counts:
    /// its own tag on the page, its own token in the DNS, or a check that confirmed it since
    /// fetching began. Against a page, a confirmation or visit within thirty days counts as well.
    pub async fn keeps(
        &self,
        connection: &mut PgConnection,
        pixel_id: &PixelId,
        proof: Proof,
        now: DateTime<Utc>,
    ) -> Result<bool> {
        let aliases = store::list_aliases(connection, pixel_id).await?;
        let known = store::usage::find_confirmation(connection, pixel_id).await?;
        let Some(known) = known else { return Ok(false) };
        let has_record =
            known.claim_token_hash.as_deref().is_some_and(|hash| self.has_record(hash));
        let is_confirmed_since = known.confirmed_at.is_some_and(|at| at > self.since);
        if self.tags.has(pixel_id, &aliases) || has_record || is_confirmed_since {
            return Ok(true);
        }
        match proof {
            Proof::Dns => Ok(false),
            Proof::Page => is_working(connection, pixel_id, &known, now).await,
        }
    }

    /// Whether the tag of a pixel that has moved away from the host still runs there.
    pub async fn has_tag(&self, connection: &mut PgConnection, pixel_id: &PixelId) -> Result<bool> {
        let aliases = store::list_aliases(connection, pixel_id).await?;
        Ok(self.tags.has(pixel_id, &aliases))
    }
}

async fn tags_on_page(infra: &Infra, host: &SiteHost) -> Result<LiveTags> {
    match SitePage::fetch(&infra.fetch, host.as_str()).await {
        Ok(page) => Ok(live_tags(&infra.config, infra.base_url(), &page)),
        Err(FetchError::Busy) => Err(Error::Busy { retry_after: BUSY_PAUSE }),
        Err(_) => Ok(LiveTags::default()),
    }
}

/// Whether a pixel is known to work. A claim to its host can then be refused early.
pub async fn is_known_to_work(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    now: DateTime<Utc>,
) -> Result<bool> {
    match store::usage::find_confirmation(connection, pixel_id).await? {
        Some(known) => is_working(connection, pixel_id, &known, now).await,
        None => Ok(false),
    }
}

/// Whether a confirmed pixel was confirmed again or visited recently. A pixel that was never
/// confirmed does not work, because everything else can be forged.
async fn is_working(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    known: &Confirmation,
    now: DateTime<Utc>,
) -> Result<bool> {
    let Some(confirmed_at) = known.confirmed_at else { return Ok(false) };
    let since = now - WORKING;
    if confirmed_at >= since {
        return Ok(true);
    }
    Ok(store::usage::find_last_visit(connection, pixel_id, since).await?.is_some())
}
