//! Whether a schema takes `null`.

use serde_json::{Map, Value};

/// The most schemas that are looked at for one answer: references may lead to each other.
const MAX_LOOKS: usize = 200;

/// Whether the server's own schema lets `null` through, references within `root` followed. What cannot be told is no.
pub(super) fn is_allowed(root: &Value, schema: &Value) -> bool {
    Looks { root, left: MAX_LOOKS }.allow(schema)
}

struct Looks<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Looks<'a> {
    fn allow(&mut self, schema: &'a Value) -> bool {
        let Some(left) = self.left.checked_sub(1) else { return false };
        self.left = left;
        let Some(fields) = schema.as_object() else { return *schema != Value::Bool(false) };
        let by_type = match fields.get("type") {
            Some(Value::String(kind)) => kind == "null",
            Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "null"),
            _ => true,
        };
        let listed = |values: &Value| values.as_array().is_some_and(|v| v.contains(&Value::Null));
        by_type
            && fields.get("const").is_none_or(Value::is_null)
            && fields.get("enum").is_none_or(listed)
            && self.reference_allows(fields)
            && list(fields, "anyOf").is_none_or(|branches| branches.iter().any(|b| self.allow(b)))
            && list(fields, "oneOf").is_none_or(|branches| branches.iter().any(|b| self.allow(b)))
            && list(fields, "allOf").is_none_or(|parts| parts.iter().all(|part| self.allow(part)))
    }

    fn reference_allows(&mut self, fields: &Map<String, Value>) -> bool {
        let Some(reference) = fields.get("$ref").and_then(Value::as_str) else { return true };
        let root: &'a Value = self.root;
        target(root, reference).is_some_and(|target| self.allow(target))
    }
}

fn list<'a>(fields: &'a Map<String, Value>, key: &str) -> Option<&'a Vec<Value>> {
    fields.get(key).and_then(Value::as_array)
}

/// What a reference within the schema means; none for one to elsewhere.
pub(super) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    root.pointer(reference.strip_prefix('#')?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn null_is_taken_where_every_keyword_takes_it() {
        let root = json!({"$defs": {"Maybe": {"type": ["string", "null"]}, "Id": {"type": "string"},
            "Loop": {"anyOf": [{"$ref": "#/$defs/Loop"}, {"$ref": "#/$defs/Loop"}]}}});
        let allowed = [
            json!({}),
            json!(true),
            json!({"type": "null"}),
            json!({"type": ["string", "null"], "minLength": 3}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
            json!({"oneOf": [{"$ref": "#/$defs/Id"}, {"$ref": "#/$defs/Maybe"}]}),
            json!({"allOf": [{"$ref": "#/$defs/Maybe"}, {"enum": ["a", null]}]}),
            json!({"$ref": "#/$defs/Maybe"}),
        ];
        for schema in &allowed {
            assert!(is_allowed(&root, schema), "{schema}");
        }
        let refused = [
            json!(false),
            json!({"type": "string"}),
            json!({"type": ["string", "null"], "enum": ["a"]}),
            json!({"const": "a"}),
            json!({"anyOf": [{"type": "string"}, {"type": "integer"}]}),
            json!({"allOf": [{"$ref": "#/$defs/Maybe"}, {"$ref": "#/$defs/Id"}]}),
            json!({"$ref": "#/$defs/Id"}),
            json!({"$ref": "#/$defs/Loop"}),
            json!({"$ref": "http://elsewhere/x.json"}),
        ];
        for schema in &refused {
            assert!(!is_allowed(&root, schema), "{schema}");
        }
    }
}
