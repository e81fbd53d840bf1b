//! HTTP routes of the public log, in the formats of c2sp.org/tlog-tiles.

use std::convert::Infallible;
use std::io::Cursor;
use std::sync::Arc;

use rocket::http::uri::Segments;
use rocket::http::uri::fmt::Path;
use rocket::request::FromSegments;
use rocket::response::{self, Responder};
use rocket::{Request, Response, State, get};
use utoipa::ToSchema;

use crate::app::App;
use crate::error::{Error, Result};
use crate::http::described::described_routes;
use crate::http::refusals::{Refuses, refusals};
use crate::infra::Infra;
use crate::infra::limits::per_client::{Client, Limit};

described_routes![checkpoint, log_policy, entries, tile, later_log];

/// For files that soon change.
const FOR_SECONDS: &str = "public, max-age=5";
/// For files that never change.
const FOR_GOOD: &str = "public, max-age=31536000, immutable";

enum LogFile {
    Text { text: Arc<str>, kept: &'static str },
    Bytes(Arc<[u8]>),
}

impl<'r> Responder<'r, 'static> for LogFile {
    fn respond_to(self, _: &'r Request<'_>) -> response::Result<'static> {
        let mut response = Response::build();
        match self {
            Self::Text { text, kept } => {
                let text = Arc::<[u8]>::from(text);
                response
                    .raw_header("Content-Type", "text/plain; charset=utf-8")
                    .raw_header("Cache-Control", kept)
                    .sized_body(text.len(), Cursor::new(text));
            }
            Self::Bytes(bytes) => {
                response
                    .raw_header("Content-Type", "application/octet-stream")
                    .raw_header("Cache-Control", FOR_GOOD)
                    .sized_body(bytes.len(), Cursor::new(bytes));
            }
        }
        response.ok()
    }
}

struct Rest(String);

impl FromSegments<'_> for Rest {
    type Error = Infallible;

    fn from_segments(segments: Segments<'_, Path>) -> Result<Self, Infallible> {
        Ok(Self(segments.collect::<Vec<_>>().join("/")))
    }
}

/// Bytes, for the description.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[allow(dead_code, reason = "it is made by nobody")]
struct Octets(Vec<u8>);

enum Reads {}

impl Refuses for Reads {
    fn refusals() -> Vec<Error> {
        vec![Error::TooManyRequests { retry_after: 1 }]
    }
}

refusals!(LogRefusals: [Infra, Reads] NoLog, NotInLog);

/// The signed state of the log
#[utoipa::path(
    tag = "Log",
    operation_id = "read_log_checkpoint",
    security(()),
    responses((status = 200, description = "A signed note: the log's name, its size, its root, our signature and those of witnesses", content_type = "text/plain", body = String), LogRefusals),
)]
#[get("/log/checkpoint")]
async fn checkpoint(app: &State<App>, client: Client<'_>) -> Result<LogFile> {
    client.admit(Limit::LogReads)?;
    read(app, 1, &["checkpoint"]).await
}

refusals!(LogPolicyRefusals: [Reads] NoLog);

/// What the log is checked with
#[utoipa::path(
    tag = "Log",
    operation_id = "read_log_policy",
    security(()),
    responses((status = 200, description = "The log's verifier key, its address and its witnesses", content_type = "text/plain", body = String), LogPolicyRefusals),
)]
#[get("/log/policy")]
async fn log_policy(app: &State<App>, client: Client<'_>) -> Result<LogFile> {
    client.admit(Limit::LogReads)?;
    let text = app.log.policy()?.into();
    Ok(LogFile::Text { text, kept: FOR_SECONDS })
}

/// Entries of the log, up to 256
#[utoipa::path(
    get,
    path = "/log/tile/entries/{bundle}",
    tag = "Log",
    operation_id = "read_log_entries",
    security(()),
    params(("bundle" = String, Path, description = "The number in groups of three digits, such as `000` or `x001/000`; with `.p/` and a width only its beginning.")),
    responses((status = 200, description = "Each entry behind its length, two bytes", content_type = "application/octet-stream", body = Octets), LogRefusals),
)]
#[get("/log/tile/entries/<bundle..>", rank = 1)]
async fn entries(app: &State<App>, client: Client<'_>, bundle: Rest) -> Result<LogFile> {
    client.admit(Limit::LogReads)?;
    read(app, 1, &["tile", "entries", &bundle.0]).await
}

/// Hashes of the log, up to 256
#[utoipa::path(
    get,
    path = "/log/tile/{level}/{tile}",
    tag = "Log",
    operation_id = "read_log_tile",
    security(()),
    params(
        ("level" = String, Path, description = "0 for the hashes of entries, above that for those of full tiles of the level below."),
        ("tile" = String, Path, description = "As for entries."),
    ),
    responses((status = 200, description = "32 bytes each", content_type = "application/octet-stream", body = Octets), LogRefusals),
)]
#[get("/log/tile/<level>/<tile..>", rank = 2)]
async fn tile(app: &State<App>, client: Client<'_>, level: &str, tile: Rest) -> Result<LogFile> {
    client.admit(Limit::LogReads)?;
    read(app, 1, &["tile", level, &tile.0]).await
}

/// A part of a log that was begun after a loss
#[utoipa::path(
    get,
    path = "/log/{number}/{part}",
    tag = "Log",
    operation_id = "read_later_log",
    security(()),
    params(
        ("number" = String, Path, description = "Which of the service's logs, from 2."),
        ("part" = String, Path, description = "`checkpoint`, or the path of a tile or of entries as below `/log`."),
    ),
    responses((status = 200, description = "As at the same path below `/log`", content(
        (String = "text/plain"),
        (Octets = "application/octet-stream"),
    )), LogRefusals),
)]
#[get("/log/<number>/<part..>", rank = 3)]
async fn later_log(
    app: &State<App>,
    client: Client<'_>,
    number: &str,
    part: Rest,
) -> Result<LogFile> {
    client.admit(Limit::LogReads)?;
    // The first log has no number in its address. A number has exactly one valid spelling.
    let later = number.parse().ok().filter(|later: &u32| *later > 1 && later.to_string() == number);
    let parts = part.0.splitn(3, '/').collect::<Vec<_>>();
    read(app, later.unwrap_or_default(), &parts).await
}

/// Reads a part of the log with this number. Fails unless it is the current log, the only one that is served.
async fn read(app: &App, number: u32, part: &[&str]) -> Result<LogFile> {
    app.log.verifier()?;
    if app.log.number() != number {
        return Err(Error::NotInLog);
    }
    match part {
        ["checkpoint"] => {
            let text = app.log.read_checkpoint().await?;
            Ok(LogFile::Text { text, kept: FOR_SECONDS })
        }
        ["tile", "entries", bundle] => app.log.read_entries(bundle).await.map(LogFile::Bytes),
        ["tile", level, tile] => app.log.read_tile(level, tile).await.map(LogFile::Bytes),
        _ => Err(Error::NotInLog),
    }
}
