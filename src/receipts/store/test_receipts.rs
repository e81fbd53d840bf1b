use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query};
use uuid::Uuid;

use super::rows::{receipt_of, select_receipt};
use crate::consent_receipt::receipt::SignedReceipt;
use crate::error::Result;
use crate::types::ids::{PixelId, VisitorId};

pub struct TestReceipt {
    pub signed: SignedReceipt,
    pub choice: Option<Uuid>,
    pub expires_at: Option<DateTime<Utc>>,
}

macro_rules! select_test_receipts {
    ($rest:literal, $connection:expr, $($argument:expr),+ $(,)?) => {{
        let rows = select_receipt!(
            "receipt.choice_id, receipt.expires_at",
            $rest,
            $($argument),+
        )
        .fetch_all($connection)
        .await?;
        let receipts = rows.into_iter().map(|row| {
            let (choice, expires_at) = (row.choice_id, row.expires_at);
            let mut signed = receipt_of!(row)?;
            signed.receipt.pixel_id = signed.receipt.pixel_id.test_id();
            Ok(TestReceipt { signed, choice, expires_at })
        });
        receipts.collect::<Result<Vec<_>>>()
    }};
}

/// `false` when the choice is stored already, or the pixel is deleted or its account suspended.
pub async fn insert_test_receipt(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    test: &TestReceipt,
) -> Result<bool> {
    let receipt = &test.signed.receipt;
    let purposes = receipt.purposes.iter().map(|purpose| purpose.as_str().to_owned());
    let inserted = query!(
        "INSERT INTO test_receipts (pixel_id, receipt_id, visitor_id, origin, consent_state,
             policy_hash, purposes, recorded_at, signature, choice_id, expires_at)
         SELECT pixel_id, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11
         FROM pixels JOIN accounts USING (account_id)
         WHERE pixel_id = $1 AND status <> 'suspended' FOR KEY SHARE OF pixels
         ON CONFLICT ON CONSTRAINT test_receipts_choice DO NOTHING",
        pixel_id.as_str(),
        receipt.receipt_id,
        receipt.visitor_id.as_str(),
        receipt.origin,
        receipt.consent_state.as_str(),
        receipt.policy_hash,
        &purposes.collect::<Vec<_>>(),
        receipt.recorded_at,
        test.signed.signature,
        test.choice,
        test.expires_at,
    )
    .execute(connection)
    .await?;
    Ok(inserted.rows_affected() == 1)
}

pub async fn find_test_choice(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    choice: Uuid,
) -> Result<Option<SignedReceipt>> {
    let found = select_test_receipts!(
        "FROM test_receipts AS receipt
         WHERE pixel_id = $1 AND choice_id = $2",
        connection,
        pixel_id.as_str(),
        choice,
    )?;
    Ok(found.into_iter().next().map(|test| test.signed))
}

/// Newest first.
pub async fn list_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
    limit: i64,
) -> Result<Vec<TestReceipt>> {
    select_test_receipts!(
        "FROM test_receipts AS receipt
         WHERE pixel_id = $1 AND visitor_id = $2 ORDER BY seq DESC LIMIT $3",
        connection,
        pixel_id.as_str(),
        visitor_id.as_str(),
        limit,
    )
}

/// Newest first.
pub async fn list_of_pixel(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    limit: i64,
) -> Result<Vec<TestReceipt>> {
    select_test_receipts!(
        "FROM test_receipts AS receipt
         WHERE pixel_id = $1 ORDER BY seq DESC LIMIT $2",
        connection,
        pixel_id.as_str(),
        limit,
    )
}

pub async fn delete_test_receipts_of_visitor(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
) -> Result<()> {
    query!(
        "DELETE FROM test_receipts WHERE pixel_id = $1 AND visitor_id = $2",
        pixel_id.as_str(),
        visitor_id.as_str(),
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Deletes all but the newest of a pixel.
pub async fn delete_surplus(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    kept: i64,
) -> Result<()> {
    query!(
        "DELETE FROM test_receipts WHERE pixel_id = $1 AND seq <= (
             SELECT seq FROM test_receipts WHERE pixel_id = $1
             ORDER BY seq DESC OFFSET $2 LIMIT 1)",
        pixel_id.as_str(),
        kept,
    )
    .execute(connection)
    .await?;
    Ok(())
}
