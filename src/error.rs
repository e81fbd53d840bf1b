//! The one error type: every refusal the service knows, with its status and its sentence.
//!
//! `Display` is the sentence that the caller reads (`detail` of the problem document, see
//! `docs/reference.md`). Causes of internal errors stay in the log.

use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

/// A short name for results of the domain.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// One thing wrong with a body or a parameter, as listed in a 422 answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema, ToSchema)]
pub struct FieldError {
    /// Where: `["body", "domain"]` or `["query", "from"]`.
    pub loc: Vec<String>,
    /// What, in one sentence for people.
    pub msg: String,
    /// What, in one word for programs, for example `missing`, `type_error`, `json_invalid`.
    #[serde(rename = "type")]
    pub kind: String,
}

impl FieldError {
    pub fn new(loc: &[&str], msg: impl Into<String>, kind: &str) -> Self {
        Self {
            loc: loc.iter().map(|&part| part.to_owned()).collect(),
            msg: msg.into(),
            kind: kind.to_owned(),
        }
    }
}

/// What a request can be refused with.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("invalid request")]
    InvalidRequest,
    /// 422: a body or parameter of the wrong shape on routes without `invalid request`.
    #[error("validation failed")]
    Validation(Vec<FieldError>),
    #[error("not found")]
    NotFound,
    #[error("method not allowed")]
    MethodNotAllowed,
    #[error("request body too large")]
    BodyTooLarge,
    #[error("request body took too long")]
    BodyTimeout,
    /// A request that the tool-protocol server does not take, for the reason it gives.
    #[error("{reason}")]
    ToolProtocol { status: u16, reason: String },

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
    /// The general limits of `http::rate_limit`.
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
    /// 401 on routes that tell who a caller is, 403 on setup routes.
    #[error("invalid api key")]
    InvalidApiKey { status: u16 },
    /// 401 on routes that tell who a caller is, 403 on setup routes.
    #[error("api key revoked")]
    ApiKeyRevoked { status: u16 },
    /// 401 without a key where the route asks for this kind first, 403 with a customer's key.
    #[error("unlimited key required")]
    UnlimitedKeyRequired { status: u16 },
    #[error("account is not in good standing")]
    NotInGoodStanding,
    /// What an unlimited key asks for is refused because of the other account's state.
    #[error("customer account is not in good standing")]
    CustomerNotInGoodStanding,
    #[error("account is not active")]
    AccountNotActive,
    #[error("confirm your email before creating an API key")]
    ConfirmEmailFirst,

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
    #[error("pipeline must be utm or cms")]
    PipelineUnknown,
    #[error("account_id or external_user_id is required")]
    CustomerRequired,

    #[error("contact entry must be an object")]
    ContactEntryNotObject,
    #[error("contact must be an object")]
    ContactNotObject,
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
    /// Tools give whole answers, where the API streams.
    #[error("that day has too many contacts for one answer, read them with after")]
    TooManyContacts,
    #[error("contact allowance reached")]
    ContactAllowanceReached { remaining: i64 },
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
    #[error("invalid state")]
    InvalidState,
    #[error("invalid required_purpose")]
    InvalidRequiredPurpose,
    #[error("no consent record")]
    NoConsentRecord,
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
    /// The payment provider gave no answer that helps; the reason is fit for the caller.
    #[error("{reason}")]
    PaymentProvider { reason: String },

    #[error("database unavailable")]
    DatabaseUnavailable,
    /// Anything that is ours to mend. The text is for the log only.
    #[error("internal error")]
    Internal(String),
}

impl Error {
    /// The HTTP status of the refusal.
    pub fn status(&self) -> u16 {
        use Error::*;
        match self {
            InvalidRequest
            | InvalidEmail
            | DisplayNameRequired
            | AccountIdRequired
            | VerificationTokenRequired
            | VerificationLinkExpired
            | InvalidCode
            | InstallMethodUnavailable
            | DomainRequired
            | DomainIsPage
            | DomainNotHost
            | PipelineUnknown
            | CustomerRequired
            | ContactEntryNotObject
            | ContactNotObject
            | HemMalformed
            | SeenAtMalformed
            | OnOrAfterMissing
            | OnAndAfter
            | OnMalformed
            | AfterMalformed
            | TooManyContacts
            | ControllerNameRequired
            | PurposeRequired
            | ControllerTypeUnknown
            | SitePolicyUrlNotHttps
            | ContrastTooLow
            | InvalidState
            | InvalidRequiredPurpose
            | ReceiptRequired
            | SessionIdRequired
            | CheckoutNotConfigured
            | InvalidSignature
            | EventMissingAccount => 400,
            ApiKeyRequired
            | ApiKeyOrSignupTokenRequired
            | SignupTokenRequired
            | SignupTokenExpired => 401,
            ToolProtocol { status, .. }
            | InvalidApiKey { status }
            | ApiKeyRevoked { status }
            | UnlimitedKeyRequired { status } => *status,
            SubscriptionRequired { .. } => 402,
            NotInGoodStanding
            | CustomerNotInGoodStanding
            | AccountNotActive
            | ConfirmEmailFirst
            | PixelAllowanceReached { .. }
            | ContactAllowanceReached { .. } => 403,
            NotFound
            | AccountNotFound
            | VerificationLinkNotFound
            | PixelNotFound
            | SnippetNotFound
            | ConsentTagNotFound
            | PolicyNotFound
            | NoConsentRecord => 404,
            MethodNotAllowed => 405,
            BodyTimeout => 408,
            EmailRegistered
            | ExternalUserRegistered
            | DomainRegistered
            | InstalledPixelRename
            | InstalledPixelDelete
            | AlreadySubscribed
            | NoSubscriptionYet => 409,
            BodyTooLarge => 413,
            Validation(_) => 422,
            TooManyAttempts { .. }
            | ConfirmationMailTooSoon { .. }
            | CodeTooSoon { .. }
            | TooManyCodes { .. }
            | SnippetMailTooSoon { .. }
            | TooManyRequests { .. } => 429,
            InstallCheckerOff | Internal(_) => 500,
            ConfirmationMailFailed
            | PixelNotCreated
            | SnippetMailFailed
            | PaymentProvider { .. } => 502,
            Busy { .. } | DatabaseUnavailable => 503,
        }
    }

    /// Seconds after which the same call may succeed, for `Retry-After`.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::TooManyAttempts { retry_after }
            | Self::ConfirmationMailTooSoon { retry_after }
            | Self::SnippetMailTooSoon { retry_after }
            | Self::CodeTooSoon { retry_after }
            | Self::TooManyCodes { retry_after }
            | Self::TooManyRequests { retry_after }
            | Self::Busy { retry_after } => Some(*retry_after),
            Self::DatabaseUnavailable => Some(1),
            _ => None,
        }
    }

    /// Units left of the allowance that the request would have passed.
    pub fn remaining(&self) -> Option<i64> {
        match self {
            Self::PixelAllowanceReached { remaining }
            | Self::ContactAllowanceReached { remaining }
            | Self::SubscriptionRequired { remaining } => Some(*remaining),
            _ => None,
        }
    }

    /// The same refusal for one more of many who waited for the same answer.
    pub fn for_another(&self) -> Self {
        match self {
            Self::DatabaseUnavailable => Self::DatabaseUnavailable,
            other => Self::internal(format_args!("{other:?}")),
        }
    }

    /// An internal error from anything that can describe itself.
    pub fn internal(cause: impl std::fmt::Display) -> Self {
        Self::Internal(cause.to_string())
    }
}

/// Unique constraints by name, so that a lost race reads like a failed check.
fn on_constraint(name: &str) -> Option<Error> {
    match name {
        "accounts_email_key" => Some(Error::EmailRegistered),
        "accounts_external_user_id_key" => Some(Error::ExternalUserRegistered),
        "pixels_domain_key" => Some(Error::DomainRegistered),
        _ => None,
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        match &error {
            sqlx::Error::Database(database) => {
                database.constraint().and_then(on_constraint).unwrap_or_else(|| {
                    if is_outage(database.code().as_deref()) {
                        tracing::warn!(%error, "database unavailable");
                        Self::DatabaseUnavailable
                    } else {
                        Self::internal(&error)
                    }
                })
            }
            sqlx::Error::Io(_)
            | sqlx::Error::PoolTimedOut
            | sqlx::Error::Tls(_)
            // What a proxy says whose database is gone, or a server that is just ending.
            | sqlx::Error::Protocol(_)
            | sqlx::Error::WorkerCrashed => {
                tracing::warn!(%error, "database unavailable");
                Self::DatabaseUnavailable
            }
            // The service itself has closed it, as the last thing it does.
            sqlx::Error::PoolClosed => Self::DatabaseUnavailable,
            _ => Self::internal(&error),
        }
    }
}

/// SQLSTATE classes of a server that is going away, starting up or out of connections:
/// 08 (connection), 53 (resources), 57P (operator intervention).
fn is_outage(sqlstate: Option<&str>) -> bool {
    sqlstate.is_some_and(|code| ["08", "53", "57P"].iter().any(|class| code.starts_with(class)))
}
