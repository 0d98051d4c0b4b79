//! JSON in which no object names a thing twice: what one reader takes and another one drops must not be what was approved.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value, map::Entry};

/// Reads a text of JSON.
///
/// # Errors
///
/// Where it is no JSON, and where a name comes twice in one object.
pub(crate) fn read(text: &[u8]) -> serde_json::Result<Value> {
    serde_json::from_slice(text).map(|Unambiguous(value)| value)
}

struct Unambiguous(Value);

impl<'de> Deserialize<'de> for Unambiguous {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Reader).map(Self)
    }
}

struct Reader;

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value of JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut given: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Unambiguous(item)) = given.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut given: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some((name, Unambiguous(value))) = given.next_entry::<String, _>()? {
            match fields.entry(name) {
                Entry::Vacant(field) => field.insert(value),
                Entry::Occupied(field) => {
                    let name = field.key();
                    return Err(A::Error::custom(format!(
                        "the name {name:?} comes twice in one object"
                    )));
                }
            };
        }
        Ok(fields.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_what_serde_json_reads() {
        let text = br#"{"a": [null, true, -1, 18446744073709551615, 1.5e3, "\u00e9\ud83d\ude00"], "b": {"a": {}}}"#;
        assert_eq!(read(text).unwrap(), serde_json::from_slice::<Value>(text).unwrap());
    }

    #[test]
    fn a_name_comes_once() {
        for text in [r#"{"a": 1, "a": 1}"#, r#"[{"b": {"a": 1, "c": 2, "\u0061": 3}}]"#] {
            let error = read(text.as_bytes()).unwrap_err();
            assert!(
                error.to_string().contains(r#"the name "a" comes twice in one object"#),
                "{error}"
            );
        }
        assert!(read(br#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]}"#).is_ok());
    }
}
