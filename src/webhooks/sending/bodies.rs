use std::time::Duration;

use tokio::time::{Instant, sleep};

use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::webhooks::body;
use crate::webhooks::format::Format;
use crate::webhooks::store::waiting::DueDelivery;

/// Retries while the database is unavailable: for this long, and at this interval.
pub const DATABASE_TIMEOUT: Duration = Duration::from_secs(20);
pub const DATABASE_PAUSE: Duration = Duration::from_secs(1);

pub enum Made {
    Body(Vec<u8>),
    NotNeeded,
    Failed,
}

/// Builds the bodies from the current state. A body that cannot be built does not block the others.
/// Fails only if the database stays unavailable.
pub async fn make(infra: &Infra, format: Format, due: &[&DueDelivery]) -> Result<Vec<Made>> {
    match with_database_retry(infra, format, due).await {
        Ok(made) => Ok(made),
        Err(Error::DatabaseUnavailable) => Err(Error::DatabaseUnavailable),
        Err(_) => one_by_one(infra, format, due).await,
    }
}

async fn one_by_one(infra: &Infra, format: Format, due: &[&DueDelivery]) -> Result<Vec<Made>> {
    let mut all = Vec::with_capacity(due.len());
    for one in due {
        match with_database_retry(infra, format, &[one]).await {
            Ok(made) => all.extend(made),
            Err(Error::DatabaseUnavailable) => return Err(Error::DatabaseUnavailable),
            Err(error) => {
                tracing::error!(?error, kind = one.kind, "the body of a webhook could not be made");
                all.push(Made::Failed);
            }
        }
    }
    Ok(all)
}

async fn with_database_retry(
    infra: &Infra,
    format: Format,
    due: &[&DueDelivery],
) -> Result<Vec<Made>> {
    let begun = Instant::now();
    loop {
        let made = body::of(infra, format, due).await;
        let is_over = begun.elapsed() > DATABASE_TIMEOUT || infra.shutdown.has_begun();
        if is_over || !matches!(made, Err(Error::DatabaseUnavailable)) {
            return Ok(made?.into_iter().map(Made::of).collect());
        }
        sleep(DATABASE_PAUSE).await;
    }
}

impl Made {
    pub fn of(body: Option<Vec<u8>>) -> Self {
        body.map_or(Self::NotNeeded, Self::Body)
    }
}
