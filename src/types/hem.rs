use std::fmt;

use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use utoipa::ToSchema;

use super::ids::id_param::TextId;
use crate::error::{Error, Result};

/// A hashed email address: 32 bytes, written as 64 hex digits.
// No `Debug`, because it identifies a person.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, sqlx::Type, JsonSchema, ToSchema)]
#[sqlx(transparent)]
#[schema(value_type = String, pattern = "^[0-9a-f]{64}$")]
pub struct Hem(#[schemars(with = "String", regex(pattern = "^[0-9a-f]{64}$"))] [u8; 32]);

impl Hem {
    /// Parses 64 hex digits, of either case.
    pub fn parse(text: &str) -> Result<Self> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text, &mut bytes).map_err(|_| Error::HemMalformed)?;
        Ok(Self(bytes))
    }

    /// 64 lowercase hex digits.
    pub fn to_hex(self) -> String {
        hex::encode(self.0)
    }
}

impl TextId for Hem {
    fn from_text(text: &str) -> Option<Self> {
        Self::parse(text).ok()
    }
}

impl From<[u8; 32]> for Hem {
    fn from(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }
}

impl fmt::Debug for Hem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("[redacted]")
    }
}

impl Serialize for Hem {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.to_hex())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hem_is_64_hex_digits_of_either_case() {
        let shown = |hem: &Hem| serde_json::to_string(hem).unwrap();
        let hem = Hem::parse(&"aB".repeat(32)).unwrap();
        assert_eq!(shown(&hem), format!("\"{}\"", "ab".repeat(32)));
        assert_eq!(format!("{hem:?}"), "[redacted]");
        for bad in ["", "ab", &"ab".repeat(33), &"ag".repeat(32), &"ä".repeat(32), &"é".repeat(64)]
        {
            assert!(matches!(Hem::parse(bad), Err(Error::HemMalformed)), "{bad}");
        }
    }
}
