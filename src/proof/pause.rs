use std::fmt;

use crate::error::Error;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    File(String),
    Process,
    Witness,
    /// The file of another node, as that node reported it.
    OtherFile,
}

impl fmt::Display for Source {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(name) => write!(formatter, "LOG_STATE ({name})"),
            Self::Process => formatter.write_str("this node"),
            Self::Witness => formatter.write_str("a witness"),
            Self::OtherFile => formatter.write_str("the LOG_STATE file of another node"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Pause {
    #[error("the log goes on under a later name already, so LOG_NUMBER must be {latest} or more")]
    LaterName { latest: u32 },
    #[error(
        "the database has {stored} entries, and {by} remembers that {signed} were signed: the \
         database comes from a backup, or has lost what was committed last"
    )]
    Behind { by: Source, signed: u64, stored: u64 },
    #[error(
        "{by} remembers that other entries were signed, {signed} of them: the database comes from a \
         backup and was added to"
    )]
    Forked { by: Source, signed: u64 },
    #[error(
        "{by} remembers another log, {origin}, which this database does not hold: another service \
         writes the same file, or the database comes from a backup"
    )]
    OtherLog { by: Source, origin: String },
    #[error(
        "the database says that a LOG_STATE file has remembered {known} entries; this node knows of \
         {own}, and no node that runs has that file: start the node that has it, or bring the file back"
    )]
    StoppedNode { known: u64, own: u64 },
    #[error("LOG_STATE: {file} cannot be read: {problem}")]
    Unreadable { file: String, problem: String },
    #[error(
        "LOG_STATE: {file} is damaged: it holds no signed checkpoint of a log, so it cannot be known \
         whether the database comes from a backup"
    )]
    Damaged { file: String },
    #[error("LOG_STATE: {file} cannot be written: {problem}")]
    Unwritable { file: String, problem: String },
    #[error(
        "no witness answers, and this node does not remember what was signed, so it cannot know whether \
         the database comes from a backup"
    )]
    NoWitness,
    #[error(
        "the witness {name:?} says that it has seen {size} entries, more than the database holds, so it \
         may come from a backup"
    )]
    WitnessLonger { name: String, size: u64 },
}

#[derive(Debug)]
pub enum Stop {
    Paused(Pause),
    /// The step is tried again soon.
    Waiting,
    Failed(Error),
}

impl From<Pause> for Stop {
    fn from(pause: Pause) -> Self {
        Self::Paused(pause)
    }
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}
