use super::check::check_request::CheckRequest;
use super::check::{self, Check, ReceiptAnswer};
use super::daily_counts::stats::{self, Stats, StatsRequest};
use super::days::wrong_order;
use super::export::{self, ExportFormat, ExportRequest, Lines};
use super::history::{self, History, HistoryRequest};
use super::log::{self, ConsentLog, LogRequest};
use super::log_query::MAX_ROWS;
use super::proofs::proof_file::{self, ProofFile, ProofRequest, wrong_size};
use super::proofs::verify::{self, Verdict, VerifyRequest};
use super::proofs::verify_proof::{self, VerifyProofRequest, no_key};
use super::records;
use super::service::Receipts;
use crate::accounts::access::{ActiveAccount, Anybody, Caller};
use crate::accounts::capability::{Capability, InvalidInput};
use crate::accounts::scope::Reads;
use crate::accounts::tool::Tool;
use crate::error::Error::*;
use crate::error::{Error, Result, missing_field, wrong_field};
use crate::infra::limits::per_client::Limit;
use crate::proof::proving::NOT_SEALED_YET;
use crate::proof::verdict::ProofVerdict;
use crate::types::paging::wrong_limit;
use crate::types::parameter::wrong_kind;

fn no_visitor() -> Error {
    wrong_kind("visitor_id", "field required", "missing")
}

/// Reads a page of a pixel's log, newest first.
pub struct ReadConsentLog;

impl Capability for ReadConsentLog {
    const NAME: &'static str = "read_consent_log";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read the consent log",
        "Reads the choices of the pixel's visitors, newest first, each with its signed receipt; \
         older ones with `before`, until `next_before` is null.",
    ));
    type Part = Receipts;
    type Access = ActiveAccount<Reads>;
    type Input = LogRequest;
    type Output = ConsentLog;

    fn refusals() -> Vec<Error> {
        vec![InvalidState, PixelNotFound, wrong_limit(MAX_ROWS)]
    }

    async fn run(receipts: &Receipts, caller: Caller, request: LogRequest) -> Result<ConsentLog> {
        log::read_log(&receipts.infra, &caller, &request).await
    }
}

/// Reads the counts per day.
pub struct ReadConsentStats;

impl Capability for ReadConsentStats {
    const NAME: &'static str = "read_consent_stats";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read consent statistics",
        "Counts per UTC day how often the popup was shown and what visitors answered, also by \
         policy version and by language.",
    ));
    type Part = Receipts;
    type Access = ActiveAccount<Reads>;
    type Input = StatsRequest;
    type Output = Stats;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound, wrong_order()]
    }

    async fn run(receipts: &Receipts, caller: Caller, request: StatsRequest) -> Result<Stats> {
        stats::count(&receipts.infra, &caller, &request).await
    }
}

/// Exports all consent data of a pixel as lines, or its choices as consent records.
pub struct ExportConsent;

impl Capability for ExportConsent {
    const NAME: &'static str = "export_consent";
    type Part = Receipts;
    type Access = ActiveAccount<Reads>;
    type Input = ExportRequest;
    type Output = Lines;

    fn refusals() -> Vec<Error> {
        vec![PixelNotFound, NoLog, wrong_order(), export::neither_true_nor_false()]
    }

    async fn run(receipts: &Receipts, caller: Caller, request: ExportRequest) -> Result<Lines> {
        match request.format {
            ExportFormat::Ndjson => export::export(receipts, &caller, &request).await,
            ExportFormat::Dpv => records::export::export(&receipts.infra, &caller, &request).await,
        }
    }
}

/// Checks whether an action is permitted for a visitor.
pub struct CheckConsent;

impl Capability for CheckConsent {
    const NAME: &'static str = "check_consent";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Check consent",
        "Tells whether something is permitted with a visitor: the latest receipt decides, \
         against the current policy. `permitted` is true only when `reason` is `ok`. Needs no \
         key.",
    ));
    type Part = Receipts;
    type Access = Anybody;
    type Input = CheckRequest;
    type Output = Check;

    fn refusals() -> Vec<Error> {
        vec![InvalidRequiredPurpose, no_visitor(), TooManyRequests { retry_after: 1 }]
    }

    async fn run(receipts: &Receipts, (): (), request: CheckRequest) -> Result<Check> {
        check::check(receipts, &request).await
    }
}

/// Reads a visitor's latest receipt, evaluated like a check.
pub struct ReadReceipt;

impl Capability for ReadReceipt {
    const NAME: &'static str = "read_receipt";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read a receipt",
        "Fetches the visitor's latest receipt with its signature. Needs no key.",
    ));
    type Part = Receipts;
    type Access = Anybody;
    type Input = CheckRequest;
    type Output = ReceiptAnswer;

    fn refusals() -> Vec<Error> {
        let too_many = TooManyRequests { retry_after: 1 };
        vec![InvalidRequiredPurpose, NoConsentRecord, no_visitor(), too_many]
    }

    async fn run(receipts: &Receipts, (): (), request: CheckRequest) -> Result<ReceiptAnswer> {
        check::receipt(receipts, &request).await
    }
}

/// Reads all choices of a visitor at one site.
pub struct ReadConsentHistory;

impl Capability for ReadConsentHistory {
    const NAME: &'static str = "read_consent_history";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Read a visitor's history",
        "Reads all that a visitor answered at a pixel's site, newest first: signed receipts, \
         and the notice that each answered. Needs no key.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::Histories);
    type Part = Receipts;
    type Access = Anybody;
    type Input = HistoryRequest;
    type Output = History;

    fn refusals() -> Vec<Error> {
        vec![missing_field("visitor_id")]
    }

    async fn run(receipts: &Receipts, (): (), request: HistoryRequest) -> Result<History> {
        history::read(receipts, &request).await
    }
}

pub struct VerifyReceipt;

impl Capability for VerifyReceipt {
    const NAME: &'static str = "verify_receipt";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Verify a receipt",
        "Tells whether a receipt and its signature were made by this service and are unchanged. \
         Needs no key.",
    ));
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Part = Receipts;
    type Access = Anybody;
    type Input = VerifyRequest;
    type Output = Verdict;

    fn refusals() -> Vec<Error> {
        vec![wrong_field("receipt", "must be an object"), ReceiptRequired]
    }

    async fn run(receipts: &Receipts, (): (), request: VerifyRequest) -> Result<Verdict> {
        verify::verify(&receipts.signer, request)
    }
}

pub struct GetProof;

impl Capability for GetProof {
    const NAME: &'static str = "get_proof";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Get a proof",
        "Fetches a file that proves a visitor's choice, the latest or one by `receipt_id`, to \
         people who do not trust this service. `not sealed yet`: ask again after some seconds. \
         Needs no key.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::LogReads);
    type Part = Receipts;
    type Access = Anybody;
    type Input = ProofRequest;
    type Output = ProofFile;

    fn refusals() -> Vec<Error> {
        vec![NoLog, NoConsentRecord, NOT_SEALED_YET, no_visitor(), wrong_size()]
    }

    async fn run(receipts: &Receipts, (): (), request: ProofRequest) -> Result<ProofFile> {
        proof_file::prove(receipts, request).await
    }
}

pub struct VerifyProof;

impl Capability for VerifyProof {
    const NAME: &'static str = "verify_proof";
    const TOOL: Option<Tool> = Some(Tool::READ_ONLY.described(
        "Verify a proof",
        "Judges a file from `get_proof`: what it shows, or which part of it was changed. Needs \
         no key.",
    ));
    const LIMIT: Option<Limit> = Some(Limit::LogReads);
    const INVALID_INPUT: InvalidInput = InvalidInput::InvalidRequest;
    type Part = Receipts;
    type Access = Anybody;
    type Input = VerifyProofRequest;
    type Output = ProofVerdict;

    fn refusals() -> Vec<Error> {
        vec![wrong_field("proof", "must be an object"), ProofRequired, no_key(), NoLog]
    }

    async fn run(receipts: &Receipts, (): (), request: VerifyProofRequest) -> Result<ProofVerdict> {
        verify_proof::verify(&receipts.log, request)
    }
}
