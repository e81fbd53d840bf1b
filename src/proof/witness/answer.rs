#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Cosigned(String),
    /// Not a submission, or one whose log became shorter.
    Malformed,
    UnknownLog,
    /// Not signed by any of the log's keys.
    Unsigned,
    /// The log is known at another size.
    OtherSize(u64),
    /// The log had another root at this size: it was forked.
    OtherRoot,
    /// It does not extend the known state.
    Inconsistent,
}
