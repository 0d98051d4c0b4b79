//! A form of a server without its secrets, as far as a person reads it.
//!
//! The names of its fields and the values of its choices go back with the answer, so they stay as they came, and what is shown for
//! them is written beside them: a title, the names of an enumeration.

use agent_tool_core::Secrets;
use serde_json::{Map, Value, json};

/// By which a server asks with a form.
pub(super) const METHOD: &str = "elicitation/create";

const SCHEMA: &str = "requestedSchema";

/// Takes the secrets out of a question that a server asks before it answers.
pub(super) fn hide_question(asked: &mut Value, secrets: &Secrets) {
    let is_form = asked["method"] == METHOD;
    let params = asked.get_mut("params").filter(|_| is_form).map(Value::take);
    secrets.hidden_in(asked);
    if let Some(mut params) = params {
        hide(&mut params, secrets);
        asked["params"] = params;
    }
}

/// Takes the secrets out of the parameters of a form.
pub(super) fn hide(params: &mut Value, secrets: &Secrets) {
    if secrets.is_empty() {
        return;
    }
    let schema = params.get_mut(SCHEMA).map(Value::take);
    secrets.hidden_in(params);
    let Some(mut schema) = schema else { return };
    let required = schema.get_mut("required").map(Value::take);
    let fields = schema.get_mut("properties").map(Value::take);
    secrets.hidden_in(&mut schema);
    if let Some(required) = required {
        schema["required"] = required;
    }
    if let Some(mut fields) = fields {
        match &mut fields {
            Value::Object(fields) => {
                fields.iter_mut().for_each(|(name, field)| hide_field(name, field, secrets));
            }
            other => secrets.hidden_in(other),
        }
        schema["properties"] = fields;
    }
    params[SCHEMA] = schema;
}

fn hide_field(name: &str, field: &mut Value, secrets: &Secrets) {
    let mut choices = vec![choices_of(field)];
    choices.extend(field.get_mut("items").map(choices_of));
    secrets.hidden_in(field);
    let Value::Object(fields) = field else { return };
    let shown = secrets.hidden(name.to_owned());
    if shown != name && !fields.contains_key("title") {
        fields.insert("title".to_owned(), Value::String(shown));
    }
    let mut choices = choices.into_iter();
    give_back(fields, choices.next().unwrap_or_default(), secrets);
    if let (Some(Value::Object(items)), Some(of_items)) = (fields.get_mut("items"), choices.next())
    {
        give_back(items, of_items, secrets);
    }
}

/// The lists of choices of a schema, which are taken out of it.
fn choices_of(schema: &mut Value) -> Map<String, Value> {
    let Value::Object(fields) = schema else { return Map::new() };
    let keys = ["enum", "oneOf", "anyOf"].into_iter();
    keys.filter_map(|key| Some((key.to_owned(), fields.get_mut(key)?.take()))).collect()
}

/// Puts the choices back, each with what is shown for it.
fn give_back(fields: &mut Map<String, Value>, choices: Map<String, Value>, secrets: &Secrets) {
    for (key, mut list) in choices {
        let Value::Array(items) = &mut list else {
            secrets.hidden_in(&mut list);
            fields.insert(key, list);
            continue;
        };
        if key == "enum" {
            let mut shown = json!(items);
            secrets.hidden_in(&mut shown);
            if shown != json!(items) && !fields.contains_key("enumNames") {
                fields.insert("enumNames".to_owned(), shown);
            }
        } else {
            items.iter_mut().for_each(|branch| hide_branch(branch, secrets));
        }
        fields.insert(key, list);
    }
}

fn hide_branch(branch: &mut Value, secrets: &Secrets) {
    let constant = branch.get_mut("const").map(Value::take);
    secrets.hidden_in(branch);
    if let (Some(constant), Value::Object(fields)) = (constant, branch) {
        let mut shown = constant.clone();
        secrets.hidden_in(&mut shown);
        if shown != constant && !fields.contains_key("title") {
            fields.insert("title".to_owned(), shown);
        }
        fields.insert("const".to_owned(), constant);
    }
}
