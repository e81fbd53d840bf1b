//! The tool server: what it says of itself, and how a request finds its tool.

use std::io::Cursor;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, LazyLock, OnceLock};

use futures_util::FutureExt;
use http_body_util::{BodyExt, Full};
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::tool::{IntoCallToolResult, ToolCallContext};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ErrorCode, GetPromptRequestParams, GetPromptResponse,
    Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use serde_json::{Value, json};
use tracing::Instrument;
use url::Url;

use super::call::Sender;
use super::outcome::Refusal;
use super::{install_prompt, resources};
use crate::accounts::key_attempts::KeyMemory;
use crate::billing::Stripe;
use crate::consent::directory::Directory;
use crate::consent::signing::Signer;
use crate::consent::standings::Standings;
use crate::contacts::turns::Turns;
use crate::error::{Error, FieldError, Result};
use crate::http::rate_limit::RateLimits;
use crate::http::request_id::RequestId;
use crate::platform::Platform;

const INSTRUCTIONS: &str = include_str!("../../templates/texts/instructions.md");

static TOOLS: LazyLock<ToolRouter<ToolServer>> = LazyLock::new(ToolServer::tools);

/// What the tools work with: the same that the routes of the HTTP API are given.
pub struct Services {
    pub platform: Platform,
    pub limits: Arc<RateLimits>,
    pub key_memory: KeyMemory,
    pub directory: Directory,
    pub signer: Signer,
    pub standings: Standings,
    pub turns: Turns,
    pub stripe: Stripe,
}

type Transport = StreamableHttpService<ToolServer, NeverSessionManager>;

/// The tool server; clones are the same one.
#[derive(Clone)]
pub struct ToolServer {
    services: Arc<Services>,
    /// Made with the first request: before, the service may not know its own address.
    transport: Arc<OnceLock<Transport>>,
}

impl std::ops::Deref for ToolServer {
    type Target = Services;

    fn deref(&self) -> &Services {
        &self.services
    }
}

impl ToolServer {
    pub fn new(services: Services) -> Self {
        Self { services: Arc::new(services), transport: Arc::default() }
    }

    /// Answers one HTTP request, refusing those for other names than the service's own: a page
    /// elsewhere must not reach a server that its reader can reach (DNS rebinding).
    pub async fn handle(
        &self,
        head: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<http::Response<Vec<u8>>> {
        let request = head.body(Full::new(Cursor::new(body))).map_err(|_| Error::InvalidRequest)?;
        let transport = self.transport.get_or_init(|| {
            let server = self.clone();
            let config = transport_config(self.platform.base_url());
            StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config)
        });
        let (head, body) = transport.handle(request).await.into_parts();
        let Ok(body) = body.collect().await;
        Ok(http::Response::from_parts(head, body.to_bytes().to_vec()))
    }
}

/// A service on a loopback name is reached by each of them.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Without sessions, with answers in JSON, for the names of the base address.
fn transport_config(base_url: &str) -> StreamableHttpServerConfig {
    let base = Url::parse(base_url).expect("the base address was checked at the start");
    let own = base.host_str().unwrap_or_default();
    let names = match LOOPBACK.contains(&own) {
        true => LOOPBACK.to_vec(),
        false => vec![own],
    };
    let port = base.port_or_known_default().unwrap_or_default();
    let origins = names.iter().map(|name| format!("{}://{name}:{port}", base.scheme()));
    StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_allowed_origins(origins)
        .enforce_origin_validation()
        .with_allowed_hosts(names)
}

/// Bytes of a tool's arguments; contacts may fill the message.
const MOST_ARGUMENTS: usize = 64 * 1024;

/// Refuses arguments that the tool does not have, which it would ignore: a misspelt `dry_run` must
/// not publish. And too many of them, as the routes do.
fn admit_arguments(tool: &Tool, call: &CallToolRequestParams) -> Result<()> {
    let Some(arguments) = &call.arguments else { return Ok(()) };
    let known = tool.input_schema.get("properties").and_then(Value::as_object);
    let foreign = arguments
        .keys()
        .filter(|name| known.is_none_or(|known| !known.contains_key(name.as_str())))
        .map(|name| FieldError::new(&["arguments", name], "no such argument", "unknown"))
        .collect::<Vec<_>>();
    if !foreign.is_empty() {
        return Err(Error::Validation(foreign));
    }
    if tool.name == "store_contacts" {
        return Ok(());
    }
    match serde_json::to_vec(arguments).map_err(Error::internal)?.len() > MOST_ARGUMENTS {
        true => Err(Error::BodyTooLarge),
        false => Ok(()),
    }
}

/// The answer of a handler. The library waits for good for one that panics, and an internal error
/// has the id of its request.
async fn answered<T>(
    handler: impl Future<Output = Result<T, ErrorData>>,
    request_id: &RequestId,
) -> Result<T, ErrorData> {
    let handled = AssertUnwindSafe(handler).catch_unwind().await;
    handled.unwrap_or_else(|_| Err(ErrorData::internal_error("internal error", None))).map_err(
        |mut error| {
            if error.code == ErrorCode::INTERNAL_ERROR {
                error.data = Some(json!({"request_id": request_id.as_str()}));
            }
            error
        },
    )
}

impl ServerHandler for ToolServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_prompts()
            .enable_resources()
            .build();
        let assent = Implementation::new("assent", env!("CARGO_PKG_VERSION"))
            .with_title("Assent")
            .with_description(env!("CARGO_PKG_DESCRIPTION"))
            .with_website_url(self.platform.base_url());
        ServerConfig::new(capabilities).with_server_info(assent).with_instructions(INSTRUCTIONS)
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        TOOLS.get(name).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.list_all()))
    }

    async fn call_tool(
        &self,
        call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let sender = Sender::of_call(&context)?;
        let tool = TOOLS.get(&call.name);
        // A name that no tool has could be anything, so it is not logged.
        let name = tool.map_or("", |tool| &*tool.name);
        let span = tracing::info_span!(parent: &sender.span, "agents.tool.call", tool = name);
        let called = async {
            if let Some(Err(error)) = tool.map(|tool| admit_arguments(tool, &call)) {
                return Refusal::from(error).into_call_tool_result();
            }
            TOOLS.call(ToolCallContext::new(self, call, context)).await
        };
        answered(called.instrument(span), &sender.request_id).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Ok(ListPromptsResult::with_all_items(vec![install_prompt::prompt()]))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        install_prompt::render(&self.platform, request).map(Into::into)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(resources::list(self.platform.base_url()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::list_templates(self.platform.base_url()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let sender = Sender::of_call(&context)?;
        let read = resources::read(self, &request.uri).instrument(sender.span.clone());
        answered(read, &sender.request_id).await.map(Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_tool_that_panics_is_answered_with_the_id_of_the_request() {
        let request_id = RequestId::random();
        let called = answered::<()>(async { panic!("as a tool never should") }, &request_id);
        let error = called.await.unwrap_err();
        assert_eq!(error.message, "internal error");
        assert_eq!(error.data.unwrap()["request_id"], request_id.as_str());
    }
}
