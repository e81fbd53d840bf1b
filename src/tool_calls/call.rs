use rmcp::ErrorData;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::service::{RequestContext, RoleServer};
use rocket::Request;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tracing::Span;

use super::message::{Arguments, Call};
use super::tool_server::ToolServer;
use super::toolset::Toolset;
use crate::accounts::access::Credentials;
use crate::accounts::capability::{self, Capability, InvalidInput};
use crate::accounts::scope::Scope;
use crate::app::App;
use crate::error::Result;
use crate::http::credentials::credentials_of;
use crate::http::request_id::RequestId;
use crate::infra::requested_language::Requested;
use crate::types::json::shape::read_fields;

/// The sender of a tool call, from its HTTP request. Has no `Debug`: it holds secrets.
#[derive(Clone)]
pub struct Sender {
    pub credentials: Credentials,
    /// For the log and the answer of an internal error.
    pub request_id: RequestId,
    /// The request's span, passed on because tools run in a task of their own.
    pub span: Span,
    /// The call; for `read_with` and `change_with`, the call of the tool that they name.
    pub call: Call,
    pub toolset: Toolset,
    /// The language for mails that tools send, passed on like the span.
    pub requested: Requested,
    /// The scope of the credential in the headers.
    pub scope: Option<Scope>,
}

impl Sender {
    pub fn of(request: &Request<'_>) -> Self {
        Self {
            credentials: credentials_of(request),
            request_id: RequestId::of(request).clone(),
            span: Span::current(),
            call: Call::default(),
            toolset: Toolset::Usual,
            requested: Requested::current(),
            scope: None,
        }
    }

    /// The sender that `routes` put into the request.
    pub fn of_call(context: &RequestContext<RoleServer>) -> Result<Self, ErrorData> {
        let head = context.extensions.get::<http::request::Parts>();
        let sender = head.and_then(|head| head.extensions.get::<Self>());
        sender.cloned().ok_or_else(|| ErrorData::internal_error("internal error", None))
    }
}

/// A tool call and its sender. The arguments are read after the caller is authorised, and errors in
/// them have the texts of the HTTP API.
pub struct ToolCall(Sender);

impl ToolCall {
    pub fn of(context: &ToolCallContext<'_, ToolServer>) -> Result<Self, ErrorData> {
        Sender::of_call(&context.request_context).map(Self)
    }

    pub fn request_id(&self) -> &RequestId {
        &self.0.request_id
    }

    /// Key and token of the arguments, or of the connection's headers if the arguments have neither:
    /// many clients cannot change their headers once they are connected. The two sources are never
    /// combined. Credentials that are not strings are refused, not treated as missing.
    pub fn credentials(&self, invalid_input: InvalidInput) -> Result<Credentials> {
        let Arguments { api_key, signup_token, invalid_inputs, .. } = &self.0.call.arguments;
        if !invalid_inputs.is_empty() {
            return Err(invalid_input.refusal(invalid_inputs.to_vec()));
        }
        let headers = self.0.credentials.clone();
        Ok(match (api_key, signup_token) {
            (None, None) => headers,
            (key, token) => {
                let (api_key, signup_token) = (key.clone(), token.clone());
                Credentials { api_key, signup_token, grant: None, ..headers }
            }
        })
    }

    /// Parses the arguments into a capability's input. The error names the invalid argument.
    pub fn input<T: DeserializeOwned>(&self, invalid_input: InvalidInput) -> Result<T> {
        let arguments = self.0.call.arguments.as_bytes();
        let read = serde_json::from_slice(arguments).or_else(|_| {
            // Parsed again from a tree, because that error has a location.
            let tree = serde_json::from_slice::<Map<String, Value>>(arguments).unwrap_or_default();
            read_fields(&tree, "arguments")
        });
        self.0.call.arguments.permit.release();
        read.map_err(|wrong| invalid_input.refusal(vec![wrong]))
    }
}

impl ToolServer {
    /// Calls the capability with arguments of the type `T`.
    pub async fn ask<C, T>(
        &self,
        call: &ToolCall,
        input: impl FnOnce(T) -> C::Input + Send,
    ) -> Result<C::Output>
    where
        C: Capability,
        T: DeserializeOwned,
        App: AsRef<C::Service>,
    {
        let app: &App = self;
        let credentials = call.credentials(C::INVALID_INPUT)?;
        let caller = capability::admit::<C>(&app.accounts, credentials).await?;
        let input = input(call.input::<T>(C::INVALID_INPUT)?);
        call.0.requested.scope(C::run(app.as_ref(), caller, input)).await
    }
}
