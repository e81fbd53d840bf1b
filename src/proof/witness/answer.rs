//! What a witness can say.

/// What a witness answers to a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The line of the cosignature.
    Cosigned(String),
    /// It is no submission, or one whose log became shorter.
    Malformed,
    UnknownLog,
    /// None of the log's keys has signed it.
    Unsigned,
    /// The log is known at another size.
    OtherSize(u64),
    /// At this size the log had another root: it was forked.
    OtherRoot,
    /// It does not go on from what is known.
    Inconsistent,
}
