//! Choices as consent records of ISO/IEC TS 27560, in the words of the W3C community group's Data Privacy
//! Vocabulary (<https://w3id.org/dpv/guides/consent-27560>), as JSON-LD that explains itself.
//!
//! One record for one choice, not for one visitor: a choice answers one version of the notice, in one
//! language, never changes, and has an id of its own, by which its receipt and its proof are found. So a
//! withdrawal does not rewrite the record of the acceptance before it, and an export of any length takes
//! no memory.

pub mod answered;
pub mod export;
mod missing;
mod parts;
pub mod record;
