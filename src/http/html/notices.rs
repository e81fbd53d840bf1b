use crate::error::Error;
use crate::infra::templates::{Message, tr};

pub struct Step {
    pub href: &'static str,
    pub label: Message,
}

pub struct Words {
    pub heading: Message,
    pub explanation: Message,
    pub step: Step,
}

const START: Step = Step { href: "/", label: tr("Go to the home page") };
const REFERENCE: Step = Step { href: "/docs", label: tr("Read the API reference") };
pub const ACCOUNT: Step = Step { href: "/console/account", label: tr("Go to your account") };
const CONSOLE: Step = Step { href: "/console", label: tr("Go to your sites") };
const MAILS: Step = Step { href: "/console/account/mails", label: tr("Email notifications") };
const DEMO: Step = Step { href: "/demo", label: tr("Go to the demo") };
const CONFIRM: Step = Step {
    href: "/guide#2-confirm-your-address-get-your-key",
    label: tr("How to get another email"),
};

const fn words(heading: Message, explanation: Message, step: Step) -> Words {
    Words { heading, explanation, step }
}

/// Like [`words_for`], but leads back to the demo from an address of the demo that only accepts forms.
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
            tr("We do not know this link"),
            tr(
                "Email programs sometimes break a link, and an account that was closed or not confirmed in time is deleted. Open the link in the latest email, or use its 6-digit code instead.",
            ),
            CONFIRM,
        ),
        Error::DisownLinkNotFound => words(
            tr("There is no account to close"),
            tr(
                "The account of this link was already closed, or was not confirmed in time and is deleted. You do not have to do anything. If your email program has broken the link, copy all of it, from https to its last letter.",
            ),
            START,
        ),
        Error::MailLinkNotFound => words(
            tr("We do not know this link"),
            tr(
                "Your email program may have broken it: copy all of it, from https to its last letter. It also stops working when the account’s email is changed. You can always choose your email notifications in the console.",
            ),
            MAILS,
        ),
        Error::AddressLinkNotFound => words(
            tr("There is no change to cancel"),
            tr(
                "The change was already cancelled, or it has taken effect: then the account has the new email. If your email program has broken the link, copy all of it, from https to its last letter.",
            ),
            START,
        ),
        Error::VerificationLinkExpired => words(
            tr("This link has expired"),
            tr(
                "A link in an email is valid for 24 hours. Request another email, then open the link in that one.",
            ),
            CONFIRM,
        ),
        Error::VerificationTokenRequired => words(
            tr("Part of the link is missing"),
            tr(
                "Copy the whole link from the email, from https to its last letter, or use the 6-digit code in the email instead.",
            ),
            CONFIRM,
        ),
        Error::NotFound => words(
            tr("Page not found"),
            tr("The address may be mistyped, or the page has moved."),
            START,
        ),
        Error::PolicyNotFound => words(
            tr("There is no such privacy notice"),
            tr(
                "The site no longer asks for consent here, or the address is not complete. Ask the site itself for its privacy notice.",
            ),
            START,
        ),
        Error::FormRefused => words(
            tr("Please send the form again"),
            tr(
                "It was sent from another site, or from a page that was open before you signed in or out.",
            ),
            CONSOLE,
        ),
        Error::SessionIdRequired | Error::CheckoutNotConfigured => words(
            tr("This page belongs to a checkout"),
            tr("The payment provider opens it after a payment. Nothing was charged by opening it."),
            START,
        ),
        other => words_for_status(other.status()),
    }
}

fn words_for_status(status: u16) -> Words {
    match status {
        401 | 403 => words(
            tr("This address is for programs"),
            tr(
                "It answers to a key that is sent in a header, which a browser does not do by itself.",
            ),
            REFERENCE,
        ),
        404 => words(
            tr("Not found"),
            tr("What the address names does not exist, or was deleted."),
            START,
        ),
        405 => words(
            tr("This address is for programs"),
            tr("It cannot be opened as a page: it takes other kinds of requests."),
            REFERENCE,
        ),
        429 => words(
            tr("Too many requests"),
            tr("Too many requests came from your network. Wait a little, then try again."),
            START,
        ),
        500.. => words(
            tr("Something went wrong on our side"),
            tr("This is an error of the service. Reload the page in a minute."),
            START,
        ),
        _ => words(
            tr("Invalid request"),
            tr("The address, or something that was sent, is invalid."),
            REFERENCE,
        ),
    }
}
