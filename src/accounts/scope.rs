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

pub trait Needs: Send + Sync + 'static {
    const SCOPES: &'static [Scope];

    fn check(scope: Scope) -> Result<()> {
        Self::SCOPES.contains(&scope).then_some(()).ok_or(Error::ScopeNotAllowed)
    }

    fn is_writing() -> bool {
        !Self::SCOPES.contains(&Scope::Read)
    }

    fn refusals() -> Vec<Error> {
        match Self::SCOPES.len() == Scope::ALL.len() {
            true => Vec::new(),
            false => vec![Error::ScopeNotAllowed],
        }
    }
}

pub struct Reads;

impl Needs for Reads {
    const SCOPES: &'static [Scope] = Scope::ALL;
}

/// Required to read the account itself, its keys and its payments.
pub struct Oversees;

impl Needs for Oversees {
    const SCOPES: &'static [Scope] = &[Scope::Full, Scope::Read];
}

/// Required for changes that can be undone.
pub struct Operates;

impl Needs for Operates {
    const SCOPES: &'static [Scope] = &[Scope::Full, Scope::Operate];
}

/// Required to delete, to pay, or to grant access.
pub struct Governs;

impl Needs for Governs {
    const SCOPES: &'static [Scope] = &[Scope::Full];
}
