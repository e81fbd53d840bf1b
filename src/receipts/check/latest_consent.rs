//! The reader of visitors' latest receipts: concurrent checks share one round trip.
//!
//! A bounded queue feeds the readers. One of them takes all pending lookups, reads them with one statement
//! that finds every visitor by index, and replies; lookups that arrive meanwhile are taken by the next
//! reader. There is no further delay: a single check is read at once. A stuck reader delays only the lookups
//! that it has taken, for a few seconds.
//!
//! On a cluster the readers pass everything on to [`ShardQueues`], which read shard by shard. Aliases are resolved
//! there too, so the lookups of a shard share that as well. A large statement costs little more than a small
//! one, so the lookups of a busy shard wait one to two milliseconds for each other.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

use crate::error::{Error, Result};
use crate::infra::postgres::Database;
use crate::infra::postgres::kept_connection::{KeptConnection, LiveConnection, TIMEOUT};
use crate::infra::supervise::supervise;
use crate::receipts::cluster::alias_cache::AliasCache;
use crate::receipts::cluster::shard_queues::{Batches, ShardQueues};
use crate::receipts::cluster::shards::Shards;
use crate::receipts::store::latest::{LatestConsent, Question, list_latest};
use crate::receipts::store::latest_of_pixels::{self, NamedQuestion};
use crate::types::ids::{PixelId, PixelRef, VisitorId};

/// While one reader waits for PostgreSQL, the other one replies.
const READERS: usize = 2;
/// Maximum number of queued lookups.
const QUEUE: usize = 10_000;
const BATCH: usize = 500;
/// Batch size for which the lookups of a busy shard wait briefly (measured: bench/cluster.md).
const ENOUGH: usize = 16;

/// Receives the result.
type Reply = oneshot::Sender<Result<Option<LatestConsent>>>;

/// A lookup, with its reply channel.
struct Asked {
    question: Question,
    reply: Reply,
}

impl AsRef<Question> for Asked {
    fn as_ref(&self) -> &Question {
        &self.question
    }
}

/// A lookup routed to the shard of the cached pixel of its name.
struct Placed {
    asked: Asked,
    believed: PixelId,
}

/// A lookup whose pixel is resolved.
struct Named {
    question: NamedQuestion,
    reply: Reply,
}

impl AsRef<NamedQuestion> for Named {
    fn as_ref(&self) -> &NamedQuestion {
        &self.question
    }
}

/// A message to the readers.
enum Task {
    Find(Asked),
    /// Checks that the reader can read now.
    Probe(oneshot::Sender<Result<()>>),
}

/// The sender of the queue, held by requests.
#[derive(Clone)]
pub struct ConsentReader {
    queue: mpsc::Sender<Task>,
}

impl ConsentReader {
    /// Starts the readers; they end when the last `ConsentReader` is dropped.
    pub fn start(database: &Database) -> Self {
        let (queue, tasks) = mpsc::channel(QUEUE);
        let tasks = Arc::new(Mutex::new(tasks));
        let batches = Batches { most: BATCH, enough: Some(ENOUGH) };
        let names = AliasCache::new();
        let believed = names.clone();
        let shard_queues =
            Arc::new(ShardQueues::new(database, batches, move |connection, placed| {
                let names = believed.clone();
                async move { answer_placed(connection, &names, placed).await }.boxed()
            }));
        for _ in 0..READERS {
            let (database, tasks, shard_queues) =
                (database.clone(), tasks.clone(), shard_queues.clone());
            let names = names.clone();
            supervise(move || {
                let connection = KeptConnection::new(&database);
                read_batches(connection, tasks.clone(), names.clone(), shard_queues.clone())
            });
        }
        Self { queue }
    }

    /// The visitor's latest receipt with the pixel's current settings, both as of now or slightly later.
    /// Fails if the queue is full.
    pub async fn find(
        &self,
        pixel: PixelRef,
        visitor_id: VisitorId,
    ) -> Result<Option<LatestConsent>> {
        let (reply, answer) = oneshot::channel();
        let question = Question { pixel, visitor_id };
        self.ask(Task::Find(Asked { question, reply }), answer).await
    }

    /// Checks that a reader reaches the database.
    pub async fn probe(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.ask(Task::Probe(reply), answer).await
    }

    async fn ask<T>(&self, task: Task, answer: oneshot::Receiver<Result<T>>) -> Result<T> {
        self.queue.try_send(task).map_err(|_| Error::Busy { retry_after: 1 })?;
        // Both readers may be stuck with earlier lookups.
        let answer = timeout(TIMEOUT, answer).await.map_err(|_| Error::DatabaseUnavailable)?;
        answer.map_err(|_| Error::internal("the reader of receipts panicked"))?
    }
}

async fn read_batches(
    mut connection: KeptConnection,
    tasks: Arc<Mutex<mpsc::Receiver<Task>>>,
    names: AliasCache,
    shard_queues: Arc<ShardQueues<Placed>>,
) {
    let mut shards = Shards::new();
    let mut taken = Vec::with_capacity(BATCH);
    // The other reader waits for the lock while this one waits for lookups.
    while tasks.lock().await.recv_many(&mut taken, BATCH).await > 0 {
        let (mut batch, mut probes) = (Vec::with_capacity(taken.len()), Vec::new());
        for task in taken.drain(..) {
            match task {
                Task::Find(asked) => batch.push(asked),
                Task::Probe(reply) => probes.push(reply),
            }
        }
        // Drops lookups whose callers have given up.
        batch.retain(|asked| !asked.reply.is_closed());
        probes.retain(|reply| !reply.is_closed());
        if !batch.is_empty() {
            match connection.is_spread().await {
                Ok(false) => answer(&mut connection, batch).await,
                Ok(true) => {
                    hand_over(&mut connection, &names, &mut shards, &shard_queues, batch).await
                }
                Err(error) => refuse_all(batch.into_iter().map(|asked| asked.reply), &error),
            }
        }
        if !probes.is_empty() {
            connection.answer_probes(probes).await;
        }
    }
}

async fn answer(connection: &mut KeptConnection, batch: Vec<Asked>) {
    let reading = async |live: &mut LiveConnection| list_latest(&mut live.connection, &batch).await;
    let found = connection.run(reading).await;
    reply(batch.into_iter().map(|asked| asked.reply), found);
}

/// Queues each lookup for the shard of its pixel.
async fn hand_over(
    connection: &mut KeptConnection,
    names: &AliasCache,
    shards: &mut Shards,
    shard_queues: &ShardQueues<Placed>,
    batch: Vec<Asked>,
) {
    let asked = batch.iter().map(|asked| asked.question.pixel.as_str()).collect::<Vec<_>>();
    let placing = async |live: &mut LiveConnection| {
        let pixels = names.pixels_of(live, &asked).await?;
        let pixel_ids = pixels.iter().map(PixelId::as_str).collect::<Vec<_>>();
        let parts = shards.of(live, &pixel_ids).await?;
        Ok(pixels.into_iter().zip(parts))
    };
    let places = match connection.run(placing).await {
        Ok(places) => places,
        Err(error) => return refuse_all(batch.into_iter().map(|asked| asked.reply), &error),
    };
    for (asked, (believed, part)) in batch.into_iter().zip(places) {
        if let Err(refused) = shard_queues.hand_over(part, Placed { asked, believed }) {
            refuse_all([refused.asked.reply], &Error::Busy { retry_after: 1 });
        }
    }
}

/// Resolves the names in a shard's lookups, and replies.
async fn answer_placed(
    connection: &mut KeptConnection,
    names: &AliasCache,
    mut batch: Vec<Placed>,
) {
    batch.retain(|placed| !placed.asked.reply.is_closed());
    if batch.is_empty() {
        return;
    }
    let asked = batch.iter().map(|placed| placed.asked.question.pixel.as_str());
    let asked = asked.collect::<Vec<_>>();
    let naming = async |live: &mut LiveConnection| {
        latest_of_pixels::list_named(&mut live.connection, &asked).await
    };
    let named = match connection.run(naming).await {
        Ok(named) => named,
        Err(error) => {
            return refuse_all(batch.into_iter().map(|placed| placed.asked.reply), &error);
        }
    };
    let (mut here, mut elsewhere) = (Vec::with_capacity(batch.len()), HashMap::new());
    for Placed { asked: Asked { question, reply }, believed } in batch {
        let pixel = named[question.pixel.as_str()].clone();
        let group = if pixel.pixel_id == believed {
            &mut here
        } else {
            names.correct(question.pixel.as_str(), &pixel.pixel_id).await;
            elsewhere.entry(pixel.pixel_id.clone()).or_insert_with(Vec::new)
        };
        let question = NamedQuestion { pixel, visitor_id: question.visitor_id };
        group.push(Named { question, reply });
    }
    if !here.is_empty() {
        answer_named(connection, here).await;
    }
    // The name now belongs to another pixel, which may be in another shard. It is looked up there in a
    // statement without other pixels.
    for mut moved in elsewhere.into_values() {
        moved.retain(|named| !named.reply.is_closed());
        if !moved.is_empty() {
            answer_named(connection, moved).await;
        }
    }
}

/// Like [`answer`], for pixels of one shard.
async fn answer_named(connection: &mut KeptConnection, batch: Vec<Named>) {
    let reading = async |live: &mut LiveConnection| {
        latest_of_pixels::list_latest(&mut live.connection, &batch).await
    };
    let found = connection.run(reading).await;
    reply(batch.into_iter().map(|asked| asked.reply), found);
}

/// Sends the results, which are in the order of the lookups.
fn reply(
    waiting: impl IntoIterator<Item = Reply>,
    found: Result<Vec<Option<Result<LatestConsent>>>>,
) {
    match found {
        Ok(found) => {
            for (reply, latest) in waiting.into_iter().zip(found) {
                let _ = reply.send(latest.transpose());
            }
        }
        Err(error) => refuse_all(waiting, &error),
    }
}

fn refuse_all(waiting: impl IntoIterator<Item = Reply>, error: &Error) {
    for reply in waiting {
        let _ = reply.send(Err(error.for_another()));
    }
}
