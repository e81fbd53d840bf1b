//! Daily timestamping of the log. A single node sends the request: the one that updated the time of the next
//! attempt. While it waits for the response, the log is not blocked and no database connection is held.

use chrono::{DateTime, Duration, NaiveTime, Utc};

use super::authority::{self, AuthorityError};
use super::request::TimestampRequest;
use crate::error::{Error, Result};
use crate::proof::log::{Log, LogKey};
use crate::proof::proving::State;
use crate::proof::store::timestamps::{self, NewTimestamp};

/// Delay before another node may take over from one that stopped halfway.
const LEASE: Duration = Duration::minutes(5);
/// After the first failure; doubled after each further one, up to [`LONGEST_PAUSE`].
const PAUSE: Duration = Duration::minutes(1);
const LONGEST_PAUSE: Duration = Duration::hours(1);

impl Log {
    /// Has the latest signed state timestamped, unless that was done today or another node is doing so. A
    /// failure is reported to the operator and retried later.
    pub async fn stamp(&self) -> Result<()> {
        let (Some(key), Some(url)) = (&self.key, &self.infra.config.timestamp_url) else {
            return Ok(());
        };
        let now = self.infra.clock.now();
        let mut connection = self.infra.pool.acquire().await?;
        let State { size, note } = match self.state(&mut connection).await {
            Err(Error::NotSealedYet { .. }) => return Ok(()),
            state => state?,
        };
        let (day, until) = (now.date_naive(), now + LEASE);
        let Some(failures) = timestamps::take_lease(&mut connection, now, day, until).await? else {
            return Ok(());
        };
        drop(connection);
        let request = TimestampRequest::new(&note);
        match authority::ask(url.expose(), &request, now).await {
            Ok(token) => {
                self.keep(key, size, &note, &token).await?;
                tracing::info!(entries = size, "the log was time stamped");
                Ok(())
            }
            Err(error) => self.try_later(failures, now, &error).await,
        }
    }

    async fn keep(&self, key: &LogKey, size: u64, checkpoint: &str, token: &[u8]) -> Result<()> {
        let now = self.infra.clock.now();
        let signer = key.signer.verifier().to_string();
        let size = i64::try_from(size).map_err(Error::internal)?;
        let (day, received_at) = (now.date_naive(), now);
        let stamped = NewTimestamp { day, signer: &signer, size, checkpoint, token, received_at };
        let mut transaction = self.infra.pool.begin().await?;
        timestamps::insert_timestamp(&mut transaction, &stamped).await?;
        timestamps::update_lease(&mut transaction, tomorrow(now), 0).await?;
        transaction.commit().await?;
        self.infra.metrics.log.stamped.set(now.timestamp());
        Ok(())
    }

    async fn try_later(
        &self,
        failures: i32,
        now: DateTime<Utc>,
        error: &AuthorityError,
    ) -> Result<()> {
        let pause = pause_after(failures);
        tracing::warn!(
            %error,
            failures = failures + 1,
            minutes = pause.num_minutes(),
            "the log was not time stamped; it is tried again later"
        );
        self.infra.metrics.log.stamp_failures.inc();
        let mut connection = self.infra.pool.acquire().await?;
        timestamps::update_lease(&mut connection, now + pause, failures.saturating_add(1)).await
    }
}

fn pause_after(failures: i32) -> Duration {
    let doubled = u32::try_from(failures).ok().and_then(|failures| 1_i32.checked_shl(failures));
    let pause = doubled.filter(|times| *times > 0).and_then(|times| PAUSE.checked_mul(times));
    pause.unwrap_or(LONGEST_PAUSE).min(LONGEST_PAUSE)
}

fn tomorrow(now: DateTime<Utc>) -> DateTime<Utc> {
    (now.date_naive() + Duration::days(1)).and_time(NaiveTime::MIN).and_utc()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_an_hour_and_no_further() {
        let minutes = [0, 1, 2, 5, 6, 30, 31, 32, 1_000, i32::MAX];
        let minutes = minutes.map(|failures| pause_after(failures).num_minutes());
        assert_eq!(minutes, [1, 2, 4, 32, 60, 60, 60, 60, 60, 60]);
    }
}
