use sqlx::{Connection, PgConnection, query, query_scalar};
use uuid::Uuid;

use super::rows::{receipt_of, select_receipt, shown_of};
use crate::consent_receipt::leaf::Leaf;
use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::SignedReceipt;
use crate::error::Result;
use crate::types::ids::{PixelId, VisitorId};

/// A receipt, and the position of its leaf.
pub struct ProvableChoice {
    pub signed: SignedReceipt,
    pub seq: i64,
    pub shown: Option<Shown>,
    /// `None` for a receipt recorded without a log.
    pub salt: Option<Vec<u8>>,
    /// The entry whose tree contains its leaf; `None` until there is one.
    pub epoch: Option<i64>,
}

/// A visitor's receipt; the latest if none is named.
pub async fn find_provable(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    visitor_id: &VisitorId,
    receipt_id: Option<Uuid>,
) -> Result<Option<ProvableChoice>> {
    let found = select_receipt!(
        "receipt.seq, receipt.shown_language, receipt.shown_notice, receipt.shown_script,
                 receipt.shown_act, receipt.shown_seen, receipt.shown_automated,
                 receipt.salt,
                 (SELECT epoch FROM log_leaves AS leaves
                  WHERE leaves.pixel_id = $1 AND leaves.batch = receipt.log_batch)
                     AS epoch",
        "FROM consent_receipts AS receipt
         WHERE receipt.pixel_id = $1
             AND receipt.visitor_id = $2
             AND ($3::uuid IS NULL OR receipt.receipt_id = $3)
         ORDER BY receipt.seq DESC LIMIT 1",
        pixel_id.as_str(),
        visitor_id.as_str(),
        receipt_id,
    )
    .fetch_optional(connection)
    .await?;
    let provable = found.map(|row| {
        let (seq, salt, epoch) = (row.seq, row.salt, row.epoch);
        let shown = shown_of!(row);
        Ok(ProvableChoice { signed: receipt_of!(row)?, seq, shown, salt, epoch })
    });
    provable.transpose()
}

/// Queues the leaf of a receipt without one for the log, unless another caller has just done so.
pub async fn insert_late(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    seq: i64,
    leaf: &Leaf,
) -> Result<()> {
    let mut transaction = connection.begin().await?;
    let batch = query_scalar!("SELECT nextval('log_batch_seq') AS \"batch!\"")
        .fetch_one(&mut *transaction)
        .await?;
    let salted = query!(
        "UPDATE consent_receipts SET salt = $3, log_batch = $4
         WHERE pixel_id = $1 AND seq = $2 AND salt IS NULL",
        pixel_id.as_str(),
        seq,
        &leaf.salt[..],
        batch,
    )
    .execute(&mut *transaction)
    .await?;
    if salted.rows_affected() > 0 {
        query!(
            "INSERT INTO log_leaves (pixel_id, batch, hashes) VALUES ($1, $2, $3)",
            pixel_id.as_str(),
            batch,
            &leaf.hash[..],
        )
        .execute(&mut *transaction)
        .await?;
    }
    transaction.commit().await?;
    Ok(())
}
