use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Visit {
    Untouched,
    Declined,
    AcceptedThenWithdrawn,
    Gpc,
    Returning,
    Blocked,
}

impl Visit {
    /// All visits, in the order in which they are made.
    pub const ALL: [Self; 6] = [
        Self::Untouched,
        Self::Declined,
        Self::AcceptedThenWithdrawn,
        Self::Gpc,
        Self::Returning,
        Self::Blocked,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Untouched => "untouched",
            Self::Declined => "declined",
            Self::AcceptedThenWithdrawn => "accepted_then_withdrawn",
            Self::Gpc => "gpc",
            Self::Returning => "returning",
            Self::Blocked => "blocked",
        }
    }

    pub fn has_choice(self) -> bool {
        matches!(self, Self::Declined | Self::AcceptedThenWithdrawn | Self::Returning)
    }
}
