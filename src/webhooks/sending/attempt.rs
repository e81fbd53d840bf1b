use std::time::Instant;

use chrono::{DateTime, Utc};
use url::Url;
use uuid::Uuid;

use super::bodies::Made;
use super::outcome::{Attempted, Outcome};
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::fetch::FetchError;
use crate::infra::fetch::post::{Destination, GuardedPost};
use crate::webhooks::format::Format;
use crate::webhooks::input::webhook_id;
use crate::webhooks::signing::{self, SigningSecret};
use crate::webhooks::store::waiting::DueDelivery;

#[derive(Clone)]
pub struct Target {
    pub destination: Result<Destination, FetchError>,
    pub secrets: Vec<SigningSecret>,
    pub format: Format,
}

impl Target {
    pub async fn find(
        post: &GuardedPost,
        url: &str,
        format: &str,
        secrets: Vec<SigningSecret>,
    ) -> Result<Self> {
        let url = Url::parse(url).map_err(Error::internal)?;
        Self::at(post.find(&url).await, format, secrets)
    }

    pub fn at(
        destination: Result<Destination, FetchError>,
        format: &str,
        secrets: Vec<SigningSecret>,
    ) -> Result<Self> {
        let format = Format::parse(format);
        let format = format.ok_or_else(|| Error::internal("a format of a newer version"))?;
        Ok(Self { destination, secrets, format })
    }
}

pub async fn attempt(clock: &Clock, target: &Target, due: DueDelivery, body: Made) -> Attempted {
    let (at, begun) = (clock.now(), Instant::now());
    let outcome = match body {
        Made::Body(body) => post(target, due.event_id, at, body).await.unwrap_or_else(|error| {
            tracing::error!(?error, kind = due.kind, "a webhook could not be signed");
            Outcome::Unmade
        }),
        Made::NotNeeded => Outcome::NotNeeded,
        Made::Failed => Outcome::Unmade,
    };
    Attempted { due, at, took: begun.elapsed(), outcome }
}

async fn post(target: &Target, id: Uuid, at: DateTime<Utc>, body: Vec<u8>) -> Result<Outcome> {
    let headers = signing::headers(&target.secrets, &webhook_id(id), at.timestamp(), &body)?;
    let answer = match &target.destination {
        Ok(destination) => destination.post(headers, body).await,
        Err(error) => Err(*error),
    };
    Ok(match answer {
        Ok(reply) if (200..300).contains(&reply.status) => Outcome::Delivered(reply),
        other => Outcome::Failed(other),
    })
}
