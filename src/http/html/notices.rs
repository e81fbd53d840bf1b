use crate::error::Error;

pub struct Step {
    pub href: &'static str,
    pub label: &'static str,
}

pub struct Words {
    pub heading: &'static str,
    pub explanation: &'static str,
    pub step: Step,
}

const START: Step = Step { href: "/", label: "Go to the home page" };
const REFERENCE: Step = Step { href: "/docs", label: "Read the API reference" };
pub const ACCOUNT: Step = Step { href: "/console/account", label: "Go to your account" };
const CONSOLE: Step = Step { href: "/console", label: "Go to your sites" };
const MAILS: Step = Step { href: "/console/account/mails", label: "Email notifications" };
const DEMO: Step = Step { href: "/demo", label: "Go to the demo" };
const CONFIRM: Step =
    Step { href: "/guide#2-confirm-your-address-get-your-key", label: "How to get another email" };

const fn words(heading: &'static str, explanation: &'static str, step: Step) -> Words {
    Words { heading, explanation, step }
}

/// Like [`words_for`], for an address that takes a form of the demo.
pub fn words_at(path: &str, error: &Error) -> Words {
    let words = words_for(error);
    match (error, path.starts_with("/demo/")) {
        (Error::MethodNotAllowed, true) => Words { step: DEMO, ..words },
        _ => words,
    }
}

fn words_for(error: &Error) -> Words {
    match error {
        Error::Naming { refusal, .. } => words_for(refusal),
        Error::VerificationLinkNotFound => words(
            "We do not know this link",
            "Email programs sometimes break a link, and an account that was closed or not confirmed in time is deleted. \
             Open the link in the latest email, or use its 6-digit code instead.",
            CONFIRM,
        ),
        Error::DisownLinkNotFound => words(
            "There is no account to close",
            "The account of this link was already closed, or was not confirmed in time and is deleted. You do not have to do anything. \
             If your email program has broken the link, copy all of it, from https to its last letter.",
            START,
        ),
        Error::MailLinkNotFound => words(
            "We do not know this link",
            "Your email program may have broken it: copy all of it, from https to its last letter. It also stops working when the account’s email is changed. You can always choose your email notifications in the console.",
            MAILS,
        ),
        Error::AddressLinkNotFound => words(
            "There is no change to cancel",
            "The change was already cancelled, or it has taken effect: then the account has the new email. \
             If your email program has broken the link, copy all of it, from https to its last letter.",
            START,
        ),
        Error::VerificationLinkExpired => words(
            "This link has expired",
            "A link in an email is valid for 24 hours. Request another email, then open the link in that one.",
            CONFIRM,
        ),
        Error::VerificationTokenRequired => words(
            "Part of the link is missing",
            "Copy the whole link from the email, from https to its last letter, or use the 6-digit code in the email instead.",
            CONFIRM,
        ),
        Error::NotFound => {
            words("Page not found", "The address may be mistyped, or the page has moved.", START)
        }
        Error::PolicyNotFound => words(
            "There is no such privacy notice",
            "The site no longer asks for consent here, or the address is not complete. Ask the site itself for its privacy notice.",
            START,
        ),
        Error::FormRefused => words(
            "Please send the form again",
            "It was sent from another site, or from a page that was open before you signed in or out.",
            CONSOLE,
        ),
        Error::SessionIdRequired | Error::CheckoutNotConfigured => words(
            "This page belongs to a checkout",
            "The payment provider opens it after a payment. Nothing was charged by opening it.",
            START,
        ),
        other => words_for_status(other.status()),
    }
}

fn words_for_status(status: u16) -> Words {
    match status {
        401 | 403 => words(
            "This address is for programs",
            "It answers to a key that is sent in a header, which a browser does not do by itself.",
            REFERENCE,
        ),
        404 => words("Not found", "What the address names does not exist, or was deleted.", START),
        405 => words(
            "This address is for programs",
            "It cannot be opened as a page: it takes other kinds of requests.",
            REFERENCE,
        ),
        429 => words(
            "Too many requests",
            "Too many requests came from your network. Wait a little, then try again.",
            START,
        ),
        500.. => words(
            "Something went wrong on our side",
            "This is an error of the service. Reload the page in a minute.",
            START,
        ),
        _ => words(
            "Invalid request",
            "The address, or something that was sent, is invalid.",
            REFERENCE,
        ),
    }
}
