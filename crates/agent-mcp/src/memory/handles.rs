//! What could be a handle: a text that stands for something, and for nothing else.

use std::collections::BTreeSet;

use serde_json::Value;

/// The shortest handle, in characters: what is shorter is a word or a number that stands everywhere.
const SHORTEST: usize = 6;

/// The longest one.
const LONGEST: usize = 256;

/// From this length on a handle need not have a digit.
const LONG: usize = 20;

/// The most handles that are kept of one result.
const MAX_HANDLES: usize = 1_000;

/// Whether a value could be a handle: 6 to 256 characters without a blank, with a digit among them or of 20 at least. `warning`,
/// `main` and `200` are none, and what they are found in would say nothing about them.
pub(crate) fn is_handle(value: &str) -> bool {
    let chars = value.chars().count();
    let fits = (SHORTEST..=LONGEST).contains(&chars);
    fits && !value.contains(|c: char| c.is_whitespace() || c.is_control())
        && (chars >= LONG || value.contains(|c: char| c.is_ascii_digit()))
}

/// The handles that are values of a structure.
pub(super) fn in_value(value: &Value) -> BTreeSet<String> {
    let mut values = BTreeSet::new();
    collect(value, &mut values);
    values
}

/// The handles that are words of a text.
pub(super) fn in_words(text: &str) -> BTreeSet<String> {
    let apart = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;|".contains(c);
    let words = text.split(apart).map(|word| word.trim_end_matches(['.', ':', '!', '?']));
    words.filter(|word| is_handle(word)).take(MAX_HANDLES).map(str::to_owned).collect()
}

fn collect(value: &Value, values: &mut BTreeSet<String>) {
    match value {
        _ if values.len() >= MAX_HANDLES => {}
        Value::String(text) if is_handle(text) => drop(values.insert(text.clone())),
        Value::Array(items) => items.iter().for_each(|item| collect(item, values)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, values)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::is_handle;

    #[test]
    fn a_handle_is_told_from_a_word() {
        for handle in
            ["plan-7f3a", "123456", "0f8fad5b-d9cb-469f-a165-70867728950e", "aVeryLongOpaqueHandle"]
        {
            assert!(is_handle(handle), "{handle}");
        }
        for none in ["warning", "main", "200", "two words 12", "", "a1", "src/app.log"] {
            assert!(!is_handle(none), "{none}");
        }
    }
}
