//! Concurrent requests to the database that share round trips and commits. While a batch is handled, the
//! requests that arrive form the next one; there is no further delay, so a single request is handled at once.

use std::any::type_name;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use tokio::sync::{Mutex, mpsc, oneshot};

use super::supervise::supervise;
use crate::error::{Error, Result};

/// While one worker waits for PostgreSQL, the other one takes requests.
const WORKERS: usize = 2;
/// Maximum number of queued requests; further ones wait.
const QUEUE: usize = 1_000;

pub trait Batch: Send + Sync + 'static {
    type Request: Send + Sync + 'static;
    type Reply: Send + 'static;
    /// Maximum number of requests in a batch.
    const MOST: usize;

    /// Handles requests together. Returns their replies in the same order; `None` for a request that has to be
    /// handled alone, because it would delay the others.
    fn together(
        &self,
        requests: &[Self::Request],
    ) -> impl Future<Output = Result<Vec<Option<Self::Reply>>>> + Send;

    fn alone(&self, request: &Self::Request) -> impl Future<Output = Result<Self::Reply>> + Send;
}

struct Task<B: Batch> {
    request: B::Request,
    reply: oneshot::Sender<Result<B::Reply>>,
}

pub struct Batches<B: Batch> {
    queue: mpsc::Sender<Task<B>>,
}

impl<B: Batch> Clone for Batches<B> {
    fn clone(&self) -> Self {
        Self { queue: self.queue.clone() }
    }
}

impl<B: Batch> Batches<B> {
    /// Starts the workers; they end when the last clone of the value is dropped.
    pub fn start(batch: B) -> Self {
        let (queue, tasks) = mpsc::channel(QUEUE);
        let (batch, tasks) = (Arc::new(batch), Arc::new(Mutex::new(tasks)));
        for _ in 0..WORKERS {
            let (batch, tasks) = (batch.clone(), tasks.clone());
            supervise(move || handle_batches(batch.clone(), tasks.clone()));
        }
        Self { queue }
    }

    pub async fn request(&self, request: B::Request) -> Result<B::Reply> {
        let (reply, answer) = oneshot::channel();
        let panicked = || Error::internal("the handler of a batch panicked");
        self.queue.send(Task { request, reply }).await.map_err(|_| panicked())?;
        answer.await.map_err(|_| panicked())?
    }
}

async fn handle_batches<B: Batch>(batch: Arc<B>, tasks: Arc<Mutex<mpsc::Receiver<Task<B>>>>) {
    let mut taken = Vec::new();
    // The other worker waits for the lock while this one waits for requests.
    while tasks.lock().await.recv_many(&mut taken, B::MOST).await > 0 {
        let (requests, replies): (Vec<_>, Vec<_>) =
            taken.drain(..).map(|Task { request, reply }| (request, reply)).unzip();
        // After an error or a panic each request is handled alone, so that the one that causes it fails by itself.
        let handled = AssertUnwindSafe(batch.together(&requests)).catch_unwind().await;
        let handled = handled.map_err(|_| Error::internal("it panicked")).flatten();
        let results = handled.unwrap_or_else(|error| {
            let (kind, requests) = (type_name::<B>(), requests.len());
            tracing::warn!(
                ?error,
                kind,
                requests,
                "a batch failed: its requests are handled alone"
            );
            (0..requests).map(|_| None).collect()
        });
        for ((request, reply), result) in requests.into_iter().zip(replies).zip(results) {
            match result {
                // The caller may have given up.
                Some(result) => drop(reply.send(Ok(result))),
                None => drop(tokio::spawn(handle_alone(batch.clone(), request, reply))),
            }
        }
    }
}

async fn handle_alone<B: Batch>(
    batch: Arc<B>,
    request: B::Request,
    reply: oneshot::Sender<Result<B::Reply>>,
) {
    let result = batch.alone(&request).await;
    drop(reply.send(result));
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex as SyncMutex;

    use futures_util::future::join_all;
    use tokio::sync::Notify;

    use super::*;

    /// Doubles numbers. A negative one fails, with all in its batch, and zero has to be handled alone.
    #[derive(Clone, Default)]
    struct Doubling {
        batches: Arc<SyncMutex<Vec<Vec<i32>>>>,
        proceed: Arc<Notify>,
    }

    impl Batch for Doubling {
        type Request = i32;
        type Reply = i32;
        const MOST: usize = 3;

        async fn together(&self, requests: &[i32]) -> Result<Vec<Option<i32>>> {
            self.batches.lock().unwrap().push(requests.to_vec());
            self.proceed.notified().await;
            match requests.iter().any(|request| *request < 0) {
                true => Err(Error::DatabaseUnavailable),
                false => Ok(requests.iter().map(|&one| (one != 0).then_some(2 * one)).collect()),
            }
        }

        async fn alone(&self, request: &i32) -> Result<i32> {
            (*request >= 0).then_some(2 * request).ok_or(Error::DatabaseUnavailable)
        }
    }

    #[tokio::test]
    async fn requests_that_arrive_meanwhile_share_a_batch_and_one_that_fails_fails_alone() {
        let doubling = Doubling::default();
        let batches = Batches::start(doubling.clone());
        let requests = [1, 2, 3, -4, 5, 0].map(|request| {
            let batches = batches.clone();
            async move { batches.request(request).await }
        });
        let proceed = doubling.proceed.clone();
        let end = tokio::spawn(async move {
            loop {
                proceed.notify_one();
                tokio::task::yield_now().await;
            }
        });
        let replies = join_all(requests).await.into_iter().map(Result::ok).collect::<Vec<_>>();
        end.abort();
        assert_eq!(replies, [Some(2), Some(4), Some(6), None, Some(10), Some(0)]);
        let handled = doubling.batches.lock().unwrap().clone();
        assert!(handled.iter().any(|batch| batch.len() > 1), "{handled:?}");
        assert!(handled.iter().all(|batch| batch.len() <= Doubling::MOST), "{handled:?}");
        assert_eq!(handled.concat().len(), 6, "each is handled with others once: {handled:?}");
    }
}
