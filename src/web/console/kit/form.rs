//! Forms and their protection against cross-site requests. The `Origin` of a form must be this service's
//! own. For signed-in members the form also carries a token that only the pages of the session contain.
//! Pages are compressed, and some repeat text of the request. Each page therefore contains the token XORed
//! with a new random pad, so that the compressed length reveals nothing about the token (BREACH).

use std::collections::HashMap;

use rocket::data::{FromData, Outcome};
use rocket::{Data, Request};
use sha2::{Digest, Sha256};
use url::Url;

use super::cookies;
use crate::app::App;
use crate::error::{Error, Result};
use crate::http::body::{Body, outcome};
use crate::http::header_value::header_of;
use crate::infra::Infra;
use crate::types::ids::random_bytes;
use crate::types::text::present;

pub const TOKEN: &str = "form_token";

pub struct Form(HashMap<String, String>);

/// The fields of a form from a page of this service, without a session.
pub struct OpenForm(HashMap<String, String>);

/// The token of a session, derived from its secret by a one-way function.
fn token_of(session: &str) -> [u8; TOKEN_LEN] {
    Sha256::digest(format!("form of {session}")).into()
}

const TOKEN_LEN: usize = 32;

/// The token for one page, in hex: a random pad, followed by the token XORed with it.
pub fn masked_token(session: &str) -> String {
    let pad = random_bytes::<TOKEN_LEN>();
    let token = token_of(session);
    let covered = std::array::from_fn::<u8, TOKEN_LEN, _>(|index| token[index] ^ pad[index]);
    hex::encode([pad, covered].concat())
}

#[rocket::async_trait]
impl<'r> FromData<'r> for Form {
    type Error = ();

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r, Self> {
        outcome(request, Self::read(request, data).await)
    }
}

#[rocket::async_trait]
impl<'r> FromData<'r> for OpenForm {
    type Error = ();

    async fn from_data(request: &'r Request<'_>, data: Data<'r>) -> Outcome<'r, Self> {
        outcome(request, fields(request, data).await.map(Self))
    }
}

impl Form {
    async fn read(request: &Request<'_>, data: Data<'_>) -> Result<Self> {
        let fields = fields(request, data).await?;
        let session = session_of(request)?;
        match is_token_of(&session, fields.get(TOKEN).map(String::as_str).unwrap_or_default()) {
            true => Ok(Self(fields)),
            false => Err(Error::FormRefused),
        }
    }

    /// `None` for a missing or blank field.
    pub fn get(&self, name: &str) -> Option<&str> {
        present(self.0.get(name).map(String::as_str))
    }

    /// The names of fields with a prefix, sorted and without the prefix: the ticked boxes of a group.
    pub fn names_after(&self, beginning: &str) -> Vec<String> {
        let names = self.0.keys().filter_map(|name| name.strip_prefix(beginning));
        let mut names = names.map(str::to_owned).collect::<Vec<_>>();
        names.sort_unstable();
        names
    }

    pub fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }

    /// Whether the field `host` repeats the site's host, which confirms a deletion.
    pub fn names_host(&self, host: &str) -> bool {
        self.text("host").to_lowercase() == host
    }
}

impl OpenForm {
    pub fn get(&self, name: &str) -> Option<&str> {
        present(self.0.get(name).map(String::as_str))
    }

    pub fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

fn infra_of<'r>(request: &'r Request<'_>) -> Result<&'r Infra> {
    let app = request.rocket().state::<App>();
    app.map(|app| &app.infra).ok_or_else(|| Error::internal("no app is managed"))
}

pub fn session_of(request: &Request<'_>) -> Result<String> {
    cookies::session(infra_of(request)?.base_url(), request.cookies()).ok_or(Error::SignInRequired)
}

pub fn is_token_of(session: &str, given: &str) -> bool {
    let mut bytes = [0; 2 * TOKEN_LEN];
    if hex::decode_to_slice(given, &mut bytes).is_err() {
        return false;
    }
    let (pad, covered) = bytes.split_at(TOKEN_LEN);
    let given = pad.iter().zip(covered).map(|(pad, covered)| pad ^ covered).collect::<Vec<_>>();
    // Hashes are compared, so the duration reveals nothing about the token.
    Sha256::digest(given) == Sha256::digest(token_of(session))
}

pub fn check_origin(request: &Request<'_>) -> Result<()> {
    let own = Url::parse(infra_of(request)?.base_url()).map(|url| url.origin());
    let own = own.map_err(Error::internal)?.ascii_serialization();
    match header_of(request.headers(), "Origin").as_deref() == Some(&*own) {
        true => Ok(()),
        false => Err(Error::FormRefused),
    }
}

async fn fields(request: &Request<'_>, data: Data<'_>) -> Result<HashMap<String, String>> {
    check_origin(request)?;
    Ok(Body::<64>::read_from(request, data).await?.form())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_masks_the_token_of_its_session_differently() {
        let pages = (0..100).map(|_| masked_token("session")).collect::<Vec<_>>();
        for (index, page) in pages.iter().enumerate() {
            assert!(is_token_of("session", page) && !is_token_of("other", page));
            assert!(pages[..index].iter().all(|other| other[..64] != page[..64]));
            assert!(pages[..index].iter().all(|other| other[64..] != page[64..]));
        }
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let token = hex::encode(token_of("session"));
        let changed = masked_token("session").replacen(['0', '1', '2'], "f", 1);
        for given in ["", &token, "zz", &changed, &"0".repeat(128), &"0".repeat(130)] {
            assert!(!is_token_of("session", given), "{given}");
        }
    }
}
