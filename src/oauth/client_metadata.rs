//! The metadata of an app, from its registration or from a document at its address.

use serde::Deserialize;
use utoipa::ToSchema;

use super::redirect_uri::RedirectUri;
use super::refusal::Refusal;

const MOST_REDIRECT_URIS: usize = 10;
const MOST_NAME: usize = 60;

/// Client metadata (RFC 7591). Other members are ignored.
#[derive(Deserialize, ToSchema)]
pub struct ClientMetadata {
    /// Only in a document at its own address.
    #[serde(default)]
    #[schema(ignore)]
    pub client_id: Option<String>,
    #[serde(default)]
    #[schema(example = "Example agent")]
    pub client_name: Option<String>,
    /// At most 10: https, http to a loopback address, or a scheme of the program's own.
    #[schema(example = json!(["http://127.0.0.1/callback"]))]
    pub redirect_uris: Vec<String>,
    #[serde(default)]
    #[schema(example = "none")]
    pub token_endpoint_auth_method: Option<String>,
}

impl ClientMetadata {
    pub fn read(bytes: &[u8]) -> Result<Self, Refusal> {
        serde_json::from_slice(bytes).map_err(|_| {
            let detail = "must be a JSON object with redirect_uris, a list of texts";
            Refusal::new("invalid_client_metadata", detail)
        })
    }

    pub fn redirect_uris(&self) -> Result<Vec<RedirectUri>, Refusal> {
        let wrong = |detail| Refusal::new("invalid_redirect_uri", detail);
        if self.redirect_uris.is_empty() || self.redirect_uris.len() > MOST_REDIRECT_URIS {
            return Err(wrong("redirect_uris must have 1 to 10 entries"));
        }
        let parsed = self.redirect_uris.iter().map(|text| RedirectUri::parse(text));
        parsed.collect::<Option<Vec<_>>>().ok_or(wrong(
            "a redirect URI must be https, http to a loopback address, or have a scheme of the \
             program's own with a dot in it",
        ))
    }

    /// The name on one line, without characters that are invisible or change the direction of text.
    pub fn name(&self, otherwise: &str) -> String {
        let is_shown = |character: &char| {
            !character.is_control()
                && !matches!(*character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}'
                    | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
                    | '\u{e0000}'..='\u{e007f}')
        };
        let name = self.client_name.as_deref().unwrap_or_default();
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        let name = name.chars().filter(is_shown).take(MOST_NAME).collect::<String>();
        if name.trim().is_empty() { otherwise.to_owned() } else { name }
    }
}
