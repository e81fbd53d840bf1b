use crate::error::Error;
use crate::infra::templates::{Said, said};

pub struct Step {
    pub href: &'static str,
    pub label: Said,
}

pub struct Words {
    pub heading: Said,
    pub explanation: Said,
    pub step: Step,
}

const START: Step = Step { href: "/", label: said("Go to the home page") };
const REFERENCE: Step = Step { href: "/docs", label: said("Read the API reference") };
pub const ACCOUNT: Step = Step { href: "/console/account", label: said("Go to your account") };
const CONSOLE: Step = Step { href: "/console", label: said("Go to your sites") };
const MAILS: Step = Step { href: "/console/account/mails", label: said("Email notifications") };
const DEMO: Step = Step { href: "/demo", label: said("Go to the demo") };
const CONFIRM: Step = Step {
    href: "/guide#2-confirm-your-address-get-your-key",
    label: said("How to get another email"),
};

const fn words(heading: Said, explanation: Said, step: Step) -> Words {
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
            said("We do not know this link"),
            said(
                "Email programs sometimes break a link, and an account that was closed or not confirmed in time is deleted. Open the link in the latest email, or use its 6-digit code instead.",
            ),
            CONFIRM,
        ),
        Error::DisownLinkNotFound => words(
            said("There is no account to close"),
            said(
                "The account of this link was already closed, or was not confirmed in time and is deleted. You do not have to do anything. If your email program has broken the link, copy all of it, from https to its last letter.",
            ),
            START,
        ),
        Error::MailLinkNotFound => words(
            said("We do not know this link"),
            said(
                "Your email program may have broken it: copy all of it, from https to its last letter. It also stops working when the account’s email is changed. You can always choose your email notifications in the console.",
            ),
            MAILS,
        ),
        Error::AddressLinkNotFound => words(
            said("There is no change to cancel"),
            said(
                "The change was already cancelled, or it has taken effect: then the account has the new email. If your email program has broken the link, copy all of it, from https to its last letter.",
            ),
            START,
        ),
        Error::VerificationLinkExpired => words(
            said("This link has expired"),
            said(
                "A link in an email is valid for 24 hours. Request another email, then open the link in that one.",
            ),
            CONFIRM,
        ),
        Error::VerificationTokenRequired => words(
            said("Part of the link is missing"),
            said(
                "Copy the whole link from the email, from https to its last letter, or use the 6-digit code in the email instead.",
            ),
            CONFIRM,
        ),
        Error::NotFound => words(
            said("Page not found"),
            said("The address may be mistyped, or the page has moved."),
            START,
        ),
        Error::PolicyNotFound => words(
            said("There is no such privacy notice"),
            said(
                "The site no longer asks for consent here, or the address is not complete. Ask the site itself for its privacy notice.",
            ),
            START,
        ),
        Error::FormRefused => words(
            said("Please send the form again"),
            said(
                "It was sent from another site, or from a page that was open before you signed in or out.",
            ),
            CONSOLE,
        ),
        Error::SessionIdRequired | Error::CheckoutNotConfigured => words(
            said("This page belongs to a checkout"),
            said(
                "The payment provider opens it after a payment. Nothing was charged by opening it.",
            ),
            START,
        ),
        other => words_for_status(other.status()),
    }
}

fn words_for_status(status: u16) -> Words {
    match status {
        401 | 403 => words(
            said("This address is for programs"),
            said(
                "It answers to a key that is sent in a header, which a browser does not do by itself.",
            ),
            REFERENCE,
        ),
        404 => words(
            said("Not found"),
            said("What the address names does not exist, or was deleted."),
            START,
        ),
        405 => words(
            said("This address is for programs"),
            said("It cannot be opened as a page: it takes other kinds of requests."),
            REFERENCE,
        ),
        429 => words(
            said("Too many requests"),
            said("Too many requests came from your network. Wait a little, then try again."),
            START,
        ),
        500.. => words(
            said("Something went wrong on our side"),
            said("This is an error of the service. Reload the page in a minute."),
            START,
        ),
        _ => words(
            said("Invalid request"),
            said("The address, or something that was sent, is invalid."),
            REFERENCE,
        ),
    }
}
