use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;

use super::client::Client;
use super::codes::{self, NewCode};
use super::parameters::Parameters;
use super::redirect_uri::RedirectUri;
use super::refusal::{Failure, Refusal};
use super::service::OAuth;
use crate::accounts::account::Status;
use crate::accounts::grants::grant_caller::may_grant;
use crate::accounts::members::member::{Member, Membership};
use crate::accounts::scope::Scope;
use crate::accounts::sessions;
use crate::error::Error;
use crate::infra::limits::client_net::ClientNet;
use crate::types::ids::AccountId;
use crate::types::ids::id_param::IdParam;

const MOST_STATE: usize = 2_000;
/// The length of a SHA-256 hash in bytes.
const CHALLENGE_LEN: usize = 32;

pub struct AuthorizationRequest {
    pub client: Client,
    redirect_uri: RedirectUri,
    state: Option<String>,
    challenge: Vec<u8>,
    pub proposed: Scope,
}

/// The reasons why no authorization page can be shown.
pub enum Unanswerable {
    /// The app cannot be notified, because it is unknown or the redirect address is not its own.
    Stated(Refusal),
    /// The app is notified by a redirect to this address.
    Redirected(String),
    Failed(Error),
}

impl From<Failure> for Unanswerable {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Self::Stated(refusal),
            Failure::Failed(error) => Self::Failed(error),
        }
    }
}

impl AuthorizationRequest {
    pub async fn read(oauth: &OAuth, net: ClientNet, query: &str) -> Result<Self, Unanswerable> {
        let parameters = Parameters::parse(query.as_bytes()).map_err(Unanswerable::Stated)?;
        let stated = |details| Unanswerable::Stated(Refusal::invalid_request(details));
        let client_id = parameters.get("client_id").ok_or(stated("client_id is missing"))?;
        let client = oauth.client(client_id, net).await?;
        let redirect_uri = client
            .redirect_uri(parameters.get("redirect_uri"))
            .ok_or(stated("redirect_uri is not one of the app's addresses"))?;
        let state = parameters.get("state").map(str::to_owned);
        match Self::asked(oauth, &parameters) {
            Ok((challenge, proposed)) => {
                Ok(Self { client, redirect_uri, state, challenge, proposed })
            }
            Err(refusal) => {
                let state = state.as_deref().filter(|state| state.len() <= MOST_STATE);
                Err(Unanswerable::Redirected(refused(oauth, &redirect_uri, state, &refusal)))
            }
        }
    }

    fn asked(oauth: &OAuth, parameters: &Parameters) -> Result<(Vec<u8>, Scope), Refusal> {
        let wrong = Refusal::invalid_request;
        if parameters.get("state").is_some_and(|state| state.len() > MOST_STATE) {
            return Err(wrong("state is too long"));
        }
        if parameters.get("response_type") != Some("code") {
            return Err(Refusal::new("unsupported_response_type", "response_type must be code"));
        }
        if parameters.get("response_mode").is_some_and(|mode| mode != "query") {
            return Err(wrong("response_mode must be query"));
        }
        if parameters.get("request").or(parameters.get("request_uri")).is_some() {
            return Err(Refusal::new("request_not_supported", "request objects are not supported"));
        }
        if parameters.get("code_challenge_method") != Some("S256") {
            return Err(wrong("code_challenge_method must be S256"));
        }
        let challenge = parameters.required("code_challenge", "code_challenge is missing")?;
        let challenge = BASE64_URL_SAFE_NO_PAD.decode(challenge).ok();
        let challenge = challenge
            .filter(|bytes| bytes.len() == CHALLENGE_LEN)
            .ok_or(wrong("code_challenge must be a SHA-256 in base64url without padding"))?;
        oauth.check_resource(parameters.get("resource"))?;
        Ok((challenge, proposed(parameters.get("scope"))?))
    }

    /// The receiver of the answer, for display.
    pub fn destination(&self) -> String {
        self.redirect_uri.destination()
    }

    /// The source expression that permits the form's redirect in a content security policy (`form-action`).
    pub fn form_source(&self) -> String {
        self.redirect_uri.form_source()
    }

    /// The redirect address that notifies the app of the denial.
    pub fn denied(&self, oauth: &OAuth) -> String {
        let refusal = Refusal::new("access_denied", "the person did not allow it");
        refused(oauth, &self.redirect_uri, self.state.as_deref(), &refusal)
    }

    /// Issues a code for the chosen account and scope, and returns the redirect address that contains it.
    pub async fn allow(
        &self,
        oauth: &OAuth,
        member: &Member,
        account_id: IdParam<AccountId>,
        scope: Scope,
    ) -> crate::error::Result<String> {
        let infra = &oauth.infra;
        if !member.is_fresh(infra.clock.now()) {
            return Err(Error::SignInRequired);
        }
        let memberships = sessions::memberships(&infra.pool, &infra.outbox, member).await?;
        let account_id = account_id.into_id();
        let is_chosen = |it: &Membership| Some(&it.account.account_id) == account_id.as_ref();
        let chosen = memberships.into_iter().find(is_chosen).ok_or(Error::NotFound)?;
        if chosen.account.status != Status::Active {
            return Err(Error::AccountNotActive);
        }
        if !may_grant(chosen.role, scope) {
            return Err(Error::ScopeNotAllowed);
        }
        let new = NewCode {
            membership: &chosen,
            member,
            client: &self.client,
            redirect_uri: self.redirect_uri.as_str(),
            challenge: &self.challenge,
            scope,
        };
        let code = codes::issue(&infra.pool, &infra.clock, &new).await?;
        Ok(answered(oauth, &self.redirect_uri, self.state.as_deref(), &[("code", &code)]))
    }
}

/// The scope to propose: the widest requested one. A request for all scopes is probably not deliberate, so
/// `operate` is proposed, as for a request without a scope.
fn proposed(asked: Option<&str>) -> Result<Scope, Refusal> {
    let Some(asked) = asked else { return Ok(Scope::Operate) };
    let scopes = asked.split(' ').filter(|scope| !scope.is_empty()).map(Scope::parse);
    let scopes = scopes
        .collect::<Option<Vec<_>>>()
        .filter(|scopes| !scopes.is_empty())
        .ok_or(Refusal::new("invalid_scope", "the scopes are read, operate and full"))?;
    let has = |scope: Scope| scopes.contains(&scope);
    Ok(match (has(Scope::Full), has(Scope::Operate), has(Scope::Read)) {
        (true, true, true) | (false, true, _) => Scope::Operate,
        (true, ..) => Scope::Full,
        _ => Scope::Read,
    })
}

fn refused(
    oauth: &OAuth,
    redirect_uri: &RedirectUri,
    state: Option<&str>,
    Refusal { error, error_description }: &Refusal,
) -> String {
    let details = [("error", *error), ("error_description", *error_description)];
    answered(oauth, redirect_uri, state, &details)
}

/// The app's redirect address with the answer, the `state` and the issuer (RFC 9207).
fn answered(
    oauth: &OAuth,
    redirect_uri: &RedirectUri,
    state: Option<&str>,
    details: &[(&str, &str)],
) -> String {
    let state = state.map(|state| ("state", state));
    let parameters = details.iter().copied().chain(state).chain([("iss", oauth.issuer())]);
    redirect_uri.with(&parameters.collect::<Vec<_>>())
}
