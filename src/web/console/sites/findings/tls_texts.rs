//! Failures of TLS, and the remedies.

use crate::infra::templates::{Message, tr};

pub static TEXTS: [Message; 23] = [
    tr("The certificate of the site, or one that it depends on, has expired."),
    tr("Renew the certificate. Browsers warn about it, too."),
    tr("The certificate of the site is not valid yet."),
    tr("Wait until it is, or get a certificate that is valid now. Browsers warn about it, too."),
    tr("The certificate of the site is for another host."),
    tr("Get a certificate that names this host. Browsers warn about it, too."),
    tr("The certificate of the site is self-signed."),
    tr("Get a certificate from a public authority. Browsers warn about it, too."),
    tr("The certificate of the site comes from an authority that is not trusted publicly."),
    tr(
        "Get a certificate from a public authority. Browsers warn about it unless they were configured to trust it.",
    ),
    tr("The server sends its certificate without the intermediate certificate that issued it."),
    tr(
        "Let the server send the full chain; the file is often called fullchain.pem. Many browsers fetch a missing intermediate certificate by themselves and open the site without a warning; other programs do not. When nothing is missing, the authority is not a public one: get a certificate from one that is.",
    ),
    tr("The certificate of the site was revoked."),
    tr("Get a new certificate. Browsers may warn about it, too."),
    tr(
        "The certificate of the site cannot be verified: it is malformed, wrongly signed, or made for another use.",
    ),
    tr("Get a new certificate for the site's server."),
    tr("The server supports no current version of TLS or no current cipher."),
    tr("Enable TLS 1.2 or 1.3 on the server with current ciphers, such as ECDHE with AES-GCM."),
    tr("The server refused the TLS handshake."),
    tr(
        "Check that the server has a certificate for this host and supports TLS 1.2 or 1.3 with current ciphers.",
    ),
    tr("The server on the https port does not use TLS."),
    tr("Check that the site opens in a browser with https. Enable TLS on port 443 of the server."),
    tr("The TLS handshake with the server failed."),
];
