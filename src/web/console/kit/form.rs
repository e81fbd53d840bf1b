//! Forms that people send, and how it is known that they sent them from here.
//!
//! A browser says from which origin a form comes, and that must be this service's own. Where somebody is
//! signed in the form also carries a token that only the pages of this session have.
//!
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

/// The field in which a form carries its token.
pub const TOKEN: &str = "form_token";

/// The fields of a form from a page of this session.
pub struct Form(HashMap<String, String>);

/// The fields of a form from a page of this service, where nobody need be signed in.
pub struct OpenForm(HashMap<String, String>);

/// What the forms of a session carry: made from its secret, and no way back to it.
fn token_of(session: &str) -> [u8; TOKEN_LEN] {
    Sha256::digest(format!("form of {session}")).into()
}

const TOKEN_LEN: usize = 32;

/// The token for one page, in hex: a random pad, followed by the token XORed with it.
pub fn covered_token(session: &str) -> String {
    let pad = random_bytes::<TOKEN_LEN>();
    let token = token_of(session);
    let covered = std::array::from_fn::<u8, TOKEN_LEN, _>(|place| token[place] ^ pad[place]);
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

    /// A field as it was filled in; `None` for one that is missing or blank.
    pub fn get(&self, name: &str) -> Option<&str> {
        present(self.0.get(name).map(String::as_str))
    }

    /// What follows a beginning in the names of its fields, sorted: the boxes of a group that are ticked.
    pub fn names_after(&self, beginning: &str) -> Vec<String> {
        let names = self.0.keys().filter_map(|name| name.strip_prefix(beginning));
        let mut names = names.map(str::to_owned).collect::<Vec<_>>();
        names.sort_unstable();
        names
    }

    /// The same as text of the form's own, empty where there is none.
    pub fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

impl OpenForm {
    /// As [`Form::get`].
    pub fn get(&self, name: &str) -> Option<&str> {
        present(self.0.get(name).map(String::as_str))
    }

    /// As [`Form::text`].
    pub fn text(&self, name: &str) -> String {
        self.get(name).unwrap_or_default().to_owned()
    }
}

fn infra_of<'r>(request: &'r Request<'_>) -> Result<&'r Infra> {
    let app = request.rocket().state::<App>();
    app.map(|app| &app.infra).ok_or_else(|| Error::internal("no app is managed"))
}

/// The secret of the session that sends a form.
pub fn session_of(request: &Request<'_>) -> Result<String> {
    cookies::session(infra_of(request)?, request.cookies()).ok_or(Error::SignInRequired)
}

/// Whether a form's token is that of the session.
pub fn is_token_of(session: &str, given: &str) -> bool {
    let mut bytes = [0; 2 * TOKEN_LEN];
    if hex::decode_to_slice(given, &mut bytes).is_err() {
        return false;
    }
    let (pad, covered) = bytes.split_at(TOKEN_LEN);
    let given = pad.iter().zip(covered).map(|(pad, covered)| pad ^ covered).collect::<Vec<_>>();
    // Hashes are compared, so the time it takes says nothing about the token.
    Sha256::digest(given) == Sha256::digest(token_of(session))
}

/// Refuses a form that a page of another origin sends.
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
        let pages = (0..100).map(|_| covered_token("session")).collect::<Vec<_>>();
        for (place, page) in pages.iter().enumerate() {
            assert!(is_token_of("session", page) && !is_token_of("other", page));
            assert!(pages[..place].iter().all(|other| other[..64] != page[..64]));
            assert!(pages[..place].iter().all(|other| other[64..] != page[64..]));
        }
    }

    #[test]
    fn malformed_tokens_are_refused() {
        let token = hex::encode(token_of("session"));
        let changed = covered_token("session").replacen(['0', '1', '2'], "f", 1);
        for given in ["", &token, "zz", &changed, &"0".repeat(128), &"0".repeat(130)] {
            assert!(!is_token_of("session", given), "{given}");
        }
    }
}
