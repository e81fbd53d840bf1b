//! How the payment provider's objects name each other, and ours.
//!
//! Written for the pinned version of its interface, and lenient towards others: webhook
//! deliveries come in the version that the provider's dashboard says.

use serde::Deserialize;

use crate::types::ids::AccountId;

/// An identifier that the provider gave out: letters, digits, `-`, `_`, so that it can stand in
/// a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ProviderId(String);

impl ProviderId {
    /// `None` for what the provider never gives out; it allows itself 255 characters.
    pub fn parse(text: &str) -> Option<Self> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        let valid = !text.is_empty() && text.len() <= 255 && text.bytes().all(is_plain);
        valid.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ProviderId {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text).ok_or("no identifier of the payment provider")
    }
}

/// An object that the provider names by its id, or puts there whole when asked to.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Expandable<T> {
    Id(ProviderId),
    Whole(T),
}

/// What a reference can be resolved to.
pub trait Identified {
    fn id(&self) -> &ProviderId;
}

impl<T: Identified> Expandable<T> {
    pub fn id(&self) -> &ProviderId {
        match self {
            Self::Id(id) => id,
            Self::Whole(object) => object.id(),
        }
    }
}

/// What is left of a whole object of which only the id matters.
#[derive(Clone, Debug, Deserialize)]
pub struct Named {
    pub id: ProviderId,
}

impl Identified for Named {
    fn id(&self) -> &ProviderId {
        &self.id
    }
}

/// A reference of which only the id matters.
pub type Reference = Expandable<Named>;

/// What we wrote on an object when we made it.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct Metadata {
    pub account_id: Option<String>,
}

impl Metadata {
    /// The account that the object was made for.
    pub fn account(&self) -> Option<AccountId> {
        self.account_id.as_deref().and_then(AccountId::parse)
    }
}

/// A page of objects inside another.
#[derive(Clone, Debug, Deserialize)]
pub struct List<T> {
    pub data: Vec<T>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_never_leave_its_place_in_a_path() {
        for bad in ["", "a/b", "..", "a?b", "a%2fb", "a b", "ä", &"x".repeat(256)] {
            assert_eq!(ProviderId::parse(bad), None, "{bad}");
        }
        assert!(ProviderId::parse("cs_test_a1-B2").is_some());
    }
}
