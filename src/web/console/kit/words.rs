use chrono::{DateTime, NaiveDate, Utc};

use crate::accounts::scope::Scope;
use crate::erasure::view::ErasedRows;
use crate::error::Error;
use crate::infra::templates::{Said, in_english, said};
use crate::receipts::user_action::Act;
use crate::types::device::Device;
pub use crate::types::formatting::{date, day, moment, number, percent, second};
use crate::types::text::listed;

pub fn act(act: Act) -> &'static str {
    match act {
        Act::Pointer => "Mouse, finger or pen",
        Act::Keyboard => "Keyboard",
        Act::Assistive => "Assistive technology",
        Act::Page => "A script of the page",
    }
}

pub fn device(device: Device) -> &'static str {
    match device {
        Device::Desktop => "computer",
        Device::Phone => "phone",
    }
}

/// A refusal as translated pages show it.
pub fn explained(error: &Error) -> Said {
    translated(error).unwrap_or_else(|| Said::plain(sentence(error)))
}

fn translated(error: &Error) -> Option<Said> {
    Some(match error {
        Error::InvalidEmail => {
            said("This is not an email address. It should look like ann@example.com.")
        }
        Error::DisplayNameRequired => said("Enter a name."),
        Error::EmailRegistered => {
            said("There is an account with this address already. Sign in instead.")
        }
        Error::ConfirmationMailFailed => said(
            "The email could not be sent to this address. Check it for typing errors, or try again later.",
        ),
        Error::InvalidCode => {
            said("The code is wrong or has expired. Use the latest email, or request another code.")
        }
        Error::FormRefused => said(
            "The form was sent from another page, or from one opened before you signed in or out. Reload the page and try again.",
        ),
        Error::TooManyAttempts { .. } => said("Too many wrong codes. Request another one."),
        Error::InvalidApiKey { .. }
        | Error::ApiKeyRevoked { .. }
        | Error::ApiKeyExpired
        | Error::ApiKeyRequired => {
            said("This key does not work. A key begins with px_ and has 46 characters.")
        }
        Error::DatabaseUnavailable | Error::Busy { .. } => {
            said("The service or its database is not available. Try again in a minute.")
        }
        Error::TooManyRequests { retry_after } => {
            said("Too many requests. Wait {{ time }}.").with("time", wait(*retry_after))
        }
        _ => return None,
    })
}

pub fn sentence(error: &Error) -> String {
    if let Some(known) = translated(error) {
        return in_english(&known);
    }
    let known = match error {
        Error::Naming { refusal, fields } => {
            return fields.first().map_or_else(|| sentence(refusal), |field| full(&field.msg));
        }
        Error::Validation(fields) => {
            return fields.first().map_or_else(|| full("invalid"), |field| full(&field.msg));
        }
        Error::SnippetMailTooSoon { .. } => {
            "It was sent a short while ago. Try again ten minutes after that."
        }
        Error::SnippetMailFailed => {
            "The email could not be sent to this address. Check it for typing errors, or try again later."
        }
        Error::ScopeNotAllowed => {
            "You need the Admin role for this. A member with the role Admin can do it, or change your role."
        }
        Error::RestrictedToSites => {
            "Your access is restricted to some sites, and this concerns the whole account. A member with the role Admin can do it."
        }
        Error::AlreadyMember => "This address is a member already.",
        Error::MemberAllowanceReached => {
            "An account has at most five members. Remove one who no longer needs it."
        }
        Error::InvitationFailed => {
            "The email could not be sent to this address, so nobody was invited. Check it for typing errors, or try again later."
        }
        Error::PolicyAllowanceReached => {
            "The versions of this site's notice have reached 20 MiB together. No more can be published."
        }
        Error::ImportAllowanceReached => {
            "Five imports are already running. Wait until one of them is complete. The suppression list of an account has at most five million people."
        }
        Error::BodyTooLarge => {
            "The file is larger than 16 MB. Split it, and import the parts one by one."
        }
        Error::MemberNotFound => "This member was already removed.",
        Error::DomainRequired => "Enter the domain of your site, for example example.com.",
        Error::DomainIsPage => {
            "This is not the address of a site. It should look like example.com or https://example.com."
        }
        Error::DomainNotHost => "This is not the host of a site. It should look like example.com.",
        Error::DomainRegistered => {
            "This site is already in another account. If you own it, you can claim it."
        }
        Error::PixelWorking => {
            "The site is installed with another account. If you own it, remove that account’s snippet from the home page and add the DNS record. Or ask whoever has that account, such as a colleague or an agency, to invite you or to remove the site."
        }
        Error::MoveUnderWay => {
            "The site, or this domain, is part of a move. End or cancel the move first."
        }
        Error::MoveNotFound => "The move has already ended or was cancelled.",
        Error::HostIsYours => "The site is already in your account, under Sites.",
        Error::ClaimAllowanceReached => "You have ten open claims. Finish one of them first.",
        Error::ClaimNotFound => {
            "This claim has expired, or it belongs to another account. A claim is open for seven days. Add the site again."
        }
        Error::ClaimNotProven => {
            "Neither the DNS record nor the snippet was found yet. It can take an hour until a new DNS record is visible. Try again later."
        }
        Error::InstallCheckerOff => {
            "Verification is turned off by the operator of this service. Contact the operator."
        }
        Error::PixelAllowanceReached { .. } => {
            "Your account has all the sites that its plan includes. Remove one that you do not use, or open another account."
        }
        Error::SharedLinkAllowanceReached => {
            "A site has at most 20 shared links. Revoke one that is no longer needed."
        }
        Error::NotInGoodStanding | Error::AccountNotActive => {
            "The operator of this service has suspended the account. Contact the operator."
        }
        Error::PixelNotFound | Error::NotFound => {
            "The address may be mistyped, or it belongs to something that was deleted or is not in your account."
        }
        Error::Internal(_) => "This is an error of the service. Try again in a minute.",
        other => match other.retry_after() {
            Some(seconds) => {
                let time = in_english(&wait(seconds));
                return format!("{} Wait {time}.", full(&other.to_string()));
            }
            None => return full(&other.to_string()),
        },
    };
    known.to_owned()
}

pub fn capital(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase).into_iter().flatten();
    first.chain(characters).collect()
}

fn full(text: &str) -> String {
    let sentence = capital(text);
    if sentence.ends_with('.') { sentence } else { format!("{sentence}.") }
}

fn wait(seconds: u64) -> Said {
    match seconds {
        0..=90 => said("{{ many }} seconds").with("many", seconds),
        91..=5400 => said("{{ many }} minutes").with("many", seconds.div_ceil(60)),
        _ => said("{{ many }} hours").with("many", seconds.div_ceil(3600)),
    }
}

/// A past day: yesterday, on 3 May 2026.
pub fn past_day(time: DateTime<Utc>, now: DateTime<Utc>) -> String {
    match (now.date_naive() - time.date_naive()).num_days() {
        0 => "today".to_owned(),
        1 => "yesterday".to_owned(),
        _ => format!("on {}", day(time)),
    }
}

/// Today or yesterday; `None` for an earlier day.
pub fn date_of_late(day: NaiveDate, today: NaiveDate) -> Option<&'static str> {
    match (today - day).num_days() {
        0 => Some("today"),
        1 => Some("yesterday"),
        _ => None,
    }
}

pub fn role_name(scope: Scope) -> &'static str {
    match scope {
        Scope::Full => "Admin",
        Scope::Operate => "Editor",
        Scope::Read => "Read-only",
    }
}

/// A number of things: "no sites", "one site", "1,200 sites".
pub fn count(many: i64, one: &str, more: &str) -> String {
    match many {
        0 => format!("no {more}"),
        1 => format!("one {one}"),
        _ => format!("{} {more}", number(many)),
    }
}

pub fn of_visitor(rows: &ErasedRows) -> String {
    let parts = [
        count(rows.receipts, "receipt", "receipts"),
        count(rows.contacts, "contact", "contacts"),
        count(rows.days_shown, "note that the popup was shown", "notes that the popup was shown"),
    ];
    listed(&parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_written_in_words() {
        let told = [0, 1, 2_000].map(|many| count(many, "site", "sites"));
        assert_eq!(told, ["no sites", "one site", "2,000 sites"]);
    }

    #[test]
    fn every_refusal_is_a_sentence() {
        let wait = Error::TooManyRequests { retry_after: 600 };
        assert_eq!(sentence(&wait), "Too many requests. Wait 10 minutes.");
        assert_eq!(sentence(&Error::PixelNotCreated), "Pixel could not be created.");
    }
}
