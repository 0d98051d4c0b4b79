//! A server's input schema as model providers take it.
//!
//! The dialect of servers is all of JSON Schema. What providers have in common is less: objects, arrays, types, enumerations,
//! descriptions. What is left out of the structure is said in the description, clipped where it is long, and the server itself
//! still holds every call to all of it.

mod null;
mod words;

use serde_json::{Map, Value, json};

use crate::text::{clean, clean_line};

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

/// The types that there are, but for null.
const KINDS: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// What marks a part that takes null, in what arguments are held to. (OpenAPI 3.0's word.)
const NULLABLE: &str = "nullable";

/// The same for whoever reads.
const OR_NULL: &str = "or null";

/// A server's input schema in the forms that are needed of it.
#[derive(Debug, PartialEq)]
pub(crate) struct Input {
    /// What a model is offered.
    pub(crate) offered: Value,
    /// What arguments are held to before they are sent: the same with a mark where null is taken.
    pub(crate) held_to: Value,
    /// What is said of the arguments as a whole, for the tool's description; may be empty.
    pub(crate) said: String,
}

impl Input {
    /// Reads a schema.
    ///
    /// # Errors
    ///
    /// Why a tool with this schema cannot be offered.
    pub(crate) fn read(schema: &Value) -> Result<Self, String> {
        if schema.get("type").is_some_and(|kind| kind != "object") || !schema.is_object() {
            return Err("its input schema is not that of an object".to_owned());
        }
        let mut walk = Walk { root: schema, nodes: 0 };
        let mut made = walk.made(schema, 0)?;
        // None as arguments is an object without any.
        made.set_nullable(false);
        let said = made.said.join(", ");
        let mut fields = made.fields;
        fields.insert("type".into(), "object".into());
        fields.entry("properties").or_insert_with(|| json!({}));
        let open = schema.get("additionalProperties") != Some(&Value::Bool(false));
        fields.entry("additionalProperties").or_insert(Value::Bool(open));
        // What it says of the arguments as a whole is the tool's description.
        let held_to = Value::Object(fields);
        Ok(Self { offered: without_marks(held_to.clone()), held_to, said })
    }
}

/// The schema without what marks null, which is no field of its properties.
fn without_marks(schema: Value) -> Value {
    let Value::Object(mut fields) = schema else { return schema };
    fields.remove(NULLABLE);
    if let Some(items) = fields.get_mut("items") {
        *items = without_marks(items.take());
    }
    if let Some(Value::Object(properties)) = fields.get_mut("properties") {
        properties.values_mut().for_each(|schema| *schema = without_marks(schema.take()));
    }
    Value::Object(fields)
}

/// A schema in the making. Its description is put together last, so that what is said of a part is not lost with a description
/// that takes the place of its own.
#[derive(Default)]
struct Made {
    fields: Map<String, Value>,
    description: String,
    said: Vec<String>,
}

impl Made {
    /// Nothing but what is said of a schema as it stands.
    fn of(fields: &Map<String, Value>) -> Self {
        let description = fields.get("description").and_then(Value::as_str).unwrap_or_default();
        let description = clean_line(description, DESCRIPTION_CHARS);
        Self { fields: Map::new(), description, said: words::bounds(fields) }
    }

    fn saying(said: &str) -> Self {
        Self { said: vec![said.to_owned()], ..Self::default() }
    }

    /// This one for what another schema says of it.
    fn within(mut self, outer: Self) -> Self {
        if !outer.description.is_empty() {
            self.description = outer.description;
        }
        self.said.extend(outer.said);
        self.fields.extend(outer.fields);
        self
    }

    /// Takes a type; one that there is not is said, since a provider would refuse the whole request for it.
    fn is_of(&mut self, kind: &str) {
        match KINDS.contains(&kind) {
            true => drop(self.fields.insert("type".into(), json!(kind))),
            false => self.said.push(format!("of type {}", clean_line(kind, MAX_NAME))),
        }
    }

    fn set_nullable(&mut self, is_nullable: bool) {
        self.said.retain(|said| said != OR_NULL);
        self.fields.remove(NULLABLE);
        if is_nullable {
            // Where everything is taken, null is no news.
            if !self.fields.is_empty() || !self.said.is_empty() {
                self.said.push(OR_NULL.to_owned());
            }
            self.fields.insert(NULLABLE.into(), Value::Bool(true));
        }
    }

    fn into_value(mut self) -> Value {
        let said = self.said.join(", ");
        let text = match (self.description.is_empty(), said.is_empty()) {
            (_, true) => self.description,
            (true, false) => said,
            (false, false) => format!("{} ({said})", self.description),
        };
        if !text.is_empty() {
            self.fields.insert("description".into(), Value::String(text));
        }
        Value::Object(self.fields)
    }
}

struct Walk<'a> {
    root: &'a Value,
    nodes: usize,
}

impl Walk<'_> {
    fn schema(&mut self, schema: &Value, depth: usize) -> Result<Value, String> {
        Ok(self.made(schema, depth)?.into_value())
    }

    fn made(&mut self, schema: &Value, depth: usize) -> Result<Made, String> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(format!("its input schema has more than {MAX_NODES} parts"));
        }
        let mut made = match schema {
            Value::Object(fields) if depth < MAX_DEPTH => self.fields(fields, depth)?,
            Value::Object(fields) if !fields.is_empty() => {
                Made::saying("what it takes lies too deep to be listed")
            }
            Value::Bool(false) => Made::saying("no value is taken"),
            _ => Made::default(),
        };
        made.set_nullable(null::is_allowed(self.root, schema));
        Ok(made)
    }

    fn fields(&mut self, fields: &Map<String, Value>, depth: usize) -> Result<Made, String> {
        let (fields, conflicts) = self.merged(fields);
        let mut made = self.merged_fields(&fields, depth)?;
        made.said.extend(conflicts);
        Ok(made)
    }

    fn merged_fields(&mut self, fields: &Map<String, Value>, depth: usize) -> Result<Made, String> {
        let mut made = Made::of(fields);
        made.said.extend(words::left_out(self.root, fields));
        if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
            return self.reference(reference, made, depth);
        }
        if let Some((key, branches)) = alternatives(fields) {
            return self.alternatives(key, &branches, made, depth);
        }
        let choices = ["anyOf", "oneOf"].into_iter();
        let choices = choices.filter_map(|key| Some(words::part(self.root, key, fields.get(key)?)));
        made.said.extend(choices);
        match fields.get("type") {
            Some(Value::String(kind)) if kind == "null" => {}
            Some(Value::String(kind)) => made.is_of(kind),
            Some(Value::Array(kinds)) => {
                let kinds: Vec<&str> =
                    kinds.iter().filter_map(Value::as_str).filter(|kind| *kind != "null").collect();
                match kinds.as_slice() {
                    [] => {}
                    [kind] => made.is_of(kind),
                    kinds => made.said.push(format!("one of {}", kinds.join(", "))),
                }
            }
            _ => {}
        }
        if let Some(values) = values(fields) {
            match values.len() {
                0 => {}
                many if values.iter().any(is_unseen) => made.said.push(unseen(many)),
                1..=MAX_VALUES => drop(made.fields.insert("enum".into(), Value::Array(values))),
                many => made.said.push(format!("one of {many} values")),
            }
        }
        let is_object = made.fields.get("type") == Some(&json!("object"));
        if is_object || fields.contains_key("properties") {
            self.object(fields, &mut made, depth)?;
        }
        self.items(fields, &mut made, depth)?;
        Ok(made)
    }

    fn object(
        &mut self,
        fields: &Map<String, Value>,
        made: &mut Made,
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
        // What is not said to be closed is open.
        let more = fields.get("additionalProperties").unwrap_or(&Value::Bool(true));
        let by_pattern = fields.contains_key("patternProperties");
        let open = *more != Value::Bool(false) || by_pattern;
        if more.as_object().is_some_and(|more| !more.is_empty()) {
            made.said.push(format!("of other fields each: {}", words::json(self.root, more)));
        } else if by_pattern && *more == Value::Bool(false) {
            made.said.push("no other fields".to_owned());
        }
        let required = fields.get("required").and_then(Value::as_array).into_iter().flatten();
        let (known, unknown): (Vec<&Value>, Vec<&Value>) =
            required.partition(|name| name.as_str().is_some_and(|name| kept.contains_key(name)));
        if !unknown.is_empty() {
            let names = clean_line(&json!(unknown).to_string(), DESCRIPTION_CHARS);
            made.said.push(format!("needs {names} too"));
        }
        if !known.is_empty() {
            made.fields.insert("required".into(), json!(known));
        }
        made.fields.insert("properties".into(), Value::Object(kept));
        made.fields.insert("additionalProperties".into(), Value::Bool(open));
        Ok(())
    }

    fn items(
        &mut self,
        fields: &Map<String, Value>,
        made: &mut Made,
        depth: usize,
    ) -> Result<(), String> {
        let items = match fields.get("items") {
            // Of a tuple it is the rest, and providers have no tuples.
            Some(items) if items.is_array() || fields.contains_key("prefixItems") => {
                made.said.push(words::part(self.root, "items", items));
                json!({})
            }
            Some(items) => self.schema(items, depth + 1)?,
            // Some providers refuse an array of nothing in particular.
            None if made.fields.get("type") == Some(&json!("array")) => json!({}),
            None => return Ok(()),
        };
        made.fields.insert("items".into(), items);
        Ok(())
    }

    /// A reference within the schema. One to elsewhere is never followed.
    fn reference(&mut self, reference: &str, outer: Made, depth: usize) -> Result<Made, String> {
        let inner = match null::target(self.root, reference) {
            Some(target) => self.made(&target.clone(), depth + 1)?,
            None => {
                let reference = clean_line(reference, DESCRIPTION_CHARS);
                Made::saying(&format!("as {reference} has it, which is not followed"))
            }
        };
        Ok(inner.within(outer))
    }

    /// `anyOf` and `oneOf`: the one that is left without `null`, an enumeration of constants, or any value with the choice in words.
    fn alternatives(
        &mut self,
        key: &str,
        branches: &[&Value],
        mut outer: Made,
        depth: usize,
    ) -> Result<Made, String> {
        let constants: Option<Vec<Value>> =
            branches.iter().map(|branch| branch.get("const").cloned()).collect();
        match (branches, constants) {
            ([], _) => {}
            ([one], _) => return Ok(self.made(one, depth + 1)?.within(outer)),
            (_, Some(values)) if values.iter().any(is_unseen) => {
                outer.said.push(unseen(values.len()));
            }
            (_, Some(values)) if (1..=MAX_VALUES).contains(&values.len()) => {
                outer.fields.insert("enum".into(), Value::Array(values));
            }
            _ => {
                let kinds: Option<Vec<&str>> = branches.iter().map(|b| plain_type(b)).collect();
                outer.said.push(match kinds {
                    Some(kinds) => format!("one of {}", kinds.join(", ")),
                    None => words::part(self.root, key, &json!(branches)),
                });
            }
        }
        Ok(outer)
    }

    /// The fields with those of `allOf`, as far as a union of properties goes, and in words what is said twice in different ways.
    fn merged(&self, fields: &Map<String, Value>) -> (Map<String, Value>, Vec<String>) {
        let mut merged = fields.clone();
        let mut conflicts = Vec::new();
        let parts = merged.remove("allOf");
        for part in parts.as_ref().and_then(Value::as_array).into_iter().flatten() {
            let reference = part.get("$ref").and_then(Value::as_str);
            let target = reference.and_then(|reference| null::target(self.root, reference));
            for (key, value) in target.unwrap_or(part).as_object().into_iter().flatten() {
                match (merged.get_mut(key), value) {
                    (Some(Value::Object(known)), Value::Object(more)) if key == "properties" => {
                        more.iter().for_each(|(name, value)| {
                            known.entry(name).or_insert_with(|| value.clone());
                        });
                    }
                    (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                        known.extend(more.iter().cloned());
                    }
                    (Some(known), value) if known == value => {}
                    (Some(_), _) if matches!(key.as_str(), "description" | "title" | "$defs") => {}
                    (Some(_), value) => {
                        conflicts.push(format!("and {}", words::part(self.root, key, value)));
                    }
                    (None, value) => drop(merged.insert(key.clone(), value.clone())),
                }
            }
        }
        (merged, conflicts)
    }
}

/// The branches of a schema that is nothing but a choice, without `null`, and what it is called.
fn alternatives(fields: &Map<String, Value>) -> Option<(&'static str, Vec<&Value>)> {
    // With a type or properties beside it, it says more of those.
    let is_more =
        ["type", "properties", "enum", "const"].iter().any(|key| fields.contains_key(*key));
    let key = match (fields.contains_key("anyOf"), fields.contains_key("oneOf")) {
        (true, false) => "anyOf",
        (false, true) => "oneOf",
        _ => return None,
    };
    let is_null = |branch: &&Value| branch.get("type") == Some(&json!("null"));
    let branches = fields.get(key)?.as_array().filter(|_| !is_more)?;
    Some((key, branches.iter().filter(|branch| !is_null(branch)).collect()))
}

/// The type of a schema that says no more than that.
fn plain_type(schema: &Value) -> Option<&str> {
    let fields = schema.as_object()?;
    let is_plain =
        fields.keys().all(|key| matches!(key.as_str(), "type" | "title" | "description"));
    fields.get("type").and_then(Value::as_str).filter(|_| is_plain)
}

/// Whether a value has signs that nobody sees, or that are read as something else: a model is not offered it.
fn is_unseen(value: &Value) -> bool {
    match value {
        Value::String(text) => clean(text) != *text,
        _ => false,
    }
}

fn unseen(many: usize) -> String {
    format!("one of {many} values, not listed, since signs in them cannot be shown")
}

/// The values that a schema allows, where it names them, without `null`.
fn values(fields: &Map<String, Value>) -> Option<Vec<Value>> {
    let constant = fields.get("const").map(|value| vec![value.clone()]);
    let values = fields.get("enum").and_then(Value::as_array).cloned().or(constant)?;
    Some(values.into_iter().filter(|value| !value.is_null()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property(schema: Value) -> Value {
        let whole = json!({"type": "object", "properties": {"p": schema}, "$defs": {
            "Id": {"type": "string"},
            "Short": {"type": ["string", "null"], "maxLength": 3, "description": "short"}, "Loop": {"type": "array", "items": {"$ref": "#/$defs/Loop"}}}});
        Input::read(&whole).unwrap().offered["properties"]["p"].clone()
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
                json!({"type": "string", "description": "format date, or null"}),
            ),
            (
                json!({"type": ["string", "integer"]}),
                json!({"description": "one of string, integer"}),
            ),
            (
                json!({"anyOf": [{"type": "integer"}, {"type": "null"}], "description": "d"}),
                json!({"type": "integer", "description": "d (or null)"}),
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
            (
                json!({"$ref": "http://elsewhere/x.json"}),
                json!({"description": "as http://elsewhere/x.json has it, which is not followed"}),
            ),
            (json!({"type": "strnig"}), json!({"description": "of type strnig"})),
            (
                json!({"type": ["file"], "description": "d"}),
                json!({"description": "d (of type file)"}),
            ),
            (json!({"type": "array"}), json!({"type": "array", "items": {}})),
            (
                json!({"type": "object", "additionalProperties": {"type": "string"}}),
                json!({"type": "object", "properties": {}, "additionalProperties": true,
                    "description": "of other fields each: {\"type\":\"string\"}"}),
            ),
            (
                json!({"type": "object", "properties": {"a": {}}, "required": ["a", "b"]}),
                json!({"type": "object", "properties": {"a": {}}, "required": ["a"], "additionalProperties": true,
                    "description": "needs [\"b\"] too"}),
            ),
            (
                json!({"allOf": [{"type": "object", "properties": {"a": {}}}, {"properties": {"b": {}}}]}),
                json!({"type": "object", "properties": {"a": {}, "b": {}}, "additionalProperties": true}),
            ),
            (
                json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
                json!({"type": "object", "properties": {"a": {}}, "additionalProperties": false}),
            ),
            (
                json!({"type": "object", "patternProperties": {"^x": {"type": "string"}}, "additionalProperties": false}),
                json!({"type": "object", "properties": {}, "additionalProperties": true,
                    "description": "`patternProperties` {\"^x\":{\"type\":\"string\"}}, no other fields"}),
            ),
            (
                json!({"type": "integer", "multipleOf": 5, "not": {"const": 10}}),
                json!({"type": "integer", "description": "a multiple of 5, `not` {\"const\":10}"}),
            ),
            (
                json!({"type": "array", "prefixItems": [{"type": "string"}, {"$ref": "#/$defs/Id"}], "items": false}),
                json!({"type": "array", "items": {}, "description":
                    "`prefixItems` [{\"type\":\"string\"},{\"type\":\"string\"}], `items` false"}),
            ),
            (
                json!({"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "null"}]}}),
                json!({"type": "array", "items": {"type": "string", "description": "or null"}}),
            ),
            (
                json!({"anyOf": [{"maxLength": 3}, {"type": "integer"}, {"type": "null"}]}),
                json!({"description": "`anyOf` [{\"maxLength\":3},{\"type\":\"integer\"}], or null"}),
            ),
            (
                json!({"$ref": "#/$defs/Short", "description": "mine"}),
                json!({"type": "string", "description": "mine (characters at most: 3, or null)"}),
            ),
            (
                json!({"allOf": [{"$ref": "#/$defs/Short"}, {"maxLength": 2}]}),
                json!({"type": "string", "description": "short (characters at most: 3, and `maxLength` 2, or null)"}),
            ),
            (json!({"enum": ["a", null]}), json!({"enum": ["a"], "description": "or null"})),
            (json!({"const": null}), json!({})),
            (json!({"const": 5}), json!({"enum": [5]})),
            (
                json!({"enum": ["a", "b\u{202e}c"]}),
                json!({"description": "one of 2 values, not listed, since signs in them cannot be shown"}),
            ),
            (json!(true), json!({})),
        ];
        for (schema, expected) in cases {
            assert_eq!(property(schema.clone()), expected, "{schema}");
        }
    }

    #[test]
    fn arguments_are_open_unless_they_are_closed() {
        let open =
            |schema: Value| Input::read(&schema).unwrap().offered["additionalProperties"].clone();
        assert_eq!(open(json!({"type": "object"})), json!(true));
        assert_eq!(open(json!({})), json!(true));
        assert_eq!(open(json!({"type": "object", "additionalProperties": false})), json!(false));
        assert_eq!(open(json!({"type": "object", "properties": {"a": {}}})), json!(true));
        let closed = json!({"properties": {"a": {}}, "additionalProperties": false});
        assert_eq!(open(closed), json!(false));
    }

    #[test]
    fn what_holds_for_the_arguments_as_a_whole_is_said_apart() {
        let schema = json!({"type": "object", "properties": {"a": {}, "b": {}},
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}], "dependentRequired": {"a": ["b"]}, "description": "d"});
        let input = Input::read(&schema).unwrap();
        assert_eq!(
            input.said,
            "`dependentRequired` {\"a\":[\"b\"]}, `anyOf` [{\"required\":[\"a\"]},{\"required\":[\"b\"]}]"
        );
        assert_eq!(input.offered.get("description"), None);
    }

    #[test]
    fn null_is_marked_in_what_arguments_are_held_to_and_nowhere_else() {
        let schema = json!({"type": "object", "required": ["nullable"], "properties": {
            "nullable": {"type": ["string", "null"]},
            "list": {"type": "array", "items": {"anyOf": [{"type": "null"}, {"type": "integer"}]}}}});
        let input = Input::read(&schema).unwrap();
        assert_eq!(input.held_to["properties"]["nullable"]["nullable"], json!(true));
        assert_eq!(input.held_to["properties"]["list"]["items"]["nullable"], json!(true));
        assert_eq!(input.held_to["properties"]["list"].get("nullable"), None);
        let offered = &input.offered["properties"];
        assert_eq!(offered["nullable"], json!({"type": "string", "description": "or null"}));
        assert_eq!(offered["list"]["items"], json!({"type": "integer", "description": "or null"}));
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
        assert_eq!(Input::read(&bomb).unwrap_err(), "its input schema has more than 1000 parts");
    }

    #[test]
    fn what_no_model_can_be_offered_says_why() {
        for (schema, said) in [
            (json!({"type": "string"}), "not that of an object"),
            (json!([]), "not that of an object"),
            (json!({"properties": {"a b": {}}}), "`a b` has a name that models cannot use"),
        ] {
            assert!(Input::read(&schema).unwrap_err().contains(said), "{schema}");
        }
    }
}
