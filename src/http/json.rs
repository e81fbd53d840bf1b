//! JSON answers.

use std::io::Cursor;

use rocket::response::{self, Responder};
use rocket::{Request, Response};
use serde::Serialize;

use crate::error::Error;

/// Room for most answers, so that they need not move while they are written.
const USUAL: usize = 1024;

/// Answers with the value as JSON.
pub struct Json<T>(pub T);

impl<'r, T: Serialize> Responder<'r, 'static> for Json<T> {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let mut body = Vec::with_capacity(USUAL);
        match serde_json::to_writer(&mut body, &self.0) {
            Ok(()) => {
                // In one piece: Rocket would take a buffer of 4 KiB. One byte more, so that it sees
                // the end without making room for another.
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
