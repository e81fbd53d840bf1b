//! The token that both links of a confirmation mail carry.

use url::Url;

use crate::error::{Error, Result};
use crate::types::text::present;

/// The token, which must be there.
pub fn required(token: Option<&str>) -> Result<&str> {
    present(token).ok_or(Error::VerificationTokenRequired)
}

/// The token of a whole link, or a token by itself.
pub fn of_link(text: &str) -> Result<String> {
    let text = required(Some(text))?;
    let Ok(link) = Url::parse(text) else { return Ok(text.to_owned()) };
    let token = link.query_pairs().find(|(name, _)| name == "token");
    token.map(|(_, token)| token.into_owned()).ok_or(Error::VerificationTokenRequired)
}
