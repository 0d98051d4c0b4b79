//! Schemas in the form that every model provider accepts.

use serde_json::{Map, Value, json};

/// The keywords that survive.
const KEYWORDS: [&str; 7] =
    ["type", "description", "enum", "items", "properties", "required", "additionalProperties"];

/// Brings a schema, such as schemars derives, into the portable subset: one flat object with
/// `type`, `description`, `enum`, `items`, `properties`, `required` and
/// `additionalProperties: false`.
///
/// A type array with `null` becomes the other type, an `anyOf` with `null` the other branch, and a
/// `oneOf` of constants an `enum` whose meanings go into the description. A reference to a definition
/// of the same schema becomes what it names; within itself it says no more than what stands beside it.
/// Whatever else a keyword says must stand in the description.
///
/// ```
/// # use agent_tool_core::portable;
/// # use serde_json::json;
/// let derived = json!({"type": "object", "title": "Args", "properties": {
///     "lines": {"type": ["integer", "null"], "format": "uint32", "minimum": 0}}});
/// assert_eq!(portable(derived), json!({"type": "object", "additionalProperties": false,
///     "properties": {"lines": {"type": "integer"}}}));
/// ```
#[must_use]
pub fn portable(schema: Value) -> Value {
    portable_within(schema.clone(), &schema, &[])
}

/// Takes the references that it stands within.
fn portable_within(schema: Value, root: &Value, within: &[&str]) -> Value {
    let Value::Object(schema) = schema else { return schema };
    let mut schema = without_null(schema);
    if let Some(Value::String(reference)) = schema.remove("$ref") {
        let named = reference.strip_prefix('#').and_then(|path| root.pointer(path));
        if let (Some(Value::Object(named)), false) = (named, within.contains(&&*reference)) {
            let mut named = named.clone();
            named.extend(schema);
            return portable_within(Value::Object(named), root, &[within, &[&*reference]].concat());
        }
    }
    if let Some(Value::Array(variants)) = schema.remove("oneOf") {
        enumerate(&mut schema, &variants);
    }
    let mut out = Map::new();
    for (key, value) in schema {
        if !KEYWORDS.contains(&key.as_str()) {
            continue;
        }
        let within = |schema| portable_within(schema, root, within);
        let value = match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.into_iter().map(|(name, schema)| (name, within(schema))).collect()
            }
            ("items", items) => within(items),
            (_, value) => value,
        };
        out.insert(key, value);
    }
    if out.get("type") == Some(&json!("object")) {
        out.insert("additionalProperties".into(), Value::Bool(false));
    }
    Value::Object(out)
}

/// An option says `null` in one of two ways; absence is what it means.
fn without_null(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Array(types)) = schema.get("type") {
        let mut others = types.iter().filter(|kind| *kind != "null").cloned();
        if let (Some(only), None) = (others.next(), others.next()) {
            schema.insert("type".into(), only);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    if let Some(Value::Array(branches)) = schema.remove("anyOf") {
        let branch = branches.into_iter().find(|branch| branch.get("type") != Some(&json!("null")));
        if let Some(Value::Object(branch)) = branch {
            let outer = schema.remove("description");
            schema = without_null(branch);
            if let Some(outer) = outer {
                schema.insert("description".into(), outer);
            }
        }
    }
    schema
}

fn enumerate(schema: &mut Map<String, Value>, variants: &[Value]) {
    let mut values = Vec::new();
    let mut meanings = String::new();
    for variant in variants {
        let names = match (variant.get("const"), variant.get("enum")) {
            (Some(name), _) => vec![name.clone()],
            (None, Some(Value::Array(names))) => names.clone(),
            _ => continue,
        };
        if let (Some(meaning), [Value::String(name)]) =
            (variant.get("description").and_then(Value::as_str), names.as_slice())
        {
            let meaning = meaning.trim_end_matches('.');
            meanings.push_str(&format!(
                "{}{name}: {meaning}",
                if meanings.is_empty() { "" } else { "; " }
            ));
        }
        values.extend(names);
    }
    let said = schema.get("description").and_then(Value::as_str).unwrap_or_default();
    let description =
        [said, &meanings].into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(" ");
    if !description.is_empty() {
        schema.insert("description".into(), Value::String(description));
    }
    schema.insert("type".into(), json!("string"));
    schema.insert("enum".into(), Value::Array(values));
}
