use agent_tool_core::{Tier, ToolSpec, check_args, parse_args};
use serde::Deserialize;
use serde_json::{Value, json};

fn spec() -> ToolSpec {
    ToolSpec::new("find", Tier::Read, "").with_input(json!({
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "limit": {"type": ["integer", "null"], "format": "uint32", "minimum": 0},
            "mode": {"type": "string", "enum": ["all", "some"]},
            "deep": {"type": "boolean"},
            "marks": {"type": "array", "items": {"type": "object", "properties": {"line": {"type": "integer"}}, "required": ["line"]}},
        },
        "required": ["path"],
    }))
}

fn message(args: Value) -> String {
    check_args(&spec(), args).expect_err("refused").message
}

#[test]
fn a_wrong_argument_is_named_with_what_came_and_what_it_takes() {
    let cases = [
        (json!({}), "find: the argument `path` is missing; it takes a string"),
        (json!({"path": null}), "find: the argument `path` is missing; it takes a string"),
        (json!({"path": 3}), "find: `path` came as 3 but takes a string"),
        (json!({"path": "a", "limit": 2.5}), "find: `limit` came as 2.5 but takes a whole number"),
        (
            json!({"path": "a", "limit": "5"}),
            "find: `limit` came as \"5\" but takes a whole number",
        ),
        (json!({"path": "a", "deep": 1}), "find: `deep` came as 1 but takes true or false"),
        (
            json!({"path": "a", "mode": "most"}),
            "find: `mode` came as \"most\" but takes one of \"all\", \"some\"",
        ),
        (
            json!({"path": "a", "depth": 1}),
            "find: there is no argument `depth`; it takes deep, limit, marks, mode, path",
        ),
        (
            json!({"path": "a", "marks": [{"line": 1}, {"line": true}]}),
            "find: `marks[1].line` came as true but takes a whole number",
        ),
        (
            json!({"path": "a", "marks": [{}]}),
            "find: the argument `marks[0].line` is missing; it takes a whole number",
        ),
        (json!(["a"]), "find: the arguments came as [\"a\"] but takes an object"),
    ];
    for (args, expected) in cases {
        assert_eq!(message(args), expected);
    }
}

#[test]
fn null_is_absence_and_whole_numbers_may_have_a_point() {
    let args = json!({"path": "a", "limit": 5.0, "mode": null, "marks": [{"line": 2.0}]});
    let checked = check_args(&spec(), args).expect("right arguments");
    assert_eq!(checked, json!({"path": "a", "limit": 5, "marks": [{"line": 2}]}));
    assert!(check_args(&ToolSpec::new("list", Tier::Read, ""), Value::Null).is_ok());
}

#[test]
fn null_is_a_value_where_the_schema_that_counts_takes_it() {
    let mut spec = ToolSpec::new("set", Tier::Read, "");
    let properties = json!({"a": {"type": "string", "nullable": true}, "b": {"type": "string"},
        "l": {"type": "array", "items": {"type": "integer", "nullable": true}}});
    spec.held_to = Some(json!({"type": "object", "properties": properties, "required": ["a"]}));
    let args = json!({"a": null, "b": null, "l": [1.0, null]});
    let checked = check_args(&spec, args).expect("right arguments");
    assert_eq!(checked, json!({"a": null, "l": [1, null]}));
    let error = check_args(&spec, json!({"b": "x"})).expect_err("refused");
    assert_eq!(error.message, "set: the argument `a` is missing; it takes a string");
}

#[test]
fn a_long_wrong_argument_is_clipped() {
    let shown = message(json!({"path": ["x".repeat(500)]}));
    assert!(shown.contains("more characters") && shown.len() < 200, "{shown}");
}

#[test]
fn names_are_held_to_what_providers_accept() {
    for good in ["read", "mcp__server__tool", "a-b", &"x".repeat(64)] {
        assert!(ToolSpec::new(good, Tier::Read, "").validate().is_ok(), "{good}");
    }
    for bad in ["", "a b", "lsp.rename", "naïve", &"x".repeat(65)] {
        let error = ToolSpec::new(bad, Tier::Read, "").validate().expect_err("refused");
        assert_eq!(error.code, "invalid_spec", "{bad}");
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Find {
    #[expect(dead_code, reason = "only read")]
    path: String,
    #[expect(dead_code, reason = "only read")]
    limit: Option<usize>,
    #[expect(dead_code, reason = "only read")]
    marks: Option<Vec<Mark>>,
}

#[derive(Debug, Deserialize)]
struct Mark {
    #[expect(dead_code, reason = "only read")]
    line: u8,
}

#[test]
fn a_number_that_the_type_does_not_hold_is_named_too() {
    let marks = |first: f64, second: f64| json!({"path": "a", "limit": 1, "marks": [{"line": first}, {"line": second}]});
    let not_negative = "but takes a whole number that is not negative";
    for (args, expected) in [
        (json!({"path": "a", "limit": -1}), format!("find: `limit` came as -1 {not_negative}")),
        (json!({"path": "a", "limit": -2.0}), format!("find: `limit` came as -2 {not_negative}")),
        (
            json!({"path": "a", "limit": 0.5}),
            "find: `limit` came as 0.5 but takes a whole number".into(),
        ),
        (
            json!({"path": "a", "limit": 1e300}),
            "find: `limit` came as 1e+300 but takes a whole number".into(),
        ),
        (marks(1.0, -3.0), format!("find: `marks[1].line` came as -3 {not_negative}")),
        (marks(300.0, 1.0), "find: `marks[0].line` came as 300 but takes a smaller number".into()),
    ] {
        let error = parse_args::<Find>(&spec(), args).expect_err("refused");
        assert_eq!((&*error.code, &error.message), ("invalid_args", &expected));
    }
    assert!(parse_args::<Find>(&spec(), marks(1.0, 2.0)).is_ok());
}

#[test]
fn an_array_may_come_as_its_json_and_a_string_for_the_object_that_needs_it_alone() {
    let spec = ToolSpec::new("pick", Tier::Read, "").with_input(json!({
        "type": "object",
        "properties": {
            "of": {"type": "array", "items": {"type": "object", "required": ["label"], "properties": {
                "label": {"type": "string"}, "more": {"type": "string"}}}},
            "lines": {"type": "array", "items": {"type": "integer"}},
            "names": {"type": "array", "items": {"type": "string"}},
        },
    }));
    let both = json!({"of": [{"label": "A"}, {"label": "B", "more": "b"}]});
    for of in [
        json!(["A", {"label": "B", "more": "b"}]),
        json!("[\"A\", {\"label\": \"B\", \"more\": \"b\"}]"),
        json!(["{\"label\": \"A\"}", "{\"label\": \"B\", \"more\": \"b\"}"]),
    ] {
        assert_eq!(check_args(&spec, json!({"of": of})).expect("right"), both, "{of}");
    }
    let encoded = Value::String(both.to_string());
    assert_eq!(check_args(&spec, encoded).expect("right"), both);
    // A string that is wanted as one stays one, whatever it looks like.
    let names = json!({"names": ["[1]", "{}"], "lines": [1]});
    assert_eq!(check_args(&spec, names.clone()).expect("right"), names);
    for (args, expected) in [
        (json!({"of": "A, B"}), "pick: `of` came as \"A, B\" but takes an array"),
        (json!({"of": "{}"}), "pick: `of` came as \"{}\" but takes an array"),
        (json!({"of": [3]}), "pick: `of[0]` came as 3 but takes an object"),
        (json!({"lines": ["A"]}), "pick: `lines[0]` came as \"A\" but takes a whole number"),
    ] {
        assert_eq!(check_args(&spec, args).expect_err("refused").message, expected);
    }
    // What needs more than a string, or another thing, is not guessed from one.
    assert_eq!(
        message(json!({"path": "a", "marks": ["1"]})),
        "find: `marks[0]` came as \"1\" but takes an object"
    );
}
