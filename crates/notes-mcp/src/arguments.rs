//! Arguments held to their limits.

use std::ops::RangeInclusive;

use serde_json::{Map, Value, json};

use crate::{level::Level, refusal::Refusal};

/// The arguments of one call, of which every one is known.
#[derive(Debug)]
pub(crate) struct Arguments<'a>(&'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// An argument that is not known is refused: a bound that a caller misspelt must not be taken for one that holds.
    pub(crate) fn new(given: &'a Map<String, Value>, known: &[&str]) -> Result<Self, Refusal> {
        match given.keys().find(|name| !known.contains(&name.as_str())) {
            None => Ok(Self(given)),
            Some(name) if known.is_empty() => {
                Err(Refusal::invalid(format!("there is no argument {name:?}; it takes none")))
            }
            Some(name) => Err(Refusal::invalid(format!(
                "there is no argument {name:?}; it takes {}",
                known.join(", ")
            ))),
        }
    }

    /// A whole number, in the sense of JSON Schema: `5.0` is one.
    pub(crate) fn integer(
        &self,
        name: &str,
        range: RangeInclusive<u64>,
        default: u64,
    ) -> Result<u64, Refusal> {
        let Some(value) = self.0.get(name) else { return Ok(default) };
        let whole = |number: &f64| number.fract() == 0.0 && (0.0..=1e9).contains(number);
        let number = value.as_f64().filter(whole).map(|number| number as u64);
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            let (least, most) = range.into_inner();
            Refusal::invalid(format!("`{name}` is a whole number from {least} to {most}"))
        })
    }

    /// A text that has to be given, whose length in characters lies in `range`.
    pub(crate) fn text(
        &self,
        name: &str,
        range: RangeInclusive<usize>,
    ) -> Result<&'a str, Refusal> {
        let text = self.0.get(name).and_then(Value::as_str);
        text.filter(|text| range.contains(&text.chars().count())).ok_or_else(|| {
            let (least, most) = range.into_inner();
            let length =
                if least == most { most.to_string() } else { format!("{least} to {most}") };
            Refusal::invalid(format!("`{name}` is a text of {length} characters"))
        })
    }

    pub(crate) fn level(&self) -> Result<Option<Level>, Refusal> {
        let Some(value) = self.0.get("level") else { return Ok(None) };
        value.as_str().and_then(Level::named).map(Some).ok_or_else(|| {
            Refusal::invalid(format!("`level` is one of {}", Level::NAMES.join(", ")))
        })
    }
}

/// The schema of `level`, which two tools take.
pub(crate) fn level_schema() -> Value {
    json!({
        "type": "string",
        "enum": Level::NAMES,
        "description": "Only lines of exactly this level. Lines that name none, such as those of a traceback, are left out then.",
    })
}
