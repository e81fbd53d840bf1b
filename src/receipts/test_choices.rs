//! Choices that are made under a pixel's test id. They are in a separate table, which no query for visitors' choices
//! reads, and have no events, no leaves in the log and no counts.

use schemars::JsonSchema;
use serde::Serialize;
use sqlx::PgPool;

use super::store::latest::LatestConsent;
use super::store::test_receipts::{self as store, TestReceipt};
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::consent_receipt::receipt::{Receipt, SignedReceipt};
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::pixels::input::OfPixel;
use crate::pixels::setup::find_for;
use crate::policies::sites::Site;
use crate::types::ids::{PixelId, VisitorId};

/// Maximum number of test choices of a pixel that are kept within their retention period of seven days.
const KEPT: i64 = 1_000;
const LISTED: i64 = 20;

/// Stores a choice, or finds the stored one that it repeats; `None` for a deleted pixel or a suspended account.
pub(super) async fn record(
    pool: &PgPool,
    pixel_id: &PixelId,
    test: TestReceipt,
) -> Result<Option<SignedReceipt>> {
    let mut connection = pool.acquire().await?;
    if store::insert_test_receipt(&mut connection, pixel_id, &test).await? {
        store::delete_surplus(&mut connection, pixel_id, KEPT).await?;
        return Ok(Some(test.signed));
    }
    match test.choice {
        Some(choice) => store::find_test_choice(&mut connection, pixel_id, choice).await,
        None => Ok(None),
    }
}

pub(super) async fn find_latest(
    pool: &PgPool,
    site: &Site,
    visitor_id: &VisitorId,
) -> Result<Option<LatestConsent>> {
    let mut connection = pool.acquire().await?;
    let pixel_id = &site.pixel.pixel_id;
    let found = store::list_of_visitor(&mut connection, pixel_id, visitor_id, 1).await?;
    Ok(found.into_iter().next().map(|TestReceipt { signed, expires_at, .. }| LatestConsent {
        signed,
        seq: 0,
        expires_at,
        consent_in_force: site.policy_in_force().is_some(),
        current_policy_hash: site.policy.as_ref().map(|policy| policy.hash.clone()),
    }))
}

/// The test choices of the visitor of a test receipt, newest first.
pub(super) async fn list_like(pool: &PgPool, newest: &Receipt) -> Result<Vec<SignedReceipt>> {
    let Some(pixel_id) = newest.pixel_id.tested() else { return Ok(Vec::new()) };
    let mut connection = pool.acquire().await?;
    let found =
        store::list_of_visitor(&mut connection, &pixel_id, &newest.visitor_id, KEPT).await?;
    Ok(found.into_iter().map(|test| test.signed).collect())
}

/// The latest choices that were made under a pixel's test id.
#[derive(Serialize, JsonSchema)]
pub struct TestChoices {
    /// Newest first, at most 20.
    pub receipts: Vec<Receipt>,
}

pub struct ReadTestChoices;

impl Capability for ReadTestChoices {
    const NAME: &'static str = "read_test_choices";
    type Service = Infra;
    type Access = ActiveAccount<Reads>;
    type Input = OfPixel;
    type Output = TestChoices;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound]
    }

    async fn run(
        infra: &Infra,
        caller: Caller,
        OfPixel { pixel_id }: OfPixel,
    ) -> Result<TestChoices> {
        let pixel_id = find_for(&infra.pool, &caller, &pixel_id).await?.pixel_id;
        let mut connection = infra.pool.acquire().await?;
        let found = store::list_of_pixel(&mut connection, &pixel_id, LISTED).await?;
        Ok(TestChoices { receipts: found.into_iter().map(|test| test.signed.receipt).collect() })
    }
}
