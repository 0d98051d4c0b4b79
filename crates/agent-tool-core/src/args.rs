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
/// Lenient where a model's spelling differs and its meaning does not: `null` is absence (save where the
/// schema of [`ToolSpec::held_to`] says `"nullable": true`), integers may come as `5.0`, an array or an object may come as a string that is its JSON, and in an array of
/// objects that need one string alone that string may stand for the object. Everything else is
/// held to the schema.
///
/// # Errors
///
/// `invalid_args`, naming the argument, what came and what it takes.
pub fn parse_args<T: DeserializeOwned>(spec: &ToolSpec, args: Value) -> Result<T, ToolError> {
    let args = check_args(spec, args)?;
    T::deserialize(&args).map_err(|error| {
        let message = number_at_fault::<T>(&args, &error).unwrap_or_else(|| error.to_string());
        ToolError::invalid_args(format!("{}: {message}", spec.name))
    })
}

/// Checks arguments against the tool's schema and gives them back in one spelling, as [`parse_args`] does.
///
/// # Errors
///
/// `invalid_args`, naming the argument, what came and what it takes.
pub fn check_args(spec: &ToolSpec, args: Value) -> Result<Value, ToolError> {
    let args = if args.is_null() { Value::Object(Map::new()) } else { args };
    check(spec.held_to.as_ref().unwrap_or(&spec.input_schema), args, "")
        .map_err(|message| ToolError::invalid_args(format!("{}: {message}", spec.name)))
}

/// Names the number that a type does not hold. A portable schema has no limits of numbers, so the type alone knows them,
/// and its error says neither where the number stands nor, in a model's words, what would be right. What is said here was
/// tried: with all numbers up to that one small the error is gone, or is another one.
fn number_at_fault<T: DeserializeOwned>(args: &Value, error: &serde_json::Error) -> Option<String> {
    let said = error.to_string();
    let mut tried = args.clone();
    for (path, pointer) in numbers(args, "", "") {
        let value = std::mem::replace(tried.pointer_mut(&pointer)?, Value::from(1));
        let still = T::deserialize(&tried).err().is_some_and(|error| error.to_string() == said);
        if still {
            continue;
        }
        let takes = match value.as_f64() {
            Some(number) if number < 0.0 => "takes a whole number that is not negative",
            _ => "takes a smaller number",
        };
        return Some(wrong(&path, &value, takes));
    }
    None
}

/// Every number in a value: the path that an error names, and the JSON pointer.
fn numbers(value: &Value, path: &str, pointer: &str) -> Vec<(String, String)> {
    match value {
        Value::Number(_) => vec![(path.to_owned(), pointer.to_owned())],
        Value::Array(items) => {
            let items = items.iter().enumerate();
            let found = items.map(|(index, item)| {
                numbers(item, &format!("{path}[{index}]"), &format!("{pointer}/{index}"))
            });
            found.flatten().collect()
        }
        Value::Object(fields) => {
            let found = fields.iter().map(|(name, field)| {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                numbers(field, &join(path, name), &format!("{pointer}/{escaped}"))
            });
            found.flatten().collect()
        }
        _ => Vec::new(),
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

fn check(schema: &Value, value: Value, path: &str) -> Result<Value, String> {
    if value.is_null() && takes_null(schema) {
        return Ok(value);
    }
    let kind = kind_of(schema);
    let value = match (kind, decoded(kind, value)) {
        ("object", Value::Object(fields)) => return object(schema, fields, path),
        ("array", Value::Array(items)) => {
            let schema = schema.get("items").unwrap_or(&Value::Null);
            let items = items.into_iter().enumerate();
            let items = items.map(|(index, item)| {
                let item = named(schema, decoded(kind_of(schema), item));
                check(schema, item, &format!("{path}[{index}]"))
            });
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
    let open = schema.get("additionalProperties") == Some(&Value::Bool(true));
    let mut checked = Map::new();
    for (name, value) in fields {
        match properties.get(&name) {
            Some(schema) if value.is_null() && !takes_null(schema) => {}
            Some(schema) => {
                let value = check(schema, value, &join(path, &name))?;
                checked.insert(name, value);
            }
            None if open => {
                checked.insert(name, value);
            }
            None => {
                // The same words whether or not a build keeps the order of fields.
                let mut known: Vec<_> = properties.keys().map(String::as_str).collect();
                known.sort_unstable();
                let known = if known.is_empty() { "nothing".to_owned() } else { known.join(", ") };
                return Err(format!(
                    "there is no argument `{}`; it takes {known}",
                    join(path, &name)
                ));
            }
        }
    }
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    for name in required.filter_map(Value::as_str) {
        if !checked.contains_key(name) {
            let takes = properties.get(name).and_then(|s| s.get("type")).and_then(Value::as_str);
            let takes =
                takes.map(|kind| format!("; it takes {}", article(kind))).unwrap_or_default();
            return Err(format!("the argument `{}` is missing{takes}", join(path, name)));
        }
    }
    Ok(Value::Object(checked))
}

fn takes_null(schema: &Value) -> bool {
    schema.get("nullable") == Some(&Value::Bool(true))
}

fn kind_of(schema: &Value) -> &str {
    schema.get("type").and_then(Value::as_str).unwrap_or_default()
}

/// The array or object that a string is the JSON of, where one is wanted: models encode twice.
fn decoded(kind: &str, value: Value) -> Value {
    let (Value::String(text), "array" | "object") = (&value, kind) else { return value };
    match serde_json::from_str(text) {
        Ok(inner @ Value::Array(_)) if kind == "array" => inner,
        Ok(inner @ Value::Object(_)) if kind == "object" => inner,
        _ => value,
    }
}

/// The object that a bare string in a list stands for: where one argument is needed and it is a
/// string, it can be no other.
fn named(schema: &Value, item: Value) -> Value {
    let needed = schema.get("required").and_then(Value::as_array).map(Vec::as_slice);
    match (item, needed) {
        (Value::String(text), Some([Value::String(name)]))
            if kind_of(schema) == "object" && kind_of(&schema["properties"][name]) == "string" =>
        {
            Value::Object(Map::from_iter([(name.clone(), Value::String(text))]))
        }
        (item, _) => item,
    }
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
