//! A form as a server sends it.

use serde_json::Value;

use super::{MESSAGE_CHARS, field::Field, shown};
use crate::wire::string_of;

/// The most fields that a form may have: each is a card.
const MAX_FIELDS: usize = 12;

/// A message with fields.
#[derive(Debug)]
pub(super) struct Form {
    pub(super) message: String,
    pub(super) fields: Vec<Field>,
}

impl Form {
    /// Reads the parameters of `elicitation/create`; none where it is no form, or one that cannot be shown.
    pub(super) fn read(params: &Value) -> Option<Self> {
        if string_of(params, "mode").is_some_and(|mode| mode != "form") {
            return None;
        }
        let message = shown(string_of(params, "message")?, MESSAGE_CHARS);
        let schema = params.get("requestedSchema")?;
        let properties = schema.get("properties")?.as_object()?;
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            required.is_some_and(|required| required.iter().any(|known| known == name))
        };
        if properties.len() > MAX_FIELDS {
            return None;
        }
        let mut fields = Vec::new();
        for (name, schema) in properties {
            match Field::read(name, schema, is_required(name)) {
                Some(field) => fields.push(field),
                None if is_required(name) => return None,
                // What may be left out and cannot be shown is.
                None => {}
            }
        }
        Some(Self { message, fields })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_that_cannot_be_shown_is_none() {
        let form = |properties: Value, required: Value| {
            let schema = json!({"type": "object", "properties": properties, "required": required});
            Form::read(&json!({"message": "m", "requestedSchema": schema}))
        };
        let odd = json!({"a": {"type": "object"}, "b": {"type": "string"}});
        assert!(form(odd.clone(), json!(["a"])).is_none());
        assert_eq!(form(odd, json!([])).unwrap().fields.len(), 1);
        let many = (0..20).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
        assert!(form(Value::Object(many), json!([])).is_none());
        assert!(Form::read(&json!({"mode": "url", "message": "m", "url": "http://x"})).is_none());
        assert!(Form::read(&Value::Null).is_none());
    }
}
