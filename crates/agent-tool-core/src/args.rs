//! Arguments as a model sends them.

use serde::de::DeserializeOwned;
use serde_json::{Map, Number, Value};

use crate::{ToolError, ToolSpec, clip};

/// How many characters of a wrong argument an error repeats.
const SHOWN_LIMIT: usize = 80;

/// The largest whole number that a JSON float can stand for without loss.
const WHOLE_LIMIT: f64 = 9_007_199_254_740_992.0;

/// Checks arguments against the tool's schema and reads them.
///
/// Lenient where a model's spelling differs and its meaning does not: `null` is absence, and
/// integers may come as `5.0`. Everything else is held to the schema.
///
/// # Errors
///
/// `invalid_args`, naming the argument, what came and what it takes.
pub fn parse_args<T: DeserializeOwned>(spec: &ToolSpec, args: Value) -> Result<T, ToolError> {
    let args = check_args(spec, args)?;
    serde_json::from_value(args)
        .map_err(|error| ToolError::invalid_args(format!("{}: {error}", spec.name)))
}

/// Checks arguments against the tool's schema and gives them back in one spelling.
///
/// # Errors
///
/// `invalid_args`, naming the argument, what came and what it takes.
pub fn check_args(spec: &ToolSpec, args: Value) -> Result<Value, ToolError> {
    let args = if args.is_null() { Value::Object(Map::new()) } else { args };
    check(&spec.input_schema, args, "")
        .map_err(|message| ToolError::invalid_args(format!("{}: {message}", spec.name)))
}

fn check(schema: &Value, value: Value, path: &str) -> Result<Value, String> {
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or_default();
    let value = match (kind, value) {
        ("object", Value::Object(fields)) => return object(schema, fields, path),
        ("array", Value::Array(items)) => {
            let schema = schema.get("items").unwrap_or(&Value::Null);
            let items = items.into_iter().enumerate();
            let items = items.map(|(index, item)| check(schema, item, &format!("{path}[{index}]")));
            return items.collect::<Result<Vec<_>, _>>().map(Value::Array);
        }
        ("integer", Value::Number(number)) => whole(&number)
            .map(Value::Number)
            .ok_or_else(|| wrong(path, &Value::Number(number), "takes a whole number"))?,
        ("string", value @ Value::String(_))
        | ("boolean", value @ Value::Bool(_))
        | ("number", value @ Value::Number(_))
        | ("", value) => value,
        (_, value) => return Err(wrong(path, &value, &format!("takes {}", article(kind)))),
    };
    match schema.get("enum").and_then(Value::as_array) {
        Some(allowed) if !allowed.contains(&value) => {
            let names: Vec<_> = allowed.iter().map(ToString::to_string).collect();
            Err(wrong(path, &value, &format!("takes one of {}", names.join(", "))))
        }
        _ => Ok(value),
    }
}

fn object(schema: &Value, fields: Map<String, Value>, path: &str) -> Result<Value, String> {
    let none = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let join =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    let mut checked = Map::new();
    for (name, value) in fields {
        match properties.get(&name) {
            Some(_) if value.is_null() => {}
            Some(schema) => {
                let value = check(schema, value, &join(&name))?;
                checked.insert(name, value);
            }
            None => {
                let known: Vec<_> = properties.keys().map(String::as_str).collect();
                let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
                return Err(format!("there is no argument `{}`; it takes {known}", join(&name)));
            }
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !checked.contains_key(name) {
            let takes = properties.get(name).and_then(|s| s.get("type")).and_then(Value::as_str);
            let takes =
                takes.map(|kind| format!("; it takes {}", article(kind))).unwrap_or_default();
            return Err(format!("the argument `{}` is missing{takes}", join(name)));
        }
    }
    Ok(Value::Object(checked))
}

fn whole(number: &Number) -> Option<Number> {
    match number.as_f64() {
        _ if number.is_i64() || number.is_u64() => Some(number.clone()),
        #[expect(clippy::cast_possible_truncation, reason = "bounded and without a fraction")]
        Some(float) if float.fract() == 0.0 && float.abs() <= WHOLE_LIMIT => {
            Some(Number::from(float as i64))
        }
        _ => None,
    }
}

fn wrong(path: &str, value: &Value, takes: &str) -> String {
    let shown = clip(&value.to_string(), SHOWN_LIMIT).text;
    let name = if path.is_empty() { "the arguments".to_owned() } else { format!("`{path}`") };
    format!("{name} came as {shown} but {takes}")
}

fn article(kind: &str) -> String {
    match kind {
        "integer" => "a whole number".to_owned(),
        "array" | "object" => format!("an {kind}"),
        "boolean" => "true or false".to_owned(),
        other => format!("a {other}"),
    }
}
