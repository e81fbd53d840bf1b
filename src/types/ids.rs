//! Identifiers, which are valid once parsed, and random values.

pub mod id_param;

use std::fmt;

use chrono::{DateTime, Utc};
use rand::RngExt;
use rand::distr::{Alphanumeric, SampleString};
use rand::rngs::SysRng;
use uuid::Uuid;

use id_param::{IdParam, TextId};

/// `len` random letters and digits from the system's random source (5.95 bits each).
pub fn random_text(len: usize) -> String {
    Alphanumeric.sample_string(&mut SystemRandom, len)
}

pub fn random_bytes<const N: usize>() -> [u8; N] {
    SystemRandom.random()
}

pub fn random_seed() -> String {
    hex::encode(random_bytes::<32>())
}

/// Like [`random_text`], but from a thread-local generator, which needs no system call: for values
/// that must be unique but not secret.
pub fn unique_text(len: usize) -> String {
    Alphanumeric.sample_string(&mut rand::rng(), len)
}

pub const MAX_WRONG_TRIES: i32 = 5;

pub fn random_code() -> String {
    format!("{:06}", SystemRandom.random_range(0..1_000_000_u32))
}

pub fn uuid_v7(now: DateTime<Utc>) -> Uuid {
    let millis = u64::try_from(now.timestamp_millis()).unwrap_or_default();
    uuid::Builder::from_unix_timestamp_millis(millis, &rand::rng().random()).into_uuid()
}

/// The system's random source as an infallible generator: without it no secret can be created, so a
/// failure ends the request.
struct SystemRandom;

impl rand::TryRng for SystemRandom {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(SysRng.try_next_u32().expect("the system's random source answers"))
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(SysRng.try_next_u64().expect("the system's random source answers"))
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        SysRng.try_fill_bytes(bytes).expect("the system's random source answers");
        Ok(())
    }
}

fn is_token(text: &str, max_len: usize) -> bool {
    !text.is_empty()
        && text.len() <= max_len
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// Declares a text identifier of ASCII letters, digits, `-` and `_` up to a length in bytes.
macro_rules! token_id {
    ($(#[$doc:meta])* $name:ident, $max_len:tt, $example:tt) => {
        $(#[$doc])*
        #[derive(
            Clone,
            Debug,
            PartialEq,
            Eq,
            Hash,
            PartialOrd,
            Ord,
            serde::Serialize,
            sqlx::Type,
            schemars::JsonSchema,
            utoipa::ToSchema,
        )]
        #[serde(transparent)]
        #[sqlx(transparent)]
        #[schema(pattern = "^[A-Za-z0-9_-]+$", min_length = 1, max_length = $max_len, example = $example)]
        pub struct $name(
            #[schemars(length(min = 1, max = $max_len), regex(pattern = "^[A-Za-z0-9_-]+$"))] String,
        );

        impl $name {
            /// `None` unless `text` has 1 to the allowed number of letters, digits, `-` and `_`.
            pub fn parse(text: &str) -> Option<Self> {
                is_token(text, $max_len).then(|| Self(text.to_owned()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }

        impl TextId for $name {
            fn from_text(text: &str) -> Option<Self> {
                Self::parse(text)
            }
        }

        /// For values from the database, which were validated when they were stored.
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(text)
            }
        }
    };
}

token_id!(
    /// An account's identifier, `acc_` and 20 random letters and digits.
    AccountId,
    40,
    "acc_3vTqYb0wKd8mZr5LxN2h"
);
token_id!(
    /// A pixel's canonical id: 20 random letters and digits, of at most 40 allowed.
    PixelId,
    40,
    "Zr5LxN2h3vTqYb0wKd8m"
);
token_id!(
    /// What a script address may carry: a canonical pixel id or an alias, 1 to 80 characters.
    PixelRef,
    80,
    "Zr5LxN2h3vTqYb0wKd8m"
);
token_id!(
    /// A visitor's id, made by the consent tag: 1 to 128 characters.
    VisitorId,
    128,
    "v-0wKd8mZr5LxN2h3vTqYb"
);

impl AccountId {
    pub fn random() -> Self {
        Self(format!("acc_{}", random_text(20)))
    }
}

/// No random id contains an underscore.
const TEST_PREFIX: &str = "test_";

impl PixelId {
    pub fn random() -> Self {
        Self(random_text(20))
    }

    pub fn test_id(&self) -> Self {
        Self(format!("{TEST_PREFIX}{}", self.0))
    }

    /// The pixel that a test id belongs to; `None` for any other id.
    pub fn tested(&self) -> Option<Self> {
        self.0.strip_prefix(TEST_PREFIX).and_then(Self::parse)
    }
}

/// A pixel's id as a client sent it.
pub type PixelParam = IdParam<PixelId>;

/// Displays a malformed id as empty, so that no answer repeats it.
impl fmt::Display for PixelParam {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.as_id().map_or("", PixelId::as_str))
    }
}

impl PixelRef {
    pub fn random_alias() -> Self {
        Self(random_text(10))
    }

    pub fn tested(&self) -> Option<Self> {
        self.0.strip_prefix(TEST_PREFIX).and_then(Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_has_only_letters_digits_dashes_and_underscores() {
        assert!(PixelId::parse("aZ09-_").is_some());
        for bad in ["", "a b", "a/b", "ä", "a\0", &"x".repeat(41)] {
            assert_eq!(PixelId::parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn random_values_have_their_form() {
        assert_eq!(random_text(43).len(), 43);
        assert!(random_text(43).bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert!(
            random_code().len() == 6 && random_code().bytes().all(|byte| byte.is_ascii_digit())
        );
        assert_ne!(random_text(20), random_text(20));
        assert!(PixelId::parse(PixelId::random().as_str()).is_some());
        assert_eq!(PixelId::random().tested(), None);
    }

    #[test]
    fn a_malformed_pixel_id_is_not_repeated() {
        let pixel_id = PixelId::random();
        let sent = PixelParam::from(pixel_id.as_str());
        assert_eq!(sent.as_id(), Some(&pixel_id));
        assert_eq!(sent.to_string(), pixel_id.to_string());
        for text in ["", " ", "a b", "../a", "%41", "a\0", &"x".repeat(41)] {
            let sent = PixelParam::from(text);
            assert_eq!((sent.as_id(), sent.to_string()), (None, String::new()), "{text:?}");
        }
        assert_ne!(PixelParam::from("Shop"), PixelParam::from("shop"), "case matters");
    }

    #[test]
    fn a_test_id_names_one_pixel() {
        let pixel_id = PixelId::random();
        assert_eq!(pixel_id.test_id().tested(), Some(pixel_id));
        for name in ["test_", "test", "Test_shop", "mytest_shop"] {
            assert_eq!(PixelRef::from(name.to_owned()).tested(), None, "{name}");
        }
    }
}
