//! A tool call: who sends it, with which credentials and arguments.

use std::borrow::Cow;
use std::marker::PhantomData;

use rmcp::ErrorData;
use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::service::{RequestContext, RoleServer};
use rocket::Request;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tracing::Span;

use super::server::ToolServer;
use crate::accounts::Caller;
use crate::accounts::guards::{self, KeyRefusals, PresentedKey};
use crate::accounts::key_attempts::KeyAttempts;
use crate::error::{Error, Result};
use crate::http::body::{present, type_error};
use crate::http::rate_limit::{Client, ClientNet, Limit};
use crate::http::request_id::RequestId;

/// What a tool call knows of the request that brought it. Has no `Debug`: it holds secrets.
#[derive(Clone)]
pub struct Sender {
    net: ClientNet,
    api_key: Option<String>,
    signup_token: Option<String>,
    authorization_sent: bool,
    /// For the log and the answer of an internal error.
    pub request_id: RequestId,
    /// The request's span: tools run in a task of their own.
    pub span: Span,
}

impl Sender {
    pub fn of(request: &Request<'_>) -> Result<Self> {
        let token = request.headers().get_one("x-signup-token");
        let key = PresentedKey::of(request);
        Ok(Self {
            net: Client::of(request)?.net(),
            api_key: key.key.map(str::to_owned),
            authorization_sent: key.authorization_sent,
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

/// A call and its sender. It has the name of the library's own extractor, because the library's
/// macro finds the schema of a tool's arguments by it; unlike that one it reads them only when the
/// tool asks, which is after the key was looked at, and refuses them in the API's words.
pub struct Parameters<P> {
    sender: Sender,
    arguments: Value,
    reads: PhantomData<fn() -> P>,
}

impl<P> FromContextPart<ToolCallContext<'_, ToolServer>> for Parameters<P> {
    fn from_context_part(call: &mut ToolCallContext<'_, ToolServer>) -> Result<Self, ErrorData> {
        let sender = Sender::of_call(&call.request_context)?;
        let arguments = Value::Object(call.arguments.take().unwrap_or_default());
        Ok(Self { sender, arguments, reads: PhantomData })
    }
}

impl<P: JsonSchema> JsonSchema for Parameters<P> {
    fn schema_name() -> Cow<'static, str> {
        P::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        P::json_schema(generator)
    }
}

impl<P> Parameters<P> {
    /// The API key of the call.
    pub fn api_key(&self) -> Option<&str> {
        self.credentials().0
    }

    /// The signup token of the call.
    pub fn signup_token(&self) -> Option<&str> {
        self.credentials().1
    }

    /// Whether the connection sends an `Authorization` header, usable or not.
    pub fn authorization_sent(&self) -> bool {
        self.sender.authorization_sent
    }

    /// Key and token of the arguments, or of the connection's headers when the arguments have
    /// neither: many clients cannot change their headers once they are connected, and what stands
    /// there must not mix with what the call is about.
    fn credentials(&self) -> (Option<&str>, Option<&str>) {
        match (self.text("api_key"), self.text("signup_token")) {
            (None, None) => (self.sender.api_key.as_deref(), self.sender.signup_token.as_deref()),
            given => given,
        }
    }

    fn text(&self, name: &str) -> Option<&str> {
        present(self.arguments.get(name).and_then(Value::as_str))
    }
}

impl<P: DeserializeOwned> Parameters<P> {
    /// The arguments, or `invalid request`, as on the routes that say so.
    pub fn json(&self) -> Result<P> {
        P::deserialize(&self.arguments).map_err(|_| Error::InvalidRequest)
    }

    /// The arguments, or what is wrong with them.
    pub fn validated(&self) -> Result<P> {
        let read = serde_path_to_error::deserialize(&self.arguments);
        read.map_err(|error| Error::Validation(vec![type_error("arguments", &error)]))
    }
}

// What follows only describes arguments: `Parameters` reads the credentials itself.

/// The key of a call that needs one.
#[derive(Deserialize, JsonSchema)]
pub struct Key {
    /// API key (`px_…`). Needed unless the connection sends it as `Authorization: Bearer` or
    /// `X-API-Key`.
    #[serde(rename = "api_key")]
    _api_key: Option<String>,
}

/// The key of an operator.
#[derive(Deserialize, JsonSchema)]
pub struct OperatorKey {
    /// Leave it out to sign up. Operators pass an unlimited key: no mail is sent, and the answer
    /// has an API key of the new account.
    #[serde(rename = "api_key")]
    _api_key: Option<String>,
}

/// The signup token of a call that needs one.
#[derive(Deserialize, JsonSchema)]
pub struct Token {
    /// Signup token (`st_…`) of this account, valid for one hour after it was issued. Needed
    /// unless the connection sends it as `x-signup-token`.
    #[serde(rename = "signup_token")]
    _signup_token: Option<String>,
}

/// The signup token of a call that brings more with one.
#[derive(Deserialize, JsonSchema)]
pub struct OptionalToken {
    /// Signup token (`st_…`) of this account. With it the first confirmation also gives an API key.
    #[serde(rename = "signup_token")]
    _signup_token: Option<String>,
}

/// Either of both, as an argument or by the connection; a token counts before a key.
#[derive(Deserialize, JsonSchema)]
pub struct TokenOrKey {
    /// Signup token (`st_…`) of this account, valid for one hour. This or an API key is needed.
    #[serde(rename = "signup_token")]
    _signup_token: Option<String>,
    /// API key (`px_…`) of this account. This or a signup token is needed.
    #[serde(rename = "api_key")]
    _api_key: Option<String>,
}

impl ToolServer {
    /// Counts the call against a limit of its client.
    pub fn admit<L: Limit>(&self, call: &Parameters<impl Sized>) -> Result<()> {
        self.client(&call.sender).admit::<L>()
    }

    /// Counts keys that fail, as on every route.
    pub fn attempts(&self, call: &Parameters<impl Sized>) -> KeyAttempts<'_> {
        KeyAttempts::new(self.client(&call.sender), &self.key_memory)
    }

    fn client(&self, sender: &Sender) -> Client<'_> {
        Client::new(&self.limits, sender.net)
    }

    /// The caller of a setup tool: in good standing, or refused.
    pub async fn in_good_standing(&self, call: &Parameters<impl Sized>) -> Result<Caller> {
        let key = call.api_key();
        self.attempts(call).watch(key, guards::in_good_standing(&self.platform, key)).await
    }

    /// The caller of a consent tool: active, or refused.
    pub async fn active(&self, call: &Parameters<impl Sized>) -> Result<Caller> {
        let key = call.api_key();
        self.attempts(call).watch(key, guards::active(&self.platform, key)).await
    }

    /// Whoever holds the key.
    pub async fn anyone(&self, call: &Parameters<impl Sized>) -> Result<Caller> {
        let key = call.api_key();
        let found = guards::identify(&self.platform, key, KeyRefusals::who_am_i());
        self.attempts(call).watch(key, found).await
    }
}
