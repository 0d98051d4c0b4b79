//! What of a schema is said in words, because its structure is not kept.

use serde_json::{Map, Value};

use super::null::target;
use crate::text::clean_line;

/// So many characters of a bound's value are said.
const BOUND_CHARS: usize = 64;

/// So many characters of a part that is left out are said.
const PART_CHARS: usize = 300;

/// The most values that are put into one such part where references are.
const MAX_VALUES: usize = 200;

/// The bounds that are said in words, where a schema has them.
const BOUNDS: [(&str, &str); 15] = [
    ("minimum", "at least"),
    ("maximum", "at most"),
    ("exclusiveMinimum", "more than"),
    ("exclusiveMaximum", "less than"),
    ("multipleOf", "a multiple of"),
    ("minLength", "characters at least:"),
    ("maxLength", "characters at most:"),
    ("minItems", "items at least:"),
    ("maxItems", "items at most:"),
    ("uniqueItems", "each item once:"),
    ("minProperties", "fields at least:"),
    ("maxProperties", "fields at most:"),
    ("pattern", "matches"),
    ("format", "format"),
    ("default", "by default"),
];

/// What is said as it stands, by its keyword.
const LEFT_OUT: [&str; 20] = [
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "patternProperties",
    "propertyNames",
    "unevaluatedProperties",
    "unevaluatedItems",
    "prefixItems",
    "additionalItems",
    "contains",
    "minContains",
    "maxContains",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
    "$dynamicRef",
];

/// The bounds of a schema.
pub(super) fn bounds(fields: &Map<String, Value>) -> Vec<String> {
    let said = BOUNDS.iter().filter_map(|(key, words)| {
        let value = fields.get(*key).filter(|value| !value.is_null())?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{words} {}", clean_line(&value, BOUND_CHARS)))
    });
    said.collect()
}

/// What every schema may have that is left out, in JSON Schema's own words.
pub(super) fn left_out(root: &Value, fields: &Map<String, Value>) -> Vec<String> {
    let found = LEFT_OUT.iter().filter_map(|key| Some(part(root, key, fields.get(*key)?)));
    found.collect()
}

/// A part of a schema under its keyword.
pub(super) fn part(root: &Value, key: &str, value: &Value) -> String {
    format!("`{key}` {}", json(root, value))
}

/// A schema on one line, with what its references mean in their place.
pub(super) fn json(root: &Value, value: &Value) -> String {
    let mut left = MAX_VALUES;
    clean_line(&inlined(root, value, &mut left).to_string(), PART_CHARS)
}

fn inlined(root: &Value, value: &Value, left: &mut usize) -> Value {
    let Some(fewer) = left.checked_sub(1) else { return Value::from("…") };
    *left = fewer;
    match value {
        Value::Array(items) => items.iter().map(|item| inlined(root, item, left)).collect(),
        Value::Object(fields) => {
            let reference = fields.get("$ref").and_then(Value::as_str);
            if let Some(target) = reference.and_then(|reference| target(root, reference)) {
                return inlined(root, target, left);
            }
            let fields = fields.iter();
            fields.map(|(name, field)| (name.clone(), inlined(root, field, left))).collect()
        }
        other => other.clone(),
    }
}
