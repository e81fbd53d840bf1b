//! Who sends a tool call, and with which credentials.

use rmcp::ErrorData;
use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::service::{RequestContext, RoleServer};
use rocket::Request;
use schemars::JsonSchema;
use serde::Deserialize;
use tracing::Span;

use super::server::ToolServer;
use crate::accounts::Caller;
use crate::accounts::guards::{self, KeyRefusals, PresentedKey};
use crate::accounts::key_attempts::KeyAttempts;
use crate::error::Result;
use crate::http::body::present;
use crate::http::rate_limit::{Client, ClientNet, Limit};
use crate::http::request_id::RequestId;

/// What a tool call knows of the request that brought it. Has no `Debug`: it holds secrets.
#[derive(Clone)]
pub struct Sender {
    net: ClientNet,
    api_key: Option<String>,
    signup_token: Option<String>,
    /// For the log and the answer of an internal error.
    pub request_id: RequestId,
    /// The request's span: tools run in a task of their own.
    pub span: Span,
}

impl Sender {
    pub fn of(request: &Request<'_>) -> Result<Self> {
        let token = request.headers().get_one("x-signup-token");
        Ok(Self {
            net: Client::of(request)?.net(),
            api_key: PresentedKey::of(request).key.map(str::to_owned),
            signup_token: present(token).map(str::to_owned),
            request_id: RequestId::of(request).clone(),
            span: Span::current(),
        })
    }

    /// The sender that `routes` put into the request.
    pub fn of_call(context: &RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        let head = context.extensions.get::<http::request::Parts>();
        let sender = head.and_then(|head| head.extensions.get::<Self>());
        sender.cloned().ok_or_else(|| ErrorData::internal_error("internal error", None))
    }
}

impl FromContextPart<ToolCallContext<'_, ToolServer>> for Sender {
    fn from_context_part(call: &mut ToolCallContext<'_, ToolServer>) -> Result<Self, ErrorData> {
        Self::of_call(&call.request_context)
    }
}

/// The key of a call. An argument counts before the connection's headers, which many clients
/// cannot change once they are connected.
#[derive(Default, Deserialize, JsonSchema)]
pub struct Key {
    /// API key (`px_…`). Needed unless the connection sends it as `Authorization: Bearer` or
    /// `X-API-Key`.
    api_key: Option<String>,
}

impl Key {
    pub fn or_header<'a>(&'a self, sender: &'a Sender) -> Option<&'a str> {
        present(self.api_key.as_deref()).or(sender.api_key.as_deref())
    }
}

/// The signup token of a call, from an argument before a header.
#[derive(Default, Deserialize, JsonSchema)]
pub struct Token {
    /// Signup token (`st_…`) of this account, valid for one hour after it was issued. Needed
    /// unless the connection sends it as `x-signup-token`.
    signup_token: Option<String>,
}

impl Token {
    pub fn or_header<'a>(&'a self, sender: &'a Sender) -> Option<&'a str> {
        present(self.signup_token.as_deref()).or(sender.signup_token.as_deref())
    }
}

impl ToolServer {
    /// Counts the call against a limit of its client.
    pub fn admit<L: Limit>(&self, sender: &Sender) -> Result<()> {
        self.client(sender).admit::<L>()
    }

    /// Counts keys that fail, as on every route.
    pub fn attempts(&self, sender: &Sender) -> KeyAttempts<'_> {
        KeyAttempts::new(self.client(sender), &self.key_memory)
    }

    fn client(&self, sender: &Sender) -> Client<'_> {
        Client::new(&self.limits, sender.net)
    }

    /// The caller of a setup tool: in good standing, or refused.
    pub async fn in_good_standing(&self, sender: &Sender, key: &Key) -> Result<Caller> {
        let key = key.or_header(sender);
        self.attempts(sender).watch(key, guards::in_good_standing(&self.platform, key)).await
    }

    /// The caller of a consent tool: active, or refused.
    pub async fn active(&self, sender: &Sender, key: &Key) -> Result<Caller> {
        let key = key.or_header(sender);
        self.attempts(sender).watch(key, guards::active(&self.platform, key)).await
    }

    /// Whoever holds the key.
    pub async fn anyone(&self, sender: &Sender, key: &Key) -> Result<Caller> {
        let key = key.or_header(sender);
        let found = guards::identify(&self.platform, key, KeyRefusals::who_am_i());
        self.attempts(sender).watch(key, found).await
    }
}
