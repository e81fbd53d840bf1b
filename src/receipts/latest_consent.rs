//! The reader of visitors' latest receipts: checks that arrive together share one round trip.
//!
//! A bounded queue feeds the readers. One of them takes all that waits, reads it with one statement
//! that looks every visitor up by index, and answers; what arrives meanwhile is the next one's. It waits
//! for nothing more: alone, a check is read at once. A reader that is stuck holds up only what it has
//! taken, and that for a few seconds.
//!
//! Where tables are spread over several machines, the readers hand everything on to [`Lanes`], which read
//! part by part. Which pixel is meant is looked up there too: a part's questions share that as well, and many
//! that wait for one statement cost less than few. So a busy part's wait up to a millisecond for each other.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::FutureExt;
use sqlx::PgPool;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

use super::lanes::{Batches, Lanes};
use super::shards::Shards;
use super::store::latest::{LatestConsent, Question, list_latest};
use super::store::spread::latest::{self as spread, NamedQuestion};
use crate::error::{Error, Result};
use crate::infra::postgres::kept_connection::{KeptConnection, PATIENCE, with_patience};
use crate::infra::supervise::supervise;
use crate::types::ids::{PixelId, PixelRef, VisitorId};

/// While one reader waits for PostgreSQL, another answers.
const READERS: usize = 2;
/// Questions that may wait for a reader.
const QUEUE: usize = 10_000;
const BATCH: usize = 500;
/// Fewer than so many wait a moment for more where a part is busy. On a cluster of three this answered 1.07 to 1.2
/// times as many checks of 64 connections; a pause below 10, 26, 32 or as many as the last time was no better.
const FEW: usize = 16;

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
    pub fn start(pool: &PgPool) -> Self {
        let (queue, tasks) = mpsc::channel(QUEUE);
        let tasks = Arc::new(Mutex::new(tasks));
        let batches = Batches { most: BATCH, few: FEW };
        let lanes = Arc::new(Lanes::new(pool, batches, |connection, placed| {
            answer_placed(connection, placed).boxed()
        }));
        for _ in 0..READERS {
            let (pool, tasks, lanes) = (pool.clone(), tasks.clone(), lanes.clone());
            supervise(move || {
                read_batches(KeptConnection::new(&pool), tasks.clone(), lanes.clone())
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
                Ok(true) => hand_over(&mut connection, &mut shards, &lanes, batch).await,
                Err(error) => refuse_all(batch.into_iter().map(|asked| asked.reply), &error),
            }
        }
        if !probes.is_empty() {
            connection.answer_probes(probes).await;
        }
    }
}

async fn answer(connection: &mut KeptConnection, batch: Vec<Asked>) {
    let reading = async { list_latest(&mut connection.get().await?.connection, &batch).await };
    let found = with_patience(reading).await;
    reply(connection, batch.into_iter().map(|asked| asked.reply), found);
}

/// Gives each question to the lane of its pixel's part.
async fn hand_over(
    connection: &mut KeptConnection,
    shards: &mut Shards,
    lanes: &Lanes<Placed>,
    batch: Vec<Asked>,
) {
    let names = batch.iter().map(|asked| asked.question.pixel.as_str()).collect::<Vec<_>>();
    let places = match with_patience(shards.of_names(connection, &names)).await {
        Ok(places) => places,
        Err(error) => {
            connection.give_up();
            return refuse_all(batch.into_iter().map(|asked| asked.reply), &error);
        }
    };
    for (asked, (believed, part)) in batch.into_iter().zip(places) {
        if let Err(refused) = lanes.hand_over(part, Placed { asked, believed }) {
            refuse_all([refused.asked.reply], &Error::Busy { retry_after: 1 });
        }
    }
}

/// Looks up what the questions of a part name, and answers them.
async fn answer_placed(connection: &mut KeptConnection, mut batch: Vec<Placed>) {
    batch.retain(|placed| !placed.asked.reply.is_closed());
    if batch.is_empty() {
        return;
    }
    let names = batch.iter().map(|placed| placed.asked.question.pixel.as_str());
    let names = names.collect::<Vec<_>>();
    let naming =
        async { spread::list_named(&mut connection.get().await?.connection, &names).await };
    let named = match with_patience(naming).await {
        Ok(named) => named,
        Err(error) => {
            connection.give_up();
            return refuse_all(batch.into_iter().map(|placed| placed.asked.reply), &error);
        }
    };
    let (mut here, mut elsewhere) = (Vec::with_capacity(batch.len()), HashMap::new());
    for Placed { asked: Asked { question, reply }, believed } in batch {
        let pixel = named[question.pixel.as_str()].clone();
        let group = match pixel.pixel_id == believed {
            true => &mut here,
            false => elsewhere.entry(pixel.pixel_id.clone()).or_insert_with(Vec::new),
        };
        let question = NamedQuestion { pixel, visitor_id: question.visitor_id };
        group.push(Named { question, reply });
    }
    if !here.is_empty() {
        answer_named(connection, here).await;
    }
    // The name is another pixel's by now, which may lie in another part: without others', it is asked there.
    for moved in elsewhere.into_values() {
        answer_named(connection, moved).await;
    }
}

/// As [`answer`], for pixels of one part.
async fn answer_named(connection: &mut KeptConnection, batch: Vec<Named>) {
    let reading =
        async { spread::list_latest(&mut connection.get().await?.connection, &batch).await };
    let found = with_patience(reading).await;
    reply(connection, batch.into_iter().map(|asked| asked.reply), found);
}

/// Gives the answers, which are in the order of the questions.
fn reply(
    connection: &mut KeptConnection,
    waiting: impl IntoIterator<Item = Reply>,
    found: Result<Vec<Option<Result<LatestConsent>>>>,
) {
    match found {
        Ok(found) => {
            for (reply, latest) in waiting.into_iter().zip(found) {
                let _ = reply.send(latest.transpose());
            }
        }
        Err(error) => {
            connection.give_up();
            refuse_all(waiting, &error);
        }
    }
}

fn refuse_all(waiting: impl IntoIterator<Item = Reply>, error: &Error) {
    for reply in waiting {
        let _ = reply.send(Err(error.for_another()));
    }
}
