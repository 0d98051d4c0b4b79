use agent_lsp::{
    diagnostic::{self, Diagnostic, Severity},
    position::{Document, PositionEncoding},
};
use serde_json::{Value, json};

fn read(value: &Value) -> Option<Diagnostic> {
    let document = Document::new("let 𝕏 = area;\nnext");
    Diagnostic::of_lsp(value, "a.rs", &document, PositionEncoding::Utf16)
}

fn range(start: (i64, i64), end: (i64, i64)) -> Value {
    let place = |(line, character)| json!({"line": line, "character": character});
    json!({"start": place(start), "end": place(end)})
}

#[test]
fn a_diagnostic_is_data_with_a_place_in_characters() {
    let value = json!({
        "range": range((0, 9), (0, 13)), "severity": 2, "code": "E0425", "source": "rustc",
        "message": "cannot find `area`",
    });
    assert_eq!(
        serde_json::to_value(read(&value).unwrap()).unwrap(),
        json!({
            "file": "a.rs", "line": 1, "column": 9, "severity": "warning", "code": "E0425",
            "message": "cannot find `area`", "source": "rustc",
        })
    );
}

#[test]
fn what_servers_really_send_is_read() {
    let at = range((0, 0), (0, 1));
    let table = [
        (json!({"range": at, "message": "m"}), Severity::Error, None),
        (json!({"range": at, "message": "m", "severity": null}), Severity::Error, None),
        (json!({"range": at, "message": "m", "severity": 9}), Severity::Hint, None),
        (json!({"range": at, "message": "m", "severity": -1}), Severity::Hint, None),
        (
            json!({"range": at, "message": "m", "severity": 3, "code": 2345}),
            Severity::Information,
            Some("2345"),
        ),
        (
            json!({"range": at, "message": "m", "code": {"value": 12, "target": "https://example.org"}}),
            Severity::Error,
            Some("12"),
        ),
        (
            json!({"range": at, "message": {"kind": "markdown", "value": "m"}, "code": ""}),
            Severity::Error,
            None,
        ),
    ];
    for (value, severity, code) in table {
        let found = read(&value).unwrap();
        assert_eq!(
            (found.severity, found.code.as_deref(), found.message.as_str()),
            (severity, code, "m"),
            "{value}"
        );
    }
    assert_eq!(read(&json!({"range": at})), None);
}

#[test]
fn a_place_outside_of_the_text_is_the_nearest_in_it() {
    let table = [
        (range((0, -1), (0, 3)), (1, 1, 1)),
        (range((-4, 2), (0, 3)), (1, 3, 1)),
        (range((0, 500), (7, 0)), (1, 14, 2)),
        (range((9, 9), (9, 9)), (2, 5, 2)),
        (range((1, 2), (0, 0)), (2, 3, 2)),
        (json!(null), (1, 1, 1)),
    ];
    for (range, expected) in table {
        let found = read(&json!({"range": range, "message": "m"})).unwrap();
        assert_eq!((found.line, found.column, found.end_line), expected, "{range}");
    }
}

#[test]
fn errors_come_first_then_files_and_places() {
    let of = |file: &str, line, severity| Diagnostic::new(file, line, 1, severity, "m");
    let mut list = [
        of("b", 1, Severity::Warning),
        of("b", 9, Severity::Error),
        of("a", 3, Severity::Hint),
        of("b", 2, Severity::Error),
        of("a", 7, Severity::Error),
    ];
    diagnostic::sort(&mut list);
    let order: Vec<_> =
        list.iter().map(|d| (d.severity.as_str(), d.file.as_str(), d.line)).collect();
    assert_eq!(
        order,
        [
            ("error", "a", 7),
            ("error", "b", 2),
            ("error", "b", 9),
            ("warning", "b", 1),
            ("hint", "a", 3)
        ]
    );
}
