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
fn a_portable_schema_stays_as_it_is() {
    let schema = json!({"type": "object", "additionalProperties": false, "properties": {"a": {"type": "integer"}}});
    assert_eq!(portable(schema.clone()), schema);
}
