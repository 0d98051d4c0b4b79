//! Holds the lines of a session to `serve.schema.json`.

use std::collections::{BTreeSet, HashMap};

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::peer::{Said, Side};

pub(crate) const SCHEMA: &str = include_str!("../../src/serve/serve.schema.json");

/// The definitions that say what a line may be, or what an answer may hold.
const KINDS: [&str; 4] = ["request:", "notification:", "response:", "result:"];

pub(crate) struct Checker {
    schema: Value,
    validators: HashMap<String, Validator>,
}

impl Checker {
    /// A schema that is stricter than the one for hosts: fields that it does not name are allowed
    /// to come with a later version, and this version has none.
    pub(crate) fn new() -> Self {
        let mut schema: Value = serde_json::from_str(SCHEMA).expect("the schema is JSON");
        close(&mut schema);
        Self { schema, validators: HashMap::new() }
    }

    /// Every kind of message that the schema has.
    pub(crate) fn all(&self) -> BTreeSet<String> {
        let names = self.schema["$defs"].as_object().expect("definitions").keys();
        names.filter(|name| KINDS.iter().any(|kind| name.starts_with(kind))).cloned().collect()
    }

    /// Checks every line and gives back the kinds that there were.
    pub(crate) fn check(&mut self, record: &[Said]) -> BTreeSet<String> {
        let mut kinds = BTreeSet::new();
        let mut asked = HashMap::new();
        for Said { side, line } in record {
            let message: Value = serde_json::from_str(line).expect("a message");
            let id = message.get("id");
            let kind = match (message["method"].as_str(), id) {
                (Some(method), Some(id)) => {
                    asked.insert((*side, id.to_string()), method.to_owned());
                    self.named("request", method)
                }
                (Some(method), None) => self.named("notification", method),
                (None, _) if message.get("result").is_some() => "response:success".to_owned(),
                (None, _) if *side == Side::Run => "response:runError".to_owned(),
                (None, _) => "response:hostError".to_owned(),
            };
            let (whole, asker) = match side {
                Side::Host => ("hostMessage", Side::Run),
                Side::Run => ("runMessage", Side::Host),
            };
            assert!(
                *side == Side::Host || !kind.ends_with(":other"),
                "the schema does not have {line}"
            );
            self.hold(whole, &message, line);
            self.hold(&kind, &message, line);
            kinds.insert(kind);
            if let (Some(result), Some(id)) = (message.get("result"), id) {
                let method = asked.get(&(asker, id.to_string()));
                let kind = format!("result:{}", method.expect("an answer to a request"));
                self.hold(&kind, result, line);
                kinds.insert(kind);
            }
        }
        kinds
    }

    fn named(&self, kind: &str, method: &str) -> String {
        let name = format!("{kind}:{method}");
        let known = self.schema["$defs"].get(&name).is_some();
        if known { name } else { format!("{kind}:other") }
    }

    fn hold(&mut self, definition: &str, value: &Value, line: &str) {
        let schema = &self.schema;
        let validator = self.validators.entry(definition.to_owned()).or_insert_with(|| {
            let pointer = definition.replace('~', "~0").replace('/', "~1");
            let root = json!({
                "$schema": schema["$schema"],
                "$ref": format!("#/$defs/{pointer}"),
                "$defs": schema["$defs"],
            });
            jsonschema::validator_for(&root).expect("a schema")
        });
        if let Err(error) = validator.validate(value) {
            panic!("no {definition}: {error} at {}\n{line}", error.instance_path());
        }
    }
}

/// Lets no object have fields that its definition does not name.
fn close(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if fields.get("type") == Some(&json!("object")) && fields.contains_key("properties") {
                fields.insert("additionalProperties".to_owned(), json!(false));
            }
            // The schema of a tool's arguments is the tool's.
            fields
                .iter_mut()
                .filter(|(name, _)| *name != "input_schema")
                .for_each(|(_, field)| close(field));
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}
