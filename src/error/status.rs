use super::Error;

impl Error {
    pub fn status(&self) -> u16 {
        use Error::*;
        match self {
            Naming { refusal, .. } => refusal.status(),
            InvalidRequest
            | MessageTooComplex { .. }
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
            | ControllerNameRequired
            | PurposeRequired
            | ControllerTypeUnknown
            | SitePolicyUrlNotHttps
            | ContrastTooLow
            | InvalidState
            | InvalidRequiredPurpose
            | ReasonRequired
            | ReceiptRequired
            | ProofRequired
            | SessionIdRequired
            | CheckoutNotConfigured
            | InvalidSignature
            | EventMissingAccount
            | IdempotencyKeyInvalid => 400,
            ApiKeyRequired
            | ApiKeyExpired
            | SignInRequired
            | ApiKeyOrSignupTokenRequired
            | SignupTokenRequired
            | SignupTokenExpired => 401,
            ToolProtocol { status, .. }
            | InvalidApiKey { status }
            | ApiKeyRevoked { status }
            | UnlimitedKeyRequired { status } => *status,
            SubscriptionRequired { .. } => 402,
            NotInGoodStanding
            | FormRefused
            | OnlyReadingTools
            | CustomerNotInGoodStanding
            | AccountNotActive
            | ScopeNotAllowed
            | RestrictedToSites
            | ConfirmEmailFirst
            | KeyAllowanceReached
            | MemberAllowanceReached
            | ClaimAllowanceReached
            | ImportAllowanceReached
            | PolicyAllowanceReached
            | WebhookAllowanceReached
            | SharedLinkAllowanceReached
            | PixelAllowanceReached { .. }
            | ContactAllowanceReached { .. } => 403,
            NotFound
            | AccountNotFound
            | ApiKeyNotFound
            | MemberNotFound
            | VerificationLinkNotFound
            | DisownLinkNotFound
            | MailLinkNotFound
            | AddressLinkNotFound
            | PixelNotFound
            | SharedLinkNotFound
            | ContactNotFound
            | SnippetNotFound
            | ClaimNotFound
            | MoveNotFound
            | ImportNotFound
            | WebhookNotFound
            | DeliveryNotFound
            | ErasureRequestNotFound
            | WatchReportNotFound
            | ScreenshotNotFound
            | ConsentTagNotFound
            | PolicyNotFound
            | NoLog
            | NotInLog
            | NoConsentRecord => 404,
            MethodNotAllowed => 405,
            BodyTimeout => 408,
            EmailRegistered
            | AccountInUse
            | AlreadyMember
            | ExternalUserRegistered
            | DomainRegistered
            | InstalledPixelRename
            | InstalledPixelDelete
            | ClaimNotProven
            | HostIsYours
            | PixelWorking
            | MoveUnderWay
            | ErasureRequestClosed
            | AlreadySubscribed
            | NotSealedYet { .. }
            | NoSubscriptionYet
            | IdempotencyKeyInUse { .. } => 409,
            BodyTooLarge | LargeMessageNeedsKey => 413,
            Validation(_) | IdempotencyKeyReused => 422,
            TooManyAttempts { .. }
            | ConfirmationMailTooSoon { .. }
            | CodeTooSoon { .. }
            | TooManyCodes { .. }
            | SnippetMailTooSoon { .. }
            | TooManyRequests { .. } => 429,
            InstallCheckerOff | Internal(_) => 500,
            ConfirmationMailFailed
            | InvitationFailed
            | PixelNotCreated
            | SnippetMailFailed
            | PaymentProvider { .. } => 502,
            Busy { .. } | DatabaseUnavailable => 503,
        }
    }

    /// Seconds after which the same call may succeed, for `Retry-After`.
    pub fn retry_after(&self) -> Option<u64> {
        match self {
            Self::Naming { refusal, .. } => refusal.retry_after(),
            Self::TooManyAttempts { retry_after }
            | Self::ConfirmationMailTooSoon { retry_after }
            | Self::SnippetMailTooSoon { retry_after }
            | Self::CodeTooSoon { retry_after }
            | Self::TooManyCodes { retry_after }
            | Self::TooManyRequests { retry_after }
            | Self::NotSealedYet { retry_after }
            | Self::IdempotencyKeyInUse { retry_after }
            | Self::Busy { retry_after } => Some(*retry_after),
            Self::DatabaseUnavailable => Some(1),
            _ => None,
        }
    }

    /// The rest of the allowance that the request would have exceeded.
    pub fn remaining(&self) -> Option<i64> {
        match self {
            Self::Naming { refusal, .. } => refusal.remaining(),
            Self::PixelAllowanceReached { remaining }
            | Self::ContactAllowanceReached { remaining }
            | Self::SubscriptionRequired { remaining } => Some(*remaining),
            _ => None,
        }
    }
}
