use serde_json::{Value, json};
use uuid::Uuid;

use super::ceremony::{
    ALGORITHMS, AuthenticatorData, ClientData, RelyingParty, decoded, encoded, is_usable_key,
};
use super::challenge::{self, Addition, timeout};
use super::{MOST_PASSKEYS, are_offered, store};
use crate::accounts::actor::Actor;
use crate::accounts::event::ActivityKind;
use crate::accounts::events;
use crate::accounts::mails::passkey_notice::ChangedPasskey;
use crate::accounts::mails::safety::{self, put_changed_passkey};
use crate::accounts::members::member::{Member, lock_membership};
use crate::accounts::sessions::store::is_open;
use crate::clock::Clock;
use crate::error::{Error, Result};
use crate::infra::Infra;
use crate::infra::outbox::Outbox;
use crate::types::ids::random_bytes;

const USER_HANDLE_LEN: usize = 32;
const MOST_CHARACTERS: usize = 100;
/// An RSA key of 8192 bits is smaller than this.
const MOST_KEY_BYTES: usize = 2_000;
/// The limit of WebAuthn.
const MOST_ID_BYTES: usize = 1_023;

/// The browser's answer, in base64url.
pub struct NewPasskey {
    pub name: String,
    pub client_data: String,
    pub authenticator_data: String,
    pub public_key: String,
}

/// Begins to add a passkey; returns the options for `navigator.credentials.create`. Requires a recent sign-in.
pub async fn begin(infra: &Infra, member: &Member) -> Result<Value> {
    check(&infra.outbox, &infra.clock, member)?;
    let mut connection = infra.pool.acquire().await?;
    let known = store::list_passkeys(&mut connection, &member.address).await?;
    drop(connection);
    let user_handle = match known.first() {
        Some(row) => row.user_handle.clone(),
        None => random_bytes::<USER_HANDLE_LEN>().to_vec(),
    };
    let addition = Addition { session_id: member.session_id, user_handle: &user_handle };
    let challenge = challenge::issue(&infra.pool, &infra.clock, Some(addition)).await?;
    let excluded =
        known.iter().map(|row| json!({ "type": "public-key", "id": encoded(&row.credential_id) }));
    let algorithms = ALGORITHMS.map(|alg| json!({ "type": "public-key", "alg": alg }));
    Ok(json!({
        "challenge": challenge,
        "rp": { "id": RelyingParty::of(infra.base_url())?.id, "name": "Assent" },
        "user": {
            "id": encoded(&user_handle),
            "name": &member.address,
            "displayName": &member.address,
        },
        "pubKeyCredParams": algorithms,
        "excludeCredentials": excluded.collect::<Vec<_>>(),
        "authenticatorSelection": {
            "residentKey": "required",
            "requireResidentKey": true,
            "userVerification": "required",
        },
        "attestation": "none",
        "timeout": timeout(),
    }))
}

fn check(outbox: &Outbox, clock: &Clock, member: &Member) -> Result<()> {
    if !are_offered(outbox) {
        return Err(Error::NotFound);
    }
    member.is_fresh(clock.now()).then_some(()).ok_or(Error::SignInRequired)
}

/// Adds the passkey that the browser created. `false` when it is not accepted.
pub async fn finish(infra: &Infra, member: &Member, new: &NewPasskey) -> Result<bool> {
    check(&infra.outbox, &infra.clock, member)?;
    let Some(created) = read(infra.base_url(), new)? else { return Ok(false) };
    let taken = challenge::take(&infra.pool, &infra.clock, &created.challenge).await?;
    let taken = taken.filter(|it| created.is_accepted && it.session_id == Some(member.session_id));
    let Some(user_handle) = taken.and_then(|it| it.user_handle) else { return Ok(false) };
    let (now, address) = (infra.clock.now(), &member.address);
    let account_id = &member.account.account_id;
    let mut transaction = infra.pool.begin().await?;
    let membership = lock_membership(&mut transaction, account_id, address).await?;
    let Some(membership) = membership else { return Ok(false) };
    if !is_open(&mut transaction, account_id, member.session_id, now).await?
        || store::list_passkeys(&mut transaction, address).await?.len() >= MOST_PASSKEYS
    {
        return Ok(false);
    }
    let row = store::NewRow {
        passkey_id: Uuid::new_v4(),
        credential_id: &created.credential_id,
        address,
        user_handle: &user_handle,
        public_key: &created.public_key,
        sign_count: i64::from(created.sign_count),
        name: &new
            .name
            .chars()
            .filter(|it| !it.is_control())
            .take(MOST_CHARACTERS)
            .collect::<String>(),
        created_at: now,
    };
    if !store::insert_passkey(&mut transaction, &row).await? {
        return Ok(false);
    }
    let (actor, kind) = (Actor::Member(address.clone()), ActivityKind::PasskeyAdded);
    events::record(&mut transaction, now, account_id, &actor, kind, Some(row.name)).await?;
    let name = row.name.to_owned();
    let change = ChangedPasskey { address: address.clone(), name, at: now, is_added: true };
    let account = &membership.account;
    let mail = put_changed_passkey(&mut transaction, &infra.outbox, account, &change).await?;
    transaction.commit().await?;
    safety::send(infra, mail);
    Ok(true)
}

struct Created {
    challenge: Vec<u8>,
    is_accepted: bool,
    credential_id: Vec<u8>,
    public_key: Vec<u8>,
    sign_count: u32,
}

/// Parses the browser's answer; `None` when it is malformed, or the user was not verified.
fn read(base_url: &str, new: &NewPasskey) -> Result<Option<Created>> {
    let party = RelyingParty::of(base_url)?;
    let parts = || {
        let client_data = ClientData::read(&decoded(&new.client_data)?)?;
        let data = AuthenticatorData::read(&decoded(&new.authenticator_data)?, &party)?;
        let (credential_id, public_key) = (data.credential_id?, decoded(&new.public_key)?);
        Some(Created {
            challenge: client_data.challenge()?,
            is_accepted: client_data.is_from(&party, "webauthn.create")
                && credential_id.len() <= MOST_ID_BYTES
                && public_key.len() <= MOST_KEY_BYTES
                && is_usable_key(&public_key),
            credential_id,
            public_key,
            sign_count: data.sign_count,
        })
    };
    Ok(parts())
}
