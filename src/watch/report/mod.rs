//! Reports: `report.json`, `report.html`, `report.sarif`, `report.xml`, pictures, and the signed note over them.

mod escape;
mod html;
mod junit;
mod model;
mod sarif;
mod signature;
mod written;

pub use html::remedy;
pub use model::{Outcome, Page, Report, VisitReport};
pub use signature::{NOTE, VerifyError, verify};
pub use written::write;
