//! Placeholders in the values of a script.

use serde_json::Value;

/// Puts values in place of `${name}`. A string that is one placeholder becomes the value itself; inside
/// a longer string, and in the name of a field, it becomes text. A name that `value` does not know stays as it is.
pub(crate) fn fill(template: &Value, value: &dyn Fn(&str) -> Option<Value>) -> Value {
    match template {
        Value::String(text) => fill_text(text, value),
        Value::Array(items) => items.iter().map(|item| fill(item, value)).collect(),
        Value::Object(fields) => {
            let key = |name: &str| shown(&fill_text(name, value));
            fields.iter().map(|(name, field)| (key(name), fill(field, value))).collect()
        }
        other => other.clone(),
    }
}

/// As [`fill`], for a text alone.
pub(crate) fn fill_text(text: &str, value: &dyn Fn(&str) -> Option<Value>) -> Value {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, name, after)) = placeholder(rest) {
        match value(name) {
            Some(whole) if name.len() + 3 == text.len() => return whole,
            Some(part) => filled.extend([before, &shown(&part)]),
            None => filled.extend([before, "${", name, "}"]),
        }
        rest = after;
    }
    Value::String(filled + rest)
}

/// A value as it stands in a text.
pub(crate) fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn placeholder(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once("${")?;
    let (name, after) = rest.split_once('}')?;
    Some((before, name, after))
}
