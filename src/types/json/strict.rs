//! Strict JSON: no duplicate keys, no NUL characters. Readers interpret a duplicate key
//! differently, which a signed receipt must not permit (RFC 8785 requires I-JSON, RFC 7493);
//! PostgreSQL text cannot contain NUL. A text is examined first and then parsed into its type: two
//! passes over some hundred bytes are faster than an intermediate value.

use std::borrow::Cow;
use std::collections::HashSet;
use std::fmt;

use serde::de::{self, Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// serde_json interprets an object with such a key differently.
const RESERVED: &str = "$serde_json::private::";

pub fn examine(bytes: &[u8]) -> Result<(), serde_json::Error> {
    serde_json::from_slice::<Examined>(bytes).map(drop)
}

pub fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    examine(bytes)?;
    serde_json::from_slice(bytes)
}

/// Parses an object into a type, equally strictly, without an intermediate value.
pub fn read_object<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, serde_json::Error> {
    // Serde would parse a struct from an array as well.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(de::Error::custom("must be a JSON object"));
    }
    examine(bytes)?;
    serde_json::from_slice(bytes)
}

/// A value that is read from an object only: serde would parse a struct from an array as well.
#[derive(Debug)]
pub struct Object<T>(pub T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let members = Map::<String, Value>::deserialize(deserializer)?;
        T::deserialize(Value::Object(members)).map(Self).map_err(de::Error::custom)
    }
}

struct Examined;

impl<'de> Deserialize<'de> for Examined {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Examiner).map(|()| Self)
    }
}

struct Examiner;

impl<'de> Visitor<'de> for Examiner {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<(), E> {
        without_nul(text).map(drop)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element::<Examined>()?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut keys = Keys::default();
        while let Some(Key(key)) = entries.next_key()? {
            if key.starts_with(RESERVED) {
                return Err(de::Error::custom("must not have this key"));
            }
            keys.add(without_nul(key)?)?;
            entries.next_value::<Examined>()?;
        }
        Ok(())
    }
}

/// A key of the text, copied only when it contains an escape.
#[derive(serde::Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Default)]
struct Keys<'a> {
    few: Vec<Cow<'a, str>>,
    many: HashSet<Cow<'a, str>>,
}

impl<'a> Keys<'a> {
    /// More keys than this use a hash set, so that the time does not grow with their square.
    const FEW: usize = 16;

    fn add<E: de::Error>(&mut self, key: Cow<'a, str>) -> Result<(), E> {
        let is_new = if self.few.len() < Self::FEW {
            let is_new = !self.few.contains(&key);
            self.few.push(key);
            is_new
        } else {
            !self.few.contains(&key) && self.many.insert(key)
        };
        if is_new { Ok(()) } else { Err(E::custom("must not have a key twice")) }
    }
}

fn without_nul<T: AsRef<str>, E: de::Error>(text: T) -> Result<T, E> {
    if text.as_ref().as_bytes().contains(&0) {
        return Err(E::custom("must not hold NUL characters"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::{Value, parse, read_object};
    use serde_json::json;

    #[test]
    fn ordinary_json_is_read_as_it_is() {
        let text = r#"{"a":[1,-2,1.5,true,null,"ü"],"b":{"c":18446744073709551615}}"#;
        let expected = json!({"a": [1, -2, 1.5, true, null, "ü"], "b": {"c": u64::MAX}});
        assert_eq!(parse(text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn a_type_is_read_from_an_object_only_and_as_strictly() {
        #[derive(Debug, PartialEq, serde::Deserialize)]
        struct Pair {
            a: String,
            b: Option<u8>,
        }
        let read = |text: &str| read_object::<Pair>(text.as_bytes()).ok();
        let pair = |a: &str, b| Some(Pair { a: a.to_owned(), b });
        assert_eq!(
            read(r#" {"a":"\u00fc\\u0000","b":7,"c":[{"d":1},{"d":1}]}"#),
            pair("ü\\u0000", Some(7))
        );
        assert_eq!(read(r#"{"a":""}"#), pair("", None));
        for bad in [
            r#"["x",7]"#,
            r#"{"a":"x","c":1,"c":2}"#,
            r#"{"a":"x","\u0063":1,"c":2}"#,
            r#"{"a":"x","c":{"d":"\u0000"}}"#,
            r#"{"a":"x"} {}"#,
            r#"{"a":7}"#,
            "",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_duplicate_is_found_among_many_keys() {
        let object = |last: usize| {
            let keys = (0..1_000).chain([last]).map(|key| format!("\"{key}\":0"));
            format!("{{{}}}", keys.collect::<Vec<_>>().join(","))
        };
        let is_read = |last| read_object::<Value>(object(last).as_bytes()).is_ok();
        assert!(is_read(1_000));
        assert!(!is_read(3) && !is_read(500) && !is_read(999));
    }

    #[test]
    fn duplicate_keys_nul_and_broken_text_are_refused() {
        for bad in [
            r#"{"a":1,"a":2}"#,
            r#"[{"a":{"b":1,"b":1}}]"#,
            r#""a\u0000""#,
            r#"{"\u0000":1}"#,
            r#"{"$serde_json::private::RawValue":"{\"a\":1,\"a\":2}"}"#,
            r#"{"\u0024serde_json::private::Number":"1"}"#,
            "{",
            "",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
            assert!(read_object::<Value>(format!("{{\"in\":{bad}}}").as_bytes()).is_err(), "{bad}");
        }
        assert!(parse(b"\"\xff\"").is_err());
    }
}
