//! Translations of the stored reasons why a delivery received no response.

use crate::infra::templates::{Message, tr};

/// An unknown text, which an earlier version of the service stored, stays in English.
pub fn in_words(failure: &str) -> Message {
    match failure {
        "the host name could not be resolved" => tr("the host name could not be resolved"),
        "the host name leads to an address that is not public, as localhost does" => {
            tr("the host name leads to an address that is not public, as localhost does")
        }
        "the connection failed" => tr("the connection failed"),
        "the TLS handshake failed" => tr("the TLS handshake failed"),
        "no complete answer in time" => tr("no complete answer in time"),
        "the answer broke off" => tr("the answer broke off"),
        "too many fetches at once" => tr("too many fetches at once"),
        "the body could not be made" => tr("the body could not be made"),
        other => Message::plain(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::fetch::FetchError::{
        Broken, Busy, Connect, NotPublic, Timeout, Unresolvable,
    };
    use crate::infra::templates::in_english;

    #[test]
    fn the_failures_of_the_sender_are_translated() {
        for failure in [Broken, Busy, Connect, NotPublic, Timeout, Unresolvable] {
            let words = in_words(&failure.to_string());
            assert!(matches!(words, Message::Text(..)), "{failure}");
            assert_eq!(in_english(&words), failure.to_string());
        }
    }
}
