//! Each of the public reports that this crate answers has a test.

use std::{collections::BTreeSet, fs, path::Path};

/// How many reports there are: `D1` to `D34`.
const REPORTS: u32 = 34;

/// What stands before a report's name above a test.
const LABEL: &str = "// report: ";

#[test]
fn every_report_is_named_by_a_test() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let mut named = BTreeSet::new();
    for suite in fs::read_dir(tests).unwrap() {
        for file in fs::read_dir(suite.unwrap().path()).unwrap() {
            named.extend(labels(&fs::read_to_string(file.unwrap().path()).unwrap()));
        }
    }
    let expected: BTreeSet<_> = (1..=REPORTS).map(|number| format!("D{number}")).collect();
    let unnamed: Vec<_> = expected.difference(&named).collect();
    let unknown: Vec<_> = named.difference(&expected).collect();
    assert!(
        unnamed.is_empty() && unknown.is_empty(),
        "no test: {unnamed:?}; no report: {unknown:?}"
    );
}

/// The reports that stand above a test: a label is followed by a function, be there an attribute between.
fn labels(text: &str) -> Vec<String> {
    let lines: Vec<_> = text.lines().collect();
    let labelled = lines.iter().enumerate().filter_map(|(at, line)| {
        let names = line.strip_prefix(LABEL)?;
        let next = lines[at + 1..].iter().find(|line| !line.starts_with("#["))?;
        assert!(next.contains("fn "), "{line} stands above {next:?}");
        Some(names.split(", ").map(str::to_owned))
    });
    labelled.flatten().collect()
}
