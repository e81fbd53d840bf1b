//! The tools whose input is read from the credentials as well.

use schemars::JsonSchema;
use serde::Deserialize;

use super::declared::{Declared, handled};
use crate::accounts::capability::Capability;
use crate::accounts::input::OnAccount;
use crate::accounts::keys::key_issuing::{IssueApiKey, IssuedKey, KeyOrder, KeyRequest};
use crate::accounts::signup::confirmation::{ConfirmByCode, ConfirmRequest, Confirmation};
use crate::error::Result;
use crate::tool_calls::call::ToolCall;
use crate::tool_calls::tool_server::ToolServer;

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
struct ConfirmArguments {
    account_id: String,
    /// The six digits of the confirmation mail, valid for 24 hours.
    #[schemars(with = "String")]
    code: Option<String>,
    /// With it the first confirmation also gives an API key.
    signup_token: Option<String>,
}

pub fn confirm_by_code() -> Declared {
    handled::<ConfirmByCode, ConfirmArguments, Confirmation>(|server, call| {
        Box::pin(confirm(server, call))
    })
}

async fn confirm(server: &ToolServer, call: &ToolCall) -> Result<Confirmation> {
    // A connection may send the token as a header; the HTTP route reads it from the body only.
    let signup_token = call.credentials(ConfirmByCode::INVALID_INPUT)?.signup_token;
    let with_token = |mut account: OnAccount<ConfirmRequest>| {
        account.input.signup_token = signup_token;
        account
    };
    server.ask::<ConfirmByCode, _>(call, with_token).await
}

#[derive(Deserialize, JsonSchema)]
struct OfHolder {
    /// Whose key it is; needed with a signup token, left out with a key.
    account_id: Option<String>,
}

#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes the arguments")]
struct KeyArguments {
    #[schemars(flatten)]
    holder: OfHolder,
    #[schemars(flatten)]
    request: KeyRequest,
}

pub fn issue_api_key() -> Declared {
    handled::<IssueApiKey, KeyArguments, IssuedKey>(|server, call| Box::pin(issue(server, call)))
}

async fn issue(server: &ToolServer, call: &ToolCall) -> Result<IssuedKey> {
    // Errors in the request are reported to callers with a valid credential only.
    let request = call.input::<KeyRequest>(IssueApiKey::INVALID_INPUT);
    let order = |OfHolder { account_id }| KeyOrder { account_id, request };
    server.ask::<IssueApiKey, OfHolder>(call, order).await
}
