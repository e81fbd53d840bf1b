use super::tls::TlsFault;

/// The reason why there is no response. The texts reveal nothing about a server beyond its status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FetchError {
    #[error("the host name could not be resolved")]
    Unresolvable,
    #[error("the host name leads to an address that is not public, as localhost does")]
    NotPublic,
    #[error("the connection failed")]
    Connect,
    #[error("the TLS handshake failed")]
    Tls(TlsFault),
    #[error("no complete answer in time")]
    Timeout,
    #[error("the answer broke off")]
    Broken,
    #[error("the page answered with status {0}")]
    Status(u16),
    #[error("the page redirects elsewhere")]
    RedirectElsewhere,
    #[error("the page redirects more than once")]
    SecondRedirect,
    #[error("the page is larger than 1 MiB")]
    TooLarge,
    #[error(transparent)]
    Unreadable(#[from] Unreadable),
    /// Not caused by the site: the limit of concurrent fetches is reached.
    #[error("too many fetches at once")]
    Busy,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the page cannot be unpacked")]
    Compression,
    #[error("the answer is no HTML page")]
    NotHtml,
    #[error("the answer is not text")]
    NotText,
    #[error("a protection against programs answered instead of the page")]
    Challenge,
    #[error("the page is too deeply nested to be read")]
    TooDeep,
}
