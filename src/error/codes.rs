use super::Error;

/// An identifier that programs compare, the member `code` of a problem document.
pub struct Code {
    pub name: &'static str,
    /// Advice to the caller, in a sentence or two.
    pub advice: &'static str,
}

macro_rules! codes {
    ($($variant:ident => $name:literal, $advice:literal;)+) => {
        /// In the order of [`Error`]. Two refusals with the same sentence have the same code.
        pub const CODES: &[Code] = &[$(Code { name: $name, advice: $advice }),+];

        impl Error {
            pub fn code(&self) -> &'static str {
                match self {
                    Self::Naming { refusal, .. } => refusal.code(),
                    $(Self::$variant { .. } => $name,)+
                }
            }
        }
    };
}

codes! {
    InvalidRequest => "invalid_request", "The body is no JSON, or a field has the wrong shape; `errors` names it.";
    Validation => "validation_failed", "`detail` lists what is wrong, field by field.";
    NotFound => "not_found", "Nothing is served at this path. `/docs` lists all paths.";
    MethodNotAllowed => "method_not_allowed", "The header `Allow` lists the methods of this path.";
    BodyTooLarge => "request_body_too_large", "Send less at once: 64 KiB, or what the operation permits.";
    BodyTimeout => "request_body_timeout", "The body did not arrive within 10 seconds. Send it again.";
    LargeMessageNeedsKey => "large_message_needs_key", "Send the API key in a header, or a shorter message.";
    MessageTooComplex => "message_too_complex", "Split the message.";
    OnlyReadingTools => "only_reading_tools", "Call this tool at `/mcp`.";
    ToolProtocol => "tool_protocol", "`detail` says what the protocol requires.";
    IdempotencyKeyInvalid => "idempotency_key_invalid", "Send 16 to 255 printable ASCII characters without blanks, for example a UUID; with a key or token 1 is enough.";
    IdempotencyKeyReused => "idempotency_key_reused", "Use a new key for a new request; repeat a request with its body unchanged.";
    IdempotencyKeyInUse => "idempotency_key_in_use", "The first request is still being answered. Repeat it after `Retry-After`.";
    InvalidEmail => "invalid_email", "Send one address of the form `name@host`.";
    DisplayNameRequired => "display_name_required", "Send `display_name`.";
    EmailRegistered => "email_already_registered", "Sign in, or renew the signup token of the account with this address.";
    ExternalUserRegistered => "external_user_already_registered", "There is an account of this `external_user_id` already.";
    ConfirmationMailFailed => "confirmation_mail_failed", "Nothing was stored. Make the same call again.";
    AccountNotFound => "account_not_found", "The account does not exist, or the credential belongs to another.";
    AccountIdRequired => "account_id_required", "A signup token needs `account_id`.";
    VerificationTokenRequired => "verification_token_required", "Open the whole link of the mail.";
    VerificationLinkNotFound => "verification_link_not_found", "Open the link of the newest mail.";
    DisownLinkNotFound => "verification_link_not_found", "Open the link of the newest mail.";
    MailLinkNotFound => "mail_link_not_found", "Open the whole link of the mail.";
    AddressLinkNotFound => "address_change_not_found", "The change was cancelled, or has taken effect.";
    VerificationLinkExpired => "verification_link_expired", "Links work for 24 hours. Ask for another mail.";
    InvalidCode => "invalid_code", "Read the six digits of the newest mail again; they work for 24 hours.";
    TooManyAttempts => "too_many_attempts", "This code has ended. Request a new one.";
    ConfirmationMailTooSoon => "confirmation_mail_too_soon", "Wait for `Retry-After` seconds.";
    CodeTooSoon => "code_too_soon", "Wait for `Retry-After` seconds.";
    TooManyCodes => "too_many_codes", "Codes are sent five times per UTC day.";
    TooManyRequests => "too_many_requests", "Wait for `Retry-After` seconds.";
    ApiKeyRequired => "api_key_required", "Send `Authorization: Bearer px_…`.";
    ApiKeyOrSignupTokenRequired => "api_key_or_signup_token_required", "Send one of both, in its header.";
    SignupTokenRequired => "signup_token_required", "Send `x-signup-token` of this account.";
    SignupTokenExpired => "signup_token_expired", "Signup tokens work for one hour. Renew it with a mailed code.";
    InvalidApiKey => "invalid_api_key", "Check that the whole key was copied. Create another one if it is lost.";
    ApiKeyRevoked => "api_key_revoked", "Create another key.";
    ApiKeyExpired => "api_key_expired", "The time for which the key was issued is over. Create another key.";
    UnlimitedKeyRequired => "unlimited_key_required", "Only operators of the service may call this.";
    NotInGoodStanding => "account_not_in_good_standing", "The account is not active; `GET /v1/whoami` has its status.";
    CustomerNotInGoodStanding => "customer_account_not_in_good_standing", "The customer's account is not active.";
    AccountNotActive => "account_not_active", "Confirm the account's address first.";
    ScopeNotAllowed => "scope_not_allowed", "Use a key with a wider scope.";
    RestrictedToSites => "restricted_to_sites", "The key, or the member, may use some sites only, and this concerns the whole account. Use a key for all sites.";
    ConfirmEmailFirst => "confirm_email_first", "Open the link of the mail, or send its six digits.";
    KeyAllowanceReached => "key_allowance_reached", "Revoke a key that is no longer used.";
    ApiKeyNotFound => "api_key_not_found", "The account has no key with this prefix.";
    SignInRequired => "sign_in_required", "Sign in to the console.";
    FormRefused => "form_refused", "Load the page again, and send the form from there.";
    MemberNotFound => "member_not_found", "The account has no such member.";
    AlreadyMember => "already_member", "This address is a member already.";
    MemberAllowanceReached => "member_allowance_reached", "Remove a member first.";
    InvitationFailed => "invitation_failed", "The mail could not be sent. Make the same call again.";
    AccountInUse => "account_in_use", "The account is more than a sign-up, and is deleted by its owner only.";
    InstallMethodUnavailable => "install_method_unavailable", "Leave `method` out.";
    DomainRequired => "domain_required", "Send `domain`, a host such as `shop.example`.";
    DomainIsPage => "domain_is_page", "Send the host alone, without a path.";
    DomainNotHost => "domain_not_host", "Send a host such as `shop.example`.";
    DomainRegistered => "domain_already_registered", "Another account has this host. Its owner can claim it.";
    PixelAllowanceReached => "pixel_allowance_reached", "Delete a pixel, or subscribe.";
    PixelNotCreated => "pixel_not_created", "Make the same call again.";
    PixelNotFound => "pixel_not_found", "The account has no such pixel.";
    SharedLinkNotFound => "shared_link_not_found", "The pixel has no such link that works.";
    SharedLinkAllowanceReached => "shared_link_allowance_reached", "Revoke a link of the pixel first.";
    InstalledPixelRename => "installed_pixel_rename", "Remove the snippet from the site first.";
    InstalledPixelDelete => "installed_pixel_delete", "Remove the snippet from the site first.";
    InstallCheckerOff => "install_checker_off", "The operator has turned install checks off.";
    SnippetNotFound => "snippet_not_found", "There is no snippet of this action.";
    SnippetMailTooSoon => "snippet_mail_too_soon", "Wait for `Retry-After` seconds.";
    SnippetMailFailed => "snippet_mail_failed", "The mail could not be sent. Make the same call again.";
    ClaimNotFound => "claim_not_found", "The claim has ended, or belongs to another account.";
    ClaimNotProven => "claim_not_proven", "Publish the TXT record or the snippet, then verify again.";
    ClaimAllowanceReached => "claim_allowance_reached", "Prove or abandon an open claim first.";
    HostIsYours => "host_is_yours", "The account has this host already.";
    PixelWorking => "pixel_working", "The other account's pixel was seen on the host; only a TXT record proves the claim.";
    MoveUnderWay => "move_under_way", "The pixel, or the domain, is part of a move. End or cancel it first.";
    MoveNotFound => "move_not_found", "The pixel is not moving, or its move has ended.";
    PipelineUnknown => "pipeline_unknown", "Send `utm` or `cms`.";
    CustomerRequired => "customer_required", "Send `account_id` or `external_user_id`.";
    ContactEntryNotObject => "contact_entry_not_object", "Every item of `contacts` is an object.";
    ContactNotObject => "contact_not_object", "The member `contact` of an item is an object.";
    ContactNotFound => "contact_not_found", "Nobody is stored under this hash, or the consent has ended.";
    HemMalformed => "hem_malformed", "Send the SHA-256 of the lower-case address as 64 hex digits.";
    SeenAtMalformed => "seen_at_malformed", "Send a time such as `2026-07-01T12:00:00Z`.";
    OnOrAfterMissing => "on_or_after_missing", "Send `after`, `on` or `changed_after`.";
    OnAndAfter => "on_and_after", "Send one of `after`, `on` and `changed_after`.";
    OnMalformed => "on_malformed", "Send a day such as `2026-07-01`.";
    AfterMalformed => "after_malformed", "Send zero, or the `high_water` of a page.";
    ContactAllowanceReached => "contact_allowance_reached", "The month's new contacts are used; `remaining` of them are left. Subscribe, or wait for the next month.";
    ImportAllowanceReached => "import_allowance_reached", "Wait until the running import has ended.";
    ImportNotFound => "import_not_found", "The account has no such import.";
    WebhookAllowanceReached => "webhook_allowance_reached", "An account has at most five webhooks.";
    WebhookNotFound => "webhook_not_found", "The account has no such webhook.";
    DeliveryNotFound => "delivery_not_found", "The event is no longer kept for this webhook.";
    SubscriptionRequired => "subscription_required", "The trial has ended. Subscribe.";
    ControllerNameRequired => "controller_name_required", "Send `controller_name`, the name that visitors know.";
    PurposeRequired => "purpose_required", "Send at least one known purpose in `purposes`.";
    ControllerTypeUnknown => "controller_type_unknown", "Send `company`, `person` or `organization`.";
    SitePolicyUrlNotHttps => "site_policy_url_not_https", "Send an address that begins with `https://`.";
    ContrastTooLow => "contrast_too_low", "Choose colours that differ more; `errors` has the measured contrast.";
    ConsentTagNotFound => "consent_tag_not_found", "No pixel has this id or alias.";
    PolicyNotFound => "policy_not_found", "The pixel has no policy in force.";
    PolicyAllowanceReached => "policy_allowance_reached", "The pixel's texts have used all of their space.";
    InvalidState => "invalid_state", "Send `accepted`, `declined` or `withdrawn`.";
    InvalidRequiredPurpose => "invalid_required_purpose", "Send one of the eight purposes.";
    NoLog => "no_log", "The operator keeps no public log.";
    NotInLog => "not_in_log", "The choice or text is not in the public log.";
    NotSealedYet => "not_sealed_yet", "The choice enters the log within seconds. Wait for `Retry-After` seconds.";
    ProofRequired => "proof_required", "Send `proof`.";
    NoConsentRecord => "no_consent_record", "The visitor has made no choice on this site.";
    WatchReportNotFound => "watch_report_not_found", "The pixel has no such report.";
    ScreenshotNotFound => "screenshot_not_found", "The pixel has no such screenshot. Those of the newest forms of the popup are kept.";
    ErasureRequestNotFound => "erasure_request_not_found", "The pixel has no such request.";
    ErasureRequestClosed => "erasure_request_closed", "The request was completed or refused before.";
    ReasonRequired => "reason_required", "Send `reason`, which the visitor may read.";
    ReceiptRequired => "receipt_required", "Send `receipt` and `signature`.";
    Busy => "busy", "Wait for `Retry-After` seconds.";
    SessionIdRequired => "session_id_required", "The payment provider adds `session_id` to the address.";
    CheckoutNotConfigured => "checkout_not_configured", "The operator has no payment provider.";
    AlreadySubscribed => "already_subscribed", "Open the billing portal instead.";
    NoSubscriptionYet => "no_subscription_yet", "Open a checkout first.";
    InvalidSignature => "invalid_signature", "The body was not signed with the shared secret, or was changed.";
    EventMissingAccount => "event_missing_account", "The provider's event names no account.";
    PaymentProvider => "payment_provider", "The payment provider gave no useful answer. Make the same call again.";
    DatabaseUnavailable => "database_unavailable", "Wait for `Retry-After` seconds.";
    Internal => "internal_error", "Report `request_id` to the operator.";
}

impl Code {
    pub fn of(name: &str) -> Option<&'static Self> {
        CODES.iter().find(|code| code.name == name)
    }
}

/// The address of a code's page, the member `type` of a problem document.
pub fn page_of(base_url: &str, code: &str) -> String {
    format!("{base_url}/docs/errors/{code}")
}
