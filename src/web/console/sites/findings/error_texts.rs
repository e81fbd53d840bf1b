//! Reasons why a page could not be read, as phrases that follow a colon.

use crate::infra::templates::{Message, tr};

pub static TEXTS: [Message; 15] = [
    tr("the host name could not be resolved"),
    tr("the host name leads to an address that is not public, as localhost does"),
    tr("the connection failed"),
    tr("the TLS handshake failed"),
    tr("no complete answer in time"),
    tr("the answer broke off"),
    tr("the page redirects elsewhere"),
    tr("the page redirects more than once"),
    tr("the page is larger than 1 MiB"),
    tr("too many fetches at once"),
    tr("the page cannot be unpacked"),
    tr("the answer is no HTML page"),
    tr("the answer is not text"),
    tr("a protection against programs answered instead of the page"),
    tr("the page is too deeply nested to be read"),
];

pub static PATTERNS: [Message; 1] = [tr("the page answered with status {{ status }}")];
