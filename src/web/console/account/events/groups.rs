//! The groups of event kinds by which the activity log is filtered.

use crate::accounts::event::ActivityKind;
use crate::infra::templates::{Message, tr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    SignIns,
    Members,
    Keys,
    Account,
    Sites,
    Popup,
    Contacts,
    Webhooks,
    Billing,
}

impl Group {
    pub const ALL: [Self; 9] = [
        Self::SignIns,
        Self::Members,
        Self::Keys,
        Self::Account,
        Self::Sites,
        Self::Popup,
        Self::Contacts,
        Self::Webhooks,
        Self::Billing,
    ];

    /// The value in query strings and forms.
    pub fn word(self) -> &'static str {
        match self {
            Self::SignIns => "sign-ins",
            Self::Members => "members",
            Self::Keys => "keys",
            Self::Account => "account",
            Self::Sites => "sites",
            Self::Popup => "popup",
            Self::Contacts => "contacts",
            Self::Webhooks => "webhooks",
            Self::Billing => "billing",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|group| group.word() == word)
    }

    pub fn name(self) -> Message {
        match self {
            Self::SignIns => tr("Sign-ins and passkeys"),
            Self::Members => tr("Members and clients"),
            Self::Keys => tr("API keys and apps"),
            Self::Account => tr("Account and emails"),
            Self::Sites => tr("Sites"),
            Self::Popup => tr("Popup and notice"),
            Self::Contacts => tr("Contacts and erasure"),
            Self::Webhooks => tr("Webhooks"),
            Self::Billing => tr("Billing"),
        }
    }

    /// Whether a member who is restricted to sites can see events of the group.
    pub fn concerns_sites(self) -> bool {
        matches!(self, Self::Sites | Self::Popup | Self::Contacts)
    }

    pub fn kinds(self) -> Vec<String> {
        let kinds = ActivityKind::ALL.iter().filter(|kind| Self::of(**kind) == self);
        kinds.map(|kind| kind.as_str().to_owned()).collect()
    }

    fn of(kind: ActivityKind) -> Self {
        match kind {
            ActivityKind::SignedIn
            | ActivityKind::AccountEntered
            | ActivityKind::PasskeyAdded
            | ActivityKind::PasskeyRemoved => Self::SignIns,
            ActivityKind::MemberInvited
            | ActivityKind::MemberChanged
            | ActivityKind::MemberRemoved
            | ActivityKind::ClientInvited
            | ActivityKind::ClientInvitationCancelled
            | ActivityKind::ClientConfirmed
            | ActivityKind::ClientDeclined => Self::Members,
            ActivityKind::KeyIssued
            | ActivityKind::KeyRevoked
            | ActivityKind::KeyExpired
            | ActivityKind::KeysRevoked
            | ActivityKind::AppConnected
            | ActivityKind::AppDisconnected => Self::Keys,
            ActivityKind::NameChanged
            | ActivityKind::AddressChanged
            | ActivityKind::AddressChangeRequested
            | ActivityKind::AddressChangeCancelled
            | ActivityKind::MailTurnedOff
            | ActivityKind::MailTurnedOn
            | ActivityKind::AccountExported
            | ActivityKind::AccountSuspended
            | ActivityKind::AccountResumed => Self::Account,
            ActivityKind::PixelCreated
            | ActivityKind::PixelDeleted
            | ActivityKind::PixelMoved
            | ActivityKind::MoveEnded
            | ActivityKind::MoveCancelled
            | ActivityKind::WatchChanged
            | ActivityKind::SharedLinkCreated
            | ActivityKind::SharedLinkRevoked
            | ActivityKind::TimeZoneChanged => Self::Sites,
            ActivityKind::PolicyPublished
            | ActivityKind::AppearanceChanged
            | ActivityKind::ConsentTurnedOff => Self::Popup,
            ActivityKind::VisitorErased
            | ActivityKind::ContactErased
            | ActivityKind::ErasureRefused
            | ActivityKind::ErasureRequestAdded
            | ActivityKind::PersonSuppressed
            | ActivityKind::PersonUnsuppressed
            | ActivityKind::SuppressionsImported => Self::Contacts,
            ActivityKind::WebhookCreated
            | ActivityKind::WebhookChanged
            | ActivityKind::WebhookDeleted => Self::Webhooks,
            ActivityKind::PaymentReceived | ActivityKind::SubscriptionEnded => Self::Billing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_group_has_a_word_and_kinds() {
        for group in Group::ALL {
            assert_eq!(Group::parse(group.word()), Some(group));
            assert!(!group.kinds().is_empty());
        }
        let all = Group::ALL.map(|group| group.kinds().len()).iter().sum::<usize>();
        assert_eq!(all, ActivityKind::ALL.len());
        assert_eq!(Group::parse("other"), None);
    }
}
