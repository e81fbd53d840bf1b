//! Reports: `report.json`, `report.html`, `report.sarif`, `report.xml`, pictures, and the signed note over them.

mod html;
mod junit;
mod model;
mod sarif;
mod signature;
mod written;

pub use model::{NOT_COVERED, Page, Report, SCHEMA, VisitReport};
pub use signature::{Verified, VerifyError, verify};
pub use written::{ReportError, write};
