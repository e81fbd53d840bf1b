use super::redirect_uri::RedirectUri;

/// An app that may ask for authorization.
#[derive(Clone, Debug)]
pub struct Client {
    pub client_id: String,
    /// The name that the app gives itself. It proves nothing.
    pub name: String,
    /// The host that vouches for it; `None` for an app that registered itself.
    pub host: Option<String>,
    pub redirect_uris: Vec<RedirectUri>,
}

impl Client {
    /// The requested redirect address if it is registered; without one, the only registered address.
    pub fn redirect_uri(&self, asked: Option<&str>) -> Option<RedirectUri> {
        match (asked, &self.redirect_uris[..]) {
            (None, [only]) => Some(only.clone()),
            (None, _) => None,
            (Some(asked), registered) => {
                let asked = RedirectUri::parse(asked)?;
                registered.iter().any(|uri| uri.admits(&asked)).then_some(asked)
            }
        }
    }
}
