use chrono::Duration;
use sqlx::PgConnection;

use crate::accounts::limits::buckets::{Bucket, BucketKey, take};
use crate::clock::Clock;
use crate::config::Config;
use crate::error::{Error, Result};
use crate::types::ids::AccountId;

/// The limit for changes to the content that visitors of an account's pixels are served. Each change
/// may be stored permanently, in the public log too, and makes every node rebuild its scripts.
const PUBLICATIONS: Bucket = Bucket { at_once: 60, then_one_every: Duration::seconds(30) };

/// Counts a change. Beyond the limit it fails, and the caller's transaction is rolled back.
pub async fn count_publication(
    connection: &mut PgConnection,
    clock: &Clock,
    config: &Config,
    account_id: &AccountId,
) -> Result<()> {
    if !config.rate_limits {
        return Ok(());
    }
    let too_many = |retry_after| Error::TooManyRequests { retry_after };
    let (now, key) = (clock.now(), BucketKey::publications(account_id));
    take(connection, &key, now, PUBLICATIONS, too_many).await
}
