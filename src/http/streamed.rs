//! Answers that are made piece by piece while they are sent, so that memory does not grow with
//! their length.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_util::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use rocket::http::ContentType;
use rocket::response::{self, Responder};
use rocket::{Request, Response};
use tokio::io::{AsyncRead, ReadBuf};

use crate::error::Result;

/// Bytes handed to the connection at once.
const CHUNK: usize = 64 * 1024;

/// An answer of status 200 whose pieces come from a stream.
///
/// A failure in mid-stream cannot change the status any more, and Rocket ends such a body as if
/// it were complete: only use formats in which a reader sees that the end is missing.
pub struct Streamed {
    content_type: ContentType,
    pieces: BoxStream<'static, Result<Vec<u8>>>,
}

impl Streamed {
    /// Waits for the first piece, so that a failure until then is answered as what it is.
    pub async fn start(
        content_type: ContentType,
        pieces: impl Stream<Item = Result<Vec<u8>>> + Send + 'static,
    ) -> Result<Self> {
        let mut pieces = pieces.boxed();
        let first = pieces.try_next().await?;
        let pieces = stream::iter(first.map(Ok)).chain(pieces).boxed();
        Ok(Self { content_type, pieces })
    }
}

impl<'r> Responder<'r, 'static> for Streamed {
    fn respond_to(self, _: &'r Request<'_>) -> response::Result<'static> {
        let reader = PieceReader { pieces: self.pieces, piece: Vec::new(), read: 0 };
        Response::build().header(self.content_type).max_chunk_size(CHUNK).streamed_body(reader).ok()
    }
}

/// Reads the pieces as one sequence of bytes.
struct PieceReader {
    pieces: BoxStream<'static, Result<Vec<u8>>>,
    piece: Vec<u8>,
    /// How much of `piece` has been read.
    read: usize,
}

impl AsyncRead for PieceReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        while self.read == self.piece.len() {
            match ready!(self.pieces.poll_next_unpin(context)) {
                None => return Poll::Ready(Ok(())),
                Some(Ok(piece)) => (self.piece, self.read) = (piece, 0),
                Some(Err(error)) => {
                    tracing::error!(%error, "an answer broke off in mid-stream");
                    return Poll::Ready(Err(io::Error::other(error)));
                }
            }
        }
        let length = buffer.remaining().min(self.piece.len() - self.read);
        buffer.put_slice(&self.piece[self.read..self.read + length]);
        self.read += length;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use tokio::io::AsyncReadExt;

    fn reader(pieces: Vec<Result<Vec<u8>>>) -> PieceReader {
        PieceReader { pieces: stream::iter(pieces).boxed(), piece: Vec::new(), read: 0 }
    }

    #[tokio::test]
    async fn pieces_are_read_as_one_sequence() {
        let pieces = [&b"ab"[..], b"", b"cde"].map(|piece| Ok(piece.to_vec()));
        let mut read = Vec::new();
        reader(pieces.into()).read_to_end(&mut read).await.unwrap();
        assert_eq!(read, b"abcde");
    }

    #[tokio::test]
    async fn a_failure_is_not_read_as_the_end() {
        let pieces = vec![Ok(b"ab".to_vec()), Err(Error::DatabaseUnavailable)];
        assert!(reader(pieces).read_to_end(&mut Vec::new()).await.is_err());
    }

    #[tokio::test]
    async fn a_failure_before_the_first_piece_is_the_answer() {
        let pieces = stream::iter([Err(Error::DatabaseUnavailable)]);
        let started = Streamed::start(ContentType::JSON, pieces).await;
        assert!(matches!(started, Err(Error::DatabaseUnavailable)));
    }
}
