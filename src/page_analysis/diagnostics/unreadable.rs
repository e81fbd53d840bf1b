use super::finding::{Finding, FindingKind};
use crate::infra::fetch::tls::TlsFault;
use crate::infra::fetch::{FetchError, Unreadable};

type Sentences = (&'static str, &'static str);

pub fn unreadable(error: FetchError) -> Finding {
    use FetchError::*;
    let (found, cure) = match error {
        RedirectElsewhere | SecondRedirect => {
            return FindingKind::RedirectsElsewhere.says(
                "The site redirects to another address.",
                "Add a site for the host to which it redirects, and put its snippet there. On the same host, with or without www, one redirect to https is fine; a page that refreshes to another one needs the snippet as well.",
            );
        }
        Status(status) => {
            let found = format!("The server answered with status {status} instead of the page.");
            return FindingKind::PageUnreadable.says(found, after_status(status));
        }
        Unresolvable => (
            "The name of the site leads to no public address.",
            "Check the spelling of the name, and that the site opens in a browser with https.",
        ),
        NotPublic => (
            "The name of the site leads to an address that is not public.",
            "Try again when the site is open to the public. Sites in a private network cannot be checked.",
        ),
        Connect => (
            "No server answers at this address.",
            "Check that the site is up, and open to everyone on port 443 (https).",
        ),
        Tls(fault) => tls(fault),
        Timeout => (
            "The page took too long to load.",
            "Try again. If it happens again, find out why the page takes longer than five seconds.",
        ),
        TooLarge => (
            "The page is longer than 1 MiB, and the snippet is not in the first part of it.",
            "Put the snippet into the head, where the page begins.",
        ),
        Unreadable(why) => not_understood(why),
        Broken => ("The answer broke off.", "Try again in a few minutes."),
        Busy => (
            "The page was not fetched, because too many checks were running.",
            "Try again in a few minutes.",
        ),
    };
    FindingKind::PageUnreadable.says(found, cure)
}

fn after_status(status: u16) -> &'static str {
    match status {
        // A response without a page, or with an incomplete one.
        204..=206 => {
            "Let the server send the complete home page with status 200 when a request has no conditions."
        }
        400..=499 => {
            "Let everyone read the home page without a password, and do not block programs."
        }
        _ => "Try again when the page opens in a browser.",
    }
}

fn tls(fault: TlsFault) -> Sentences {
    match fault {
        TlsFault::Expired => (
            "The certificate of the site, or one that it depends on, has expired.",
            "Renew the certificate. Browsers warn about it, too.",
        ),
        TlsFault::NotYetValid => (
            "The certificate of the site is not valid yet.",
            "Wait until it is, or get a certificate that is valid now. Browsers warn about it, too.",
        ),
        TlsFault::WrongHost => (
            "The certificate of the site is for another host.",
            "Get a certificate that names this host. Browsers warn about it, too.",
        ),
        TlsFault::SelfSigned => (
            "The certificate of the site is self-signed.",
            "Get a certificate from a public authority. Browsers warn about it, too.",
        ),
        TlsFault::UnknownAuthority => (
            "The certificate of the site comes from an authority that is not trusted publicly.",
            "Get a certificate from a public authority. Browsers warn about it unless they were configured to trust it.",
        ),
        TlsFault::IncompleteChain => (
            "The server sends its certificate without the intermediate certificate that issued it.",
            "Let the server send the full chain; the file is often called fullchain.pem. Many browsers fetch a missing intermediate certificate by themselves and open the site without a warning; other programs do not. When nothing is missing, the authority is not a public one: get a certificate from one that is.",
        ),
        TlsFault::Revoked => (
            "The certificate of the site was revoked.",
            "Get a new certificate. Browsers may warn about it, too.",
        ),
        TlsFault::Unusable => (
            "The certificate of the site cannot be verified: it is malformed, wrongly signed, or made for another use.",
            "Get a new certificate for the site's server.",
        ),
        TlsFault::NothingInCommon => (
            "The server supports no current version of TLS or no current cipher.",
            "Enable TLS 1.2 or 1.3 on the server with current ciphers, such as ECDHE with AES-GCM.",
        ),
        TlsFault::Refused => (
            "The server refused the TLS handshake.",
            "Check that the server has a certificate for this host and supports TLS 1.2 or 1.3 with current ciphers.",
        ),
        TlsFault::NotTls => (
            "The server on the https port does not use TLS.",
            "Check that the site opens in a browser with https. Enable TLS on port 443 of the server.",
        ),
        TlsFault::Other => (
            "The TLS handshake with the server failed.",
            "Check that the site opens in a browser with https. Try again in a few minutes.",
        ),
    }
}

fn not_understood(why: Unreadable) -> Sentences {
    match why {
        Unreadable::Compression => (
            "The page could not be decompressed.",
            "Let the server send the page uncompressed when the request asks for that (Accept-Encoding: identity), or with gzip, deflate or br.",
        ),
        Unreadable::NotHtml => (
            "The answer is not an HTML page.",
            "Let the server send the home page with Content-Type: text/html.",
        ),
        Unreadable::NotText => (
            "The answer could not be decoded as text.",
            "Let the server declare the encoding: Content-Type: text/html; charset=utf-8, and Content-Encoding if the page is compressed.",
        ),
        Unreadable::Challenge => (
            "A bot protection answered instead of the site.",
            "Let this service read the front page: it asks from the address of this service, as \u{201c}Assent install check\u{201d}. Visitors with a browser may see the page all the same.",
        ),
        Unreadable::TooDeep => (
            "The elements of the page are nested too deeply to read it completely.",
            "Put the snippet into the head, where the page begins.",
        ),
    }
}
