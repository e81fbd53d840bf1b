//! A tool call: who sends it, with which credentials and arguments.

use std::borrow::Cow;
use std::marker::PhantomData;

use rmcp::ErrorData;
use rmcp::handler::server::common::FromContextPart;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::service::{RequestContext, RoleServer};
use rocket::Request;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tracing::Span;

use super::message::Arguments;
use super::outcome::{Json, Refusal};
use super::tool_server::ToolServer;
use crate::accounts::access::Credentials;
use crate::accounts::capability::{self, Capability, InvalidInput};
use crate::app::App;
use crate::error::Result;
use crate::http::credentials::credentials_of;
use crate::http::request_id::RequestId;
use crate::types::json::shape::read_fields;

/// What a tool call knows of the request that brought it. Has no `Debug`: it holds secrets.
#[derive(Clone)]
pub struct Sender {
    credentials: Credentials,
    /// For the log and the answer of an internal error.
    pub request_id: RequestId,
    /// The request's span: tools run in a task of their own.
    pub span: Span,
    /// Of the call, when it is one.
    pub arguments: Arguments,
}

impl Sender {
    pub fn of(request: &Request<'_>) -> Self {
        Self {
            credentials: credentials_of(request),
            request_id: RequestId::of(request).clone(),
            span: Span::current(),
            arguments: Arguments::default(),
        }
    }

    pub fn with_arguments(self, arguments: Arguments) -> Self {
        Self { arguments, ..self }
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
    reads: PhantomData<fn() -> P>,
}

impl<P> FromContextPart<ToolCallContext<'_, ToolServer>> for Parameters<P> {
    fn from_context_part(call: &mut ToolCallContext<'_, ToolServer>) -> Result<Self, ErrorData> {
        Ok(Self { sender: Sender::of_call(&call.request_context)?, reads: PhantomData })
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
    /// Key and token of the arguments, or of the connection's headers when the arguments have
    /// neither: many clients cannot change their headers once they are connected, and what stands
    /// there must not mix with what the call is about. Arguments that are no text are refused, not
    /// taken for missing.
    pub fn credentials(&self, invalid_input: InvalidInput) -> Result<Credentials> {
        let Arguments { api_key, signup_token, invalid_inputs, .. } = &self.sender.arguments;
        if !invalid_inputs.is_empty() {
            return Err(invalid_input.refusal(invalid_inputs.to_vec()));
        }
        let headers = self.sender.credentials.clone();
        Ok(match (api_key, signup_token) {
            (None, None) => headers,
            (key, token) => {
                Credentials { api_key: key.clone(), signup_token: token.clone(), ..headers }
            }
        })
    }

    /// The arguments as a capability's input, or what is wrong with them.
    pub fn input<T: DeserializeOwned>(&self, invalid_input: InvalidInput) -> Result<T> {
        let arguments = self.sender.arguments.as_bytes();
        let read = serde_json::from_slice(arguments).or_else(|_| {
            // Of a tree, which tells where it is wrong.
            let tree = serde_json::from_slice::<Map<String, Value>>(arguments).unwrap_or_default();
            read_fields(&tree, "arguments")
        });
        self.sender.arguments.place.leave();
        read.map_err(|wrong| invalid_input.refusal(vec![wrong]))
    }
}

impl ToolServer {
    /// Asks for the capability that the tool stands for.
    pub async fn run<C>(&self, call: &Parameters<impl Sized>) -> Result<Json<C::Output>, Refusal>
    where
        C: Capability,
        C::Input: DeserializeOwned,
        App: AsRef<C::Part>,
    {
        Ok(Json(self.ask::<C, C::Input>(call, |input| input).await?))
    }

    /// As [`ToolServer::run`], for arguments that are not quite the capability's input.
    pub async fn ask<C, T>(
        &self,
        call: &Parameters<impl Sized>,
        input: impl FnOnce(T) -> C::Input + Send,
    ) -> Result<C::Output>
    where
        C: Capability,
        T: DeserializeOwned,
        App: AsRef<C::Part>,
    {
        let app: &App = self;
        let credentials = call.credentials(C::INVALID_INPUT)?;
        let caller = capability::admit::<C>(&app.accounts, credentials).await?;
        let input = input(call.input::<T>(C::INVALID_INPUT)?);
        C::run(app.as_ref(), caller, input).await
    }
}

// What follows only describes arguments: `Parameters` reads the credentials itself.

/// Arguments and a key.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
pub struct Keyed<T> {
    #[schemars(flatten)]
    input: T,
    api_key: Option<String>,
}

/// Arguments and a signup token.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
pub struct Tokened<T> {
    #[schemars(flatten)]
    input: T,
    /// Of this account.
    signup_token: Option<String>,
}

/// Arguments and either of both; a token counts before a key.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
pub struct TokenedOrKeyed<T> {
    #[schemars(flatten)]
    input: T,
    /// This or `api_key`.
    signup_token: Option<String>,
    api_key: Option<String>,
}

/// Arguments, and the key of an operator who has one.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
pub struct OperatorKeyed<T> {
    #[schemars(flatten)]
    input: T,
    /// Of operators only: no mail is sent, and the answer has a key of the new account.
    api_key: Option<String>,
}
