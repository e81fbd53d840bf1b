use futures_util::stream::{self, BoxStream, StreamExt};
use rocket::Request;
use rocket::response::stream::ByteStream;
use rocket::response::{self, Responder, Response};

use super::listed::link_to;

const MEDIA_TYPE: &str = "text/csv; charset=utf-8";

pub struct Csv {
    /// The name of the file without its extension: letters, digits, `-`, `_`.
    pub name: String,
    pub lines: BoxStream<'static, Vec<u8>>,
    /// The address of the next page.
    pub next: Option<String>,
}

impl Csv {
    pub fn whole(name: String, lines: Vec<u8>) -> Self {
        Self { name, lines: stream::iter([lines]).boxed(), next: None }
    }
}

impl<'r> Responder<'r, 'r> for Csv {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'r> {
        let mut response = Response::build_from(ByteStream(self.lines).respond_to(request)?);
        response.raw_header("Content-Type", MEDIA_TYPE).raw_header(
            "Content-Disposition",
            format!("attachment; filename=\"{}.csv\"", self.name),
        );
        if let Some(next) = self.next {
            response.raw_header("Link", link_to(&next));
        }
        response.ok()
    }
}
