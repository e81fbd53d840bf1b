//! An input of a capability, independent of the transport.

use serde_json::{Map, Value};

/// The input as it is sent. Texts may be placeholders, see [`super::world::filled`].
#[derive(Clone, Debug)]
pub struct Input {
    pub arguments: Map<String, Value>,
    pub credentials: Credentials,
    /// Whether the tool reads the credentials from its arguments, or from the headers.
    pub in_arguments: bool,
}

#[derive(Clone, Copy, Debug, Default)]
pub struct Credentials {
    pub key: Option<&'static str>,
    pub token: Option<&'static str>,
    /// A whole header that is no key.
    pub authorization: Option<&'static str>,
}
