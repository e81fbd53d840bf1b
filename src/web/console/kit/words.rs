use chrono::{DateTime, NaiveDate, Utc};

use crate::accounts::scope::Scope;
use crate::erasure::view::ErasedRows;
use crate::error::Error;
use crate::receipts::user_action::Act;
use crate::types::device::Device;
pub use crate::types::numbers::{number, percent};
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

pub fn sentence(error: &Error) -> String {
    let known = match error {
        Error::Naming { refusal, fields } => {
            return fields.first().map_or_else(|| sentence(refusal), |field| full(&field.msg));
        }
        Error::Validation(fields) => {
            return fields.first().map_or_else(|| full("invalid"), |field| full(&field.msg));
        }
        Error::InvalidEmail => "This is not an email address. It should look like ann@example.com.",
        Error::DisplayNameRequired => "Enter a name.",
        Error::EmailRegistered => "There is an account with this address already. Sign in instead.",
        Error::ConfirmationMailFailed => {
            "The mail could not be sent to this address. Check it for typing errors, or try again later."
        }
        Error::SnippetMailTooSoon { .. } => {
            "It was mailed a short while ago. Ten minutes later it can be mailed again."
        }
        Error::SnippetMailFailed => {
            "The mail could not be sent to this address. Check it for typing errors, or try again later."
        }
        Error::InvalidCode => {
            "The code is wrong or has expired. Use the latest email, or request another code."
        }
        Error::ScopeNotAllowed => {
            "You need the Admin role for this. A member with the role Admin can do it, or change your role."
        }
        Error::RestrictedToSites => {
            "Your access is restricted to some sites, and this concerns the whole account. A member with the role Admin can do it."
        }
        Error::FormRefused => {
            "The form was open for too long or came from another page. Open the page again and send it from there."
        }
        Error::AlreadyMember => "This address is a member already.",
        Error::MemberAllowanceReached => {
            "An account has at most five members. Remove one who no longer needs it."
        }
        Error::InvitationFailed => {
            "The mail could not be sent to this address, so nobody was invited. Check it for typing errors, or try again later."
        }
        Error::PolicyAllowanceReached => {
            "The versions of this site's notice have reached 20 MiB together. No more can be published."
        }
        Error::ImportAllowanceReached => {
            "Five lists are being worked through already. Wait until one of them is done. An account has room for five million people."
        }
        Error::BodyTooLarge => {
            "The file is larger than 16 MB. Split it, and send one part after the other."
        }
        Error::MemberNotFound => "This member is gone already.",
        Error::TooManyAttempts { .. } => "Too many wrong codes. Request another one.",
        Error::InvalidApiKey { .. }
        | Error::ApiKeyRevoked { .. }
        | Error::ApiKeyExpired
        | Error::ApiKeyRequired => {
            "This key does not work. A key begins with px_ and has 46 characters."
        }
        Error::DomainRequired => "Enter the domain of your site, for example example.com.",
        Error::DomainIsPage => {
            "This is not the address of a site. It should look like example.com or https://example.com."
        }
        Error::DomainNotHost => "This is not the host of a site. It should look like example.com.",
        Error::DomainRegistered => {
            "This site is in another account already. If it is yours, you can take it over."
        }
        Error::PixelWorking => {
            "The site is at work in another account. If it is yours, take that account's line off the home page and prove the site by the record in its DNS; or ask whoever made that account, a colleague or an agency, to invite you or to remove the site."
        }
        Error::MoveUnderWay => {
            "The site, or this domain, is part of a move. End or cancel the move first."
        }
        Error::MoveNotFound => "The site is not moving any more.",
        Error::HostIsYours => "The site is in your account already. You find it under Sites.",
        Error::ClaimAllowanceReached => {
            "You are taking ten sites over at the moment. Finish one of them first."
        }
        Error::ClaimNotFound => {
            "A proof can be shown for seven days, and only by the account that began. Add the site once more."
        }
        Error::ClaimNotProven => {
            "We have found neither the record nor the line yet. A new record can take an hour until the world sees it: try again later."
        }
        Error::InstallCheckerOff => {
            "The operator of this service has switched off looking at sites. Write to them."
        }
        Error::PixelAllowanceReached { .. } => {
            "Your account has all the sites that its plan includes. Remove one that you do not use, or open another account."
        }
        Error::SharedLinkAllowanceReached => {
            "A site has at most 20 shared links. Revoke one that is no longer needed."
        }
        Error::NotInGoodStanding | Error::AccountNotActive => {
            "The operator of this service has put the account on hold. Write to them to learn why."
        }
        Error::PixelNotFound | Error::NotFound => {
            "The address may be mistyped, or it names a site that is not yours or is gone."
        }
        Error::Internal(_) => "It is not your fault. Try again in a minute.",
        Error::DatabaseUnavailable | Error::Busy { .. } => {
            "The service is busy or its database is away. Try again in a minute."
        }
        other => match other.retry_after() {
            Some(seconds) => {
                return format!("{} Wait {}.", full(&other.to_string()), wait(seconds));
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

fn wait(seconds: u64) -> String {
    match seconds {
        0..=90 => format!("{seconds} seconds"),
        91..=5400 => format!("{} minutes", seconds.div_ceil(60)),
        _ => format!("{} hours", seconds.div_ceil(3600)),
    }
}

/// In UTC: 3 May 2026.
pub fn day(time: DateTime<Utc>) -> String {
    date(time.date_naive())
}

pub fn date(day: NaiveDate) -> String {
    day.format("%-d %B %Y").to_string()
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

/// In UTC: 3 May 2026, 14:05.
pub fn moment(time: DateTime<Utc>) -> String {
    time.format("%-d %B %Y, %H:%M").to_string()
}

pub fn second(time: DateTime<Utc>) -> String {
    time.format("%-d %B %Y, %H:%M:%S").to_string()
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
    fn a_count_is_told_in_words() {
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
