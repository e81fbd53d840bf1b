//! The SQL of snippet mails: at most one on its way, and one in ten minutes.

use chrono::{DateTime, Utc};
use sqlx::{PgConnection, query, query_as};

use crate::error::Result;
use crate::ids::PixelId;

/// When a pixel's snippet was last mailed, and until when a mail may still be on its way.
pub struct SnippetMails {
    pub mailed_at: Option<DateTime<Utc>>,
    pub mailing_until: Option<DateTime<Utc>>,
}

/// When the pixel's snippet was mailed, its row locked until the transaction ends.
pub async fn lock_snippet_mails(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
) -> Result<Option<SnippetMails>> {
    let mails = query_as!(
        SnippetMails,
        "SELECT snippet_mailed_at AS mailed_at, snippet_mailing_until AS mailing_until
         FROM pixels WHERE pixel_id = $1 FOR UPDATE",
        pixel_id.as_str(),
    )
    .fetch_optional(connection)
    .await?;
    Ok(mails)
}

/// Notes that a snippet mail is on its way.
pub async fn update_snippet_mailing(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    until: DateTime<Utc>,
) -> Result<()> {
    query!(
        "UPDATE pixels SET snippet_mailing_until = $2 WHERE pixel_id = $1",
        pixel_id.as_str(),
        until,
    )
    .execute(connection)
    .await?;
    Ok(())
}

/// Notes that no snippet mail is on its way any more, and when it arrived, if it did.
pub async fn update_snippet_mailed(
    connection: &mut PgConnection,
    pixel_id: &PixelId,
    mailed_at: Option<DateTime<Utc>>,
) -> Result<()> {
    query!(
        "UPDATE pixels SET snippet_mailing_until = NULL,
             snippet_mailed_at = COALESCE($2, snippet_mailed_at)
         WHERE pixel_id = $1",
        pixel_id.as_str(),
        mailed_at,
    )
    .execute(connection)
    .await?;
    Ok(())
}
