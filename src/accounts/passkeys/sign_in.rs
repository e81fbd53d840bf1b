use chrono::{DateTime, Utc};
use serde_json::{Value, json};
use sqlx::PgConnection;

use super::are_offered;
use super::ceremony::{AuthenticatorData, ClientData, RelyingParty, decoded, is_signed};
use super::challenge::{self, timeout};
use super::store::{self, Credential};
use crate::accounts::access::Anybody;
use crate::accounts::capability::{Capability, NoInput};
use crate::accounts::mails::safety::SignInMethod;
use crate::accounts::members::member::{lock_membership, memberships_of};
use crate::accounts::sessions::{self, Browser, Finished};
use crate::accounts::sign_in::opening::open_session;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::limits::per_client::Limit;
use crate::infra::secret_hash::secret_hash;
use crate::types::ids::AccountId;

/// The options for `navigator.credentials.get`. They are the same for everybody: the browser offers the
/// passkeys that it has.
pub struct StartPasskeySignIn;

impl Capability for StartPasskeySignIn {
    const NAME: &'static str = "start_passkey_sign_in";
    const LIMIT: Option<Limit> = Some(Limit::Codes);
    type Service = Infra;
    type Access = Anybody;
    type Input = NoInput;
    type Output = Value;

    fn refusals() -> Vec<Error> {
        vec![Error::NotFound]
    }

    async fn run(infra: &Infra, (): (), _: NoInput) -> Result<Value> {
        if !are_offered(&infra.outbox) {
            return Err(Error::NotFound);
        }
        Ok(json!({
            "challenge": challenge::issue(&infra.pool, &infra.clock, None).await?,
            "rpId": RelyingParty::of(infra.base_url())?.id,
            "allowCredentials": [],
            "userVerification": "required",
            "timeout": timeout(),
        }))
    }
}

/// Opens a session for the member whose passkey has signed a challenge, and ends the browser's previous
/// session. In a browser with a session of the same person it stays in that session's account. `None`
/// for every passkey that is not accepted. The member is notified by mail, except when a sign-in is repeated.
pub struct SignInWithPasskey;

pub struct PasskeySignIn {
    pub assertion: Assertion,
    /// The browser's name in the list of sessions.
    pub browser: String,
    /// The secret of the browser's current session, if it has one.
    pub former: Option<String>,
}

/// The browser's answer, in base64url.
pub struct Assertion {
    pub credential_id: String,
    pub client_data: String,
    pub authenticator_data: String,
    pub signature: String,
    pub user_handle: String,
}

impl Capability for SignInWithPasskey {
    const NAME: &'static str = "sign_in_with_passkey";
    const LIMIT: Option<Limit> = Some(Limit::Codes);
    type Service = Infra;
    type Access = Anybody;
    type Input = PasskeySignIn;
    type Output = Option<Finished>;

    fn refusals() -> Vec<Error> {
        vec![Error::NotFound]
    }

    async fn run(infra: &Infra, (): (), input: PasskeySignIn) -> Result<Option<Finished>> {
        if !are_offered(&infra.outbox) {
            return Err(Error::NotFound);
        }
        let browser = Browser { name: &input.browser, former: input.former.as_deref() };
        let Some(used) = evaluate(infra, &input.assertion).await? else { return Ok(None) };
        let (now, address) = (infra.clock.now(), &*used.credential.address);
        let mut transaction = infra.pool.begin().await?;
        let found = find_account(&mut transaction, now, address, browser).await?;
        let Some(account_id) = found else { return Ok(None) };
        // The account is locked first, in the same order as when a membership ends, to avoid deadlocks.
        let membership = lock_membership(&mut transaction, &account_id, address).await?;
        let Some(membership) = membership else { return Ok(None) };
        let (passkey_id, count) = (used.credential.passkey_id, i64::from(used.sign_count));
        if !store::update_used(&mut transaction, passkey_id, count, now).await? {
            return Ok(None);
        }
        let by = Some(SignInMethod::Passkey);
        let opened = open_session(infra, transaction, now, &membership, address, browser, by);
        opened.await.map(Some)
    }
}

struct Used {
    credential: Credential,
    sign_count: u32,
}

/// Returns the passkey that signed a valid challenge for this service, and uses up the challenge.
async fn evaluate(infra: &Infra, assertion: &Assertion) -> Result<Option<Used>> {
    let party = RelyingParty::of(infra.base_url())?;
    let Some(bytes) = Bytes::of(assertion) else { return Ok(None) };
    let Some(client_data) = ClientData::read(&bytes.client_data) else { return Ok(None) };
    let Some(challenge) = client_data.challenge() else { return Ok(None) };
    let taken = challenge::take(&infra.pool, &infra.clock, &challenge).await?;
    let is_for_sign_in = taken.is_some_and(|it| it.session_id.is_none());
    if !is_for_sign_in || !client_data.is_from(&party, "webauthn.get") {
        return Ok(None);
    }
    let mut connection = infra.pool.acquire().await?;
    let found = store::find_credential(&mut connection, &bytes.credential_id).await?;
    drop(connection);
    let credential = found.filter(|it| {
        it.user_handle == bytes.user_handle
            && is_signed(
                &it.public_key,
                &bytes.authenticator_data,
                &bytes.client_data,
                &bytes.signature,
            )
    });
    let data = AuthenticatorData::read(&bytes.authenticator_data, &party);
    let used = credential.zip(data);
    Ok(used.map(|(credential, data)| Used { credential, sign_count: data.sign_count }))
}

struct Bytes {
    credential_id: Vec<u8>,
    client_data: Vec<u8>,
    authenticator_data: Vec<u8>,
    signature: Vec<u8>,
    user_handle: Vec<u8>,
}

impl Bytes {
    fn of(assertion: &Assertion) -> Option<Self> {
        Some(Self {
            credential_id: decoded(&assertion.credential_id)?,
            client_data: decoded(&assertion.client_data)?,
            authenticator_data: decoded(&assertion.authenticator_data)?,
            signature: decoded(&assertion.signature)?,
            user_handle: decoded(&assertion.user_handle)?,
        })
    }
}

/// The account to sign in to: that of the browser's session of the same person, or else the first. Unconfirmed
/// accounts of the address are left out, because somebody else may have opened them.
async fn find_account(
    connection: &mut PgConnection,
    now: DateTime<Utc>,
    address: &str,
    browser: Browser<'_>,
) -> Result<Option<AccountId>> {
    let former = match browser.former {
        Some(secret) => {
            sessions::store::find_session(connection, &secret_hash(secret), now).await?
        }
        None => None,
    };
    let present = former.filter(|(row, _)| row.address == address).map(|(row, _)| row.account_id);
    let memberships = memberships_of(connection, address).await?.into_iter();
    let mut memberships =
        memberships.filter(|it| it.member_id.is_some() || it.account.is_verified());
    let found = memberships
        .find(|it| present.as_ref().is_none_or(|account_id| it.account.account_id == *account_id));
    Ok(found.map(|membership| membership.account.account_id))
}
