use std::sync::Arc;
use std::time::Duration as RealTime;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};
use tracing::Instrument;
use uuid::Uuid;

use super::attempt::{Target, attempt};
use super::bodies;
use super::health::Health;
use super::outcome::Attempted;
use super::pixel_queues::PixelQueues;
use super::result_writer::{Ended, ResultWriter};
use super::sender::{CLAIM, Sender, least_duration};
use super::shared::Tidied;
use crate::error::{Error, Result};
use crate::infra::changes::{Topic, Version};
use crate::webhooks::endpoint::PausedBecause;
use crate::webhooks::pausing::pause;
use crate::webhooks::secrets::decrypted;
use crate::webhooks::signing::SigningSecret;
use crate::webhooks::store::claims::{self, ClaimedEndpoint};
use crate::webhooks::store::waiting::DueDelivery;

/// Number of handled deliveries above which those that are no longer listed are deleted.
const MOST_UNTIDIED: usize = 250;
const EXTENDED_AFTER: RealTime = RealTime::from_secs(10);
const CHECK_INTERVAL: RealTime = RealTime::from_secs(5);

/// Sends due deliveries until none is left, the endpoint fails or the claim is lost. `known_version` is
/// the version of the changes at which the endpoint was read.
pub async fn serve(
    sender: &Sender,
    endpoint: ClaimedEndpoint,
    claim: Uuid,
    known_version: Version,
) {
    let (endpoint_id, health) = (endpoint.endpoint_id, Health::of(&endpoint));
    let mut run = DeliveryRun {
        sender,
        endpoint,
        claim,
        health,
        known_version,
        claimed_at: Instant::now(),
        because: None,
        untidied: 0,
    };
    let ended = match run.send_all().await {
        // The error would persist, so the claim is left to lapse. A database that was unavailable is back.
        Err(error) if !matches!(error, Error::DatabaseUnavailable) => Err(error),
        ended => run.tidy(Some(claim)).await.and(ended),
    };
    if let Err(error) = ended
        && !sender.infra.shutdown.has_begun()
    {
        tracing::error!(?error, %endpoint_id, "webhooks could not be sent");
    }
}

struct DeliveryRun<'a> {
    sender: &'a Sender,
    endpoint: ClaimedEndpoint,
    claim: Uuid,
    health: Health,
    known_version: Version,
    claimed_at: Instant,
    because: Option<PausedBecause>,
    untidied: usize,
}

impl DeliveryRun<'_> {
    async fn send_all(&mut self) -> Result<()> {
        let infra = &self.sender.infra;
        while !infra.shutdown.has_begun() {
            let endpoint_id = self.endpoint.endpoint_id;
            let due = self.sender.shared.due.request(endpoint_id).await?;
            // Reading may have taken so long that another node has claimed the endpoint.
            if due.is_empty() || !self.is_ours().await? {
                return Ok(());
            }
            let secrets =
                decrypted(&infra.webhook_encryptor, endpoint_id, &self.endpoint.secrets());
            if secrets.is_empty() {
                return self.pause(PausedBecause::SecretLost).await;
            }
            self.untidied += due.len();
            let next_at = Instant::now() + least_duration(due.len());
            let target = Arc::new(self.target(secrets).await?);
            let may_continue = self.send(&target, due).await?;
            if let Some(because) = self.because {
                return self.pause(because).await;
            }
            if !may_continue {
                return Ok(());
            }
            sleep_until(next_at).await;
            if self.untidied > MOST_UNTIDIED {
                self.tidy(None).await?;
            }
        }
        Ok(())
    }

    async fn pause(&self, because: PausedBecause) -> Result<()> {
        let ClaimedEndpoint { account_id, endpoint_id, .. } = &self.endpoint;
        pause(&self.sender.infra, account_id, *endpoint_id, because).await
    }

    async fn target(&self, secrets: Vec<SigningSecret>) -> Result<Target> {
        let ClaimedEndpoint { endpoint_id, url, format, .. } = &self.endpoint;
        let (known, key) = (&self.sender.destinations, (*endpoint_id, url.clone()));
        if let Some(destination) = known.get(&key).await {
            return Target::at(Ok(destination), format, secrets);
        }
        let target = Target::find(&self.sender.infra.webhook_post, url, format, secrets).await?;
        if let Ok(destination) = &target.destination {
            known.insert(key, destination.clone()).await;
        }
        Ok(target)
    }

    /// Sends a batch; `false` if nothing more may be sent now.
    async fn send(&mut self, target: &Arc<Target>, due: Vec<DueDelivery>) -> Result<bool> {
        let results = ResultWriter::start(self.sender, self.endpoint.endpoint_id);
        let mut under_way = JoinSet::new();
        let sent = self.send_queues(target, PixelQueues::new(due), &mut under_way, &results).await;
        // This runs after an error too: posts in flight are not cancelled, and their results are stored.
        let mut is_writing = true;
        while is_writing && !under_way.is_empty() {
            let done = finished(&mut under_way).await?;
            is_writing = self.record(&results, done).await;
        }
        under_way.detach_all();
        results.finish().await?;
        sent
    }

    async fn send_queues(
        &mut self,
        target: &Arc<Target>,
        mut pixel_queues: PixelQueues,
        under_way: &mut JoinSet<Attempted>,
        results: &ResultWriter,
    ) -> Result<bool> {
        let (mut may_continue, begun_with) = (true, self.endpoint.clone());
        loop {
            may_continue &= !self.sender.infra.shutdown.has_begun();
            // The owner may have changed, paused or deleted the endpoint: read it again before sending more.
            let is_current = self.is_current() && self.endpoint.has_target_of(&begun_with);
            if may_continue && is_current {
                self.start(target, &mut pixel_queues, under_way).await?;
            }
            if under_way.is_empty() {
                return Ok(may_continue);
            }
            let done = finished(under_way).await?;
            done.iter().for_each(|attempted| pixel_queues.give_back(&attempted.due.partition_key));
            may_continue &= self.record(results, done).await;
            if self.claimed_at.elapsed() > EXTENDED_AFTER {
                may_continue &= self.extend().await?;
            }
        }
    }

    /// Whether nothing of the account has changed since the endpoint was read.
    fn is_current(&self) -> bool {
        let (changes, account_id) = (&self.sender.infra.changes, self.endpoint.account_id.as_str());
        changes.is_current(self.known_version, [changes.slot(Topic::Account(account_id))])
    }

    async fn start(
        &self,
        target: &Arc<Target>,
        pixel_queues: &mut PixelQueues,
        under_way: &mut JoinSet<Attempted>,
    ) -> Result<()> {
        while under_way.len() < self.health.window() && pixel_queues.has_next() {
            let permits = self.sender.permits.clone();
            // While posts are in flight, this does not wait for a permit, because their results must be handled.
            let permit = match under_way.is_empty() {
                true => permits.acquire_owned().await.ok(),
                false => permits.try_acquire_owned().ok(),
            };
            let Some(permit) = permit else { return Ok(()) };
            if !pixel_queues.is_made(Instant::now()) {
                self.make(target, pixel_queues).await?;
            }
            let Some((due, body)) = pixel_queues.take() else { return Ok(()) };
            let (sender, target) = (self.sender.clone(), Arc::clone(target));
            let attempt = async move {
                let _guard = sender.infra.shutdown.delay();
                sender.with_permit(permit, attempt(&sender.infra.clock, &target, due, body)).await
            };
            under_way.spawn(attempt.in_current_span());
        }
        Ok(())
    }

    async fn make(&self, target: &Arc<Target>, pixel_queues: &mut PixelQueues) -> Result<()> {
        let now = Instant::now();
        let spots = pixel_queues.next_to_make(now);
        let due = pixel_queues.due_at(&spots);
        let made = bodies::make(&self.sender.infra, target.format, &due).await?;
        pixel_queues.put(&spots, now, made);
        Ok(())
    }

    /// Queues the results of attempts for storing; `false` if nothing more may be sent now.
    async fn record(&mut self, results: &ResultWriter, done: Vec<Attempted>) -> bool {
        if done.is_empty() {
            return true;
        }
        let (infra, failures) = (&self.sender.infra, self.health.failures);
        let mut has_recovered = false;
        for attempted in &done {
            infra.metrics.webhooks.count(attempted.result());
            if attempted.is_delivered() {
                has_recovered |= self.health.record_success(attempted.took);
            } else if attempted.has_failed() {
                self.health.record_failure(attempted.at);
            }
        }
        let now = infra.clock.now();
        let is_changed = failures != self.health.failures || has_recovered;
        let health = is_changed.then(|| self.health.stored_at(now));
        if done.iter().any(Attempted::says_gone) {
            self.because = Some(PausedBecause::Gone);
        } else if self.health.is_given_up(now) {
            self.because = Some(PausedBecause::Failing);
        }
        let is_writing = results.add(Ended { attempts: done, health, has_recovered }).await;
        is_writing && self.because.is_none() && !self.health.seems_away()
    }

    /// Whether the endpoint is still claimed by this run. Also reads the owner's changes.
    async fn is_ours(&mut self) -> Result<bool> {
        let is_known = self.is_current() && self.claimed_at.elapsed() < EXTENDED_AFTER;
        if is_known { Ok(true) } else { self.extend().await }
    }

    /// Extends the claim; `false` if this run has lost it.
    async fn extend(&mut self) -> Result<bool> {
        let infra = &self.sender.infra;
        let (now, known_version) = (infra.clock.now(), infra.changes.version());
        let mut connection = infra.pool.acquire().await?;
        let (id, until) = (self.endpoint.endpoint_id, now + CLAIM);
        let extended = claims::extend(&mut connection, id, self.claim, now, until).await?;
        let Some(extended) = extended else { return Ok(false) };
        (self.endpoint, self.known_version, self.claimed_at) =
            (extended, known_version, Instant::now());
        Ok(true)
    }

    async fn tidy(&mut self, released: Option<Uuid>) -> Result<()> {
        self.untidied = 0;
        let endpoint_id = self.endpoint.endpoint_id;
        self.sender.shared.tidying.request(Tidied { endpoint_id, released }).await
    }
}

async fn finished(under_way: &mut JoinSet<Attempted>) -> Result<Vec<Attempted>> {
    let Ok(Some(first)) = timeout(CHECK_INTERVAL, under_way.join_next()).await else {
        return Ok(Vec::new());
    };
    let mut done = vec![first.map_err(Error::internal)?];
    while let Some(next) = under_way.try_join_next() {
        done.push(next.map_err(Error::internal)?);
    }
    Ok(done)
}
