//! The descriptions of the kinds of events in the activity log. A description ends in a colon if a name follows.

use crate::accounts::event::ActivityKind;
use crate::infra::templates::{Message, tr};
use crate::types::text::capital;

pub fn what(kind: &str) -> Message {
    // Kinds of a later version are unknown.
    ActivityKind::parse(kind)
        .and_then(known)
        .unwrap_or_else(|| Message::Plain(capital(&kind.replace('_', " "))))
}

fn known(kind: ActivityKind) -> Option<Message> {
    of_access(kind).or_else(|| of_account(kind)).or_else(|| of_sites(kind))
}

fn of_access(kind: ActivityKind) -> Option<Message> {
    Some(match kind {
        ActivityKind::SignedIn => tr("Signed in"),
        ActivityKind::AccountEntered => tr("Switched from another account"),
        ActivityKind::KeyIssued => tr("Created an API key:"),
        ActivityKind::KeyRevoked => tr("Revoked an API key:"),
        ActivityKind::KeyExpired => tr("Ended an expired API key:"),
        ActivityKind::AppConnected => tr("Connected an app:"),
        ActivityKind::AppDisconnected => tr("Disconnected an app:"),
        ActivityKind::KeysRevoked => tr("Revoked several API keys"),
        ActivityKind::MemberInvited => tr("Invited a member:"),
        ActivityKind::MemberChanged => tr("Changed a member’s role or sites:"),
        ActivityKind::MemberRemoved => tr("Removed a member:"),
        ActivityKind::ClientInvited => tr("Offered an account to a client:"),
        ActivityKind::ClientInvitationCancelled => tr("Cancelled the offer of an account:"),
        ActivityKind::ClientConfirmed => tr("Confirmed an account that was offered to a client:"),
        ActivityKind::ClientDeclined => tr("Declined an account that was offered to a client:"),
        ActivityKind::PasskeyAdded => tr("Added a passkey:"),
        ActivityKind::PasskeyRemoved => tr("Removed a passkey:"),
        _ => return None,
    })
}

fn of_account(kind: ActivityKind) -> Option<Message> {
    Some(match kind {
        ActivityKind::NameChanged => tr("Changed the account’s name"),
        ActivityKind::AddressChanged => tr("Changed the account’s email"),
        ActivityKind::AddressChangeRequested => tr("Requested a change of the account’s email"),
        ActivityKind::AddressChangeCancelled => tr("Cancelled the change of the account’s email"),
        ActivityKind::AccountExported => tr("Exported all data"),
        ActivityKind::AccountSuspended => tr("Suspended the account"),
        ActivityKind::AccountResumed => tr("Reactivated the account"),
        ActivityKind::MailTurnedOff => tr("Turned off an email notification:"),
        ActivityKind::MailTurnedOn => tr("Turned on an email notification:"),
        ActivityKind::WebhookCreated => tr("Added a webhook:"),
        ActivityKind::WebhookChanged => tr("Changed a webhook:"),
        ActivityKind::WebhookDeleted => tr("Removed a webhook:"),
        ActivityKind::PaymentReceived => tr("Received a payment"),
        ActivityKind::SubscriptionEnded => tr("Ended the subscription"),
        _ => return None,
    })
}

fn of_sites(kind: ActivityKind) -> Option<Message> {
    Some(match kind {
        ActivityKind::PolicyPublished => tr("Published a notice:"),
        ActivityKind::AppearanceChanged => tr("Changed the appearance of the popup:"),
        ActivityKind::PixelCreated => tr("Added a site:"),
        ActivityKind::ConsentTurnedOff => tr("Turned a popup off:"),
        ActivityKind::WatchChanged => tr("Changed the watch of a site:"),
        ActivityKind::SharedLinkCreated => tr("Shared the overview of a site:"),
        ActivityKind::SharedLinkRevoked => tr("Revoked a shared link of a site:"),
        ActivityKind::TimeZoneChanged => tr("Changed the time zone of a site’s statistics:"),
        ActivityKind::PixelDeleted => tr("Removed a site:"),
        ActivityKind::PixelMoved => tr("Moved a site to another domain:"),
        ActivityKind::MoveEnded => tr("Ended the move of a site:"),
        ActivityKind::MoveCancelled => tr("Cancelled the move of a site:"),
        ActivityKind::VisitorErased => tr("Erased a visitor of a site:"),
        ActivityKind::ContactErased => tr("Erased a contact of a site:"),
        ActivityKind::ErasureRefused => tr("Refused an erasure request of a site:"),
        ActivityKind::ErasureRequestAdded => tr("Recorded an erasure request by email for a site:"),
        ActivityKind::PersonSuppressed => tr("Added a person to the suppression list"),
        ActivityKind::PersonUnsuppressed => tr("Removed a person from the suppression list"),
        ActivityKind::SuppressionsImported => tr("Imported a suppression list:"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn every_kind_has_words() {
        for &kind in ActivityKind::ALL {
            assert!(known(kind).is_some(), "{}", kind.as_str());
        }
        assert_eq!(in_english(&what("mailbox_painted")), "Mailbox painted");
    }
}
