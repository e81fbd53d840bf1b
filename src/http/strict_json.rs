//! JSON as the service accepts it: no duplicate keys, no NUL characters.
//!
//! A duplicate key means different things to different readers, which a signed receipt must
//! never do (RFC 8785 asks for I-JSON, RFC 7493); PostgreSQL text cannot hold NUL.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Parses bytes as one strict JSON value.
pub fn parse(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice::<Strict>(bytes).map(|strict| strict.0)
}

struct Strict(Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

fn without_nul<E: de::Error>(text: String) -> Result<String, E> {
    if text.contains('\0') {
        return Err(E::custom("NUL characters are not allowed"));
    }
    Ok(text)
}

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Value, E> {
        without_nul(text.to_owned()).map(Value::String)
    }

    fn visit_string<E: de::Error>(self, text: String) -> Result<Value, E> {
        without_nul(text).map(Value::String)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(Value::Array(array))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let key = without_nul(key)?;
            let Strict(value) = entries.next_value()?;
            if object.insert(key, value).is_some() {
                return Err(de::Error::custom("duplicate key"));
            }
        }
        Ok(Value::Object(object))
    }
}

#[cfg(test)]
mod tests {
    use super::parse;
    use serde_json::json;

    #[test]
    fn ordinary_json_is_read_as_it_is() {
        let text = r#"{"a":[1,-2,1.5,true,null,"ü"],"b":{"c":18446744073709551615}}"#;
        let expected = json!({"a": [1, -2, 1.5, true, null, "ü"], "b": {"c": u64::MAX}});
        assert_eq!(parse(text.as_bytes()).unwrap(), expected);
    }

    #[test]
    fn duplicate_keys_nul_and_broken_text_are_refused() {
        for bad in [
            r#"{"a":1,"a":2}"#,
            r#"[{"a":{"b":1,"b":1}}]"#,
            r#""a\u0000""#,
            r#"{"\u0000":1}"#,
            "{",
            "",
        ] {
            assert!(parse(bad.as_bytes()).is_err(), "{bad}");
        }
        assert!(parse(b"\"\xff\"").is_err());
    }
}
