use agent_lsp::{
    language::Language,
    position::{Document, PositionEncoding},
    symbol::{self, Decision, Found, Query, Resolved},
};
use agent_tool_core::ToolError;
use async_lsp::lsp_types::Position;
use serde_json::{Value, json};

fn find(text: &str, line: usize, symbol: &str, language: &str) -> Result<Found, ToolError> {
    let query = Query { file: "src/a", line, symbol };
    symbol::find(&Document::new(text), &query, Language::by_id(language))
}

/// The columns of the occurrences, or the error's code.
fn columns(text: &str, symbol: &str, language: &str) -> Result<Vec<usize>, String> {
    let found = find(text, 1, symbol, language).map_err(|error| error.code.into_owned())?;
    Ok(found.occurrences.iter().map(|occurrence| occurrence.place.column).collect())
}

fn resolved(found: Found) -> Resolved {
    found.decide(|_| None).unwrap().resolved().unwrap()
}

// spec: LSP-02, LSP-03
#[test]
fn an_occurrence_is_a_whole_identifier_in_its_language() {
    let none = Err("symbol_not_found".to_owned());
    let table = [
        ("foobar(foo)", "foo", "rust", Ok(vec![8])),
        ("foobar", "foo", "rust", none.clone()),
        ("barfoo", "foo", "rust", none.clone()),
        ("Foo", "foo", "rust", none.clone()),
        ("naïveté", "na", "rust", none.clone()),
        ("面積 = 面積計算(x)", "面積", "python", Ok(vec![1])),
        // Longer text tells apart; the place is that of its first identifier that is no keyword.
        ("area(c) + area(d)", "area", "c", Ok(vec![1, 11])),
        ("area(c) + area(d)", "area(d", "c", Ok(vec![11])),
        ("x.area + y.area", ".area", "c", Ok(vec![3, 12])),
        ("    def area(self):", "def area", "python", Ok(vec![9])),
        ("self.area()", "self.area", "rust", Ok(vec![6])),
        ("self.area()", "self", "rust", Ok(vec![1])),
        ("a + b", "+", "rust", Ok(vec![3])),
        ("aa", "a", "rust", none.clone()),
        ("f f f", "f f", "rust", Ok(vec![1, 3])),
        ("  area ", " area ", "rust", Ok(vec![3])),
        // What belongs to an identifier differs.
        ("$foo + foo", "foo", "javascript", Ok(vec![8])),
        ("$foo", "foo", "javascript", none.clone()),
        ("$foo", "$foo", "javascript", Ok(vec![1])),
        ("this.#area = area", "area", "typescript", Ok(vec![14])),
        ("this.#area = area", "#area", "typescript", Ok(vec![6])),
        ("@area = area", "area", "ruby", Ok(vec![9])),
        ("@@area", "@@area", "ruby", Ok(vec![1])),
        ("list.empty? ? empty : 1", "empty", "ruby", Ok(vec![15])),
        ("list.empty?", "empty?", "ruby", Ok(vec![6])),
        ("a!=b", "a", "ruby", Ok(vec![1])),
        ("$area = area($x)", "area", "php", Ok(vec![9])),
        (".a-b { }", "a", "css", none.clone()),
        (".a-b { }", "a-b", "css", Ok(vec![2])),
        ("a-b", "a", "rust", Ok(vec![1])),
        ("print('hi $name')", "name", "dart", Ok(vec![12])),
        ("_$Area()", "Area", "dart", none.clone()),
        ("r#type = 1", "type", "rust", Ok(vec![3])),
        ("area", "area", "brainfuck", Ok(vec![1])),
    ];
    for (text, symbol, language, expected) in table {
        assert_eq!(
            columns(text, symbol, language),
            expected,
            "`{symbol}` in `{text}` ({language})"
        );
    }
}

// spec: LSP-03
#[test]
fn a_number_picks_one_unless_the_line_says_it_literally() {
    let pick = |text: &str, symbol: &str, language: &str| {
        find(text, 1, symbol, language)
            .map(|found| resolved(found).to_string())
            .map_err(|error| error.message)
    };
    assert_eq!(
        pick("a.name = b.name", "name#2", "rust").unwrap(),
        "resolved `name` at src/a:1:12 (2 of 2)"
    );
    assert_eq!(pick("name()", "name#1", "rust").unwrap(), "resolved `name` at src/a:1:1");
    // A literal `#2` wins, as an anchor or a private field.
    assert_eq!(pick("see a#2 and a", "a#2", "html").unwrap(), "resolved `a#2` at src/a:1:5");
    assert_eq!(pick("this.#x = x", "#x", "javascript").unwrap(), "resolved `#x` at src/a:1:6");
    assert_eq!(
        pick("f(f, f)", "f#4", "rust").unwrap_err(),
        "there is no `f#4`: line 1 of src/a has `f` 3 times\n  `f#1` at column 1: f(f, f)\n  `f#2` at column 3: \
         f(f, f)\n  `f#3` at column 6: f(f, f)"
    );
    assert!(pick("f()", "f#0", "rust").unwrap_err().starts_with("there is no `f#0`"));
    assert!(pick("f()", "f#99999999999999999999999", "rust").is_err());
}

// spec: LSP-02, LSP-03
#[test]
fn an_error_shows_the_line_and_says_what_to_write() {
    let text = "\tlet area = foobar;\n// nothing\n\nuse_area(area);\nfoo();\n";
    let error = |line, symbol| {
        let error = find(text, line, symbol, "rust").unwrap_err();
        (error.code.into_owned(), error.message)
    };
    assert_eq!(
        error(1, ""),
        (
            "symbol_required".to_owned(),
            "`symbol` is missing: write the part of the line that is meant, as it stands there; line 1 of src/a is `let \
             area = foobar;`"
                .to_owned()
        )
    );
    assert_eq!(
        error(1, "foo"),
        (
            "symbol_not_found".to_owned(),
            "`foo` is no whole name on line 1 of src/a, which is `let area = foobar;`; did you mean `foobar`?".to_owned()
        )
    );
    assert_eq!(
        error(3, "area"),
        (
            "symbol_not_found".to_owned(),
            "`area` is no whole name on line 3 of src/a, which is ``; the nearest lines that have it:\n  line 4: \
             `use_area(area);`\n  line 1: `let area = foobar;`"
                .to_owned()
        )
    );
    assert_eq!(
        error(1, "Area").1,
        "`Area` is no whole name on line 1 of src/a, which is `let area = foobar;`; did you mean `area`?"
    );
    assert_eq!(
        error(2, "volume").1,
        "`volume` is no whole name on line 2 of src/a, which is `// nothing`; no line of the file has it, so read the \
         file again"
    );
    let (code, message) = error(99, "area");
    assert_eq!(code, "line_out_of_range");
    assert!(message.contains("its lines are 1 to 6"), "{message}");
    assert_eq!(error(0, "area").0, "line_out_of_range");
    assert_eq!(error(1, " \t").0, "symbol_required");
}

// spec: LSP-03
#[test]
fn an_ambiguity_lists_its_occurrences_as_data() {
    let found = find("payment.name = other.name", 1, "name", "rust").unwrap();
    let Decision::Ask(ambiguous) = found.decide(|_| None).unwrap() else { panic!("two are left") };
    assert_eq!(ambiguous.occurrences().count(), 2);
    let error = ambiguous.settle(&[Some("a"), Some("b")]).unwrap_err();
    assert_eq!(error.code, "ambiguous_symbol");
    assert_eq!(
        error.message,
        "`name` may be 2 different symbols on line 1 of src/a, which is `payment.name = other.name`; pick one by its \
         number, or write more of the line\n  `name#1` at column 9: payment.name = other.name\n  `name#2` at column 22: \
         payment.name = other.name"
    );
    assert_eq!(
        error.data,
        json!({
            "file": "src/a", "line": 1, "text": "payment.name = other.name", "symbol": "name",
            "occurrences": [
                {"line": 1, "column": 9, "occurrence": 1, "text": "payment.name = other.name"},
                {"line": 1, "column": 22, "occurrence": 2, "text": "payment.name = other.name"},
            ],
        })
    );
}

// spec: LSP-03
#[test]
fn occurrences_come_to_one_meaning_or_to_none() {
    const YES: Option<bool> = Some(true);
    const NO: Option<bool> = Some(false);
    let lost = Err("ambiguous_symbol");
    type Case<'a> = (&'a [Option<bool>], &'a [Option<i32>], Result<usize, &'a str>);
    let table: [Case<'_>; 10] = [
        // One definition: no ambiguity.
        (&[None, None, None], &[Some(1), Some(1), Some(1)], Ok(1)),
        (&[None, None, None], &[Some(1), Some(2), Some(1)], lost),
        // Comments and strings fall out, by grammar or, without one, because the server knows no definition there.
        (&[NO, YES, NO], &[], Ok(2)),
        (&[NO, YES, YES], &[Some(1), Some(1)], Ok(2)),
        (&[None, None, None], &[None, Some(1), Some(1)], Ok(2)),
        // Code whose meaning the server does not know may mean anything.
        (&[YES, YES, NO], &[None, Some(1)], lost),
        (&[None, None, None], &[None, None, None], lost),
        (&[None, None, None], &[], lost),
        // When nothing is code, all stay.
        (&[NO, NO, NO], &[Some(1), Some(1), Some(1)], Ok(1)),
        (&[NO, NO, NO], &[Some(1), Some(2), Some(1)], lost),
    ];
    for (in_code, definitions, expected) in table {
        let mut answers = in_code.iter();
        let decision = find("x + x + x", 1, "x", "rust")
            .unwrap()
            .decide(|_| answers.next().copied().flatten())
            .unwrap();
        let found = match decision {
            Decision::Resolved(resolved) => Ok(resolved.at.occurrence),
            Decision::Ask(ambiguous) => match ambiguous.settle(definitions) {
                Ok(resolved) => Ok(resolved.at.occurrence),
                Err(error) => {
                    assert_eq!(error.code, "ambiguous_symbol");
                    Err("ambiguous_symbol")
                }
            },
        };
        assert_eq!(found, expected, "{in_code:?} {definitions:?}");
    }
}

#[test]
fn nobody_is_asked_about_more_than_eight() {
    let line = |count: usize| vec!["x"; count].join(" + ");
    assert!(matches!(find(&line(8), 1, "x", "c").unwrap().decide(|_| None), Ok(Decision::Ask(_))));
    let error = find(&line(30), 1, "x", "c").unwrap().decide(|_| None).unwrap_err();
    assert_eq!(error.code, "ambiguous_symbol");
    assert!(error.message.ends_with("… and 10 more"), "{}", error.message);
    assert_eq!(error.data["occurrences"].as_array().map(Vec::len), Some(30));
}

#[test]
fn a_composed_and_a_decomposed_name_are_one_and_the_place_is_that_of_the_file() {
    let (composed, decomposed) = ("caf\u{e9}", "cafe\u{301}");
    let table = [
        (decomposed, composed, Ok(vec![5])),
        (composed, decomposed, Ok(vec![5])),
        (decomposed, decomposed, Ok(vec![5])),
        // The accent belongs to the name.
        (decomposed, "cafe", Err("symbol_not_found".to_owned())),
        // Hangul composes without combining marks.
        ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}", Ok(vec![5])),
        ("\u{1112}\u{1161}\u{11ab}", "\u{d558}", Err("symbol_not_found".to_owned())),
    ];
    for (text, symbol, expected) in table {
        let line = format!("x = {text} + 1");
        assert_eq!(columns(&line, symbol, "python"), expected, "`{symbol}` in `{line}`");
    }
    let found = find(&format!("x = {decomposed} + 1"), 1, composed, "python").unwrap();
    assert_eq!(resolved(found).identifier, decomposed);
    // An exact one is taken before a composed one.
    let both = format!("{decomposed} = {composed}");
    assert_eq!(columns(&both, composed, "python"), Ok(vec![9]));
}

// spec: LSP-02
#[test]
fn the_place_is_right_in_every_encoding_after_emoji_cjk_and_tabs() {
    let line = "\t\"𝕏日é\"; area(c)";
    let text = format!("first\r\n{line}\r\n");
    let document = Document::new(text.as_str());
    let found = resolved(find(&text, 2, "area", "rust").unwrap());
    assert_eq!((found.at.line, found.at.column), (2, 9));
    let table =
        [(PositionEncoding::Utf8, 14), (PositionEncoding::Utf16, 9), (PositionEncoding::Utf32, 8)];
    for (encoding, character) in table {
        assert_eq!(document.position(found.range.start, encoding), Position::new(1, character));
    }
    assert_eq!(found.identifier, "area");
}

#[test]
fn the_data_of_a_resolved_symbol_is_the_issue_s() {
    let found = resolved(find("a b a", 1, "a#2", "rust").unwrap());
    let data: Value = serde_json::to_value(found.at).unwrap();
    assert_eq!(data, json!({"file": "src/a", "line": 1, "column": 5, "occurrence": 2, "of": 2}));
}

#[cfg(feature = "all-langs")]
mod grammars {
    use agent_grammars::Grammars;
    use agent_lsp::symbol::Code;

    use super::*;

    /// Which occurrences are code, by the grammar.
    fn in_code(text: &str, line: usize, symbol: &str, language: &str) -> Vec<Option<bool>> {
        let grammars = Grammars::bundled();
        let code = Code::parse(grammars.by_id(language).unwrap(), text).unwrap();
        let found = find(text, line, symbol, language).unwrap();
        found.occurrences.iter().map(|occurrence| code.contains(occurrence)).collect()
    }

    // spec: LSP-03
    #[test]
    fn comments_and_strings_are_no_code_and_interpolations_are() {
        let (yes, no) = (Some(true), Some(false));
        let table = [
            ("fn f() { area(1); } // area", "area", "rust", vec![yes, no]),
            ("x = area(\"area\")  # area", "area", "python", vec![yes, no, no]),
            ("x = f\"area {area}\"", "area", "python", vec![no, yes]),
            ("const x = `area ${area}`; /* area */", "area", "typescript", vec![no, yes, no]),
            ("int x = area; // area", "area", "c", vec![yes, no]),
            ("void f() { print('area $area'); }", "area", "dart", vec![no, yes]),
            ("x := area(`area`)", "area", "go", vec![yes, no]),
        ];
        for (text, symbol, language, expected) in table {
            assert_eq!(in_code(text, 1, symbol, language), expected, "{text}");
        }
        // What a line is cannot be told from the line.
        assert_eq!(in_code("\"\"\"\narea area\n\"\"\"\n", 2, "area", "python"), [no, no]);
    }
}
