use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::clock::Timestamp;
use crate::types::text_enum::text_enum;

text_enum! {
    /// What was done. There may be more.
    pub enum ActivityKind {
        /// A member signed in to the console. `subject`: the browser.
        SignedIn = "signed_in",
        /// A member switched here from another account, without a sign-in. `subject`: the browser.
        AccountEntered = "account_entered",
        /// `subject`: the key's prefix, here and below.
        KeyIssued = "key_issued",
        KeyRevoked = "key_revoked",
        /// The time for which the key was issued is over.
        KeyExpired = "key_expired",
        /// All of the account's keys, or those of an earlier signup token.
        KeysRevoked = "keys_revoked",
        /// A member connected an app, or its grant ended. `subject`: the grant.
        AppConnected = "app_connected",
        AppDisconnected = "app_disconnected",
        /// `subject`: the member's address, here and below.
        MemberInvited = "member_invited",
        MemberChanged = "member_changed",
        MemberRemoved = "member_removed",
        /// A member offered a client an account. `subject`: the client's address, here and below.
        ClientInvited = "client_invited",
        ClientInvitationCancelled = "client_invitation_cancelled",
        /// The client opened the account, or declined it.
        ClientConfirmed = "client_confirmed",
        ClientDeclined = "client_declined",
        NameChanged = "name_changed",
        AddressChanged = "address_changed",
        /// A member added or removed a passkey. `subject`: its name.
        PasskeyAdded = "passkey_added",
        PasskeyRemoved = "passkey_removed",
        /// A change of address was requested without a code from the current mailbox.
        AddressChangeRequested = "address_change_requested",
        AddressChangeCancelled = "address_change_cancelled",
        /// `subject`: what mails are about, here and below.
        MailTurnedOff = "mail_turned_off",
        MailTurnedOn = "mail_turned_on",
        AccountExported = "account_exported",
        AccountSuspended = "account_suspended",
        AccountResumed = "account_resumed",
        /// `subject`: the hash of the policy.
        PolicyPublished = "policy_published",
        /// `subject`: the pixel, here and below.
        AppearanceChanged = "appearance_changed",
        ConsentTurnedOff = "consent_turned_off",
        /// The settings of the watch were changed.
        WatchChanged = "watch_changed",
        /// A link that shows the overview without a sign-in was made or revoked.
        SharedLinkCreated = "shared_link_created",
        SharedLinkRevoked = "shared_link_revoked",
        /// The time zone of a site's statistics was changed.
        TimeZoneChanged = "time_zone_changed",
        PixelCreated = "pixel_created",
        PixelDeleted = "pixel_deleted",
        /// The pixel's site moved to another domain; the move ended, or was taken back.
        PixelMoved = "pixel_moved",
        MoveEnded = "move_ended",
        MoveCancelled = "move_cancelled",
        VisitorErased = "visitor_erased",
        ContactErased = "contact_erased",
        ErasureRefused = "erasure_refused",
        /// An erasure request that arrived by email was recorded.
        ErasureRequestAdded = "erasure_request_added",
        /// Somebody is never stored again, or may be stored again; who it is is not kept.
        PersonSuppressed = "person_suppressed",
        PersonUnsuppressed = "person_unsuppressed",
        /// `subject`: the import.
        SuppressionsImported = "suppressions_imported",
        /// `subject`: the webhook's id, here and below.
        WebhookCreated = "webhook_created",
        WebhookChanged = "webhook_changed",
        WebhookDeleted = "webhook_deleted",
        PaymentReceived = "payment_received",
        SubscriptionEnded = "subscription_ended",
    }
}

/// Something that was done.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct EventView {
    pub event_id: Uuid,
    pub happened_at: Timestamp,
    /// What was done: `signed_in`, `account_entered`, `key_issued`, `key_revoked`, `key_expired`, `keys_revoked`,
    /// `app_connected`, `app_disconnected`, `member_invited`, `member_changed`, `member_removed`, `client_invited`, `client_invitation_cancelled`,
    /// `client_confirmed`, `client_declined`, `name_changed`, `address_changed`,
    /// `passkey_added`, `passkey_removed`, `address_change_requested`, `address_change_cancelled`, `mail_turned_off`,
    /// `mail_turned_on`, `account_exported`, `account_suspended`, `account_resumed`, `policy_published`,
    /// `appearance_changed`, `consent_turned_off`, `watch_changed`, `shared_link_created`, `shared_link_revoked`,
    /// `time_zone_changed`, `pixel_created`, `pixel_deleted`, `pixel_moved`, `move_ended`, `move_cancelled`, `visitor_erased`,
    /// `contact_erased`, `erasure_refused`, `erasure_request_added`, `person_suppressed`, `person_unsuppressed`, `suppressions_imported`,
    /// `webhook_created`, `webhook_changed`, `webhook_deleted`, `payment_received`,
    /// `subscription_ended`. There may be more.
    // A string, because nodes of a later version may store kinds that this version does not know.
    pub kind: String,
    /// A key's prefix, a member's address, the grant of an app, `signup token`, `operator`, `payment provider` or
    /// `service`.
    pub actor: String,
    /// What it was done to: the prefix of a key, a grant, an address, a pixel, the hash of a policy, the subject of a mail,
    /// a browser, a passkey, an import, a webhook.
    #[schema(required = true)]
    pub subject: Option<String>,
}
