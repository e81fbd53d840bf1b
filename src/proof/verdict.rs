use schemars::JsonSchema;
use serde::Serialize;
use utoipa::ToSchema;

use super::format::note::NoteError;
use super::quoting::quoted;

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProofPart {
    #[error("the choice")]
    Choice,
    #[error("the published {0}")]
    Publication(String),
    #[error("the time stamp")]
    Timestamp,
    #[error("a watch report")]
    WatchReport,
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("This is no proof file, or its form was changed.")]
    Form,
    #[error(
        "The proof of {0} cannot be read: its number, its path or its other lines were changed."
    )]
    Lines(ProofPart),
    #[error("The state of the log under {0} is broken: {1}.")]
    Checkpoint(ProofPart, NoteError),
    #[error("The state of the log under {0} is that of another log.")]
    Origin(ProofPart),
    #[error("The entry of {0} names no time.")]
    Time(ProofPart),
    #[error("The cosignature of {name} on the state of the log under {0} was changed.", name = quoted(.1))]
    Cosignature(ProofPart, String),
    #[error(
        "Too few of the witnesses that are wanted have cosigned the state of the log under {0}: {1}."
    )]
    Quorum(ProofPart, usize),
    #[error(
        "The entry of {0} is not in the log that was signed: the entry, its number or its path was changed."
    )]
    Entry(ProofPart),
    #[error("The salt was changed.")]
    Salt,
    #[error(
        "The choice is not the one that was put into the log: the receipt, what was shown with it, or its path was changed."
    )]
    Choice,
    #[error("The policy is not the one that the receipt names.")]
    Policy,
    #[error("The text of the notice is not the one that was shown.")]
    Notice,
    #[error("The published {kind} has nothing to do with this choice.", kind = quoted(.0))]
    Foreign(String),
    #[error("The published {0} is in this file twice.")]
    Twice(String),
    #[error("The time stamp is not one of the state of the log that is beside it.")]
    Timestamp,
    #[error("The time stamp names a time before the choice was made.")]
    Early,
    #[error("A watch report is not the one that was put into the log.")]
    WatchReport,
    #[error("A watch report cannot be read, or was not signed by the watcher that it names.")]
    Watcher,
    #[error("A watch report is in this file twice.")]
    WatchReportTwice,
    #[error("The checkpoint that you kept is broken: {0}.")]
    Kept(NoteError),
    #[error("The checkpoint that you kept is of another log.")]
    KeptOrigin,
    #[error("The log was rewritten: it does not go on from the checkpoint that you kept.")]
    Rewritten,
    #[error(
        "This proof does not tell how the log grew from the checkpoint that you kept: ask the service for it again with old_size={0}."
    )]
    Growth(u64),
}

/// Whether a proof holds, in sentences for people.
#[derive(Debug, Serialize, JsonSchema, ToSchema)]
pub struct ProofVerdict {
    pub valid: bool,
    /// What is proved, what is only said by the service, and what could not be checked; of a broken
    /// proof which part it is.
    pub sentences: Vec<String>,
}

impl From<Result<Vec<String>, Broken>> for ProofVerdict {
    fn from(found: Result<Vec<String>, Broken>) -> Self {
        match found {
            Ok(sentences) => Self { valid: true, sentences },
            Err(broken) => Self { valid: false, sentences: vec![broken.to_string()] },
        }
    }
}
