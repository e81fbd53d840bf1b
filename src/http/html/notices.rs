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

const START: Step = Step { href: "/", label: "Go to the start page" };
const REFERENCE: Step = Step { href: "/docs", label: "Read the API reference" };
pub const ACCOUNT: Step = Step { href: "/console/account", label: "Go to your account" };
const CONSOLE: Step = Step { href: "/console", label: "Go to your sites" };
const MAILS: Step = Step { href: "/console/account/mails", label: "Choose your mails" };
const DEMO: Step = Step { href: "/demo", label: "Go to the demo" };
const CONFIRM: Step = Step {
    href: "/guide#2-confirm-your-address-get-your-key",
    label: "See how to get another mail",
};

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
            "Mail programs sometimes cut a link in two, and an account that was closed, or not confirmed in time, is gone. \
             Open the link in the newest mail, or use the six digits in it instead.",
            CONFIRM,
        ),
        Error::DisownLinkNotFound => words(
            "There is no account to close",
            "The account of this link was closed, or was never confirmed and has ended: then there is nothing left to do. \
             Should your mail program have cut the link in two, copy the whole of it, from https to its last letter.",
            START,
        ),
        Error::MailLinkNotFound => words(
            "We do not know this link",
            "Your mail program may have cut it in two: copy the whole of it, from https to its last letter. It also ends when the account takes another address. In the console you can always choose which mails you get.",
            MAILS,
        ),
        Error::AddressLinkNotFound => words(
            "There is no change to cancel",
            "The change was cancelled already, or it has taken effect: then the account has the new address. \
             Should your mail program have cut the link in two, copy the whole of it, from https to its last letter.",
            START,
        ),
        Error::VerificationLinkExpired => words(
            "This link is too old",
            "A link in a mail works for 24 hours. Ask for another mail, then open the link in that one.",
            CONFIRM,
        ),
        Error::VerificationTokenRequired => words(
            "A part of the link is missing",
            "Copy the whole link from the mail, from https to its last letter, or use the six digits in the mail instead.",
            CONFIRM,
        ),
        Error::NotFound => words(
            "There is no such page",
            "The address may be mistyped, or the page has moved.",
            START,
        ),
        Error::PolicyNotFound => words(
            "There is no such privacy notice",
            "The site no longer asks for consent here, or the address is not complete. Ask the site itself for its privacy notice.",
            START,
        ),
        Error::FormRefused => words(
            "Please send the form once more",
            "It was sent from another site, or from a page that was open before you signed in or out.",
            CONSOLE,
        ),
        Error::SessionIdRequired | Error::CheckoutNotConfigured => words(
            "This page belongs to a checkout",
            "You come here from the payment provider, after paying. Nothing was charged by opening it.",
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
        404 => words(
            "There is nothing here",
            "What the address names does not exist, or no longer does.",
            START,
        ),
        405 => words(
            "This address is for programs",
            "It cannot be opened as a page: it takes other kinds of requests.",
            REFERENCE,
        ),
        429 => words(
            "One moment, please",
            "A lot was asked from where you are. Wait a little, then try again.",
            START,
        ),
        500.. => words(
            "Something went wrong on our side",
            "It is not your fault. Reload the page in a minute.",
            START,
        ),
        _ => words(
            "This cannot be answered",
            "Something in the address or in what was sent is not as it should be.",
            REFERENCE,
        ),
    }
}
