use url::Url;

use crate::error::{Error, Result};
use crate::types::text::present;

pub fn required(token: Option<&str>) -> Result<&str> {
    present(token).ok_or(Error::VerificationTokenRequired)
}

/// Accepts a whole link or only its token.
pub fn of_link(text: &str) -> Result<String> {
    let text = required(Some(text))?;
    let Ok(link) = Url::parse(text) else { return Ok(text.to_owned()) };
    let token = link.query_pairs().find(|(name, _)| name == "token");
    token.map(|(_, token)| token.into_owned()).ok_or(Error::VerificationTokenRequired)
}
