use std::io::Cursor;

use rocket::response::{self, Responder};
use rocket::{Request, Response};
use serde::Serialize;

use crate::error::Error;

/// Initial capacity, enough for most responses, so that the buffer does not grow.
const USUAL: usize = 1024;

pub struct Json<T>(pub T);

impl<'r, T: Serialize> Responder<'r, 'static> for Json<T> {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let mut body = Vec::with_capacity(USUAL);
        match serde_json::to_writer(&mut body, &self.0) {
            Ok(()) => {
                // Sent as one chunk, where Rocket would use a buffer of 4 KiB. One byte more lets
                // Rocket detect the end without another allocation.
                let whole = body.len() + 1;
                Response::build()
                    .raw_header("Content-Type", "application/json")
                    .sized_body(body.len(), Cursor::new(body))
                    .max_chunk_size(whole)
                    .ok()
            }
            Err(error) => Error::internal(error).respond_to(request),
        }
    }
}
