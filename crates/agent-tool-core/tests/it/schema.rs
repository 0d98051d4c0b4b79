use agent_tool_core::portable;
use serde_json::json;

#[test]
fn what_schemars_derives_becomes_flat() {
    let derived = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Args",
        "type": "object",
        "properties": {
            "mode": {
                "description": "How.",
                "anyOf": [
                    {"oneOf": [
                        {"type": "string", "const": "fast", "description": "Quick."},
                        {"type": "string", "const": "good"},
                    ]},
                    {"type": "null"},
                ],
            },
            "names": {"type": ["array", "null"], "items": {"type": "string", "format": "uri"}, "default": []},
        },
        "required": ["mode"],
    });
    assert_eq!(
        portable(derived),
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "mode": {"type": "string", "description": "How. fast: Quick", "enum": ["fast", "good"]},
                "names": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["mode"],
        })
    );
}

#[test]
fn a_reference_becomes_what_it_names() {
    let derived = json!({
        "type": "object",
        "properties": {
            "op": {"$ref": "#/$defs/Op", "description": "What to do."},
            "again": {"description": "Then.", "anyOf": [{"$ref": "#/$defs/Op"}, {"type": "null"}]},
            "tree": {"$ref": "#/$defs/Tree"},
            "elsewhere": {"$ref": "other.json", "description": "Unknown here."},
        },
        "$defs": {
            "Op": {"description": "An operation.", "oneOf": [{"type": "string", "enum": ["run", "stop"]}]},
            "Tree": {"type": "object", "properties": {
                "op": {"$ref": "#/$defs/Op"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Tree", "description": "One more."}},
            }},
        },
    });
    let op = |description: &str| json!({"type": "string", "description": description, "enum": ["run", "stop"]});
    assert_eq!(
        portable(derived),
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": {
                "op": op("What to do."),
                "again": op("Then."),
                "tree": {"type": "object", "additionalProperties": false, "properties": {
                    "op": op("An operation."),
                    "children": {"type": "array", "items": {"description": "One more."}},
                }},
                "elsewhere": {"description": "Unknown here."},
            },
        })
    );
}

#[test]
fn a_portable_schema_stays_as_it_is() {
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "integer"}}});
    assert_eq!(portable(schema.clone()), schema);
}
