//! A server's input schema as model providers take it.
//!
//! The dialect of servers is all of JSON Schema. What providers have in common is less: objects, arrays, types, enumerations,
//! descriptions. What is left out of the structure is said in the description where it fits on a line, and the server itself
//! still holds every call to all of it.

use serde_json::{Map, Value, json};

use crate::text::clean_line;

/// The deepest nesting that is kept; what lies deeper takes any value.
const MAX_DEPTH: usize = 12;

/// The most schemas in one, references followed.
const MAX_NODES: usize = 1_000;

/// So many characters of a description are kept.
const DESCRIPTION_CHARS: usize = 600;

/// The most values of an enumeration.
const MAX_VALUES: usize = 100;

/// The longest name of a property that all providers take.
const MAX_NAME: usize = 64;

/// The bounds that are said in words, where a schema has them.
const SAID: [(&str, &str); 9] = [
    ("minimum", "at least"),
    ("maximum", "at most"),
    ("minLength", "characters at least:"),
    ("maxLength", "characters at most:"),
    ("minItems", "items at least:"),
    ("maxItems", "items at most:"),
    ("pattern", "matches"),
    ("format", "format"),
    ("default", "by default"),
];

/// The schema for a model.
///
/// # Errors
///
/// Why a tool with this schema cannot be offered.
pub(crate) fn for_model(schema: &Value) -> Result<Value, String> {
    if schema.get("type").is_some_and(|kind| kind != "object") || !schema.is_object() {
        return Err("its input schema is not that of an object".to_owned());
    }
    let mut walk = Walk { root: schema, nodes: 0 };
    let mut made = walk.schema(schema, 0)?;
    if let Some(fields) = made.as_object_mut() {
        fields.insert("type".into(), "object".into());
        fields.entry("properties").or_insert_with(|| json!({}));
        let open = fields["properties"].as_object().is_some_and(Map::is_empty)
            && schema.get("additionalProperties") != Some(&Value::Bool(false));
        fields.entry("additionalProperties").or_insert(Value::Bool(open));
        // What it says of the arguments as a whole is the tool's description.
        fields.remove("description");
    }
    Ok(made)
}

struct Walk<'a> {
    root: &'a Value,
    nodes: usize,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Result<Value, String> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(format!("its input schema has more than {MAX_NODES} parts"));
        }
        let Some(fields) = schema.as_object().filter(|_| depth < MAX_DEPTH) else {
            return Ok(json!({}));
        };
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            return self.reference(reference, fields, depth);
        }
        if let Some(branches) = alternatives(fields) {
            return self.alternatives(fields, &branches, depth);
        }
        let fields = &merged(fields);
        let mut made = Map::new();
        let mut said = said(fields);
        match fields.get("type") {
            Some(Value::String(kind)) => drop(made.insert("type".into(), json!(kind))),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> =
                    kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
                match kinds.as_slice() {
                    [kind] => drop(made.insert("type".into(), json!(kind))),
                    kinds => said.push(format!("one of {}", kinds.join(", "))),
                }
            }
            _ => {}
        }
        if let Some(values) = values(fields) {
            match values.len() <= MAX_VALUES {
                true => drop(made.insert("enum".into(), Value::Array(values))),
                false => said.push(format!("one of {} values", values.len())),
            }
        }
        let is_object = made.get("type") == Some(&json!("object"));
        if is_object || fields.contains_key("properties") {
            self.object(fields, &mut made, depth)?;
        }
        if let Some(items) = fields.get("items") {
            made.insert("items".into(), self.schema(items, depth + 1)?);
        } else if made.get("type") == Some(&json!("array")) {
            // Some providers refuse an array of nothing in particular.
            made.insert("items".into(), json!({}));
        }
        describe(&mut made, fields, &said);
        Ok(Value::Object(made))
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        made: &mut Map<String, Value>,
        depth: usize,
    ) -> Result<(), String> {
        let none = Map::new();
        let properties = fields.get("properties").and_then(Value::as_object).unwrap_or(&none);
        let mut kept = Map::new();
        for (name, schema) in properties {
            let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
            if name.is_empty() || name.len() > MAX_NAME || !name.chars().all(fits) {
                let name = clean_line(name, MAX_NAME);
                return Err(format!("its argument `{name}` has a name that models cannot use"));
            }
            kept.insert(name.clone(), self.schema(schema, depth + 1)?);
        }
        // What is not said to be closed is open in JSON Schema. A model should give what is named, where anything is.
        let open = match fields.get("additionalProperties") {
            None => kept.is_empty(),
            Some(more) => *more != Value::Bool(false),
        };
        let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
        let known = |name: &&Value| name.as_str().is_some_and(|name| kept.contains_key(name));
        let required: Vec<Value> = required.filter(known).cloned().collect();
        if !required.is_empty() {
            made.insert("required".into(), Value::Array(required));
        }
        made.insert("properties".into(), Value::Object(kept));
        made.insert("additionalProperties".into(), Value::Bool(open));
        Ok(())
    }

    /// A reference within the schema. One to elsewhere is never followed.
    fn reference(
        &mut self,
        reference: &str,
        fields: &Map<String, Value>,
        depth: usize,
    ) -> Result<Value, String> {
        let target = reference.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        let mut made = match target {
            Some(target) => self.schema(&target.clone(), depth + 1)?,
            None => json!({}),
        };
        if let Some(made) = made.as_object_mut() {
            describe(made, fields, &[]);
        }
        Ok(made)
    }

    /// `anyOf` and `oneOf`: the one that is left without `null`, an enumeration of constants, or any value with the types in words.
    fn alternatives(
        &mut self,
        fields: &Map<String, Value>,
        branches: &[&Value],
        depth: usize,
    ) -> Result<Value, String> {
        let constants: Option<Vec<Value>> =
            branches.iter().map(|branch| branch.get("const").cloned()).collect();
        let mut made = match (branches, constants) {
            ([one], _) => self.schema(one, depth + 1)?,
            (_, Some(values)) if values.len() <= MAX_VALUES && !values.is_empty() => {
                json!({"enum": values})
            }
            _ => json!({}),
        };
        let mut said = said(fields);
        if made == json!({}) {
            let kinds = branches.iter().filter_map(|branch| branch.get("type")?.as_str());
            let kinds: Vec<&str> = kinds.collect();
            if !kinds.is_empty() {
                said.push(format!("one of {}", kinds.join(", ")));
            }
        }
        if let Some(made) = made.as_object_mut() {
            describe(made, fields, &said);
        }
        Ok(made)
    }
}

/// The branches of a schema that leaves a choice, without `null`, which is absence.
fn alternatives(fields: &Map<String, Value>) -> Option<Vec<&Value>> {
    let branches = fields.get("anyOf").or_else(|| fields.get("oneOf"))?.as_array()?;
    // With properties beside it, it says which of them go together.
    let is_null = |branch: &&Value| branch.get("type") == Some(&json!("null"));
    (!fields.contains_key("properties")).then(|| branches.iter().filter(|b| !is_null(b)).collect())
}

/// The fields with those of `allOf`, as far as a union of properties goes.
fn merged(fields: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = fields.clone();
    let parts = merged.remove("allOf");
    for part in parts.as_ref().and_then(Value::as_array).into_iter().flatten() {
        for (key, value) in part.as_object().into_iter().flatten() {
            match (merged.get_mut(key), value) {
                (Some(Value::Object(known)), Value::Object(more)) => {
                    more.iter().for_each(|(name, value)| {
                        known.entry(name).or_insert_with(|| value.clone());
                    });
                }
                (Some(Value::Array(known)), Value::Array(more)) => {
                    known.extend(more.iter().cloned())
                }
                (Some(_), _) => {}
                (None, value) => drop(merged.insert(key.clone(), value.clone())),
            }
        }
    }
    merged
}

/// The values that a schema allows, where it names them. `null` is absence.
fn values(fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let constant = fields.get("const").map(|value| vec![value.clone()]);
    let values = fields.get("enum").and_then(Value::as_array).cloned().or(constant)?;
    Some(values.into_iter().filter(|value| !value.is_null()).collect())
}

fn said(fields: &Map<String, Value>) -> Vec<String> {
    let said = SAID.iter().filter_map(|(key, words)| {
        let value = fields.get(*key).filter(|value| !value.is_null())?;
        let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        Some(format!("{words} {}", clean_line(&value, MAX_NAME)))
    });
    said.collect()
}

/// Puts what was said before what is said further in.
fn describe(made: &mut Map<String, Value>, fields: &Map<String, Value>, said: &[String]) {
    let own = fields.get("description").and_then(Value::as_str);
    let inner = made.get("description").and_then(Value::as_str);
    let mut text = clean_line(own.or(inner).unwrap_or_default(), DESCRIPTION_CHARS);
    if !said.is_empty() {
        let said = said.join(", ");
        text = if text.is_empty() { said } else { format!("{text} ({said})") };
    }
    if !text.is_empty() {
        made.insert("description".into(), Value::String(text));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property(schema: Value) -> Value {
        let whole = json!({"type": "object", "properties": {"p": schema}, "$defs": {
            "Id": {"type": "string", "description": "an id"}, "Loop": {"type": "array", "items": {"$ref": "#/$defs/Loop"}}}});
        for_model(&whole).unwrap()["properties"]["p"].clone()
    }

    #[test]
    fn what_providers_have_in_common_is_kept_and_the_rest_is_said() {
        let cases = [
            (
                json!({"type": "integer", "minimum": 1, "maximum": 200, "description": "How many."}),
                json!({"type": "integer", "description": "How many. (at least 1, at most 200)"}),
            ),
            (
                json!({"type": ["string", "null"], "format": "date"}),
                json!({"type": "string", "description": "format date"}),
            ),
            (
                json!({"type": ["string", "integer"]}),
                json!({"description": "one of string, integer"}),
            ),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "d"}),
                json!({"type": "integer", "description": "d"}),
            ),
            (json!({"oneOf": [{"const": "a"}, {"const": "b"}]}), json!({"enum": ["a", "b"]})),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "string"}]}),
                json!({"description": "one of integer, string"}),
            ),
            (
                json!({"$ref": "#/$defs/Id", "description": "mine"}),
                json!({"type": "string", "description": "mine"}),
            ),
            (json!({"$ref": "http://elsewhere/x.json"}), json!({})),
            (json!({"type": "array"}), json!({"type": "array", "items": {}})),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                json!({"type": "object", "properties": {}, "additionalProperties": true}),
            ),
            (
                json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b"]}),
                json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": false}),
            ),
            (
                json!({"allOf": [{"type": "object", "properties": {"a": {}}}, {"properties": {"b": {}}}]}),
                json!({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": false}),
            ),
            (json!({"const": 5}), json!({"enum": [5]})),
            (json!(true), json!({})),
        ];
        for (schema, expected) in cases {
            assert_eq!(property(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn a_schema_without_properties_takes_anything_unless_it_is_closed() {
        let open = |schema: Value| for_model(&schema).unwrap()["additionalProperties"].clone();
        assert_eq!(open(json!({"type": "object"})), json!(true));
        assert_eq!(open(json!({})), json!(true));
        assert_eq!(open(json!({"type": "object", "additionalProperties": false})), json!(false));
        assert_eq!(open(json!({"type": "object", "properties": {"a": {}}})), json!(false));
    }

    #[test]
    fn a_schema_without_end_ends() {
        let mut loops = property(json!({"$ref": "#/$defs/Loop"}));
        let mut depth = 0;
        while let Some(items) = loops.get_mut("items") {
            (loops, depth) = (items.take(), depth + 1);
        }
        assert!((2..MAX_DEPTH).contains(&depth), "{depth}");
        let wide = json!({"type": "array", "items": {"$ref": "#/properties/p"}});
        let branches: Map<_, _> =
            (0..9).map(|n| (n.to_string(), json!({"$ref": "#/$defs/T"}))).collect();
        let bomb = json!({"type": "object", "properties": {"p": {"$ref": "#/$defs/T"}, "q": wide},
            "$defs": {"T": {"type": "object", "properties": branches}}});
        assert_eq!(for_model(&bomb).unwrap_err(), "its input schema has more than 1000 parts");
    }

    #[test]
    fn what_no_model_can_be_offered_says_why() {
        for (schema, said) in [
            (json!({"type": "string"}), "not that of an object"),
            (json!([]), "not that of an object"),
            (json!({"properties": {"a b": {}}}), "`a b` has a name that models cannot use"),
        ] {
            assert!(for_model(&schema).unwrap_err().contains(said), "{schema}");
        }
    }
}
