//! The console's messages for refusals, which say what the person can do.

use crate::error::Error;
use crate::infra::templates::{Message, tr};
use crate::types::text::capital;

pub fn sentence(error: &Error) -> Message {
    match error {
        Error::Naming { refusal, fields } => {
            fields.first().map_or_else(|| sentence(refusal), |field| full(&field.msg))
        }
        Error::Validation(fields) => {
            fields.first().map_or_else(|| full("invalid"), |field| full(&field.msg))
        }
        _ => general(error)
            .or_else(|| of_sign_in(error))
            .or_else(|| of_account(error))
            .or_else(|| of_site(error))
            .or_else(|| of_claim(error))
            .unwrap_or_else(|| other(error)),
    }
}

fn general(error: &Error) -> Option<Message> {
    Some(match error {
        Error::FormRefused => tr(
            "The form was sent from another page, or from one opened before you signed in or out. Reload the page and try again.",
        ),
        Error::DatabaseUnavailable | Error::Busy { .. } => {
            tr("The service or its database is not available. Try again in a minute.")
        }
        Error::TooManyRequests { retry_after } => {
            tr("Too many requests. Wait {{ time }}.").with("time", wait(*retry_after))
        }
        Error::BodyTooLarge => {
            tr("The file is larger than 16 MB. Split it, and import the parts one by one.")
        }
        Error::PixelNotFound | Error::NotFound => tr(
            "The address may be mistyped, or it belongs to something that was deleted or is not in your account.",
        ),
        Error::Internal(_) => tr("This is an error of the service. Try again in a minute."),
        _ => return None,
    })
}

fn of_sign_in(error: &Error) -> Option<Message> {
    Some(match error {
        Error::InvalidEmail => {
            tr("This is not an email address. It should look like ann@example.com.")
        }
        Error::DisplayNameRequired => tr("Enter a name."),
        Error::EmailRegistered => {
            tr("There is an account with this address already. Sign in instead.")
        }
        Error::ConfirmationMailFailed | Error::SnippetMailFailed => tr(
            "The email could not be sent to this address. Check it for typing errors, or try again later.",
        ),
        Error::InvalidCode => {
            tr("The code is wrong or has expired. Use the latest email, or request another code.")
        }
        Error::TooManyAttempts { .. } => tr("Too many wrong codes. Request another one."),
        Error::InvalidApiKey { .. }
        | Error::ApiKeyRevoked { .. }
        | Error::ApiKeyExpired
        | Error::ApiKeyRequired => {
            tr("This key does not work. A key begins with px_ and has 46 characters.")
        }
        _ => return None,
    })
}

fn of_account(error: &Error) -> Option<Message> {
    Some(match error {
        Error::ScopeNotAllowed => tr(
            "You need the Admin role for this. A member with the role Admin can do it, or change your role.",
        ),
        Error::RestrictedToSites => tr(
            "Your access is restricted to some sites, and this concerns the whole account. A member with the role Admin can do it.",
        ),
        Error::AlreadyMember => tr("This address is a member already."),
        Error::MemberAllowanceReached => {
            tr("An account has at most five members. Remove one who no longer needs it.")
        }
        Error::InvitationFailed => tr(
            "The email could not be sent to this address, so nobody was invited. Check it for typing errors, or try again later.",
        ),
        Error::ImportAllowanceReached => tr(
            "Five imports are already running. Wait until one of them is complete. The suppression list of an account has at most five million people.",
        ),
        Error::MemberNotFound => tr("This member was already removed."),
        Error::NotInGoodStanding | Error::AccountNotActive => {
            tr("The operator of this service has suspended the account. Contact the operator.")
        }
        Error::PixelAllowanceReached { .. } => tr(
            "Your account has all the sites that its plan includes. Remove one that you do not use, or open another account.",
        ),
        _ => return None,
    })
}

fn of_site(error: &Error) -> Option<Message> {
    Some(match error {
        Error::SnippetMailTooSoon { .. } => {
            tr("It was sent a short while ago. Try again ten minutes after that.")
        }
        Error::PolicyAllowanceReached => tr(
            "The versions of this site's notice have reached 20 MiB together. No more can be published.",
        ),
        Error::DomainRequired => tr("Enter the domain of your site, for example example.com."),
        Error::DomainIsPage => tr(
            "This is not the address of a site. It should look like example.com or https://example.com.",
        ),
        Error::DomainNotHost => {
            tr("This is not the host of a site. It should look like example.com.")
        }
        Error::DomainRegistered => {
            tr("This site is already in another account. If you own it, you can claim it.")
        }
        Error::MoveUnderWay => {
            tr("The site, or this domain, is part of a move. End or cancel the move first.")
        }
        Error::MoveNotFound => tr("The move has already ended or was cancelled."),
        Error::InstallCheckerOff => {
            tr("Verification is turned off by the operator of this service. Contact the operator.")
        }
        Error::SharedLinkAllowanceReached => {
            tr("A site has at most 20 shared links. Revoke one that is no longer needed.")
        }
        _ => return None,
    })
}

fn of_claim(error: &Error) -> Option<Message> {
    Some(match error {
        Error::PixelWorking => tr(
            "The site is installed with another account. If you own it, remove that account’s snippet from the home page and add the DNS record. Or ask whoever has that account, such as a colleague or an agency, to invite you or to remove the site.",
        ),
        Error::HostIsYours => tr("The site is already in your account, under Sites."),
        Error::ClaimAllowanceReached => tr("You have ten open claims. Finish one of them first."),
        Error::ClaimNotFound => tr(
            "This claim has expired, or it belongs to another account. A claim is open for seven days. Add the site again.",
        ),
        Error::ClaimNotProven => tr(
            "Neither the DNS record nor the snippet was found yet. It can take an hour until a new DNS record is visible. Try again later.",
        ),
        _ => return None,
    })
}

/// The message of the API, and the time to wait if there is one.
fn other(error: &Error) -> Message {
    let known = full(&error.to_string());
    match error.retry_after() {
        Some(seconds) => {
            Message::Sentences(vec![known, tr("Wait {{ time }}.").with("time", wait(seconds))])
        }
        None => known,
    }
}

fn full(text: &str) -> Message {
    let sentence = capital(text);
    Message::Plain(if sentence.ends_with('.') { sentence } else { format!("{sentence}.") })
}

fn wait(seconds: u64) -> Message {
    match seconds {
        0..=90 => tr("{{ many }} seconds").with("many", seconds),
        91..=5400 => tr("{{ many }} minutes").with("many", seconds.div_ceil(60)),
        _ => tr("{{ many }} hours").with("many", seconds.div_ceil(3600)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn every_refusal_is_a_sentence() {
        let wait = sentence(&Error::TooManyRequests { retry_after: 600 });
        assert_eq!(in_english(&wait), "Too many requests. Wait 10 minutes.");
        let other = sentence(&Error::PixelNotCreated);
        assert_eq!(in_english(&other), "Pixel could not be created.");
    }
}
