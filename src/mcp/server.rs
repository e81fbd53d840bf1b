//! The tool server: its description, and the dispatch of requests to tools.

use std::borrow::Cow;
use std::io::Cursor;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures_util::FutureExt;
use http_body_util::{BodyExt, Full};
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{
    CacheScope, CallToolRequestParams, CallToolResponse, CustomRequest, CustomResult,
    DiscoverResult, ErrorCode, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ReadResourceRequestParams, ReadResourceResponse, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, ServerHandler};
use serde_json::json;
use tracing::Instrument;
use url::Url;

use super::admission::{admit, no_tool};
use super::catalogue::CATALOGUE;
use super::{indirect, install_prompt, resolution, resources};
use crate::error::{Error, Result};
use crate::http::request_id::RequestId;
use crate::infra::templates;
use crate::tool_calls::call::Sender;
use crate::tool_calls::outcome::{answer, refusal, with_structured_content};
use crate::tool_calls::tool_server::{FRESH_MS, ToolServer};

impl ToolServer {
    /// Answers one HTTP request. Refuses requests for host names other than the service's own, as a
    /// protection against DNS rebinding.
    pub async fn handle(
        &self,
        head: http::request::Builder,
        body: Vec<u8>,
    ) -> Result<http::Response<Vec<u8>>> {
        let request = head.body(Full::new(Cursor::new(body))).map_err(|_| Error::InvalidRequest)?;
        let transport = self.transport.get_or_init(|| {
            let server = self.clone();
            let config = transport_config(self.infra.base_url());
            StreamableHttpService::new(move || Ok(server.clone()), Arc::default(), config)
        });
        let (head, body) = transport.handle(request).await.into_parts();
        let Ok(body) = body.collect().await;
        let body = with_structured_content(body.to_bytes().to_vec());
        Ok(http::Response::from_parts(head, body))
    }
}

/// The host names of a service on the loopback interface, all of which are accepted.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// Stateless, with answers in JSON, for the host names of the base URL.
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

/// The answer of a handler. A panic becomes an internal error, because the library would wait for an
/// answer forever. An internal error contains the id of its request.
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

/// The newest version with a handshake that is not newer than the requested one, or else the oldest.
/// Versions are dates, so they sort chronologically as text.
fn newest_until(asked: &ProtocolVersion, supported: &[ProtocolVersion]) -> ProtocolVersion {
    let mut with_handshake = supported.iter().filter(|version| version.has_initialize());
    let oldest = with_handshake.clone().min_by_key(|version| version.as_str());
    let newest = with_handshake
        .by_ref()
        .filter(|version| version.as_str() <= asked.as_str())
        .max_by_key(|version| version.as_str());
    newest.or(oldest).cloned().unwrap_or_default()
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
            .with_website_url(self.infra.base_url());
        ServerConfig::new(capabilities)
            .with_server_info(assent)
            .with_instructions(templates::text("texts/instructions.md"))
    }

    /// All versions except the one with batches, which no other version has.
    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter();
        known.filter(|version| **version != ProtocolVersion::V_2025_03_26).cloned().collect()
    }

    /// Answers with the newest version that the client can know. The library would answer with a newer
    /// one than requested.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        context.peer.set_peer_info(request.clone());
        let mut result = self.get_info();
        let supported = self.supported_protocol_versions();
        result.protocol_version = newest_until(&request.protocol_version, &supported);
        Ok(result)
    }

    /// The library also calls this for a known method with invalid parameters.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, request.method, None))
    }

    async fn discover(&self, _: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        let versions = self.supported_protocol_versions().into_owned();
        let found = DiscoverResult::from_server_info(versions, self.get_info());
        Ok(found.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        CATALOGUE.tool(name).cloned()
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let Sender { toolset, scope, .. } = Sender::of_call(&context)?;
        let tools = ListToolsResult::with_all_items(CATALOGUE.list(toolset, scope));
        let cache = if scope.is_some() { CacheScope::Private } else { CacheScope::Public };
        Ok(tools.with_ttl_ms(FRESH_MS).with_cache_scope(cache))
    }

    async fn call_tool(
        &self,
        mut call: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let sender = Sender::of_call(&context)?;
        let tool = CATALOGUE.tool(&sender.call.name);
        // A name that no tool has could be anything, so it is not logged.
        let name = tool.map_or("", |tool| &*tool.name);
        let span = tracing::info_span!(parent: &sender.span, "agents.tool.call", tool = name);
        let refused = |error| refusal(error, self.infra.base_url(), &sender.request_id);
        let called = async {
            if let Err(error) = admit(tool, &sender) {
                return refused(error);
            }
            match &*sender.call.name {
                indirect::FIND_TOOLS => resolution::find(&sender.call.arguments, sender.scope)
                    .map_or_else(refused, |found| answer(&found)),
                // A valid call has been replaced by the call that it contains, so this one is refused.
                indirect::READ_WITH | indirect::CHANGE_WITH => {
                    resolution::resolve(sender.call.clone())
                        .map_or_else(refused, |_| Err(no_tool()))
                }
                name => {
                    call.name = name.to_owned().into();
                    CATALOGUE.router.call(ToolCallContext::new(self, call, context)).await
                }
            }
        };
        answered(called.instrument(span), &sender.request_id).await
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let prompts = ListPromptsResult::with_all_items(vec![install_prompt::prompt()]);
        Ok(prompts.with_ttl_ms(FRESH_MS).with_cache_scope(CacheScope::Public))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        install_prompt::render(self.infra.base_url(), &self.infra.base_host(), request)
            .map(Into::into)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(resources::list(self.infra.base_url()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(resources::list_templates(self.infra.base_url()))
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

    #[test]
    fn the_newest_version_not_newer_than_the_requested_one_is_used() {
        let supported = [
            ProtocolVersion::V_2024_11_05,
            ProtocolVersion::V_2025_06_18,
            ProtocolVersion::V_2025_11_25,
            ProtocolVersion::V_2026_07_28,
        ];
        for (asked, spoken) in [
            ("2024-11-05", "2024-11-05"),
            ("2024-12-31", "2024-11-05"),
            ("2025-03-26", "2024-11-05"),
            ("2025-06-18", "2025-06-18"),
            ("2025-11-24", "2025-06-18"),
            ("2026-07-28", "2025-11-25"),
            ("2099-01-01", "2025-11-25"),
            ("DRAFT-2026-v1", "2025-11-25"),
            ("2024-10-07", "2024-11-05"),
            ("1.0", "2024-11-05"),
            ("", "2024-11-05"),
        ] {
            let asked = serde_json::from_value(json!(asked)).unwrap();
            assert_eq!(newest_until(&asked, &supported).as_str(), spoken, "{asked:?}");
        }
    }

    #[tokio::test]
    async fn a_tool_that_panics_is_answered_with_the_id_of_the_request() {
        let request_id = RequestId::random();
        let called = answered::<()>(async { panic!("as a tool never should") }, &request_id);
        let error = called.await.unwrap_err();
        assert_eq!(error.message, "internal error");
        assert_eq!(error.data.unwrap()["request_id"], request_id.as_str());
    }
}
