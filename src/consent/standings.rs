//! The reader of visitors' latest receipts: checks that arrive together share one round trip.
//!
//! A bounded queue feeds each reader. A reader takes all that waits, reads it with one statement
//! that looks every visitor up by index, and answers; what arrives meanwhile waits for the next.
//! There is no timer: alone, a check is read at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use sqlx::PgPool;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::store::{self, Standing};
use crate::error::{Error, Result};
use crate::ids::{PixelRef, VisitorId};
use crate::platform::kept_connection::KeptConnection;
use crate::platform::lasting::keep_running;

/// While one reader waits for PostgreSQL, another answers.
const READERS: usize = 2;
/// Questions that may wait for a reader.
const QUEUE: usize = 5_000;
const BATCH: usize = 500;

/// Whose latest receipt is asked for.
pub struct Question {
    pub pixel: PixelRef,
    pub visitor_id: VisitorId,
    reply: oneshot::Sender<Result<Option<Standing>>>,
}

/// The ends of the queues that requests hold.
#[derive(Clone)]
pub struct Standings {
    queues: Arc<[mpsc::Sender<Question>]>,
    next: Arc<AtomicUsize>,
}

impl Standings {
    /// Starts the readers; they end when the last `Standings` is gone.
    pub fn start(pool: &PgPool) -> Self {
        let queues = (0..READERS).map(|_| {
            let (queue, questions) = mpsc::channel(QUEUE);
            let (pool, questions) = (pool.clone(), Arc::new(Mutex::new(questions)));
            keep_running(move || {
                read_batches(KeptConnection::new(pool.clone()), questions.clone())
            });
            queue
        });
        Self { queues: queues.collect(), next: Arc::default() }
    }

    /// The visitor's latest receipt beside the pixel's present settings, both as they are now or
    /// a moment later. A full queue is an error.
    pub async fn find(&self, pixel: PixelRef, visitor_id: VisitorId) -> Result<Option<Standing>> {
        let (reply, answer) = oneshot::channel();
        let queue = self.next.fetch_add(1, Ordering::Relaxed) % self.queues.len();
        self.queues[queue]
            .try_send(Question { pixel, visitor_id, reply })
            .map_err(|_| Error::Busy { retry_after: 1 })?;
        answer.await.map_err(|_| Error::internal("the reader of receipts panicked"))?
    }
}

async fn read_batches(
    mut connection: KeptConnection,
    questions: Arc<Mutex<mpsc::Receiver<Question>>>,
) {
    let mut questions = questions.lock().await;
    let mut batch = Vec::with_capacity(BATCH);
    while questions.recv_many(&mut batch, BATCH).await > 0 {
        match read(&mut connection, &batch).await {
            Ok(standings) => {
                for (question, standing) in batch.drain(..).zip(standings) {
                    let _ = question.reply.send(Ok(standing));
                }
            }
            Err(error) => {
                connection.give_up();
                refuse_all(batch.drain(..), &error);
            }
        }
    }
}

async fn read(
    connection: &mut KeptConnection,
    batch: &[Question],
) -> Result<Vec<Option<Standing>>> {
    store::list_standings(connection.get().await?, batch).await
}

fn refuse_all(batch: impl Iterator<Item = Question>, error: &Error) {
    for question in batch {
        let _ = question.reply.send(Err(error.for_another()));
    }
}
