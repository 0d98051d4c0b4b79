//! Sees a model that does the very same again and again.

use std::{
    collections::{HashMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
};

use agent_tool_core::Part;
use serde_json::Value;

use crate::{Call, CallResult};

/// After so many times with the same result the model is told.
pub const REPEATS_TOLD: u32 = 3;

/// After so many times with the same result the turn is ended.
pub const REPEATS_ENDED: u32 = 8;

/// The calls of a turn with their results. What repeats a call and brings the same result counts,
/// until something new comes: a call that was not made before, or another result.
#[derive(Debug, Default)]
pub(crate) struct Repeats {
    seen: HashSet<u64>,
    times: HashMap<u64, u32>,
}

impl Repeats {
    /// Takes a step, and gives for each call how often it came with this result while nothing new did.
    pub(crate) fn take(&mut self, calls: &[Call], results: &[CallResult]) -> Vec<u32> {
        let keys: Vec<u64> =
            calls.iter().zip(results).map(|(call, result)| key(call, result)).collect();
        if keys.iter().any(|key| !self.seen.contains(key)) {
            self.times.clear();
            self.seen.extend(&keys);
        }
        let counted = keys.iter().map(|key| {
            let times = self.times.entry(*key).or_default();
            *times += 1;
            *times
        });
        counted.collect()
    }
}

fn key(call: &Call, result: &CallResult) -> u64 {
    let mut hasher = DefaultHasher::new();
    call.name.hash(&mut hasher);
    call.malformed.hash(&mut hasher);
    hash_value(&call.args, &mut hasher);
    result.outcome.hash(&mut hasher);
    for part in &result.parts {
        match part {
            Part::Text { text } => text.hash(&mut hasher),
            Part::Image { mime, base64 } => (mime, base64).hash(&mut hasher),
            _ => {}
        }
    }
    hasher.finish()
}

/// Fields count in the order of their names, since their own order means nothing.
fn hash_value(value: &Value, hasher: &mut DefaultHasher) {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            fields.len().hash(hasher);
            for (name, field) in fields {
                name.hash(hasher);
                hash_value(field, hasher);
            }
        }
        Value::Array(items) => {
            items.len().hash(hasher);
            items.iter().for_each(|item| hash_value(item, hasher));
        }
        other => other.to_string().hash(hasher),
    }
}
