/// Declares an enum that is stored and shown as the given text.
macro_rules! text_enum {
    ($(#[$doc:meta])* $visibility:vis enum $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:tt),+ $(,)? }) => {
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, schemars::JsonSchema, utoipa::ToSchema)]
        $(#[$doc])*
        $visibility enum $name { $($(#[$variant_doc])* #[serde(rename = $text)] $variant),+ }

        impl $name {
            /// All values, in the order of declaration.
            #[allow(dead_code, reason = "not every list of words is walked")]
            pub const ALL: &'static [Self] = &[$(Self::$variant),+];

            /// The texts of all values.
            #[allow(dead_code, reason = "not every list of words is named in an error")]
            pub const WORDS: &'static [&'static str] = &[$($text),+];

            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text),+ }
            }

            pub fn parse(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$variant),)+ _ => None }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str>>::deserialize(deserializer)?;
                Self::parse(&text).ok_or_else(|| serde::de::Error::unknown_variant(&text, &[$($text),+]))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        /// For columns whose `CHECK` admits these texts only.
        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self::parse(&text).unwrap_or_else(|| panic!(concat!("no ", stringify!($name), ": {}"), text))
            }
        }
    };
}
pub(crate) use text_enum;
