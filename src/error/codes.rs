use super::Error;

/// An identifier that programs compare, the member `code` of a problem document.
pub struct Code {
    pub name: &'static str,
    /// Advice to the caller, in a sentence or two.
    pub advice: &'static str,
}

/// Declares the code and the status of every error. `{ status }` is a status that the error contains.
macro_rules! codes {
    ($($variant:ident $({ $contained:ident })? => $status:expr, $name:literal, $advice:literal;)+) => {
        /// The codes in the order of [`Error`]. Two refusals with the same sentence have the same code.
        pub const CODES: &[Code] = &[$(Code { name: $name, advice: $advice }),+];

        impl Error {
            pub fn code(&self) -> &'static str {
                match self {
                    Self::Naming { refusal, .. } => refusal.code(),
                    $(Self::$variant { .. } => $name,)+
                }
            }

            pub fn status(&self) -> u16 {
                match self {
                    Self::Naming { refusal, .. } => refusal.status(),
                    $(Self::$variant { $($contained,)? .. } => $status,)+
                }
            }
        }
    };
}

codes! {
    InvalidRequest => 400, "invalid_request", "The body is no JSON, or a field has the wrong shape; `errors` names it.";
    Validation => 422, "validation_failed", "`detail` lists what is wrong, field by field.";
    NotFound => 404, "not_found", "Nothing is served at this path. `/docs` lists all paths.";
    MethodNotAllowed => 405, "method_not_allowed", "The header `Allow` lists the methods of this path.";
    BodyTooLarge => 413, "request_body_too_large", "Send less at once: 64 KiB, or what the operation permits.";
    BodyTimeout => 408, "request_body_timeout", "The body did not arrive within 10 seconds. Send it again.";
    LargeMessageNeedsKey => 413, "large_message_needs_key", "Send the API key in a header, or a shorter message.";
    MessageTooComplex => 400, "message_too_complex", "Split the message.";
    OnlyReadingTools => 403, "only_reading_tools", "Call this tool at `/mcp`.";
    ToolProtocol { status } => *status, "tool_protocol", "`detail` says what the protocol requires.";
    IdempotencyKeyInvalid => 400, "idempotency_key_invalid", "Send 16 to 255 printable ASCII characters without blanks, for example a UUID; with a key or token 1 is enough.";
    IdempotencyKeyReused => 422, "idempotency_key_reused", "Use a new key for a new request; repeat a request with its body unchanged.";
    IdempotencyKeyInUse => 409, "idempotency_key_in_use", "The first request is still being answered. Repeat it after `Retry-After`.";
    InvalidEmail => 400, "invalid_email", "Send one address of the form `name@host`.";
    DisplayNameRequired => 400, "display_name_required", "Send `display_name`.";
    EmailRegistered => 409, "email_already_registered", "Sign in, or renew the signup token of the account with this address.";
    ExternalUserRegistered => 409, "external_user_already_registered", "There is an account of this `external_user_id` already.";
    ConfirmationMailFailed => 502, "confirmation_mail_failed", "Nothing was stored. Make the same call again.";
    AccountNotFound => 404, "account_not_found", "The account does not exist, or the credential belongs to another.";
    AccountIdRequired => 400, "account_id_required", "A signup token needs `account_id`.";
    VerificationTokenRequired => 400, "verification_token_required", "Open the whole link of the mail.";
    VerificationLinkNotFound => 404, "verification_link_not_found", "Open the link of the newest mail.";
    DisownLinkNotFound => 404, "verification_link_not_found", "Open the link of the newest mail.";
    MailLinkNotFound => 404, "mail_link_not_found", "Open the whole link of the mail.";
    AddressLinkNotFound => 404, "address_change_not_found", "The change was cancelled, or has taken effect.";
    VerificationLinkExpired => 400, "verification_link_expired", "Links work for 24 hours. Ask for another mail.";
    InvalidCode => 400, "invalid_code", "Read the six digits of the newest mail again; they work for 24 hours.";
    TooManyAttempts => 429, "too_many_attempts", "This code has ended. Request a new one.";
    ConfirmationMailTooSoon => 429, "confirmation_mail_too_soon", "Wait for `Retry-After` seconds.";
    CodeTooSoon => 429, "code_too_soon", "Wait for `Retry-After` seconds.";
    TooManyCodes => 429, "too_many_codes", "Codes are sent five times per UTC day.";
    TooManyRequests => 429, "too_many_requests", "Wait for `Retry-After` seconds.";
    ApiKeyRequired => 401, "api_key_required", "Send `Authorization: Bearer px_…`.";
    ApiKeyOrSignupTokenRequired => 401, "api_key_or_signup_token_required", "Send one of both, in its header.";
    SignupTokenRequired => 401, "signup_token_required", "Send `x-signup-token` of this account.";
    SignupTokenExpired => 401, "signup_token_expired", "Signup tokens work for one hour. Renew it with a mailed code.";
    InvalidApiKey { status } => *status, "invalid_api_key", "Check that the whole key was copied. Create another one if it is lost.";
    ApiKeyRevoked { status } => *status, "api_key_revoked", "Create another key.";
    ApiKeyExpired => 401, "api_key_expired", "The time for which the key was issued is over. Create another key.";
    UnlimitedKeyRequired { status } => *status, "unlimited_key_required", "Only operators of the service may call this.";
    NotInGoodStanding => 403, "account_not_in_good_standing", "The account is not active; `GET /v1/whoami` has its status.";
    CustomerNotInGoodStanding => 403, "customer_account_not_in_good_standing", "The customer's account is not active.";
    AccountNotActive => 403, "account_not_active", "Confirm the account's address first.";
    ScopeNotAllowed => 403, "scope_not_allowed", "Use a key with a wider scope.";
    RestrictedToSites => 403, "restricted_to_sites", "The key, or the member, may use some sites only, and this concerns the whole account. Use a key for all sites.";
    ConfirmEmailFirst => 403, "confirm_email_first", "Open the link of the mail, or send its six digits.";
    KeyAllowanceReached => 403, "key_allowance_reached", "Revoke a key that is no longer used.";
    ApiKeyNotFound => 404, "api_key_not_found", "The account has no key with this prefix.";
    SignInRequired => 401, "sign_in_required", "Sign in to the console.";
    FormRefused => 403, "form_refused", "Load the page again, and send the form from there.";
    MemberNotFound => 404, "member_not_found", "The account has no such member.";
    AlreadyMember => 409, "already_member", "This address is a member already.";
    MemberAllowanceReached => 403, "member_allowance_reached", "Remove a member first.";
    InvitationFailed => 502, "invitation_failed", "The mail could not be sent. Make the same call again.";
    AccountInUse => 409, "account_in_use", "The account is more than a sign-up, and is deleted by its owner only.";
    InstallMethodUnavailable => 400, "install_method_unavailable", "Leave `method` out.";
    DomainRequired => 400, "domain_required", "Send `domain`, a host such as `shop.example`.";
    DomainIsPage => 400, "domain_is_page", "Send the host alone, without a path.";
    DomainNotHost => 400, "domain_not_host", "Send a host such as `shop.example`.";
    DomainRegistered => 409, "domain_already_registered", "Another account has this host. Its owner can claim it.";
    PixelAllowanceReached => 403, "pixel_allowance_reached", "Delete a pixel, or subscribe.";
    PixelNotCreated => 502, "pixel_not_created", "Make the same call again.";
    PixelNotFound => 404, "pixel_not_found", "The account has no such pixel.";
    SharedLinkNotFound => 404, "shared_link_not_found", "The pixel has no such link that works.";
    SharedLinkAllowanceReached => 403, "shared_link_allowance_reached", "Revoke a link of the pixel first.";
    InstalledPixelRename => 409, "installed_pixel_rename", "Remove the snippet from the site first.";
    InstalledPixelDelete => 409, "installed_pixel_delete", "Remove the snippet from the site first.";
    InstallCheckerOff => 500, "install_checker_off", "The operator has turned install checks off.";
    SnippetNotFound => 404, "snippet_not_found", "There is no snippet of this action.";
    SnippetMailTooSoon => 429, "snippet_mail_too_soon", "Wait for `Retry-After` seconds.";
    SnippetMailFailed => 502, "snippet_mail_failed", "The mail could not be sent. Make the same call again.";
    ClaimNotFound => 404, "claim_not_found", "The claim has ended, or belongs to another account.";
    ClaimNotProven => 409, "claim_not_proven", "Publish the TXT record or the snippet, then verify again.";
    ClaimAllowanceReached => 403, "claim_allowance_reached", "Prove or abandon an open claim first.";
    HostIsYours => 409, "host_is_yours", "The account has this host already.";
    PixelWorking => 409, "pixel_working", "The other account's pixel was seen on the host; only a TXT record proves the claim.";
    MoveUnderWay => 409, "move_under_way", "The pixel, or the domain, is part of a move. End or cancel it first.";
    MoveNotFound => 404, "move_not_found", "The pixel is not moving, or its move has ended.";
    PipelineUnknown => 400, "pipeline_unknown", "Send `utm` or `cms`.";
    CustomerRequired => 400, "customer_required", "Send `account_id` or `external_user_id`.";
    ContactEntryNotObject => 400, "contact_entry_not_object", "Every item of `contacts` is an object.";
    ContactNotObject => 400, "contact_not_object", "The member `contact` of an item is an object.";
    ContactNotFound => 404, "contact_not_found", "Nobody is stored under this hash, or the consent has ended.";
    HemMalformed => 400, "hem_malformed", "Send the SHA-256 of the lower-case address as 64 hex digits.";
    SeenAtMalformed => 400, "seen_at_malformed", "Send a time such as `2026-07-01T12:00:00Z`.";
    OnOrAfterMissing => 400, "on_or_after_missing", "Send `after`, `on` or `changed_after`.";
    OnAndAfter => 400, "on_and_after", "Send one of `after`, `on` and `changed_after`.";
    OnMalformed => 400, "on_malformed", "Send a day such as `2026-07-01`.";
    AfterMalformed => 400, "after_malformed", "Send zero, or the `high_water` of a page.";
    ContactAllowanceReached => 403, "contact_allowance_reached", "The month's new contacts are used; `remaining` of them are left. Subscribe, or wait for the next month.";
    ImportAllowanceReached => 403, "import_allowance_reached", "Wait until the running import has ended.";
    ImportNotFound => 404, "import_not_found", "The account has no such import.";
    WebhookAllowanceReached => 403, "webhook_allowance_reached", "An account has at most five webhooks.";
    WebhookNotFound => 404, "webhook_not_found", "The account has no such webhook.";
    DeliveryNotFound => 404, "delivery_not_found", "The event is no longer kept for this webhook.";
    SubscriptionRequired => 402, "subscription_required", "The trial has ended. Subscribe.";
    ControllerNameRequired => 400, "controller_name_required", "Send `controller_name`, the name that visitors know.";
    PurposeRequired => 400, "purpose_required", "Send at least one known purpose in `purposes`.";
    ControllerTypeUnknown => 400, "controller_type_unknown", "Send `company`, `person` or `organization`.";
    SitePolicyUrlNotHttps => 400, "site_policy_url_not_https", "Send an address that begins with `https://`.";
    ContrastTooLow => 400, "contrast_too_low", "Choose colours that differ more; `errors` has the measured contrast.";
    ConsentTagNotFound => 404, "consent_tag_not_found", "No pixel has this id or alias.";
    PolicyNotFound => 404, "policy_not_found", "The pixel has no policy in force.";
    PolicyAllowanceReached => 403, "policy_allowance_reached", "The pixel's texts have used all of their space.";
    InvalidState => 400, "invalid_state", "Send `accepted`, `declined` or `withdrawn`.";
    InvalidRequiredPurpose => 400, "invalid_required_purpose", "Send one of the eight purposes.";
    NoLog => 404, "no_log", "The operator keeps no public log.";
    NotInLog => 404, "not_in_log", "The choice or text is not in the public log.";
    NotSealedYet => 409, "not_sealed_yet", "The choice enters the log within seconds. Wait for `Retry-After` seconds.";
    ProofRequired => 400, "proof_required", "Send `proof`.";
    NoConsentRecord => 404, "no_consent_record", "The visitor has made no choice on this site.";
    WatchReportNotFound => 404, "watch_report_not_found", "The pixel has no such report.";
    ScreenshotNotFound => 404, "screenshot_not_found", "The pixel has no such screenshot. Those of the newest forms of the popup are kept.";
    ErasureRequestNotFound => 404, "erasure_request_not_found", "The pixel has no such request.";
    ErasureRequestClosed => 409, "erasure_request_closed", "The request was completed or refused before.";
    ReasonRequired => 400, "reason_required", "Send `reason`, which the visitor may read.";
    ReceiptRequired => 400, "receipt_required", "Send `receipt` and `signature`.";
    Busy => 503, "busy", "Wait for `Retry-After` seconds.";
    SessionIdRequired => 400, "session_id_required", "The payment provider adds `session_id` to the address.";
    CheckoutNotConfigured => 400, "checkout_not_configured", "The operator has no payment provider.";
    AlreadySubscribed => 409, "already_subscribed", "Open the billing portal instead.";
    NoSubscriptionYet => 409, "no_subscription_yet", "Open a checkout first.";
    InvalidSignature => 400, "invalid_signature", "The body was not signed with the shared secret, or was changed.";
    EventMissingAccount => 400, "event_missing_account", "The provider's event names no account.";
    PaymentProvider => 502, "payment_provider", "The payment provider gave no useful answer. Make the same call again.";
    DatabaseUnavailable => 503, "database_unavailable", "Wait for `Retry-After` seconds.";
    Internal => 500, "internal_error", "Report `request_id` to the operator.";
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
