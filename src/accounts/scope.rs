//! What a key, or a member, may ask for.

use crate::error::{Error, Result};
use crate::types::text_enum::text_enum;

text_enum! {
    /// `full`: everything. `operate`: neither DELETE, suppressions, completing erasures, keys, billing
    /// nor `/v1/account`. `read`: only GET, without the export of the account.
    pub enum Scope {
        Full = "full",
        Operate = "operate",
        Read = "read",
    }
}

/// Who may ask for a capability, by scope: a part of its access.
pub trait Needs: Send + Sync + 'static {
    const SCOPES: &'static [Scope];

    /// Refuses a scope that is not among them.
    fn check(scope: Scope) -> Result<()> {
        Self::SCOPES.contains(&scope).then_some(()).ok_or(Error::ScopeNotAllowed)
    }

    /// Whether the scope allows more than reading.
    fn is_writing() -> bool {
        !Self::SCOPES.contains(&Scope::Read)
    }

    /// What [`Needs::check`] may refuse.
    fn refusals() -> Vec<Error> {
        match Self::SCOPES.len() == Scope::ALL.len() {
            true => Vec::new(),
            false => vec![Error::ScopeNotAllowed],
        }
    }
}

/// Reads what sites bring in: whoever has a key.
pub struct Reads;

impl Needs for Reads {
    const SCOPES: &'static [Scope] = Scope::ALL;
}

/// Reads what is about the account itself, its keys and its money.
pub struct Oversees;

impl Needs for Oversees {
    const SCOPES: &'static [Scope] = &[Scope::Full, Scope::Read];
}

/// Changes what can be changed back.
pub struct Operates;

impl Needs for Operates {
    const SCOPES: &'static [Scope] = &[Scope::Full, Scope::Operate];
}

/// Deletes, pays, or changes who may do what.
pub struct Governs;

impl Needs for Governs {
    const SCOPES: &'static [Scope] = &[Scope::Full];
}
