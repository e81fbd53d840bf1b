//! The descriptions of the kinds of events in the audit log. A colon stands before the subject.

use crate::accounts::event::EventKind;
use crate::infra::templates::{Message, tr};
use crate::types::text::capital;

pub fn what(kind: &str) -> Message {
    // Kinds of a later version are unknown.
    EventKind::parse(kind)
        .and_then(known)
        .unwrap_or_else(|| Message::Plain(capital(&kind.replace('_', " "))))
}

fn known(kind: EventKind) -> Option<Message> {
    of_access(kind).or_else(|| of_account(kind)).or_else(|| of_sites(kind))
}

fn of_access(kind: EventKind) -> Option<Message> {
    Some(match kind {
        EventKind::SignedIn => tr("Signed in"),
        EventKind::AccountEntered => tr("Switched from another account"),
        EventKind::KeyIssued => tr("Created an API key:"),
        EventKind::KeyRevoked => tr("Revoked an API key:"),
        EventKind::KeyExpired => tr("Ended an expired API key:"),
        EventKind::AppConnected => tr("Connected an app:"),
        EventKind::AppDisconnected => tr("Disconnected an app:"),
        EventKind::KeysRevoked => tr("Revoked several API keys"),
        EventKind::MemberInvited => tr("Invited a member:"),
        EventKind::MemberChanged => tr("Changed a member’s role or sites:"),
        EventKind::MemberRemoved => tr("Removed a member:"),
        EventKind::ClientInvited => tr("Offered an account to a client:"),
        EventKind::ClientInvitationCancelled => tr("Cancelled the offer of an account:"),
        EventKind::ClientConfirmed => tr("Confirmed an account that was offered to a client:"),
        EventKind::ClientDeclined => tr("Declined an account that was offered to a client:"),
        EventKind::PasskeyAdded => tr("Added a passkey:"),
        EventKind::PasskeyRemoved => tr("Removed a passkey:"),
        _ => return None,
    })
}

fn of_account(kind: EventKind) -> Option<Message> {
    Some(match kind {
        EventKind::NameChanged => tr("Changed the account’s name"),
        EventKind::AddressChanged => tr("Changed the account’s email"),
        EventKind::AddressChangeRequested => tr("Requested a change of the account’s email"),
        EventKind::AddressChangeCancelled => tr("Cancelled the change of the account’s email"),
        EventKind::AccountExported => tr("Exported all data"),
        EventKind::AccountSuspended => tr("Suspended the account"),
        EventKind::AccountResumed => tr("Reactivated the account"),
        EventKind::MailTurnedOff => tr("Turned off an email notification:"),
        EventKind::MailTurnedOn => tr("Turned on an email notification:"),
        EventKind::WebhookCreated => tr("Added a webhook:"),
        EventKind::WebhookChanged => tr("Changed a webhook:"),
        EventKind::WebhookDeleted => tr("Removed a webhook:"),
        EventKind::PaymentReceived => tr("Received a payment"),
        EventKind::SubscriptionEnded => tr("Ended the subscription"),
        _ => return None,
    })
}

fn of_sites(kind: EventKind) -> Option<Message> {
    Some(match kind {
        EventKind::PolicyPublished => tr("Published a notice:"),
        EventKind::AppearanceChanged => tr("Changed the appearance of the popup:"),
        EventKind::PixelCreated => tr("Added a site:"),
        EventKind::ConsentTurnedOff => tr("Turned a popup off:"),
        EventKind::WatchChanged => tr("Changed the watch of a site:"),
        EventKind::SharedLinkCreated => tr("Shared the overview of a site:"),
        EventKind::SharedLinkRevoked => tr("Revoked a shared link of a site:"),
        EventKind::TimeZoneChanged => tr("Changed the time zone of a site’s statistics:"),
        EventKind::PixelDeleted => tr("Removed a site:"),
        EventKind::PixelMoved => tr("Moved a site to another domain:"),
        EventKind::MoveEnded => tr("Ended the move of a site:"),
        EventKind::MoveCancelled => tr("Cancelled the move of a site:"),
        EventKind::VisitorErased => tr("Erased a visitor of a site:"),
        EventKind::ContactErased => tr("Erased a contact of a site:"),
        EventKind::ErasureRefused => tr("Refused an erasure request of a site:"),
        EventKind::ErasureRequestAdded => tr("Recorded an erasure request by email for a site:"),
        EventKind::PersonSuppressed => tr("Added a person to the suppression list"),
        EventKind::PersonUnsuppressed => tr("Removed a person from the suppression list"),
        EventKind::SuppressionsImported => tr("Imported a suppression list:"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::infra::templates::in_english;

    #[test]
    fn every_kind_has_words() {
        for &kind in EventKind::ALL {
            assert!(known(kind).is_some(), "{}", kind.as_str());
        }
        assert_eq!(in_english(&what("mailbox_painted")), "Mailbox painted");
    }
}
