use futures_util::future::BoxFuture;
use rmcp::handler::server::router::tool::ToolRoute;
use rmcp::handler::server::tool::ToolCallContext;
use rmcp::model::{Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::schema::{of_arguments, of_output};
use crate::accounts::capability::Capability;
use crate::accounts::credentials::Accepts;
use crate::accounts::scope::Scope;
use crate::app::App;
use crate::error::Result;
use crate::tool_calls::call::ToolCall;
use crate::tool_calls::outcome::{answer, refusal};
use crate::tool_calls::tool_server::ToolServer;

pub struct Declared {
    pub route: ToolRoute<ToolServer>,
    /// The scopes of keys that may call it.
    pub scopes: &'static [Scope],
    pub accepts: Accepts,
}

/// A capability as a tool.
pub fn tool<C>() -> Declared
where
    C: Capability + 'static,
    C::Input: DeserializeOwned + JsonSchema + 'static,
    C::Output: Serialize + JsonSchema + 'static,
    App: AsRef<C::Service>,
{
    adapted::<C, C::Input, C::Output>()
}

/// A capability as a tool with other arguments than its input.
pub fn with_arguments<C, T>() -> Declared
where
    C: Capability + 'static,
    C::Input: From<T>,
    C::Output: Serialize + JsonSchema + 'static,
    T: DeserializeOwned + JsonSchema + 'static,
    App: AsRef<C::Service>,
{
    adapted::<C, T, C::Output>()
}

/// A capability as a tool with other arguments than its input and another answer than its output.
pub fn adapted<C, T, O>() -> Declared
where
    C: Capability + 'static,
    C::Input: From<T>,
    C::Output: Into<O>,
    T: DeserializeOwned + JsonSchema + 'static,
    O: Serialize + JsonSchema + 'static,
    App: AsRef<C::Service>,
{
    handled::<C, T, O>(|server, call| {
        Box::pin(async move { server.ask::<C, T>(call, Into::into).await.map(Into::into) })
    })
}

pub type Handler<O> = for<'a> fn(&'a ToolServer, &'a ToolCall) -> BoxFuture<'a, Result<O>>;

/// The tool of a capability with arguments of the type `T`.
pub fn handled<C, T, O>(handler: Handler<O>) -> Declared
where
    C: Capability,
    T: JsonSchema + 'static,
    O: Serialize + JsonSchema + 'static,
{
    let declared = C::TOOL.expect("the capability has a tool");
    // Hints that have the default value are left out.
    let hints = ToolAnnotations::from_raw(
        Some(declared.title.to_owned()),
        declared.is_read_only.then_some(true),
        (!declared.is_read_only && !declared.is_destructive).then_some(false),
        declared.is_idempotent.then_some(true),
        (!declared.is_open_world).then_some(false),
    );
    let arguments = of_arguments::<T>(C::ACCEPTS);
    let tool = Tool::new_with_raw(C::NAME, Some(declared.description.into()), arguments)
        .with_title(declared.title)
        .with_raw_output_schema(of_output::<O>())
        .with_annotations(hints);
    let route = ToolRoute::new_dyn(tool, move |context: ToolCallContext<'_, ToolServer>| {
        Box::pin(async move {
            let call = ToolCall::of(&context)?;
            match handler(context.service, &call).await {
                Ok(output) => answer(&output),
                Err(error) => {
                    let base_url = context.service.infra.base_url();
                    refusal(error, base_url, call.request_id())
                }
            }
        })
    });
    Declared { route, scopes: C::SCOPES, accepts: C::ACCEPTS }
}
