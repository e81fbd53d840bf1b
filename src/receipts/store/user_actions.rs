use sqlx::{PgConnection, query};

use crate::consent_receipt::user_action::UserAction;
use crate::error::Result;
use crate::types::ids::PixelId;

/// The positions, among these, of a pixel's choices that a person made.
pub async fn list_by_persons(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    positions: &[i64],
) -> Result<Vec<i64>> {
    let rows = query!(
        "SELECT seq, shown_act, shown_automated FROM consent_receipts
         WHERE pixel_id = $1 AND seq = ANY ($2)",
        pixel_id.as_str(),
        positions,
    )
    .fetch_all(connection)
    .await?;
    let by_persons = rows.into_iter().filter(|row| {
        UserAction::from_stored(row.shown_act.as_deref(), None, row.shown_automated).is_by_person()
    });
    Ok(by_persons.map(|row| row.seq).collect())
}
