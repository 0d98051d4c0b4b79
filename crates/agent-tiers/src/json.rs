//! JSON that is too long for where it goes.

use std::io;

use agent_tool_core::clip;
use serde_json::Value;

/// How many characters a remark on what was cut takes at most.
pub(crate) const REMARK_CHARS: usize = 48;

/// How often the strings of a value are cut shorter before its structure is given up: escapes may
/// make a string longer than it was counted.
const TRIES: usize = 3;

/// How many characters a value has as JSON; none where it has more than `limit`.
pub(crate) fn chars_within(value: &Value, limit: usize) -> Option<usize> {
    let mut counter = Counter { chars: 0, limit };
    serde_json::to_writer(&mut counter, value).ok().map(|()| counter.chars)
}

/// A value of at most `limit` characters as JSON, which says where it was cut.
///
/// Long strings are cut at the cost of the longest, so that the value keeps its structure. Where it
/// is the structure that is too long, the value becomes its JSON as one text, cut.
pub(crate) fn clipped(value: &Value, limit: usize) -> Value {
    let mut lengths = Vec::new();
    let mut others = chars_within(value, usize::MAX).unwrap_or(usize::MAX);
    each_string(value, &mut |text| {
        let length = text.chars().count();
        others = others.saturating_sub(length);
        lengths.push(length);
    });
    let mut cap = fair_cap(lengths, limit.saturating_sub(others));
    for _ in 0..TRIES {
        let Some(chars) = cap.filter(|cap| *cap > REMARK_CHARS) else { break };
        let shorter = with_strings(value, chars);
        if chars_within(&shorter, limit).is_some() {
            return shorter;
        }
        cap = Some(chars / 2);
    }
    // As a string each quote of the JSON is escaped, which at most doubles it.
    let text = value.to_string();
    let whole = clip(&text, limit.saturating_sub(REMARK_CHARS)).text;
    match chars_within(&Value::String(whole.clone()), limit) {
        Some(_) => Value::String(whole),
        None => Value::String(clip(&text, limit.saturating_sub(REMARK_CHARS) / 2).text),
    }
}

/// The most that each of several lengths may keep so that all together are within the limit: the
/// short ones stay whole at the cost of the long ones. None where nothing need be cut.
pub(crate) fn fair_cap(mut lengths: Vec<usize>, limit: usize) -> Option<usize> {
    lengths.sort_unstable();
    let mut left = limit;
    let mut others = lengths.len();
    for length in lengths {
        if length > left / others {
            return Some(left / others);
        }
        left -= length;
        others -= 1;
    }
    None
}

fn each_string(value: &Value, tell: &mut impl FnMut(&str)) {
    match value {
        Value::String(text) => tell(text),
        Value::Array(values) => values.iter().for_each(|value| each_string(value, tell)),
        Value::Object(fields) => fields.values().for_each(|value| each_string(value, tell)),
        _ => {}
    }
}

/// The value with each string of at most `cap` characters, remarks included.
fn with_strings(value: &Value, cap: usize) -> Value {
    match value {
        Value::String(text) if text.chars().nth(cap).is_some() => {
            Value::String(clip(text, cap.saturating_sub(REMARK_CHARS)).text)
        }
        Value::Array(values) => values.iter().map(|value| with_strings(value, cap)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| (key.clone(), with_strings(value, cap)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

/// Counts characters and stops at the first that is too many.
struct Counter {
    chars: usize,
    limit: usize,
}

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // Every byte begins a character, save those that go on with one.
        self.chars += bytes.iter().filter(|byte| **byte & 0xC0 != 0x80).count();
        if self.chars > self.limit {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use serde_json::json;

    use super::*;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<i32>().prop_map(Value::from),
            "[a\"\\\\\n\u{1}é]{0,400}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 16, 4, |inner| {
            prop_oneof![
                vec(inner.clone(), 0..4).prop_map(Value::from),
                vec(("[a-z]{1,20}", inner), 0..4)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_was_clipped_is_within_the_limit(value in value(), limit in 400_usize..2_000) {
            let json = value.to_string();
            let fits = json.chars().count() <= limit;
            prop_assert_eq!(chars_within(&value, limit), fits.then(|| json.chars().count()));
            if !fits {
                let clipped = clipped(&value, limit);
                prop_assert!(clipped.to_string().chars().count() <= limit, "{}", clipped);
                prop_assert!(clipped.to_string().contains(" more character"), "{}", clipped);
            }
        }
    }

    #[test]
    fn the_structure_stays_and_short_strings_stay_whole() {
        let long = json!({"path": "a.rs", "content": "x".repeat(5_000), "n": [1, true, null]});
        let clipped = clipped(&long, 400);
        assert_eq!((&clipped["path"], &clipped["n"]), (&long["path"], &long["n"]));
        let content = clipped["content"].as_str().expect("a string");
        assert!(content.starts_with("xxx") && content.ends_with(" more characters"), "{content}");
    }

    #[test]
    fn a_structure_that_is_too_long_becomes_its_text() {
        let numbers = Value::from((0..1_000).collect::<Vec<_>>());
        let clipped = clipped(&numbers, 200);
        let text = clipped.as_str().expect("a text");
        assert!(text.starts_with("[0,1,2,") && text.ends_with(" more characters"), "{text}");
    }
}
