//! Prebuilt scripts as answers.

use std::io::Cursor;
use std::sync::Arc;

use rocket::http::Status;
use rocket::response::{self, Responder};
use rocket::{Request, Response};

use super::header_value::header_of;
use crate::delivery::prebuilt::Prebuilt;

/// A script on its way to a page.
pub struct PrebuiltScript(pub Arc<Prebuilt>);

impl<'r> Responder<'r, 'static> for PrebuiltScript {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let accepted = header_of(request.headers(), "Accept-Encoding");
        let mut response = Response::build();
        response
            .raw_header("Content-Type", "application/javascript; charset=utf-8")
            .raw_header("Cache-Control", "no-store")
            .raw_header("Vary", "Accept-Encoding, Accept-Language");
        if let Some((encoding, bytes)) = self.0.best(accepted.as_deref()) {
            response.raw_header("Content-Encoding", encoding.name());
            in_one_piece(&mut response, bytes.len(), Arc::clone(bytes));
        } else {
            let plain = self.0.plain().map_err(|_| Status::InternalServerError)?;
            in_one_piece(&mut response, plain.len(), plain);
        }
        response.ok()
    }
}

/// Rocket would cut a body into pieces of 4 KiB, each written by itself. One byte more, so that it
/// sees the end without making room for another.
fn in_one_piece(
    response: &mut response::Builder<'static>,
    len: usize,
    bytes: impl AsRef<[u8]> + Send + Unpin + 'static,
) {
    response.sized_body(len, Cursor::new(bytes)).max_chunk_size(len + 1);
}
