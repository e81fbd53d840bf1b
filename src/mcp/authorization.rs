//! Checks whether the credential in the headers suffices for a message. The refusal contains what a client needs to
//! ask a person for authorization (OAuth).

use rocket::Request;
use rocket::http::Header;
use rocket::response::{self, Responder};

use super::admission::admit;
use super::catalogue::CATALOGUE;
use crate::accounts::access::{Access, AnyKey};
use crate::accounts::grants;
use crate::accounts::scope::{Reads, Scope};
use crate::error::{Error, Result};
use crate::tool_calls::bearer::with_grant;
use crate::tool_calls::call::Sender;
use crate::tool_calls::tool_server::ToolServer;

impl ToolServer {
    /// Identifies the sender of a message by its headers, and refuses credentials that do not suffice for
    /// its call. Credentials in the arguments take precedence, and are left to the tool.
    pub async fn authorize(&self, sender: &mut Sender) -> Result<(), Refused> {
        let arguments = &sender.call.arguments;
        if arguments.api_key.is_some() || arguments.signup_token.is_some() {
            return Ok(());
        }
        let entry = CATALOGUE.find(&sender.call.name);
        let proposed = entry.map_or(Scope::Operate, |entry| entry.usual_scope());
        if sender.credentials.api_key.is_some() {
            let found = self.scope_of(sender).await;
            sender.scope = Some(found.map_err(|error| self.refused(error, proposed))?);
        }
        // A call that is refused anyway goes on, to get the more specific refusal.
        let Some(entry) = entry.filter(|entry| admit(Some(&entry.tool), sender).is_ok()) else {
            return Ok(());
        };
        let Some(holder) = &sender.credentials.grant else {
            let is_missing = sender.credentials.api_key.is_none()
                && sender.call.arguments.invalid_inputs.is_empty()
                && entry.needs_key();
            return match is_missing {
                true => Err(self.refused(Error::ApiKeyRequired, proposed)),
                false => Ok(()),
            };
        };
        match entry.is_for(Some(holder.scope)) {
            true => Ok(()),
            false => {
                grants::record_exceeded(&self.infra.pool, &self.infra.clock, &holder.grant_id)
                    .await?;
                Err(self.refused(Error::ScopeNotAllowed, entry.scope_beyond(holder.scope)))
            }
        }
    }

    async fn scope_of(&self, sender: &mut Sender) -> Result<Scope> {
        sender.credentials = with_grant(self, sender.credentials.clone()).await?;
        let caller = AnyKey::<Reads>::admit(&self.accounts, sender.credentials.clone()).await?;
        Ok(caller.scope)
    }

    fn refused(&self, error: Error, scope: Scope) -> Refused {
        let reason = match &error {
            Error::InvalidApiKey { .. } | Error::ApiKeyRevoked { .. } | Error::ApiKeyExpired => {
                r#"error="invalid_token", "#
            }
            Error::ScopeNotAllowed => r#"error="insufficient_scope", "#,
            Error::ApiKeyRequired => "",
            _ => return error.into(),
        };
        let (base_url, scope) = (self.infra.base_url(), scope.as_str());
        let metadata = format!("{base_url}/.well-known/oauth-protected-resource/mcp");
        let challenge = format!(
            r#"Bearer realm="assent", {reason}scope="{scope}", resource_metadata="{metadata}""#
        );
        Refused { error, challenge: Some(challenge) }
    }
}

pub struct Refused {
    error: Error,
    challenge: Option<String>,
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self { error, challenge: None }
    }
}

impl<'r> Responder<'r, 'static> for Refused {
    fn respond_to(self, request: &'r Request<'_>) -> response::Result<'static> {
        let mut response = self.error.respond_to(request)?;
        if let Some(challenge) = self.challenge {
            response.set_header(Header::new("WWW-Authenticate", challenge));
        }
        Ok(response)
    }
}
