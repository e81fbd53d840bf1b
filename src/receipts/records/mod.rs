//! Choices as consent records of ISO/IEC TS 27560, in the W3C community group's Data Privacy Vocabulary
//! (<https://w3id.org/dpv/guides/consent-27560>), as self-contained JSON-LD. One record per choice, not per
//! visitor: a choice answers one version of the notice, in one language, never changes, and has an id by
//! which its receipt and proof are found. So a withdrawal does not rewrite the record of an earlier
//! acceptance, and exports of any length need little memory.

pub mod answered;
pub mod export;
mod missing;
mod parts;
pub mod record;
