use std::io::{self, Cursor, SeekFrom};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use rocket::http::Status;
use rocket::response::{self, Responder};
use rocket::{Request, Response};
use tokio::io::{AsyncRead, AsyncSeek, ReadBuf};

use super::header_value::list_of;
use crate::delivery::prebuilt::{Form, Prebuilt};

pub struct PrebuiltScript(pub Arc<Prebuilt>);

impl<'r> Responder<'r, 'static> for PrebuiltScript {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let accepted = list_of(request.headers(), "Accept-Encoding");
        let mut response = Response::build();
        response
            .raw_header("Content-Type", "application/javascript; charset=utf-8")
            .raw_header("Cache-Control", "no-store")
            .raw_header("Vary", "Accept-Encoding, Accept-Language");
        if let Some((encoding, form)) = self.0.best(accepted.as_deref()) {
            response.raw_header("Content-Encoding", encoding.name());
            let len = form.pieces().iter().map(|piece| piece.len()).sum();
            in_one_piece(&mut response, len, FormReader { form: form.clone(), read: 0 });
        } else {
            let plain = self.0.plain().map_err(|_| Status::InternalServerError)?;
            in_one_piece(&mut response, plain.len(), Cursor::new(plain));
        }
        response.ok()
    }
}

/// Sends one chunk instead of Rocket's 4 KiB. One byte more lets Rocket detect the end without another allocation.
fn in_one_piece(
    response: &mut response::Builder<'static>,
    len: usize,
    body: impl AsyncRead + AsyncSeek + Send + 'static,
) {
    response.sized_body(len, body).max_chunk_size(len + 1);
}

struct FormReader {
    form: Form,
    read: usize,
}

impl AsyncRead for FormReader {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let (before, mut begin) = (buffer.filled().len(), self.read);
        for piece in self.form.pieces() {
            let unread = piece.get(begin..).unwrap_or_default();
            begin = begin.saturating_sub(piece.len());
            buffer.put_slice(&unread[..unread.len().min(buffer.remaining())]);
        }
        self.read += buffer.filled().len() - before;
        Poll::Ready(Ok(()))
    }
}

/// Required by Rocket, but unused for a body of known length.
impl AsyncSeek for FormReader {
    fn start_seek(self: Pin<&mut Self>, _position: SeekFrom) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn poll_complete(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<u64>> {
        Poll::Ready(Ok(self.read as u64))
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::*;
    use crate::delivery::bundles::Script;
    use crate::delivery::script_cache::{ScriptCache, ScriptKey};
    use crate::infra::metrics::CacheMetrics;

    #[tokio::test]
    async fn a_form_is_read_whole_however_little_is_read_at_once() {
        let cache = ScriptCache::new(1, CacheMetrics::default());
        let key = ScriptKey { script: Script::Pixel, lang: "", site: None };
        let script = cache.get(key, || Script::Pixel.with_config(&"configuration")).await.unwrap();
        let (_, form) = script.best(Some("gzip")).unwrap();
        let whole = form.pieces().concat();
        let seam = form.pieces()[0].len();
        for at_once in [1, 7, seam, whole.len() - 1, whole.len(), whole.len() + 1] {
            let mut reader = FormReader { form: form.clone(), read: 0 };
            let mut read = Vec::new();
            let mut buffer = vec![0; at_once];
            loop {
                match reader.read(&mut buffer).await.unwrap() {
                    0 => break,
                    some => read.extend_from_slice(&buffer[..some]),
                }
            }
            assert!(read == whole, "{at_once} at once");
        }
    }
}
