//! The reader of visitors' latest receipts: checks that arrive together share one round trip.
//!
//! A bounded queue feeds the readers. One of them takes all that waits, reads it with one statement
//! that looks every visitor up by index, and answers; what arrives meanwhile is the next one's. It waits
//! for nothing more: alone, a check is read at once. A reader that is stuck holds up only what it has
//! taken, and that for a few seconds.
//!
//! Where tables are spread over several machines, the readers hand everything on to [`Lanes`], which read
//! part by part. Which pixel is meant is looked up there too: a part's questions share that as well. Many in one
//! statement cost little more than few, so those of a busy part wait one to two milliseconds for each other.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

use super::lanes::{Batches, Lanes};
use super::names::Names;
use super::shards::Shards;
use super::store::latest::{LatestConsent, Question, list_latest};
use super::store::spread::latest::{self as spread, NamedQuestion};
use crate::error::{Error, Result};
use crate::infra::postgres::Database;
use crate::infra::postgres::kept_connection::{KeptConnection, LiveConnection, PATIENCE};
use crate::infra::supervise::supervise;
use crate::types::ids::{PixelId, PixelRef, VisitorId};

/// While one reader waits for PostgreSQL, another answers.
const READERS: usize = 2;
/// Questions that may wait for a reader.
const QUEUE: usize = 10_000;
const BATCH: usize = 500;
/// A busy part's questions wait a moment for each other until there are so many (measured: bench/cluster.md).
const ENOUGH: usize = 16;

/// Whoever waits for an answer.
type Reply = oneshot::Sender<Result<Option<LatestConsent>>>;

/// A question, and whoever waits for the answer.
struct Asked {
    question: Question,
    reply: Reply,
}

impl AsRef<Question> for Asked {
    fn as_ref(&self) -> &Question {
        &self.question
    }
}

/// As [`Asked`], on its way to the part of the pixel that was meant a while ago.
struct Placed {
    asked: Asked,
    believed: PixelId,
}

/// As [`Asked`], once it is known which pixel is meant.
struct Named {
    question: NamedQuestion,
    reply: Reply,
}

impl AsRef<NamedQuestion> for Named {
    fn as_ref(&self) -> &NamedQuestion {
        &self.question
    }
}

/// What a reader is asked for.
enum Task {
    Find(Asked),
    /// Whether it could read now.
    Probe(oneshot::Sender<Result<()>>),
}

/// The end of the queue that requests hold.
#[derive(Clone)]
pub struct ConsentReader {
    queue: mpsc::Sender<Task>,
}

impl ConsentReader {
    /// Starts the readers; they end when the last `ConsentReader` is gone.
    pub fn start(database: &Database) -> Self {
        let (queue, tasks) = mpsc::channel(QUEUE);
        let tasks = Arc::new(Mutex::new(tasks));
        let batches = Batches { most: BATCH, enough: Some(ENOUGH) };
        let names = Names::new();
        let believed = names.clone();
        let lanes = Arc::new(Lanes::new(database, batches, move |connection, placed| {
            let names = believed.clone();
            async move { answer_placed(connection, &names, placed).await }.boxed()
        }));
        for _ in 0..READERS {
            let (database, tasks, lanes) = (database.clone(), tasks.clone(), lanes.clone());
            let names = names.clone();
            supervise(move || {
                let connection = KeptConnection::new(&database);
                read_batches(connection, tasks.clone(), names.clone(), lanes.clone())
            });
        }
        Self { queue }
    }

    /// The visitor's latest receipt beside the pixel's present settings, both as they are now or
    /// a moment later. A full queue is an error.
    pub async fn find(
        &self,
        pixel: PixelRef,
        visitor_id: VisitorId,
    ) -> Result<Option<LatestConsent>> {
        let (reply, answer) = oneshot::channel();
        let question = Question { pixel, visitor_id };
        self.ask(Task::Find(Asked { question, reply }), answer).await
    }

    /// Whether a reader reaches the database.
    pub async fn probe(&self) -> Result<()> {
        let (reply, answer) = oneshot::channel();
        self.ask(Task::Probe(reply), answer).await
    }

    async fn ask<T>(&self, task: Task, answer: oneshot::Receiver<Result<T>>) -> Result<T> {
        self.queue.try_send(task).map_err(|_| Error::Busy { retry_after: 1 })?;
        // Both readers may be stuck with what came before.
        let answer = timeout(PATIENCE, answer).await.map_err(|_| Error::DatabaseUnavailable)?;
        answer.map_err(|_| Error::internal("the reader of receipts panicked"))?
    }
}

async fn read_batches(
    mut connection: KeptConnection,
    tasks: Arc<Mutex<mpsc::Receiver<Task>>>,
    names: Names,
    lanes: Arc<Lanes<Placed>>,
) {
    let mut shards = Shards::new();
    let mut taken = Vec::with_capacity(BATCH);
    // The other reader waits to take while this one waits for something to come.
    while tasks.lock().await.recv_many(&mut taken, BATCH).await > 0 {
        let (mut batch, mut probes) = (Vec::with_capacity(taken.len()), Vec::new());
        for task in taken.drain(..) {
            match task {
                Task::Find(asked) => batch.push(asked),
                Task::Probe(reply) => probes.push(reply),
            }
        }
        // Nobody waits any more for what has been here for too long.
        batch.retain(|asked| !asked.reply.is_closed());
        probes.retain(|reply| !reply.is_closed());
        if !batch.is_empty() {
            match connection.is_spread().await {
                Ok(false) => answer(&mut connection, batch).await,
                Ok(true) => hand_over(&mut connection, &names, &mut shards, &lanes, batch).await,
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

/// Gives each question to the lane of its pixel's part.
async fn hand_over(
    connection: &mut KeptConnection,
    names: &Names,
    shards: &mut Shards,
    lanes: &Lanes<Placed>,
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
        if let Err(refused) = lanes.hand_over(part, Placed { asked, believed }) {
            refuse_all([refused.asked.reply], &Error::Busy { retry_after: 1 });
        }
    }
}

/// Looks up what the questions of a part name, and answers them.
async fn answer_placed(connection: &mut KeptConnection, names: &Names, mut batch: Vec<Placed>) {
    batch.retain(|placed| !placed.asked.reply.is_closed());
    if batch.is_empty() {
        return;
    }
    let asked = batch.iter().map(|placed| placed.asked.question.pixel.as_str());
    let asked = asked.collect::<Vec<_>>();
    let naming =
        async |live: &mut LiveConnection| spread::list_named(&mut live.connection, &asked).await;
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
    // The name is another pixel's by now, which may lie in another part: without others', it is asked there.
    for mut moved in elsewhere.into_values() {
        moved.retain(|named| !named.reply.is_closed());
        if !moved.is_empty() {
            answer_named(connection, moved).await;
        }
    }
}

/// As [`answer`], for pixels of one part.
async fn answer_named(connection: &mut KeptConnection, batch: Vec<Named>) {
    let reading =
        async |live: &mut LiveConnection| spread::list_latest(&mut live.connection, &batch).await;
    let found = connection.run(reading).await;
    reply(batch.into_iter().map(|asked| asked.reply), found);
}

/// Gives the answers, which are in the order of the questions.
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
