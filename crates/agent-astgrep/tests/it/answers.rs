//! What is said beside the matches: why nothing was found, what was given up, what is refused.

use std::sync::Arc;

use agent_astgrep::{HintKind, Pattern, Rewrite, SkipReason};
use agent_grammars::Grammars;
use libtest_mimic::{Failed, Trial};

const NO_LIMIT: usize = usize::MAX;

/// Language, pattern, source, the cause, and the line that shows it.
type Row = (&'static str, &'static str, &'static str, Option<HintKind>, usize);

const ROWS: [Row; 9] = [
    ("javascript", "require('x')", "a();\nrequire(\"x\")\n", Some(HintKind::QuotesDiffer), 2),
    (
        "typescript",
        "function $F($$$P) { $$$B }",
        "function b(x: number): string { h() }\n",
        Some(HintKind::ExtraNode),
        1,
    ),
    (
        "typescript",
        "if ($A) { $$$B }",
        "if (a) { b(); } else { c(); }\n",
        Some(HintKind::ExtraNode),
        1,
    ),
    (
        "javascript",
        "function $F($$$P) { $$$B }",
        "\nasync function b() { x() }\n",
        Some(HintKind::ExtraToken),
        2,
    ),
    ("python", "f($A, $A)", "f(1, 2)\n", Some(HintKind::RepeatDiffers), 1),
    ("rust", "$X.to_string()", "fn f() {\n  vec![x.to_string()];\n}\n", Some(HintKind::InMacro), 2),
    ("python", "open($X)", "# open(x)\ny = 'open(x)'\n", Some(HintKind::InText), 1),
    ("python", "open($X)", "close(x)\n", None, 0),
    ("python", "open($X)", "x = open\n", None, 0),
];

pub(crate) fn trials() -> Vec<Trial> {
    let hints = ROWS
        .into_iter()
        .enumerate()
        .map(|(number, row)| Trial::test(format!("hint::{number}::{}", row.1), move || check(row)));
    hints
        .chain([
            Trial::test("budget::is_reported", budget_is_reported),
            Trial::test("limits::a_deep_pattern_is_refused", deep_pattern_is_refused),
            Trial::test("limits::other_encodings_are_searched", other_encodings_are_searched),
            Trial::test("budget::a_long_list_is_cheap", a_long_list_is_cheap),
            Trial::test("budget::a_long_line_is_cheap", a_long_line_is_cheap),
        ])
        .collect()
}

fn check((language, pattern, source, kind, line): Row) -> Result<(), Failed> {
    let grammar = Grammars::bundled().by_id(language).cloned()?;
    let pattern = Pattern::compile(&grammar, pattern)?;
    let tree = grammar.parser().parse(source, None).unwrap();
    assert!(pattern.find(&tree, source.as_bytes(), NO_LIMIT).matches.is_empty());
    let hint = pattern.hint(&tree, source.as_bytes());
    let found = hint.as_ref().map(|hint| (hint.kind, hint.line));
    assert_eq!(found, kind.map(|kind| (kind, line)), "{hint:?}");
    Ok(())
}

fn deep_pattern_is_refused() -> Result<(), Failed> {
    let grammar = Grammars::bundled().by_id("javascript").cloned()?;
    let parentheses = format!("{}x{}", "(".repeat(3000), ")".repeat(3000));
    let unclosed = "(".repeat(4000);
    let sum = vec!["x"; 3000].join("+");
    for (pattern, code) in [
        (parentheses, "invalid_pattern"),
        (unclosed, "unparsable_pattern"),
        (sum, "invalid_pattern"),
        ("x".repeat(9000), "invalid_pattern"),
    ] {
        let error = Pattern::compile(&grammar, &pattern).map(|_| ()).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
    }
    Ok(())
}

/// Bytes that are no UTF-8 are found, and never edited.
fn other_encodings_are_searched() -> Result<(), Failed> {
    let grammar = Grammars::bundled().by_id("python").cloned()?;
    let pattern = Arc::new(Pattern::compile(&grammar, "f($X)")?);
    let source = b"f('\xe9')\nf(1)\n";
    let tree = grammar.parser().parse(source, None).unwrap();
    assert_eq!(pattern.find(&tree, source, NO_LIMIT).matches.len(), 2);
    let rewritten = Rewrite::compile(&pattern, "g($X)")?.apply(source, &tree)?;
    assert_eq!(rewritten.bytes, b"f('\xe9')\ng(1)\n");
    assert_eq!(rewritten.replacements, 1);
    assert_eq!(rewritten.skipped[0].reason, SkipReason::NotUtf8);
    Ok(())
}

/// A list of any length costs a few steps where one ellipsis takes most of it.
fn a_long_list_is_cheap() -> Result<(), Failed> {
    let grammar = Grammars::bundled().by_id("python").cloned()?;
    let numbers: Vec<_> = (0..200_000).map(|number| number.to_string()).collect();
    let source = format!("f({},)\n", numbers.join(", "));
    let tree = grammar.parser().parse(&source, None).unwrap();
    for pattern in ["f($$$A)", "f($$$A, 199999)", "f(0, $$$A)", "f($X, $$$A, $Y)"] {
        let found = Pattern::compile(&grammar, pattern)?.find(&tree, source.as_bytes(), NO_LIMIT);
        assert_eq!((found.matches.len(), found.budget_exceeded), (1, false), "{pattern}");
    }
    Ok(())
}

/// A file that is one line takes no longer for it: what is looked for behind every match is known.
fn a_long_line_is_cheap() -> Result<(), Failed> {
    let grammar = Grammars::bundled().by_id("javascript").cloned()?;
    let pattern = Arc::new(Pattern::compile(&grammar, "f($X)")?);
    let source = "f(1); /* f */ ".repeat(40_000);
    let tree = grammar.parser().parse(&source, None).unwrap();
    let rewritten = Rewrite::compile(&pattern, "g($X)")?.apply(source.as_bytes(), &tree)?;
    assert_eq!(rewritten.replacements, 40_000);
    assert_eq!(rewritten.bytes, "g(1); /* f */ ".repeat(40_000).as_bytes());
    Ok(())
}

// spec: AST-06
fn budget_is_reported() -> Result<(), Failed> {
    let grammar = Grammars::bundled().by_id("python").cloned()?;
    let pattern = Pattern::compile(&grammar, "f($$$A, $X, $$$B, $X, $$$C)")?;
    let numbers: Vec<_> = (0..2000).map(|number| number.to_string()).collect();
    let source = format!("f({})\nf(1, 1)\n", numbers.join(", "));
    let tree = grammar.parser().parse(&source, None).unwrap();
    let found = pattern.find(&tree, source.as_bytes(), NO_LIMIT);
    assert!(found.budget_exceeded);
    assert_eq!(found.matches.len(), 1);
    let few = "f(1, 2, 3, 2, 4)\n";
    let tree = grammar.parser().parse(few, None).unwrap();
    assert!(!pattern.find(&tree, few.as_bytes(), NO_LIMIT).budget_exceeded);
    Ok(())
}
