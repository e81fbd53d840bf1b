//! Compression and validation of responses (RFC 9110, sections 8.8.3, 12.5.3 and 13.1.2). Cacheable responses
//! get an entity tag, and their compressed forms are cached. Other text is compressed as a stream, so that
//! memory does not grow with the response. This applies to reads and to long responses of tools. Responses
//! with a new secret are not compressed, so that their length reveals nothing.

use std::io::Cursor;
use std::sync::Arc;

use async_compression::Level;
use async_compression::tokio::bufread::GzipEncoder;
use rocket::http::{Method, Status};
use rocket::{Request, Response};
use sha2::{Digest, Sha256};
use tokio::io::BufReader;
use tokio::task::spawn_blocking;

use crate::error::Error;
use crate::http::header_value::list_of;
use crate::http::request_id::Arrival;
use crate::infra::cache::{Bounds, Cache};
use crate::infra::compression::{AcceptedEncodings, Encoding};

/// Minimum size of compressed responses: smaller ones fit into one packet anyway.
const MIN_BYTES: usize = 1_024;
/// Maximum size of all cached compressed forms, in bytes. All our pages take a quarter of it.
const MAX_KEPT: u64 = 2 << 20;
const PIECE: usize = 16 << 10;
const TOOLS_PATH: &str = "/mcp";
const FORM_PATHS: [&str; 2] = ["/console", "/oauth/authorize"];
/// Minimum size of compressed responses of tools. A response with a new credential is always shorter.
const MIN_TOOL_BYTES: usize = 8 << 10;

type Fingerprint = [u8; 12];

pub struct Negotiation {
    forms: Cache<(Fingerprint, Encoding), Arc<[u8]>>,
}

enum Plan {
    Leave,
    Validate,
    CompressOnItsWay,
}

impl Default for Negotiation {
    fn default() -> Self {
        let bytes = |form: &Arc<[u8]>| u32::try_from(form.len()).unwrap_or(u32::MAX);
        Self { forms: Cache::new(Bounds { max_weight: MAX_KEPT, weigh: bytes, life: None }) }
    }
}

impl Negotiation {
    pub async fn apply<'r>(&self, request: &'r Request<'_>, response: &mut Response<'r>) {
        let plan = plan(request, response);
        if matches!(plan, Plan::Leave) {
            return;
        }
        response.adjoin_raw_header("Vary", "Accept-Encoding");
        let accepted = accepted_by(request);
        match plan {
            Plan::Validate => {
                // Boxed, because all responses would otherwise reserve memory for it, and few need it.
                Box::pin(self.validate(request, response, accepted)).await;
            }
            _ if accepted.best([Encoding::Gzip]).is_some() => compress_on_its_way(response),
            _ => {}
        }
    }

    async fn validate<'r>(
        &self,
        request: &'r Request<'_>,
        response: &mut Response<'r>,
        accepted: AcceptedEncodings,
    ) {
        let Ok(body) = response.body_mut().to_bytes().await else {
            // A partial response must not look complete.
            response.set_status(Status::InternalServerError);
            return;
        };
        let fingerprint = fingerprint(&body);
        // A weak tag, because it is the same for all encodings of the response.
        let tag = format!("W/\"{}\"", hex::encode(fingerprint));
        let known = list_of(request.headers(), "If-None-Match");
        let is_known = known.is_some_and(|known| names_tag(&known, &tag));
        response.set_raw_header("ETag", tag);
        if is_known {
            response.set_status(Status::NotModified);
            response.body_mut().take();
            return;
        }
        let body = Arc::<[u8]>::from(body);
        let is_worth_it = body.len() >= MIN_BYTES || accepted.refuses_plain();
        let form = match accepted.best(Encoding::ALL).filter(|_| is_worth_it) {
            Some(encoding) => self.form(fingerprint, encoding, &body).await,
            None => None,
        };
        if let Some((encoding, form)) = form {
            response.set_raw_header("Content-Encoding", encoding.name());
            response.set_sized_body(form.len(), Cursor::new(form));
        } else {
            response.set_sized_body(body.len(), Cursor::new(body));
        }
    }

    /// The cached compressed form; `None` if compression fails, so that the text is sent uncompressed.
    async fn form(
        &self,
        fingerprint: Fingerprint,
        encoding: Encoding,
        body: &Arc<[u8]>,
    ) -> Option<(Encoding, Arc<[u8]>)> {
        let body = Arc::clone(body);
        let making = async {
            let made = spawn_blocking(move || encoding.compress(&body)).await;
            made.map_err(Error::internal)?.map(Arc::from).map_err(Error::internal)
        };
        let form = self.forms.get_or_make((fingerprint, encoding), making).await;
        form.ok().map(|form| (encoding, form))
    }
}

fn accepted_by(request: &Request<'_>) -> AcceptedEncodings {
    AcceptedEncodings::of(list_of(request.headers(), "Accept-Encoding").as_deref())
}

fn plan(request: &Request<'_>, response: &Response<'_>) -> Plan {
    let size = response.body().preset_size();
    let is_small = size.is_some_and(|size| size < MIN_BYTES);
    let (mut is_text, mut may_be_kept, mut is_encoded) = (false, false, false);
    for header in response.headers().iter() {
        if header.name == "Content-Type" {
            is_text = is_compressible(&header.value);
        }
        may_be_kept |= header.name == "Cache-Control" && header.value != "no-store";
        is_encoded |= header.name == "Content-Encoding";
    }
    if !is_text || is_encoded || has_secret_beside_query(request) {
        return Plan::Leave;
    }
    let is_read = matches!(Arrival::of(request).method, Method::Get | Method::Head);
    if may_be_kept && is_read && response.status() == Status::Ok && size.is_some() {
        return Plan::Validate;
    }
    let is_long_list = || {
        request.uri().path().starts_with(TOOLS_PATH)
            && size.is_some_and(|size| size >= MIN_TOOL_BYTES)
    };
    let is_wanted = match is_read {
        true => !is_small || accepted_by(request).refuses_plain(),
        false => is_long_list(),
    };
    if is_wanted { Plan::CompressOnItsWay } else { Plan::Leave }
}

/// Whether the page may contain both secrets of a signed-in person and text of the query.
/// Compressing both together would let an attacker infer the secret from the length (BREACH).
fn has_secret_beside_query(request: &Request<'_>) -> bool {
    let has_query = || request.uri().query().is_some_and(|query| !query.as_str().is_empty());
    let path = request.uri().path();
    FORM_PATHS.iter().any(|form| path.starts_with(form)) && has_query()
}

/// Text that is read as a whole, unlike event streams.
fn is_compressible(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default();
    match kind {
        "application/json"
        | "application/x-ndjson"
        | "application/problem+json"
        | "image/svg+xml" => true,
        "text/event-stream" => false,
        kind => kind.starts_with("text/"),
    }
}

fn compress_on_its_way(response: &mut Response<'_>) {
    let body = BufReader::with_capacity(PIECE, response.body_mut().take());
    response.set_streamed_body(GzipEncoder::with_quality(body, Level::Fastest));
    response.set_max_chunk_size(PIECE);
    response.set_raw_header("Content-Encoding", Encoding::Gzip.name());
}

fn fingerprint(body: &[u8]) -> Fingerprint {
    let digest = Sha256::digest(body);
    std::array::from_fn(|index| digest[index])
}

fn names_tag(known: &str, tag: &str) -> bool {
    let opaque = |tag: &str| {
        let tag = tag.trim();
        tag.strip_prefix("W/").unwrap_or(tag).to_owned()
    };
    known.trim() == "*" || known.split(',').any(|known| opaque(known) == opaque(tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entity_tag_is_found_in_a_list_whether_weak_or_strong() {
        for known in ["*", "\"abc\"", "W/\"abc\"", "\"x\", W/\"abc\"", " W/\"abc\" ,\"y\""] {
            assert!(names_tag(known, "W/\"abc\""), "{known}");
        }
        for other in ["", "\"abcd\"", "abc", "W/\"ab\", \"c\""] {
            assert!(!names_tag(other, "W/\"abc\""), "{other}");
        }
    }

    #[test]
    fn events_and_pictures_are_sent_as_they_are() {
        assert!(is_compressible("text/html; charset=utf-8") && is_compressible("application/json"));
        for other in ["text/event-stream", "application/javascript", "image/png", ""] {
            assert!(!is_compressible(other), "{other}");
        }
    }
}
