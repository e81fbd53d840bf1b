//! Findings for pages that could not be read, with the remedy.

use super::finding::{Finding, FindingKind};
use crate::infra::fetch::tls::TlsFault;
use crate::infra::fetch::{FetchError, Unreadable};

/// A finding and its remedy.
type Sentences = (&'static str, &'static str);

/// The finding for a page that could not be read.
pub fn unreadable(error: FetchError) -> Finding {
    use FetchError::*;
    let (found, cure) = match error {
        RedirectElsewhere | SecondRedirect => {
            return FindingKind::RedirectsElsewhere.says(
                "The site sends its visitors on to another address.",
                "Make a site for the host at which they arrive, and put its tag there. On the same host, with or without www, one redirect to https is fine.",
            );
        }
        Status(status) => {
            let found = format!("Instead of the page there is an answer with status {status}.");
            return FindingKind::PageUnreadable.says(found, after_status(status));
        }
        Unresolvable => (
            "The name of the site leads to no public address.",
            "Is the name spelt right, and does the site open in a browser with https?",
        ),
        NotPublic => (
            "The name of the site leads to an address that is not public.",
            "Try again when the site is open to the public. Nothing of a network of its own can be looked at from here.",
        ),
        Connect => {
            ("No server answers there.", "Is the site up, and open to all on the https port?")
        }
        Tls(fault) => tls(fault),
        Timeout => (
            "The page did not come in time.",
            "Try again. When it stays so, ask whoever runs the site why it takes longer than five seconds.",
        ),
        TooLarge => (
            "The page is longer than 1 MiB, and the tag is not in the first part of it.",
            "Put the tag into the head, where the page begins.",
        ),
        Unreadable(why) => not_understood(why),
        Broken => ("The answer broke off.", "Try again in a few minutes."),
        Busy => ("The page was not asked for.", "Try again in a few minutes."),
    };
    FindingKind::PageUnreadable.says(found, cure)
}

fn after_status(status: u16) -> &'static str {
    match status {
        // A response without a page, or with an incomplete one.
        204..=206 => {
            "Let the front page be sent whole, with status 200, to whoever asks for it without conditions."
        }
        400..=499 => {
            "Let the front page be read by all, without a password, and do not turn programs away."
        }
        _ => "Try again when the page opens in a browser.",
    }
}

fn tls(fault: TlsFault) -> Sentences {
    match fault {
        TlsFault::Expired => (
            "The certificate of the site, or one that it depends on, has expired.",
            "Renew the certificate. Browsers warn of it, too.",
        ),
        TlsFault::NotYetValid => (
            "The certificate of the site is not valid yet.",
            "Wait until it is, or get one that is valid from now on. Browsers warn of it, too.",
        ),
        TlsFault::WrongHost => (
            "The certificate of the site is for another host.",
            "Get a certificate that names this host. Browsers warn of it, too.",
        ),
        TlsFault::SelfSigned => (
            "The certificate of the site is signed by itself.",
            "Get a certificate from a public authority. Browsers warn of it, too.",
        ),
        TlsFault::UnknownAuthority => (
            "The certificate of the site comes from an authority that is not trusted publicly.",
            "Get a certificate from a public authority. Browsers warn of it unless somebody has told them to trust it.",
        ),
        TlsFault::IncompleteChain => (
            "The server sends its certificate without the intermediate certificate that issued it.",
            "Let the server send the full chain; the file is often called fullchain.pem. Many browsers fetch a missing intermediate certificate by themselves and open the site without a warning; other programs do not. When nothing is missing, the authority is not a public one: get a certificate from one that is.",
        ),
        TlsFault::Revoked => (
            "The certificate of the site was revoked.",
            "Get a new certificate. Browsers may warn of it, too.",
        ),
        TlsFault::Unusable => (
            "The certificate of the site cannot be verified: it is malformed, wrongly signed, or made for another use.",
            "Get a new certificate for the site's server.",
        ),
        TlsFault::NothingInCommon => (
            "The server has no version of TLS or no cipher in common with present programs.",
            "Let the server speak TLS 1.2 or 1.3 with present ciphers, such as ECDHE with AES-GCM.",
        ),
        TlsFault::Refused => (
            "The server refused the TLS handshake.",
            "Is there a certificate for this host on the server, and does it speak TLS 1.2 or 1.3 with present ciphers?",
        ),
        TlsFault::NotTls => (
            "What answers on the https port does not speak TLS.",
            "Does the site open in a browser with https? Turn TLS on for the port 443 of the server.",
        ),
        TlsFault::Other => (
            "The TLS handshake with the server failed.",
            "Does the site open in a browser with https? Try again in a few minutes.",
        ),
    }
}

fn not_understood(why: Unreadable) -> Sentences {
    match why {
        Unreadable::Compression => (
            "The page is compressed in a way that could not be unpacked.",
            "Let the server send the page as it is to whoever asks for no compression (Accept-Encoding: identity), or with gzip, deflate or br.",
        ),
        Unreadable::NotHtml => (
            "The answer is no HTML page.",
            "Let the front page be sent with Content-Type: text/html.",
        ),
        Unreadable::NotText => (
            "The answer is no text that could be read.",
            "Let the server name the page's encoding: Content-Type: text/html; charset=utf-8, and Content-Encoding where it is compressed.",
        ),
        Unreadable::Challenge => (
            "Instead of the page a protection against programs answered.",
            "Let this service read the front page: it asks from the address of this service, as \u{201c}Assent install check\u{201d}. Visitors with a browser may see the page all the same.",
        ),
        Unreadable::TooDeep => (
            "The page nests its elements too deeply to be read to its end.",
            "Put the tag into the head, where the page begins.",
        ),
    }
}
