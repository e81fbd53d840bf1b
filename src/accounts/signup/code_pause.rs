//! The pause between the codes that are mailed to an address.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::accounts::limits::buckets::BucketKey;
use crate::accounts::store::{self, CodeRequests};
use crate::error::Result;
use crate::types::email::Email;
use crate::types::mailbox::Mailbox;

pub fn key_of(email: &Email) -> BucketKey {
    BucketKey::code_requests(&Mailbox::of(email))
}

pub async fn start_code_pause(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    email: &Email,
) -> Result<()> {
    let key = key_of(email);
    let before = store::lock_code_requests(connection, key.as_bytes()).await?;
    let requests = CodeRequests { last_sent_at: now, ..before };
    store::update_code_requests(connection, key.as_bytes(), &requests).await
}

pub async fn end_code_pause(connection: &mut PgConnection, email: &Email) -> Result<()> {
    let key = key_of(email);
    let before = store::lock_code_requests(connection, key.as_bytes()).await?;
    let requests = CodeRequests { last_sent_at: DateTime::UNIX_EPOCH, ..before };
    store::update_code_requests(connection, key.as_bytes(), &requests).await
}
