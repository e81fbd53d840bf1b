use futures_util::stream::{self, BoxStream, StreamExt};
use rocket::Request;
use rocket::response::stream::ByteStream;
use rocket::response::{self, Responder, Response};
use url::form_urlencoded::{self, Serializer};

use crate::app::App;
use crate::error::Error;

const MEDIA_TYPE: &str = "text/csv; charset=utf-8";

pub struct Csv {
    /// The name of the file without its extension: letters, digits, `-`, `_`.
    pub name: String,
    pub lines: BoxStream<'static, Vec<u8>>,
    pub next: Option<(&'static str, String)>,
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
        if let Some((parameter, value)) = self.next {
            let Some(app) = request.rocket().state::<App>() else {
                return Error::internal("no app is managed").respond_to(request);
            };
            let address = address(app.infra.base_url(), request, parameter, &value);
            response.raw_header("Link", format!("<{address}>; rel=\"next\""));
        }
        response.ok()
    }
}

/// The URL of the request with another value of one parameter (RFC 8288).
fn address(base: &str, request: &Request<'_>, parameter: &str, value: &str) -> String {
    let uri = request.uri();
    let query = uri.query().map_or("", |query| query.as_str());
    let others = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name != parameter);
    let query =
        Serializer::new(String::new()).extend_pairs(others).append_pair(parameter, value).finish();
    format!("{base}{}?{query}", uri.path())
}
