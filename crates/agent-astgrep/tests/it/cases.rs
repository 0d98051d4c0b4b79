//! `fixtures/astgrep/{cases,more}.json`: a pattern, a source, and what has to be found in it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use agent_astgrep::{Capture, Match, Pattern, Rewrite, Rewritten, VariableKind};
use agent_grammars::Grammars;
use libtest_mimic::{Failed, Trial};
use serde::Deserialize;
use serde_json::Value;

const NO_LIMIT: usize = usize::MAX;

/// The line, the text, and the captures, those of runs under a name with a dollar.
type Shown = (usize, String, BTreeMap<String, Value>);

#[derive(Deserialize)]
struct File {
    cases: Vec<Case>,
}

#[derive(Clone, Deserialize)]
struct Case {
    id: String,
    language: String,
    pattern: String,
    #[serde(default)]
    rewrite: Option<String>,
    source: String,
    expect: Expect,
}

#[derive(Clone, Debug, Deserialize)]
struct Expect {
    status: String,
    #[serde(default)]
    matches: Option<Vec<Shown>>,
    #[serde(default)]
    after: Option<String>,
    #[serde(default)]
    code: Option<String>,
    #[serde(default)]
    replacements: Option<usize>,
    #[serde(default)]
    dropped_comments: Option<usize>,
    #[serde(default)]
    skipped: Option<usize>,
}

/// The cases that were measured on other tools, and our own.
const FILES: [&str; 2] = ["cases.json", "more.json"];

/// Names a folder with further cases, those in its folder `ast`, for whoever has some of their own.
const MORE: &str = "AGENT_TESTS_CASES";

// spec: AST-01, AST-02, AST-04, AST-05, AST-06, AST-07, AST-08
pub(crate) fn trials() -> Vec<Trial> {
    let ours = FILES.iter().map(|name| ("case", fixture(name)));
    let cases =
        ours.chain(more().into_iter().map(|text| ("more", text))).flat_map(|(from, text)| {
            let file: File = serde_json::from_str(&text).unwrap();
            file.cases.into_iter().map(move |case| (from, case))
        });
    let trial = |(from, case): (&str, Case)| {
        let language = case.language.clone();
        for_language(&language, format!("{from}::{}", case.id), move || check(&case))
    };
    cases.map(trial).collect()
}

fn more() -> Vec<String> {
    let Some(folder) = std::env::var_os(MORE) else { return Vec::new() };
    let files = std::fs::read_dir(PathBuf::from(folder).join("ast")).unwrap();
    let files = files.map(|file| file.unwrap().path());
    let files = files.filter(|file| file.extension().is_some_and(|ending| ending == "json"));
    files.map(|file| std::fs::read_to_string(file).unwrap()).collect()
}

/// A trial that is listed as ignored where the features of this build lack its language, so that
/// the default features can be tested too and nothing passes unseen. With all languages none is.
pub(crate) fn for_language(
    language: &str,
    name: String,
    check: impl FnOnce() -> Result<(), Failed> + Send + 'static,
) -> Trial {
    let lacking = !cfg!(feature = "all-langs") && Grammars::bundled().by_id(language).is_err();
    Trial::test(name, check).with_ignored_flag(lacking)
}

/// A file of `fixtures/astgrep`.
pub(crate) fn fixture(name: &str) -> String {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/astgrep");
    std::fs::read_to_string(folder.join(name)).unwrap()
}

fn check(case: &Case) -> Result<(), Failed> {
    let grammar = Grammars::bundled().by_id(&case.language).cloned()?;
    let source = case.source.as_bytes();
    let tree = grammar.parser().parse(source, None).unwrap();
    let pattern = match Pattern::compile(&grammar, &case.pattern) {
        Ok(pattern) => Arc::new(pattern),
        Err(error) => return expect_failure(case, error.code(), &error.to_string()),
    };
    if let Some(template) = &case.rewrite {
        let rewrite = Rewrite::compile(&pattern, template);
        return match rewrite.and_then(|rewrite| rewrite.apply(source, &tree)) {
            Ok(rewritten) => check_rewritten(case, &rewritten),
            Err(error) => expect_failure(case, error.code(), &error.to_string()),
        };
    }
    if case.expect.status != "ok" {
        return Err(format!("expected {}, but the pattern compiled", case.expect.status).into());
    }
    let found = pattern.find(&tree, source, NO_LIMIT);
    let full = pattern.find_by_full_visit(&tree, source, NO_LIMIT);
    if found != full {
        return Err(format!("near literals {found:?}\nfull visit {full:?}").into());
    }
    let Some(expected) = &case.expect.matches else { return Ok(()) };
    let shown: Vec<_> =
        found.matches.iter().map(|found| show(&pattern, &case.source, found)).collect();
    let complain = || {
        let kinds = pattern.root_kinds();
        format!(
            "context {} {kinds:?}\nexpected {expected:#?}\nfound {shown:#?}\n{pattern:#?}\n{}",
            pattern.context(),
            tree.root_node().to_sexp()
        )
    };
    if shown.len() != expected.len() {
        return Err(complain().into());
    }
    for (shown, expected) in shown.iter().zip(expected) {
        let captures = expected.2.iter().all(|(name, value)| shown.2.get(name) == Some(value));
        if shown.0 != expected.0 || shown.1 != expected.1 || !captures {
            return Err(complain().into());
        }
    }
    Ok(())
}

/// The status `unparsable` is one code, `error` is any other; `code` pins it.
fn expect_failure(case: &Case, code: &str, message: &str) -> Result<(), Failed> {
    let status = if code == "unparsable_pattern" { "unparsable" } else { "error" };
    let right_code = case.expect.code.as_ref().is_none_or(|expected| expected == code);
    if status == case.expect.status && right_code {
        return Ok(());
    }
    Err(format!("expected {} {:?}, got {code}: {message}", case.expect.status, case.expect.code)
        .into())
}

fn check_rewritten(case: &Case, rewritten: &Rewritten) -> Result<(), Failed> {
    let after = String::from_utf8_lossy(&rewritten.bytes);
    let complain = |what: &str| -> Result<(), Failed> {
        let expected = &case.expect;
        Err(format!("{what}\nexpected {expected:#?}\nafter\n{after}\n{rewritten:#?}").into())
    };
    if case.expect.status != "ok" {
        return complain("it should have been refused");
    }
    if case.expect.after.as_deref() != Some(&*after) {
        return complain("another result");
    }
    if applied(case, rewritten) != rewritten.bytes {
        return complain("the edits do not make the result");
    }
    let Expect { replacements, dropped_comments, skipped, .. } = &case.expect;
    if replacements.is_some_and(|count| count != rewritten.replacements)
        || dropped_comments.is_some_and(|count| count != rewritten.dropped_comments)
        || skipped.is_some_and(|count| count != rewritten.skipped.len())
    {
        return complain("other counts");
    }
    Ok(())
}

fn applied(case: &Case, rewritten: &Rewritten) -> Vec<u8> {
    let source = case.source.as_bytes();
    let mut bytes = Vec::new();
    let mut position = 0;
    for edit in &rewritten.edits {
        bytes.extend_from_slice(&source[position..edit.range.start]);
        bytes.extend_from_slice(&edit.replacement);
        position = edit.range.end;
    }
    bytes.extend_from_slice(&source[position..]);
    bytes
}

fn show(pattern: &Pattern, source: &str, found: &Match) -> Shown {
    let line = source[..found.range.start].matches('\n').count() + 1;
    let captures = pattern.variables().iter().zip(&found.captures).map(|(variable, capture)| {
        let name = match variable.kind {
            VariableKind::One => variable.name.clone(),
            VariableKind::Many => format!("${}", variable.name),
        };
        let value = match capture {
            Capture::One(range) => Value::from(&source[range.clone()]),
            Capture::Many { nodes, .. } => {
                nodes.iter().map(|range| source[range.clone()].to_owned()).collect()
            }
        };
        (name, value)
    });
    (line, source[found.range.clone()].to_owned(), captures.collect())
}
