use chrono::{DateTime, Utc};
use uuid::Uuid;

use crate::infra::smtp::rendered_mail::RenderedMail;
use crate::types::ids::{AccountId, PixelId};
use crate::types::text_enum::text_enum;

text_enum! {
    /// What a mail is for. The features know how each kind is written.
    pub enum Kind {
        /// Link and code for an address that is not confirmed yet.
        Confirmation = "confirmation",
        /// Link and code on request, also for a confirmed address.
        Code = "code",
        /// The digits of a sign-in.
        SignIn = "sign_in",
        /// A code that serves one purpose.
        AccountCode = "account_code",
        /// Somebody is a member of an account.
        Invitation = "invitation",
        /// A client is offered an account, or has confirmed it.
        ClientOffer = "client_offer",
        ClientConfirmed = "client_confirmed",
        /// An account has another address.
        AddressChanged = "address_changed",
        /// A change of an account's address is pending, or has failed.
        AddressWaiting = "address_waiting",
        Snippet = "snippet",
        /// As `Snippet`, with the line that fits the pixel's settings.
        PresentSnippet = "present_snippet",
        /// An unused pixel is about to end.
        PixelEnding = "pixel_ending",
        /// A host has gone to somebody else.
        PixelLost = "pixel_lost",
        /// An installed pixel is not on its site any more.
        TagVanished = "tag_vanished",
        /// Visitors ask to be erased.
        ErasureRequested = "erasure_requested",
        /// Such requests must be answered soon.
        ErasureDue = "erasure_due",
        /// A site loads or stores something without consent.
        SilenceBroken = "silence_broken",
        SilenceRestored = "silence_restored",
        NewKey = "new_key",
        NewSignIn = "new_sign_in",
        NewGrant = "new_grant",
        /// A passkey was added or removed.
        ChangedPasskey = "changed_passkey",
        /// A key works for some days only.
        KeyExpiring = "key_expiring",
        TrialEnding = "trial_ending",
        /// A trial or a subscription has ended, and identification is paused.
        CoverageEnded = "coverage_ended",
        /// Much of the month's contacts is used, or all.
        AllowanceReached = "allowance_reached",
        PaymentFailed = "payment_failed",
        /// A webhook was paused by the service.
        WebhookPaused = "webhook_paused",
        /// The week of an account's sites.
        WeeklyDigest = "weekly_digest",
        /// An owner's account was deleted.
        AccountDeleted = "account_deleted",
    }
}

impl Kind {
    /// The template in `mail/`, which is also the label in the metrics.
    pub fn template(self) -> &'static str {
        match self {
            Self::Confirmation | Self::Code => "confirmation",
            Self::SignIn => "sign_in",
            Self::AccountCode => "code",
            Self::Snippet | Self::PresentSnippet => "snippet",
            Self::Invitation
            | Self::ClientOffer
            | Self::ClientConfirmed
            | Self::AddressChanged
            | Self::AddressWaiting
            | Self::PixelEnding
            | Self::PixelLost
            | Self::TagVanished
            | Self::ErasureRequested
            | Self::ErasureDue
            | Self::SilenceBroken
            | Self::SilenceRestored
            | Self::NewKey
            | Self::NewSignIn
            | Self::NewGrant
            | Self::ChangedPasskey
            | Self::KeyExpiring
            | Self::TrialEnding
            | Self::CoverageEnded
            | Self::AllowanceReached
            | Self::PaymentFailed
            | Self::WebhookPaused
            | Self::WeeklyDigest
            | Self::AccountDeleted => "notice",
        }
    }
}

pub struct NewMail<'a> {
    pub kind: Kind,
    /// The mail is deleted with this account.
    pub account_id: Option<&'a AccountId>,
    /// The mail is deleted with this pixel.
    pub pixel_id: Option<&'a PixelId>,
}

/// A mail claimed by this node: no other node attempts it until the claim lapses.
#[derive(Clone)]
pub struct ClaimedMail {
    pub message_id: Uuid,
    pub kind: Kind,
    pub account_id: Option<AccountId>,
    pub pixel_id: Option<PixelId>,
    pub(super) sealed: Vec<u8>,
    pub(super) attempts: i32,
    pub(super) claimed_until: DateTime<Utc>,
    /// Whether an earlier attempt may have reached the mailbox.
    pub unanswered: bool,
}

impl ClaimedMail {
    /// Whether the mail was attempted before, so that time has passed since it was enqueued.
    pub fn is_retry(&self) -> bool {
        self.attempts > 0
    }
}

pub enum Draft {
    RenderedMail(RenderedMail),
    /// Another pending mail determines whether this one is needed.
    NotYet,
    NotNeeded,
}

impl From<Option<RenderedMail>> for Draft {
    fn from(rendered: Option<RenderedMail>) -> Self {
        rendered.map_or(Self::NotNeeded, Self::RenderedMail)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Sent or no longer needed; the row is deleted.
    Done,
    Waiting,
    /// The mail certainly does not arrive. The row is kept, so that the caller deletes it in the transaction that
    /// undoes the effects of the mail.
    Failed,
}
