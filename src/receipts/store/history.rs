use sqlx::PgConnection;
use uuid::Uuid;

use super::rows::{receipt_of, select_receipt, shown_of};
use crate::consent_receipt::notice_snapshot::Shown;
use crate::consent_receipt::receipt::{Receipt, SignedReceipt};
use crate::error::Result;
use crate::types::ids::{PixelId, VisitorId};

pub type ReceiptWithSnapshot = (SignedReceipt, Option<Shown>);

/// A receipt and the same visitor's earlier ones at the same pixel, newest first; only those before the receipt
/// `before`, if there is one.
pub async fn list_up_to(
    connection: &mut PgConnection,
    newest: &Receipt,
    before: Option<Uuid>,
    limit: i64,
) -> Result<Vec<ReceiptWithSnapshot>> {
    let rows = select_receipt!(
        "receipt.shown_language, receipt.shown_notice, receipt.shown_script, receipt.shown_act,
                 receipt.shown_seen, receipt.shown_automated",
        "FROM consent_receipts AS receipt
         WHERE pixel_id = $1 AND visitor_id = $2
             AND seq <= (SELECT last.seq FROM consent_receipts AS last
                         WHERE last.pixel_id = $1 AND last.visitor_id = $2
                             AND last.receipt_id = $3)
             AND ($4::uuid IS NULL
                 OR seq < (SELECT known.seq FROM consent_receipts AS known
                           WHERE known.pixel_id = $1 AND known.visitor_id = $2
                               AND known.receipt_id = $4))
         ORDER BY seq DESC LIMIT $5",
        newest.pixel_id.as_str(),
        newest.visitor_id.as_str(),
        newest.receipt_id,
        before,
        limit,
    )
    .fetch_all(connection)
    .await?;
    let receipts = rows.into_iter().map(|row| {
        let shown = shown_of!(row);
        Ok((receipt_of!(row)?, shown))
    });
    receipts.collect()
}
