//! References between the payment provider's objects. Written for the pinned API version, but other
//! versions are accepted too, because the version of webhook deliveries is set in the provider's dashboard.

use serde::Deserialize;

use crate::types::ids::AccountId;

/// An identifier of the provider: letters, digits, `-`, `_`, so that it can be part of a path.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct ProviderId(String);

impl ProviderId {
    /// `None` for text that the provider never generates, including more than 255 characters.
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

/// A reference by id, or the whole object where its expansion was requested.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Expandable<T> {
    Id(ProviderId),
    Whole(T),
}

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

#[derive(Clone, Debug, Deserialize)]
pub struct Named {
    pub id: ProviderId,
}

impl Identified for Named {
    fn id(&self) -> &ProviderId {
        &self.id
    }
}

pub type Reference = Expandable<Named>;

#[derive(Clone, Debug, Default, Deserialize)]
pub struct Metadata {
    pub account_id: Option<String>,
}

impl Metadata {
    pub fn account(&self) -> Option<AccountId> {
        self.account_id.as_deref().and_then(AccountId::parse)
    }
}

#[derive(Clone, Debug, Deserialize)]
pub struct List<T> {
    pub data: Vec<T>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_can_never_leave_its_segment_of_a_path() {
        for bad in ["", "a/b", "..", "a?b", "a%2fb", "a b", "ä", &"x".repeat(256)] {
            assert_eq!(ProviderId::parse(bad), None, "{bad}");
        }
        assert!(ProviderId::parse("cs_test_a1-B2").is_some());
    }
}
