//! Access tokens of apps (OAuth), which are valid at the tool server only.

use crate::accounts::access::Credentials;
use crate::app::App;
use crate::error::Result;
use crate::oauth::tokens;

/// Replaces the access token of an app by its grant. Returns other credentials unchanged.
pub async fn with_grant(app: &App, credentials: Credentials) -> Result<Credentials> {
    let token = credentials.api_key.clone().filter(|key| tokens::is_access_token(key));
    let Some(token) = token else { return Ok(credentials) };
    let holder = tokens::admit(&app.oauth, &credentials, &token).await?;
    Ok(Credentials { api_key: None, grant: Some(Box::new(holder)), ..credentials })
}
