use std::io::Cursor;

use rocket::http::Status;
use rocket::request::{FromRequest, Outcome};
use rocket::response::{self, Responder};
use rocket::{Request, Response, State, post};
use serde_json::{Map, Value, json};

use super::authorization::Refused;
use super::resolution;
use crate::error::{Error, Result};
use crate::http::credentials::credentials_of;
use crate::http::described::described_routes;
use crate::http::limited::count;
use crate::http::problem;
use crate::http::refusals::refusals;
use crate::http::request_id::RequestId;
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::tool_calls::call::Sender;
use crate::tool_calls::invalid_input;
use crate::tool_calls::message::Message;
use crate::tool_calls::tool_server::ToolServer;
use crate::tool_calls::toolset::Toolset;

/// Bytes of the longest error: it repeats the method of a message that anybody may send.
const MOST_OF_ERROR: usize = 128 * 1024;

described_routes![exchange, exchange_reading, exchange_of_set];

refusals!(ExchangeRefusals: [Message, Infra] TooManyRequests { retry_after: 20 }, ApiKeyRequired,
    InvalidApiKey { status: 401 }, ApiKeyRevoked { status: 401 }, ApiKeyExpired, ScopeNotAllowed,
    protocol(406, "Client must accept both application/json and text/event-stream"),
    protocol(415, "Content-Type must be application/json"));

refusals!(SetRefusals: [Message, Infra] NotFound, TooManyRequests { retry_after: 20 }, ApiKeyRequired,
    InvalidApiKey { status: 401 }, ApiKeyRevoked { status: 401 }, ApiKeyExpired, ScopeNotAllowed,
    protocol(406, "Client must accept both application/json and text/event-stream"),
    protocol(415, "Content-Type must be application/json"));

fn protocol(status: u16, reason: &str) -> Error {
    Error::ToolProtocol { status, reason: reason.to_owned() }
}

/// The tool-protocol server (MCP, streamable HTTP)
///
/// One JSON-RPC message a request, without sessions: there is nothing to listen to (`GET`) and
/// nothing to end (`DELETE`).
#[utoipa::path(
    tag = "Agents",
    operation_id = "mcp",
    security((), ("api_key" = []), ("x_api_key" = []), ("signup_token" = [])),
    request_body = Object,
    responses(
        (status = 200, description = "The answer of a request", body = Object),
        (status = 202, description = "A notification was taken"),
        ExchangeRefusals,
    ),
)]
#[post("/mcp", data = "<message>")]
async fn exchange(
    server: &State<ToolServer>,
    head: Head,
    message: Message,
) -> Result<Reply, Refused> {
    answer(server, head, message, Toolset::Usual).await
}

/// The tools that only read
///
/// The same server; tools that change, delete or send cannot be called here.
#[utoipa::path(
    tag = "Agents",
    operation_id = "mcp_readonly",
    security((), ("api_key" = []), ("x_api_key" = []), ("signup_token" = [])),
    request_body = Object,
    responses(
        (status = 200, description = "The answer of a request", body = Object),
        (status = 202, description = "A notification was taken"),
        ExchangeRefusals,
    ),
)]
#[post("/mcp/readonly", data = "<message>")]
async fn exchange_reading(
    server: &State<ToolServer>,
    head: Head,
    message: Message,
) -> Result<Reply, Refused> {
    answer(server, head, message, Toolset::Reading).await
}

/// The tools of one subject
///
/// The same server with another list: `pixels`, `contacts`, `privacy`, `webhooks`, `account` or `all`.
#[utoipa::path(
    tag = "Agents",
    operation_id = "mcp_set",
    security((), ("api_key" = []), ("x_api_key" = []), ("signup_token" = [])),
    params(("set" = String, Path, description = "The subject, or `all`")),
    request_body = Object,
    responses(
        (status = 200, description = "The answer of a request", body = Object),
        (status = 202, description = "A notification was taken"),
        SetRefusals,
    ),
)]
#[post("/mcp/x/<set>", data = "<message>")]
async fn exchange_of_set(
    server: &State<ToolServer>,
    set: &str,
    head: Head,
    message: Message,
) -> Result<Reply, Refused> {
    let toolset = Toolset::parse(set).ok_or(Error::NotFound)?;
    answer(server, head, message, toolset).await
}

async fn answer(
    server: &ToolServer,
    head: Head,
    message: Message,
    toolset: Toolset,
) -> Result<Reply, Refused> {
    let (text, call) = message.split()?;
    let invalid_input = invalid_input::answer(&text);
    let mut sender = Sender { toolset, ..head.sender };
    // If the call inside `read_with` or `change_with` is invalid, the tool server answers with the reason.
    sender.call = resolution::resolve(call.clone()).unwrap_or(call);
    server.authorize(&mut sender).await?;
    let request_id = sender.request_id.clone();
    let reply = Reply::of(server.handle(head.library.extension(sender), text).await?);
    let reply = match (reply, invalid_input) {
        (Ok(Reply { status: 200, .. }) | Err(Error::InvalidRequest), Some(body)) => {
            Reply { status: 200, body }
        }
        (reply, _) => reply?,
    };
    Ok(Reply { body: with_id(reply.body, &request_id), ..reply })
}

fn with_id(body: Vec<u8>, request_id: &RequestId) -> Vec<u8> {
    let may_be_error = body.len() <= MOST_OF_ERROR
        && std::str::from_utf8(&body).is_ok_and(|text| text.contains(r#""error":"#));
    let document = may_be_error.then(|| serde_json::from_slice::<Map<String, Value>>(&body).ok());
    let Some(mut document) = document.flatten() else { return body };
    let Some(error) = document.get_mut("error").and_then(Value::as_object_mut) else {
        return body;
    };
    if let Some(data) = error.entry("data").or_insert_with(|| json!({})).as_object_mut() {
        data.insert("request_id".to_owned(), json!(request_id.as_str()));
    }
    serde_json::to_vec(&document).unwrap_or(body)
}

/// The head and the sender of a request that is within its client's rate limit.
struct Head {
    library: http::request::Builder,
    sender: Sender,
}

#[rocket::async_trait]
impl<'r> FromRequest<'r> for Head {
    type Error = ();

    async fn from_request(request: &'r Request<'_>) -> Outcome<Self, ()> {
        problem::outcome(request, Self::of(request))
    }
}

impl Head {
    fn of(request: &Request<'_>) -> Result<Self> {
        admit(request)?;
        let head = http::Request::builder().method("POST").uri("/mcp");
        let headers = request.headers().iter();
        let library = headers.fold(head, |head, header| {
            head.header(header.name().as_str(), header.value().as_bytes())
        });
        Ok(Self { library, sender: Sender::of(request) })
    }
}

/// Agents of many people may share an IP address, so requests with a recently valid key are not counted.
fn admit(request: &Request<'_>) -> Result<()> {
    let server = request.rocket().state::<ToolServer>();
    let is_known =
        |key: &str| server.is_some_and(|server| server.accounts.key_memory.is_proven(key));
    if credentials_of(request).api_key.as_deref().is_some_and(is_known) {
        return Ok(());
    }
    count(request, Limit::Messages)
}

struct Reply {
    status: u16,
    body: Vec<u8>,
}

impl Reply {
    /// Passes JSON on. A refusal of the library, which is in plain text, becomes an error in the format
    /// of the service.
    fn of(response: http::Response<Vec<u8>>) -> Result<Self> {
        let (head, body) = response.into_parts();
        let status = head.status.as_u16();
        let kind = head.headers.get("content-type").and_then(|kind| kind.to_str().ok());
        if body.is_empty() || kind.is_some_and(|kind| kind.starts_with("application/json")) {
            return Ok(Self { status, body });
        }
        Err(refusal(status, &String::from_utf8_lossy(&body)))
    }
}

fn refusal(status: u16, text: &str) -> Error {
    // The library answers a malformed message with 415, as if its `Content-Type` were wrong.
    if text.starts_with("fail to deserialize") {
        return Error::InvalidRequest;
    }
    match status {
        400..=499 => {
            let (_, reason) = text.split_once(": ").unwrap_or(("", text));
            protocol(status, reason)
        }
        _ => Error::internal(text),
    }
}

impl<'r> Responder<'r, 'static> for Reply {
    fn respond_to(self, _: &'r Request<'_>) -> response::Result<'static> {
        let mut response = Response::build();
        response.status(Status::new(self.status));
        if !self.body.is_empty() {
            response.header(rocket::http::ContentType::JSON);
            response.sized_body(self.body.len(), Cursor::new(self.body));
        }
        response.ok()
    }
}
