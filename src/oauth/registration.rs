//! Apps that register themselves (RFC 7591). They are public clients, without a secret.

use chrono::Duration;
use serde::Serialize;
use utoipa::ToSchema;

use super::client::Client;
use super::client_metadata::ClientMetadata;
use super::refusal::Failure;
use super::service::OAuth;
use super::store;
use crate::types::ids::random_text;

/// An app that nobody has authorised is deleted this long after its registration.
pub const UNUSED_LIFE: Duration = Duration::days(1);
/// An app without a grant is deleted this long after its last authorization.
pub const FORGOTTEN_LIFE: Duration = Duration::days(180);

const ID_LEN: usize = 24;
const UNNAMED: &str = "An app without a name";

/// A registered app (RFC 7591, 3.2.1).
#[derive(Serialize, ToSchema)]
pub struct Registered {
    pub client_id: String,
    /// Seconds since 1970.
    pub client_id_issued_at: i64,
    pub client_name: String,
    pub redirect_uris: Vec<String>,
    pub grant_types: [&'static str; 2],
    pub response_types: [&'static str; 1],
    /// Always `none`: apps have no secret.
    pub token_endpoint_auth_method: &'static str,
}

pub async fn register(oauth: &OAuth, body: &[u8]) -> Result<Registered, Failure> {
    let metadata = ClientMetadata::read(body)?;
    let redirect_uris = metadata.redirect_uris()?;
    let client_id = format!("oc_{}", random_text(ID_LEN));
    let client = Client { client_id, name: metadata.name(UNNAMED), host: None, redirect_uris };
    let now = oauth.infra.clock.now();
    store::insert_client(&mut *oauth.infra.pool.acquire().await?, &client, now).await?;
    Ok(Registered {
        client_id: client.client_id,
        client_id_issued_at: now.timestamp(),
        client_name: client.name,
        redirect_uris: metadata.redirect_uris,
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        token_endpoint_auth_method: "none",
    })
}
