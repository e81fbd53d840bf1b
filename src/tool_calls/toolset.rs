//! The sets of tools. The address of the tool server selects what its list shows.

use crate::types::text_enum::text_enum;

text_enum! {
    /// A subject of tools.
    pub enum Subject {
        Pixels = "pixels",
        Contacts = "contacts",
        Privacy = "privacy",
        Webhooks = "webhooks",
        Account = "account",
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Toolset {
    /// `/mcp`: installing, the log and the check, and three tools that find and call all others.
    Usual,
    /// `/mcp/readonly`: the tools that read. No others can be called.
    Reading,
    /// `/mcp/x/{subject}`.
    Of(Subject),
    /// `/mcp/x/all`, with the schemas of answers.
    All,
}

impl Toolset {
    /// Parses the last segment of an address.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "all" => Some(Self::All),
            other => Subject::parse(other).map(Self::Of),
        }
    }
}
