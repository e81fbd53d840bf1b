use super::days::wrong_order;
use super::export::{self, ExportFormat, ExportRequest, Lines, neither_true_nor_false};
use super::records;
use super::service::Receipts;
use crate::accounts::access::{ActiveAccount, Caller};
use crate::accounts::capability::Capability;
use crate::accounts::scope::Reads;
use crate::error::{Error, Result};

/// Exports all consent data of a pixel as lines, or its choices as consent records.
pub struct ExportConsent;

impl Capability for ExportConsent {
    const NAME: &'static str = "export_consent";
    type Service = Receipts;
    type Access = ActiveAccount<Reads>;
    type Input = ExportRequest;
    type Output = Lines;

    fn refusals() -> Vec<Error> {
        vec![Error::PixelNotFound, Error::NoLog, wrong_order(), neither_true_nor_false()]
    }

    async fn run(receipts: &Receipts, caller: Caller, request: ExportRequest) -> Result<Lines> {
        match request.format {
            ExportFormat::Ndjson => export::export(receipts, &caller, &request).await,
            ExportFormat::Dpv => records::export::export(&receipts.infra, &caller, &request).await,
        }
    }
}
