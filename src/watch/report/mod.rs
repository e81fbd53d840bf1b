//! Reports: `report.json`, `report.html`, `report.sarif`, `report.xml`, pictures, and the signed note over them.

mod bounded;
mod elements;
mod escape;
mod folder;
mod gated;
mod html;
mod junit;
mod model;
mod not_covered;
mod sarif;
mod shortened;
mod signature;
mod written;

pub use bounded::MAX_JSON;
pub use model::{Outcome, Page, Report, VisitReport};
pub use signature::{NOTE, VerifyError, verify};
pub use written::write;
