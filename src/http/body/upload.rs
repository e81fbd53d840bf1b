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
const PIECE: usize = 16 * KIB;
const WAITING: usize = 2;
/// The longest pause between two pieces; a longer one ends the upload.
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
const LONGEST: Duration = Duration::from_secs(120);

/// An unread body of at most `LIMIT_KIB` KiB. A larger one is 413, immediately if it is announced.
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
    /// Passes the body to `take`; an error ends the stream. If `take` returns early, the rest of the
    /// body is read nevertheless, because closing the connection early would lose the response.
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
        // The receiver may have been dropped.
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
