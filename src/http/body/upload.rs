//! Bodies that are too long to be held: passed on piece by piece while they come.

use std::time::Duration;

use futures_util::stream::{self, BoxStream, StreamExt};
use rocket::Request;
use rocket::data::{Data, DataStream, FromData, Outcome, ToByteUnit};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout, timeout_at};

use super::{announced, outcome};
use crate::error::{Error, Result};
use crate::http::refusals::Refuses;

const KIB: usize = 1024;
/// Bytes that are read and passed on at once.
const PIECE: usize = 16 * KIB;
/// Pieces that wait for whoever takes them.
const WAITING: usize = 2;
/// A sender who pauses for longer is cut off.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// A body that has not come by then is cut off, however it trickles.
const LONGEST: Duration = Duration::from_secs(120);

/// A body of at most `LIMIT_KIB` KiB that nobody has read yet. A larger one is 413: at once when it
/// says so, else when there is more.
pub struct Upload<'r, const LIMIT_KIB: usize>(Data<'r>);

#[rocket::async_trait]
impl<'r, const LIMIT_KIB: usize> FromData<'r> for Upload<'r, LIMIT_KIB> {
    type Error = ();

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r, Self> {
        let is_too_large = announced(request).is_some_and(|length| length > LIMIT_KIB * KIB);
        let body = if is_too_large { Err(Error::BodyTooLarge) } else { Ok(Self(data)) };
        outcome(request, body)
    }
}

impl<const LIMIT_KIB: usize> Upload<'_, LIMIT_KIB> {
    /// Reads the body while `take` takes it; an error ends the stream. What is not taken is read all
    /// the same: a connection that is closed before would take the answer with it.
    pub async fn pass_to<T, F: Future<Output = Result<T>>>(
        self,
        take: impl FnOnce(BoxStream<'static, Result<Vec<u8>>>) -> F,
    ) -> Result<T> {
        let (sender, pieces) = mpsc::channel(WAITING);
        let pieces = stream::unfold(pieces, |mut pieces| async {
            pieces.recv().await.map(|piece| (piece, pieces))
        });
        let body = self.0.open((LIMIT_KIB * KIB + 1).bytes());
        let ((), taken) = tokio::join!(send(body, LIMIT_KIB * KIB, sender), take(pieces.boxed()));
        taken
    }
}

async fn send(mut body: DataStream<'_>, limit: usize, pieces: mpsc::Sender<Result<Vec<u8>>>) {
    let (deadline, mut length) = (Instant::now() + LONGEST, 0);
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        let read = timeout(LONGEST_PAUSE, body.read_buf(&mut piece));
        let piece = match timeout_at(deadline, read).await {
            Ok(Ok(Ok(0))) => return,
            Ok(Ok(Ok(read))) if length + read > limit => Err(Error::BodyTooLarge),
            Ok(Ok(Ok(read))) => {
                length += read;
                Ok(piece)
            }
            Ok(Ok(Err(_))) => Err(Error::InvalidRequest),
            Ok(Err(_)) | Err(_) => Err(Error::BodyTimeout),
        };
        let is_end = piece.is_err();
        // Nobody may be left who takes it.
        let _ = pieces.send(piece).await;
        if is_end {
            return;
        }
    }
}

impl<const LIMIT_KIB: usize> Refuses for Upload<'_, LIMIT_KIB> {
    fn refusals() -> Vec<Error> {
        vec![Error::InvalidRequest, Error::BodyTooLarge, Error::BodyTimeout]
    }
}
