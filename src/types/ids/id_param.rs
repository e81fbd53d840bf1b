//! Ids in the inputs of capabilities.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer};
use uuid::Uuid;

/// An id that has a text form.
pub trait TextId: Sized {
    /// `None` if the text is malformed.
    fn from_text(text: &str) -> Option<Self>;
}

impl TextId for Uuid {
    fn from_text(text: &str) -> Option<Self> {
        Self::try_parse(text).ok()
    }
}

/// An id as a client sent it, unless it is malformed. Reading never fails, so that a capability decides when and how
/// it refuses a malformed id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdParam<T>(Option<T>);

impl<T> IdParam<T> {
    /// `None` if it is malformed.
    pub fn as_id(&self) -> Option<&T> {
        self.0.as_ref()
    }

    /// `None` if it is malformed.
    pub fn into_id(self) -> Option<T> {
        self.0
    }
}

impl<T: TextId> From<&str> for IdParam<T> {
    fn from(text: &str) -> Self {
        Self(T::from_text(text))
    }
}

impl<T: TextId> From<T> for IdParam<T> {
    fn from(id: T) -> Self {
        Self(Some(id))
    }
}

impl<'de, T: TextId> Deserialize<'de> for IdParam<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::from(text.as_str()))
    }
}

/// The schema of a string, because a malformed id is not invalid input.
impl<T> JsonSchema for IdParam<T> {
    fn inline_schema() -> bool {
        String::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        String::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        String::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ids::VisitorId;

    #[test]
    fn a_malformed_id_is_read_and_is_no_id() {
        let visitor_id = VisitorId::parse("v-1").unwrap();
        let sent = IdParam::<VisitorId>::from("v-1");
        assert_eq!(sent, IdParam::<VisitorId>::from(visitor_id.clone()));
        assert_eq!(sent.into_id(), Some(visitor_id));
        for text in ["", " ", "a b", "../a", "a\0", &"x".repeat(129)] {
            assert_eq!(IdParam::<VisitorId>::from(text).into_id(), None, "{text:?}");
        }
    }

    #[test]
    fn an_id_is_described_and_read_like_a_text() {
        assert_eq!(schemars::schema_for!(IdParam<VisitorId>), schemars::schema_for!(String));
        let read = serde_json::from_str::<IdParam<VisitorId>>(r#""a b""#).unwrap();
        assert_eq!(read, IdParam::<VisitorId>::from("a b"));
        for wrong in ["7", "null", "[]", r#"{"Some": "shop"}"#] {
            let refusal = serde_json::from_str::<IdParam<VisitorId>>(wrong).unwrap_err();
            let of_text = serde_json::from_str::<String>(wrong).unwrap_err();
            assert_eq!(refusal.to_string(), of_text.to_string(), "{wrong}");
        }
    }
}
