//! What every tool's spec is held to.

use agent_tool_core::ToolSpec;
use serde_json::Value;

/// The most that the whole full surface may cost a model, in tokens.
pub const SURFACE_TOKENS: usize = 6_000;

/// Characters of English text and JSON for each token, rounded down: what the common tokenizers
/// need at least on schemas.
const CHARACTERS_PER_TOKEN: usize = 3;

const KEYWORDS: [&str; 7] =
    ["type", "description", "enum", "items", "properties", "required", "additionalProperties"];

/// How many tokens these specs cost as a model is sent them, estimated from above.
#[must_use]
pub fn tokens(specs: &[ToolSpec]) -> usize {
    let sent = specs.iter().map(|spec| {
        let schema = spec.input_schema.to_string();
        spec.name.chars().count() + spec.description.chars().count() + schema.chars().count()
    });
    sent.sum::<usize>().div_ceil(CHARACTERS_PER_TOKEN)
}

/// Everything that is wrong with a spec: its name, a description that is missing, and a schema
/// outside of the portable subset.
#[must_use]
pub fn spec_faults(spec: &ToolSpec) -> Vec<String> {
    let mut faults: Vec<String> =
        spec.validate().err().map(|error| error.message).into_iter().collect();
    if spec.description.trim().is_empty() {
        faults.push(format!("{} has no description", spec.name));
    }
    schema_faults(&spec.input_schema, &spec.name, true, &mut faults);
    faults
}

fn schema_faults(schema: &Value, path: &str, flat: bool, faults: &mut Vec<String>) {
    let Some(fields) = schema.as_object() else {
        faults.push(format!("{path} is no schema object"));
        return;
    };
    for keyword in fields.keys().filter(|keyword| !KEYWORDS.contains(&keyword.as_str())) {
        faults.push(format!("{path} uses `{keyword}`, which not every provider accepts"));
    }
    match schema.get("type").and_then(Value::as_str) {
        None => faults.push(format!("{path} has no single type")),
        Some("object") => {
            if !flat {
                faults.push(format!("{path} nests an object; nesting stands in `items` alone"));
            }
            if schema["additionalProperties"] != Value::Bool(false) {
                faults.push(format!("{path} does not close its properties"));
            }
            let properties = schema["properties"].as_object();
            for (name, property) in properties.into_iter().flatten() {
                let path = format!("{path}.{name}");
                if property["description"].as_str().unwrap_or_default().trim().is_empty() {
                    faults.push(format!("{path} has no description"));
                }
                schema_faults(property, &path, false, faults);
            }
            for name in schema["required"].as_array().into_iter().flatten() {
                let known = properties.is_some_and(|known| {
                    name.as_str().is_some_and(|name| known.contains_key(name))
                });
                if !known {
                    faults.push(format!("{path} requires {name}, which it does not have"));
                }
            }
        }
        Some("array") => schema_faults(&schema["items"], &format!("{path}[]"), true, faults),
        Some(_) => {}
    }
}
