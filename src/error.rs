//! The error type: every refusal of the service, with its sentence; `codes` has the code and the status of each.
//! `Display` is the sentence for the caller (`detail` of the problem document, see `docs/reference.md`).
//! Causes of internal errors stay in the log.

pub mod codes;
mod database;
mod field;
mod naming;
mod numbers;

pub use field::FieldError;

pub type Result<T, E = Error> = std::result::Result<T, E>;

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("invalid request")]
    InvalidRequest,
    /// 422: a body or parameter of the wrong shape on routes without `invalid request`.
    #[error("validation failed")]
    Validation(Vec<FieldError>),
    #[error("{refusal}")]
    Naming { refusal: Box<Self>, fields: Vec<FieldError> },
    #[error("not found")]
    NotFound,
    #[error("method not allowed")]
    MethodNotAllowed,
    #[error("request body too large")]
    BodyTooLarge,
    #[error("request body took too long")]
    BodyTimeout,
    /// Sent by the MCP server only: large messages require authentication.
    #[error("a message over 64 KiB needs an API key in the headers")]
    LargeMessageNeedsKey,
    #[error("a message may have at most {values} values, nested at most {depth} deep")]
    MessageTooComplex { values: usize, depth: usize },
    #[error("only tools that read can be called at this address")]
    OnlyReadingTools,
    #[error("{reason}")]
    ToolProtocol { status: u16, reason: String },
    #[error(
        "idempotency key must have 1 to 255 printable characters, without a key or token at least 16"
    )]
    IdempotencyKeyInvalid,
    #[error("idempotency key reused")]
    IdempotencyKeyReused,
    #[error("idempotency key in use")]
    IdempotencyKeyInUse { retry_after: u64 },

    #[error("invalid email")]
    InvalidEmail,
    #[error("display name is required")]
    DisplayNameRequired,
    #[error("email already registered")]
    EmailRegistered,
    #[error("external user already registered")]
    ExternalUserRegistered,
    #[error("could not send the confirmation email")]
    ConfirmationMailFailed,
    #[error("account not found")]
    AccountNotFound,
    #[error("account_id is required")]
    AccountIdRequired,
    #[error("verification token required")]
    VerificationTokenRequired,
    #[error("verification link not found")]
    VerificationLinkNotFound,
    /// The signup rejection link of the same mail.
    #[error("verification link not found")]
    DisownLinkNotFound,
    #[error("mail link not found")]
    MailLinkNotFound,
    #[error("address change not found")]
    AddressLinkNotFound,
    #[error("verification link expired")]
    VerificationLinkExpired,
    #[error("invalid code")]
    InvalidCode,
    #[error("too many attempts, request a new code")]
    TooManyAttempts { retry_after: u64 },
    #[error("wait before sending the confirmation email again")]
    ConfirmationMailTooSoon { retry_after: u64 },
    #[error("wait before sending the confirmation code again")]
    CodeTooSoon { retry_after: u64 },
    #[error("too many codes today")]
    TooManyCodes { retry_after: u64 },
    #[error("too many requests")]
    TooManyRequests { retry_after: u64 },

    #[error("api key required")]
    ApiKeyRequired,
    #[error("api key or signup token required")]
    ApiKeyOrSignupTokenRequired,
    #[error("signup token required")]
    SignupTokenRequired,
    #[error("signup token expired")]
    SignupTokenExpired,
    /// 401 on routes that report the caller's identity, 403 on setup routes; likewise for a revoked key.
    #[error("invalid api key")]
    InvalidApiKey { status: u16 },
    #[error("api key revoked")]
    ApiKeyRevoked { status: u16 },
    #[error("api key expired")]
    ApiKeyExpired,
    /// 401 without a key on routes that require an unlimited key, 403 with a customer's key.
    #[error("unlimited key required")]
    UnlimitedKeyRequired { status: u16 },
    #[error("account is not in good standing")]
    NotInGoodStanding,
    /// The state of the customer's account does not permit the request that was made with an unlimited key.
    #[error("customer account is not in good standing")]
    CustomerNotInGoodStanding,
    #[error("account is not active")]
    AccountNotActive,
    #[error("key scope does not allow this")]
    ScopeNotAllowed,
    #[error("key is restricted to sites")]
    RestrictedToSites,
    #[error("confirm your email before creating an API key")]
    ConfirmEmailFirst,
    #[error("key allowance reached")]
    KeyAllowanceReached,
    #[error("api key not found")]
    ApiKeyNotFound,
    #[error("sign in first")]
    SignInRequired,
    /// A form that was not sent from a page of the console in the same session.
    #[error("open the page again and send the form from there")]
    FormRefused,
    #[error("member not found")]
    MemberNotFound,
    #[error("already a member")]
    AlreadyMember,
    #[error("member allowance reached")]
    MemberAllowanceReached,
    #[error("could not send the invitation")]
    InvitationFailed,
    #[error("account is in use")]
    AccountInUse,

    #[error("that install method is not available")]
    InstallMethodUnavailable,
    #[error("domain is required")]
    DomainRequired,
    #[error("domain must be a host, not a page")]
    DomainIsPage,
    #[error("domain must be a host")]
    DomainNotHost,
    #[error("domain already registered")]
    DomainRegistered,
    #[error("pixel allowance reached")]
    PixelAllowanceReached { remaining: i64 },
    #[error("pixel could not be created")]
    PixelNotCreated,
    #[error("pixel not found")]
    PixelNotFound,
    #[error("shared link not found")]
    SharedLinkNotFound,
    #[error("shared link allowance reached")]
    SharedLinkAllowanceReached,
    #[error("installed pixel cannot be renamed")]
    InstalledPixelRename,
    #[error("installed pixel cannot be deleted")]
    InstalledPixelDelete,
    #[error("install checker is not configured")]
    InstallCheckerOff,
    #[error("snippet not found")]
    SnippetNotFound,
    #[error("wait before sending the snippet again")]
    SnippetMailTooSoon { retry_after: u64 },
    #[error("could not send the snippet email")]
    SnippetMailFailed,
    #[error("claim not found")]
    ClaimNotFound,
    #[error("claim not proven")]
    ClaimNotProven,
    #[error("claim allowance reached")]
    ClaimAllowanceReached,
    #[error("that host is yours already")]
    HostIsYours,
    #[error("that pixel is working")]
    PixelWorking,
    #[error("a move is under way")]
    MoveUnderWay,
    #[error("no move is under way")]
    MoveNotFound,
    #[error("pipeline must be utm or cms")]
    PipelineUnknown,
    #[error("account_id or external_user_id is required")]
    CustomerRequired,

    #[error("contact entry must be an object")]
    ContactEntryNotObject,
    #[error("contact must be an object")]
    ContactNotObject,
    #[error("contact not found")]
    ContactNotFound,
    #[error("hem must be a 64-character hex string")]
    HemMalformed,
    #[error("seen_at must be an ISO timestamp")]
    SeenAtMalformed,
    #[error("pass on or after")]
    OnOrAfterMissing,
    #[error("pass on or after, not both")]
    OnAndAfter,
    #[error("on must be YYYY-MM-DD")]
    OnMalformed,
    #[error("after must be zero or greater")]
    AfterMalformed,
    #[error("contact allowance reached")]
    ContactAllowanceReached { remaining: i64 },
    #[error("import allowance reached")]
    ImportAllowanceReached,
    #[error("import not found")]
    ImportNotFound,
    #[error("webhook allowance reached")]
    WebhookAllowanceReached,
    #[error("webhook not found")]
    WebhookNotFound,
    #[error("delivery not found")]
    DeliveryNotFound,
    #[error("subscription required")]
    SubscriptionRequired { remaining: i64 },

    #[error("controller name is required")]
    ControllerNameRequired,
    #[error("choose at least one purpose")]
    PurposeRequired,
    #[error("controller type must be company, person, or organization")]
    ControllerTypeUnknown,
    #[error("site policy url must be an https link")]
    SitePolicyUrlNotHttps,
    #[error("appearance needs a contrast of at least 4.5:1 between text and background")]
    ContrastTooLow,
    #[error("consent tag not found")]
    ConsentTagNotFound,
    #[error("policy not found")]
    PolicyNotFound,
    #[error("policy allowance reached")]
    PolicyAllowanceReached,
    #[error("invalid state")]
    InvalidState,
    #[error("invalid required_purpose")]
    InvalidRequiredPurpose,
    #[error("no log is kept here")]
    NoLog,
    #[error("not in the log")]
    NotInLog,
    #[error("not sealed yet")]
    NotSealedYet { retry_after: u64 },
    #[error("proof is required")]
    ProofRequired,
    #[error("no consent record")]
    NoConsentRecord,
    #[error("watch report not found")]
    WatchReportNotFound,
    #[error("screenshot not found")]
    ScreenshotNotFound,
    #[error("erasure request not found")]
    ErasureRequestNotFound,
    #[error("erasure request is closed")]
    ErasureRequestClosed,
    #[error("reason is required")]
    ReasonRequired,
    #[error("receipt is required")]
    ReceiptRequired,
    #[error("the service is busy, try again")]
    Busy { retry_after: u64 },

    #[error("session_id is required")]
    SessionIdRequired,
    #[error("stripe checkout is not configured")]
    CheckoutNotConfigured,
    #[error("already subscribed")]
    AlreadySubscribed,
    #[error("no subscription yet")]
    NoSubscriptionYet,
    #[error("invalid signature")]
    InvalidSignature,
    #[error("event missing account")]
    EventMissingAccount,
    /// The payment provider gave no useful answer; the reason is suitable for the caller.
    #[error("{reason}")]
    PaymentProvider { reason: String },

    #[error("database unavailable")]
    DatabaseUnavailable,
    /// Any internal error. The text is for the log only.
    #[error("internal error")]
    Internal(String),
}

impl Error {
    /// The same error for another caller that waited for the same result.
    pub fn for_another(&self) -> Self {
        match self {
            Self::DatabaseUnavailable => Self::DatabaseUnavailable,
            other => Self::internal(format_args!("{other:?}")),
        }
    }

    pub fn internal(cause: impl std::fmt::Display) -> Self {
        Self::Internal(cause.to_string())
    }
}

pub const BODY: &str = "body";

/// The refusal for a missing text field that has no sentence of its own (422).
pub fn missing_field(field: &str) -> Error {
    Error::Validation(vec![FieldError::new(&[BODY, field], "field required", "missing")])
}

/// The refusal for an invalid field of the body that has no sentence of its own (400).
pub fn wrong_field(field: &str, msg: impl Into<String>) -> Error {
    wrong_at(&[field], msg)
}

/// Like [`wrong_field`], for a nested field.
pub fn wrong_at(location: &[&str], msg: impl Into<String>) -> Error {
    let loc = [&[BODY], location].concat();
    Error::InvalidRequest.naming(vec![FieldError::new(&loc, msg, "value_error")])
}
