use crate::error::{Error, Result};

/// The sites that a key or a member may use: all of the account, or those of some pixels. Deleted pixels
/// stay listed, so that a restriction never becomes wider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sites(Option<Vec<String>>);

impl Sites {
    pub const ALL: Self = Self(None);

    pub fn are_all(&self) -> bool {
        self.0.is_none()
    }

    pub fn include(&self, pixel_id: &str) -> bool {
        self.0.as_ref().is_none_or(|listed| listed.iter().any(|listed| listed == pixel_id))
    }

    /// Whether all of these pixels are included; `None` stands for every pixel of the account.
    pub fn include_all(&self, pixel_ids: Option<&[String]>) -> bool {
        match pixel_ids {
            Some(pixel_ids) => pixel_ids.iter().all(|pixel_id| self.include(pixel_id)),
            None => self.are_all(),
        }
    }

    /// The pixels; `None` for all of the account.
    pub fn listed(&self) -> Option<&[String]> {
        self.0.as_deref()
    }

    /// Refuses a restricted caller, for operations on the account as a whole.
    pub fn require_all(&self) -> Result<()> {
        self.are_all().then_some(()).ok_or(Error::RestrictedToSites)
    }
}

impl From<Option<Vec<String>>> for Sites {
    fn from(listed: Option<Vec<String>>) -> Self {
        Self(listed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_without_entries_includes_no_site() {
        let none = Sites::from(Some(Vec::new()));
        assert!(!none.are_all() && !none.include("a") && !none.include_all(None));
        assert!(none.require_all().is_err());
    }

    #[test]
    fn a_restriction_includes_only_what_it_lists() {
        let some = Sites::from(Some(vec!["a".to_owned(), "b".to_owned()]));
        assert!(some.include("a") && !some.include("c"));
        assert!(some.include_all(Some(&["b".to_owned()])));
        assert!(!some.include_all(Some(&["a".to_owned(), "c".to_owned()])));
        assert!(Sites::ALL.include("c") && Sites::ALL.include_all(None));
    }
}
