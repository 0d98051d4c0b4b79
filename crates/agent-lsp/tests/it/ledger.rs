use agent_lsp::{
    diagnostic::{Diagnostic, Severity, State},
    ledger::{Ledger, Observed, Others, Report, Since, Snapshot, Unsettled, Written},
};
use serde_json::json;

const SERVER: &str = "ty";

fn error(line: usize, message: &str) -> Diagnostic {
    Diagnostic::new("a.py", line, 1, Severity::Error, message)
}

fn warning(line: usize, message: &str) -> Diagnostic {
    Diagnostic::new("a.py", line, 1, Severity::Warning, message)
}

fn of_file(file: &str, line: usize, message: &str) -> Diagnostic {
    Diagnostic::new(file, line, 1, Severity::Error, message)
}

fn settled(file: &str, diagnostics: &[Diagnostic]) -> Observed {
    Observed::new(file, SERVER, Snapshot::Settled(diagnostics.to_vec()))
}

fn unsettled(file: &str, why: Unsettled) -> Observed {
    Observed::new(file, SERVER, Snapshot::Unsettled(why))
}

fn slow() -> Unsettled {
    Unsettled::TimedOut { waiting_for: "cargo check".to_owned() }
}

/// Writes `a.py` without a change of its lines.
fn write(ledger: &mut Ledger, now: &[Diagnostic]) -> Report {
    ledger.settle(&[Written::new("a.py", Some(""), Some(""))], vec![settled("a.py", now)])
}

/// A ledger that knows `a.py` with these diagnostics.
fn knowing(known: &[Diagnostic]) -> Ledger {
    let mut ledger = Ledger::new();
    ledger.baseline("a.py", SERVER, known.to_vec());
    ledger
}

/// `file:line message` of what is new.
fn new(report: &Report) -> Vec<String> {
    let all = report.new.iter().flat_map(|news| &news.new).map(|new| &new.diagnostic);
    all.map(|new| format!("{}:{} {}", new.file, new.line, new.message)).collect()
}

fn fixed(report: &Report) -> Vec<String> {
    report.fixed.iter().map(|fixed| format!("{} {}", fixed.line, fixed.message)).collect()
}

// spec: LSP-13, LSP-14
#[test]
fn only_what_the_write_made_is_told_and_what_it_removed() {
    let mut ledger = knowing(&[error(1, "old"), error(2, "gone")]);
    let report = write(&mut ledger, &[error(1, "old"), error(3, "made")]);
    assert_eq!(new(&report), ["a.py:3 made"]);
    assert_eq!(fixed(&report), ["2 gone"]);
    assert_eq!(report.state, State::Dirty);
    let report = write(&mut ledger, &[error(1, "old"), error(3, "made")]);
    assert!(report.is_quiet(), "{report:?}");
}

// spec: LSP-14
#[test]
fn the_same_message_twice_is_counted() {
    let mut ledger = knowing(&[error(1, "m")]);
    assert_eq!(new(&write(&mut ledger, &[error(1, "m"), error(5, "m")])), ["a.py:5 m"]);
    let report = write(&mut ledger, &[error(5, "m")]);
    assert_eq!((new(&report).len(), fixed(&report).len()), (0, 1));
    assert_eq!(new(&write(&mut ledger, &[error(1, "m"), error(5, "m")])).len(), 1);
}

// spec: LSP-14
#[test]
fn what_only_moved_is_not_told_again() {
    let mut ledger = knowing(&[error(1, "m"), warning(7, "w")]);
    let report = write(&mut ledger, &[error(5, "m"), warning(11, "w")]);
    assert!(report.is_quiet());
    assert_eq!(report.text(), "no new diagnostics; 2 from before");
}

// spec: LSP-14
#[test]
fn a_line_number_in_a_message_may_move_too() {
    let mut ledger = knowing(&[error(4, "redefinition of unused 'f' from line 3")]);
    assert!(write(&mut ledger, &[error(8, "redefinition of unused 'f' from line 7")]).is_quiet());
    let report = write(&mut ledger, &[error(8, "redefinition of unused 'g' from line 7")]);
    assert_eq!((new(&report).len(), fixed(&report).len()), (1, 1));
    let mut ledger = knowing(&[error(1, "expected 2 arguments, got 1")]);
    assert_eq!(write(&mut ledger, &[error(1, "expected 2 arguments, got 3")]).new.len(), 1);
}

// spec: LSP-14
#[test]
fn codes_tell_apart_and_no_code_is_one_of_its_own() {
    let mut ledger = knowing(&[error(1, "m").with_code("2345")]);
    assert!(write(&mut ledger, &[error(9, "m").with_code("2345")]).is_quiet());
    assert_eq!(new(&write(&mut ledger, &[error(9, "m")])), ["a.py:9 m"]);
    assert_eq!(new(&write(&mut ledger, &[error(9, "m").with_code("2346")])).len(), 1);
}

// spec: LSP-14
#[test]
fn what_was_fixed_and_comes_back_is_new_again() {
    let mut ledger = knowing(&[error(1, "m")]);
    let report = write(&mut ledger, &[]);
    assert_eq!((fixed(&report), report.state), (vec!["1 m".to_owned()], State::Clean));
    assert_eq!(
        report.text(),
        "fixed: 1 error, never told before (a.py:1)\nno errors or warnings in what was written, confirmed"
    );
    assert_eq!(new(&write(&mut ledger, &[error(1, "m")])), ["a.py:1 m"]);
}

// spec: LSP-14
#[test]
fn what_a_new_error_may_hide_is_not_called_fixed() {
    let mut ledger = knowing(&[error(1, "m"), error(2, "n")]);
    let report = write(&mut ledger, &[error(3, "unexpected token")]);
    let hidden = "not told any more, fixed or hidden by a new error: 2 errors";
    assert!(report.text().contains(hidden), "{}", report.text());
    assert!(!report.text().contains("fixed: "), "{}", report.text());
    assert_eq!((report.data().fixed.len(), report.data().perhaps_hidden.len()), (0, 2));
    let report = write(&mut ledger, &[warning(3, "unused")]);
    assert!(report.text().ends_with("\nfixed: 1 error"), "{}", report.text());
    assert_eq!((report.data().fixed.len(), report.data().perhaps_hidden.len()), (1, 0));
}

// spec: LSP-14
#[test]
fn what_a_new_error_of_the_written_file_may_hide_in_others_is_not_called_fixed() {
    let mut ledger = knowing(&[]);
    ledger.told("b.py", SERVER, vec![of_file("b.py", 4, "wrong argument")]);
    let written = [Written::new("a.py", Some(""), Some(""))];
    let mut settle = |a: &[Diagnostic], b: &[Diagnostic]| {
        ledger.settle(&written, vec![settled("a.py", a), settled("b.py", b)])
    };
    let report = settle(&[error(1, "unexpected token")], &[]);
    assert_eq!((report.data().fixed.len(), report.data().perhaps_hidden.len()), (0, 1));
    // Once that is mended what others have again is not new.
    let report = settle(&[], &[of_file("b.py", 4, "wrong argument")]);
    assert_eq!((report.data().new_total, report.data().back.len()), (0, 1));
    assert_eq!(fixed(&report), ["1 unexpected token"]);
    let report = settle(&[], &[]);
    assert_eq!((report.data().fixed.len(), report.data().perhaps_hidden.len()), (1, 0));
}

// spec: LSP-14
#[test]
fn what_nobody_was_told_of_is_fixed_with_its_place() {
    let mut ledger = knowing(&[error(1, "old"), error(2, "older")]);
    write(&mut ledger, &[error(1, "old"), error(2, "older"), error(3, "made")]);
    let report = write(&mut ledger, &[error(2, "older")]);
    let line = report.text().lines().next().map(str::to_owned);
    assert_eq!(line.as_deref(), Some("fixed: 2 errors, 1 of them never told before (a.py:1)"));
    assert_eq!((report.data().fixed.len(), report.data().fixed_untold), (2, 1));
    let report = write(&mut ledger, &[]);
    let line = report.text().lines().next().map(str::to_owned);
    assert_eq!(line.as_deref(), Some("fixed: 1 error, never told before (a.py:2)"));
    // What was asked for was told.
    write(&mut ledger, &[error(1, "asked for")]);
    ledger.told("a.py", "ty", vec![error(1, "asked for")]);
    assert_eq!(write(&mut ledger, &[]).data().fixed_untold, 0);
}

// spec: LSP-14
#[test]
fn what_is_gone_is_credited_to_no_write_alone_where_more_than_it_changed() {
    let mut ledger = knowing(&[error(1, "m")]);
    ledger.told("a.py", "ty", vec![error(1, "m")]);
    let written = [Written::new("a.py", Some(""), Some(""))];
    let mut others = Others::default();
    others.changed = vec!["b.py".to_owned()];
    let report = ledger.settle_with(&written, vec![settled("a.py", &[])], others);
    let line = report.text().lines().next().map(str::to_owned);
    let expected = "fixed, by this write or by what else changed (b.py): 1 error";
    assert_eq!(line.as_deref(), Some(expected));
    assert_eq!(report.data().others.changed, ["b.py"]);
}

// spec: LSP-14
#[test]
fn what_was_hidden_and_comes_back_is_not_new_and_what_hid_it_is_fixed() {
    let mut ledger = knowing(&[error(1, "m"), error(2, "n")]);
    write(&mut ledger, &[error(3, "unexpected token"), error(4, "expected )")]);
    // Another write changes nothing of that, also one that adds a slip and one that is not settled.
    write(&mut ledger, &[error(3, "unexpected token"), error(4, "expected )"), error(5, "eof")]);
    let written = [Written::new("a.py", Some(""), Some(""))];
    ledger.settle(&written, vec![unsettled("a.py", slow())]);
    let report = write(&mut ledger, &[error(2, "m"), error(3, "n")]);
    assert_eq!(new(&report), Vec::<String>::new());
    assert_eq!(
        report.text(),
        "fixed: 3 errors\nback again, hidden until now: 2 errors (a.py:2, a.py:3)\nno new diagnostics; 2 from before"
    );
    let data = report.data();
    assert_eq!((data.new.len(), data.fixed.len(), data.back.len()), (0, 3, 2));
    assert!(write(&mut ledger, &[error(2, "m"), error(3, "n")]).is_quiet());
}

// spec: LSP-14
#[test]
fn only_what_was_hidden_is_back() {
    let slip = || error(3, "unexpected token");
    let hidden = || {
        let mut ledger = knowing(&[error(1, "m")]);
        write(&mut ledger, &[slip()]);
        ledger
    };
    // A second one of the same words, another severity, another code.
    let now = [error(1, "m"), error(8, "m"), warning(1, "m"), error(1, "m").with_code("E1")];
    let report = write(&mut hidden(), &now);
    assert_eq!(report.back.len(), 1);
    assert_eq!(new(&report).len(), 3);
    // On a line that the write made.
    let written = [Written::new("a.py", Some("old\n"), Some("new\n"))];
    let report = hidden().settle(&written, vec![settled("a.py", &[error(1, "m")])]);
    assert_eq!((new(&report), report.back.len()), (vec!["a.py:1 m".to_owned()], 0));
    // Once what hid it is gone without it, it was fixed.
    let mut ledger = hidden();
    assert_eq!(write(&mut ledger, &[]).text().lines().next(), Some("fixed: 1 error"));
    assert_eq!(new(&write(&mut ledger, &[error(1, "m")])), ["a.py:1 m"]);
    // The same where a call that asked for everything saw that.
    let mut ledger = hidden();
    ledger.told("a.py", SERVER, Vec::new());
    assert_eq!(new(&write(&mut ledger, &[error(1, "m")])), ["a.py:1 m"]);
}

// spec: LSP-14
#[test]
fn a_message_with_the_new_name_of_a_renamed_symbol_is_the_one_from_before() {
    let old = [warning(1, "`total` is unused"), warning(4, "`total_2` is unused")];
    let now = [warning(1, "`sum` is unused"), warning(4, "`total_2` is unused")];
    let mut ledger = knowing(&old);
    ledger.symbol_renamed("total", "sum");
    assert!(write(&mut ledger, &now).is_quiet());

    // Once only, and also where the answer comes late.
    let report = write(&mut ledger, &old);
    assert_eq!((new(&report).len(), fixed(&report).len()), (1, 1));
    ledger.symbol_renamed("total", "sum");
    let written = [Written::new("a.py", Some(""), Some(""))];
    let report = ledger.settle(&written, vec![unsettled("a.py", slow())]);
    let late = ledger.late(&report.pending[0].ticket, now.to_vec()).unwrap();
    assert_eq!(late.text(), "no new diagnostics; 2 from before");

    // What the rename broke is new.
    let mut ledger = knowing(&old);
    ledger.symbol_renamed("total", "sum");
    let report = write(&mut ledger, &[now[0].clone(), error(9, "`total` is not defined")]);
    assert_eq!(new(&report), ["a.py:9 `total` is not defined"]);
}

// spec: LSP-16
#[test]
fn what_comes_late_confirms_nothing_of_files_that_were_left_out() {
    let written = [Written::new("a.py", Some(""), Some(""))];
    let unknown = || Others::new(vec![], ["ty: too slow".to_owned()]);
    let left = Observed::new(
        "b.py",
        SERVER,
        Snapshot::Unsettled(Unsettled::NotLookedAt(agent_lsp::ledger::Beside::Named)),
    );
    for (others, more) in [(unknown(), vec![]), (Others::default(), vec![left])] {
        let mut ledger = knowing(&[]);
        let observed = [vec![unsettled("a.py", slow())], more].concat();
        let report = ledger.settle_with(&written, observed, others);
        let late = ledger.late(&report.pending[0].ticket, vec![]).unwrap();
        let text = late.text();
        assert!(!text.contains("confirmed"), "{text}");
        assert!(
            text.starts_with(
                "no errors or warnings in what was written, and not every other file was looked at"
            ),
            "{text}"
        );
    }
    // Where nothing was left out it does.
    let mut ledger = knowing(&[]);
    let report = ledger.settle(&written, vec![unsettled("a.py", slow())]);
    let late = ledger.late(&report.pending[0].ticket, vec![]).unwrap();
    assert_eq!(late.text(), "no errors or warnings in what was written, confirmed");
}

// spec: LSP-14
#[test]
fn the_same_error_in_a_second_file_is_told() {
    let mut ledger = knowing(&[error(1, "m")]);
    ledger.baseline("b.py", SERVER, Vec::new());
    let report = ledger.settle(
        &[Written::new("b.py", Some(""), Some(""))],
        vec![settled("b.py", &[of_file("b.py", 1, "m")])],
    );
    assert_eq!(new(&report), ["b.py:1 m"]);
}

// spec: LSP-14
#[test]
fn a_warning_that_became_an_error_is_new_and_not_fixed() {
    let mut ledger = knowing(&[warning(1, "m")]);
    let report = write(&mut ledger, &[error(1, "m")]);
    assert_eq!((new(&report), fixed(&report)), (vec!["a.py:1 m".to_owned()], vec![]));
}

#[test]
fn hints_and_information_are_no_news() {
    let mut ledger = knowing(&[]);
    let of = |severity| Diagnostic::new("a.py", 1, 1, severity, "'x' is declared but never used");
    let report = write(&mut ledger, &[of(Severity::Hint), of(Severity::Information)]);
    assert_eq!((report.is_quiet(), report.state), (true, State::Clean));
}

// spec: LSP-13
#[test]
fn a_batch_is_one_difference() {
    let mut ledger = Ledger::new();
    for file in ["a.py", "b.py"] {
        ledger.baseline(file, SERVER, Vec::new());
    }
    // The first hunk alone would break b.py, which the second mends: only the end counts.
    let written =
        [Written::new("a.py", Some("x"), Some("y")), Written::new("b.py", Some("x"), Some("y"))];
    let report = ledger.settle(&written, vec![settled("b.py", &[]), settled("a.py", &[])]);
    assert_eq!((report.is_quiet(), report.state), (true, State::Clean));
    let written =
        [Written::new("b.py", Some(""), Some("")), Written::new("a.py", Some(""), Some(""))];
    let observed = vec![
        settled("a.py", &[error(1, "m"), warning(1, "w")]),
        settled("b.py", &[of_file("b.py", 2, "m")]),
    ];
    assert_eq!(new(&ledger.settle(&written, observed)), ["b.py:2 m", "a.py:1 m", "a.py:1 w"]);
}

// spec: LSP-13, LSP-16
#[test]
fn what_comes_late_is_told_once_unless_the_file_was_written_again() {
    let written = [Written::new("a.py", Some(""), Some(""))];
    let mut ledger = knowing(&[error(1, "old")]);
    let report = ledger.settle(&written, vec![unsettled("a.py", slow())]);
    assert_eq!(report.text(), "diagnostics pending for a.py (ty: cargo check)");
    assert_eq!(report.state, State::Dirty);
    let first = report.pending[0].ticket.clone();
    // A timeout forgot nothing, and the late list is compared with what is known now.
    let late = ledger.late(&first, vec![error(1, "old"), error(2, "late")]).unwrap();
    assert_eq!(new(&late), ["a.py:2 late"]);
    assert_eq!(ledger.late(&first, vec![]), None);

    let second = ledger.settle(&written, vec![unsettled("a.py", slow())]).pending[0].ticket.clone();
    let third = ledger.settle(&written, vec![unsettled("a.py", slow())]).pending[0].ticket.clone();
    assert_eq!(ledger.late(&second, vec![error(9, "stale")]), None);
    assert_eq!(fixed(&ledger.late(&third, vec![error(1, "old")]).unwrap()), ["2 late"]);

    let fourth = ledger.settle(&written, vec![unsettled("a.py", slow())]).pending[0].ticket.clone();
    write(&mut ledger, &[]);
    assert_eq!(ledger.late(&fourth, vec![error(9, "stale")]), None);

    let fifth = ledger.settle(&written, vec![unsettled("a.py", slow())]).pending[0].ticket.clone();
    ledger.deleted("a.py");
    assert_eq!(ledger.late(&fifth, vec![error(9, "stale")]), None);
}

// spec: LSP-16
#[test]
fn no_list_is_not_an_empty_list() {
    let all =
        [slow(), Unsettled::Partial, Unsettled::Outdated, Unsettled::Closed, Unsettled::Crashed];
    for why in all {
        let mut ledger = knowing(&[error(1, "m")]);
        let written = [Written::new("a.py", Some(""), Some(""))];
        let report = ledger.settle(&written, vec![unsettled("a.py", why.clone())]);
        assert!(report.fixed.is_empty(), "{why:?}");
        assert!(write(&mut ledger, &[error(1, "m")]).is_quiet(), "{why:?}");

        let mut ledger = knowing(&[]);
        let report = ledger.settle(&written, vec![unsettled("a.py", why.clone())]);
        assert_eq!(report.state, State::Unknown, "{why:?}");
    }
    let report = Ledger::new().settle(&[Written::new("a.py", None, Some(""))], Vec::new());
    assert_eq!(report.state, State::Unknown);
    assert_eq!(report.text(), "not confirmed: no server looked at a.py");
}

#[test]
fn a_late_list_that_comes_with_the_next_write_is_told_whole() {
    let mut ledger = knowing(&[]);
    ledger.baseline("b.py", SERVER, Vec::new());
    ledger.settle(&[Written::new("a.py", Some(""), Some(""))], vec![unsettled("a.py", slow())]);
    // A snapshot from before the next write does not swallow what is waited for.
    ledger.baseline("a.py", SERVER, vec![warning(1, "w")]);
    let observed = vec![settled("b.py", &[]), settled("a.py", &[warning(1, "w")])];
    let report = ledger.settle(&[Written::new("b.py", Some(""), Some(""))], observed);
    assert_eq!(new(&report), ["a.py:1 w"]);
}

// spec: LSP-13
#[test]
fn what_an_earlier_write_may_have_made_is_not_new_of_the_write_that_shows_it() {
    let mut ledger = knowing(&[]);
    ledger.baseline("b.py", SERVER, vec![of_file("b.py", 1, "kept the check from a.py")]);
    ledger.settle(&[Written::new("a.py", Some(""), Some(""))], vec![unsettled("a.py", slow())]);
    let observed = vec![settled("b.py", &[]), settled("a.py", &[error(1, "m")])];
    let report = ledger.settle(&[Written::new("b.py", Some(""), Some(""))], observed);
    assert_eq!(report.new[0].new[0].since, Since::EarlierEdit);
    let data = report.data();
    assert_eq!((data.new_total, data.perhaps_new.len()), (0, 1));
    let title =
        "perhaps of an earlier write, in other files that were not looked at since it: 1 error";
    assert!(report.text().contains(title), "{}", report.text());
    // The one after it is its own.
    let observed = vec![settled("b.py", &[]), settled("a.py", &[error(1, "m"), error(2, "n")])];
    let report = ledger.settle(&[Written::new("b.py", Some(""), Some(""))], observed);
    assert_eq!(report.new[0].new[0].since, Since::ThisEdit);
}

// spec: LSP-13
#[test]
fn without_a_snapshot_from_before_only_errors_are_told_and_said_to_be_perhaps_older() {
    let mut ledger = Ledger::new();
    assert!(ledger.needs_baseline("a.py", SERVER));
    let report = write(&mut ledger, &[error(1, "m"), warning(2, "w")]);
    assert_eq!(new(&report), ["a.py:1 m"]);
    assert_eq!(report.new[0].new[0].since, Since::PerhapsBefore);
    assert_eq!(
        report.text(),
        "perhaps new, nothing is known from before: 1 error\na.py\n  1:1 error m (may predate this edit)"
    );
    assert!(!ledger.needs_baseline("a.py", SERVER));
    assert!(write(&mut ledger, &[error(1, "m"), warning(2, "w")]).is_quiet());
}

#[test]
fn a_file_that_did_not_exist_had_no_diagnostics() {
    let mut ledger = Ledger::new();
    let made = [Written::new("a.py", None, Some("x"))];
    let report = ledger.settle(&made, vec![settled("a.py", &[warning(1, "w")])]);
    assert_eq!(new(&report), ["a.py:1 w"]);
    assert_eq!(report.new[0].new[0].since, Since::ThisEdit);

    // The same when the list comes after the file was written once more.
    let mut ledger = Ledger::new();
    ledger.settle(&made, vec![unsettled("a.py", slow())]);
    let again = [Written::new("a.py", Some("x"), Some("y"))];
    let report = ledger.settle(&again, vec![settled("a.py", &[warning(1, "w")])]);
    assert_eq!(report.new[0].new[0].since, Since::ThisEdit);
}

#[test]
fn a_renamed_file_takes_its_entry_along_and_a_deleted_one_drops_it() {
    let mut ledger = knowing(&[error(1, "m")]);
    ledger.renamed("a.py", "b.py");
    let written = [Written::new("b.py", Some(""), Some(""))];
    let report = ledger.settle(&written, vec![settled("b.py", &[of_file("b.py", 1, "m")])]);
    assert!(report.is_quiet());
    assert_eq!(report.remaining[0].file, "b.py");
    assert!(ledger.needs_baseline("a.py", SERVER));

    let gone = [Written::new("b.py", Some(""), None)];
    let report = ledger.settle(&gone, vec![settled("b.py", &[])]);
    assert_eq!((report.fixed.len(), report.state), (0, State::Unknown));
    assert!(ledger.needs_baseline("b.py", SERVER));
    ledger.renamed("x", "x");
}

#[test]
fn a_sub_agent_has_a_ledger_of_its_own() {
    let mut parent = knowing(&[]);
    let mut child = knowing(&[]);
    assert_eq!(new(&write(&mut child, &[error(1, "m")])).len(), 1);
    assert_eq!(new(&write(&mut parent, &[error(1, "m")])).len(), 1);
}

#[test]
fn a_restarted_server_finds_again_what_is_known() {
    let mut ledger = knowing(&[error(1, "m")]);
    let written = [Written::new("a.py", Some(""), Some(""))];
    let crashed = ledger.settle(&written, vec![unsettled("a.py", Unsettled::Crashed)]);
    assert_eq!(crashed.text(), "diagnostics pending for a.py (ty: the server ended)");
    assert!(write(&mut ledger, &[error(1, "m")]).is_quiet());
}

#[test]
fn an_explicit_call_marks_what_it_told() {
    let mut ledger = knowing(&[]);
    ledger.told("a.py", SERVER, vec![error(1, "m"), warning(2, "w")]);
    assert!(write(&mut ledger, &[error(1, "m"), warning(2, "w")]).is_quiet());
}

// spec: LSP-13
// report: D31
#[test]
fn other_files_are_told_with_their_errors_after_the_written_ones() {
    let mut ledger = knowing(&[]);
    for file in ["b.py", "c.py"] {
        ledger.baseline(file, SERVER, Vec::new());
    }
    let other_warning = Diagnostic::new("b.py", 2, 1, Severity::Warning, "w");
    let observed = vec![
        settled("c.py", &[of_file("c.py", 1, "broken")]),
        settled("b.py", &[other_warning.clone(), of_file("b.py", 7, "broken")]),
        settled("a.py", &[error(3, "own")]),
        settled("d.py", &[of_file("d.py", 1, "old?")]),
    ];
    let report = ledger.settle(&[Written::new("a.py", Some(""), Some(""))], observed);
    assert_eq!(
        report.text(),
        "new diagnostics: 1 error\na.py\n  3:1 error own\nnew in other files: 2 errors\nb.py\n  7:1 error broken\nc.py\n  \
         1:1 error broken\nperhaps new in other files, of which nothing is known from before: 1 error\nd.py\n  \
         1:1 error old? (may predate this edit)"
    );
    // They are in ledgers of their own, warnings too.
    let observed =
        vec![settled("b.py", &[other_warning, of_file("b.py", 8, "broken")]), settled("a.py", &[])];
    let report = ledger.settle(&[Written::new("a.py", Some(""), Some(""))], observed);
    assert_eq!(
        report.text(),
        "fixed: 1 error\nno errors or warnings in what was written, confirmed; other files had 3 errors when they \
         were looked at last"
    );
}

#[test]
fn two_servers_count_apart_and_what_they_say_alike_is_said_once() {
    let mut ledger = knowing(&[]);
    ledger.baseline("a.py", "ruff", Vec::new());
    let observed = |lines: [usize; 2]| {
        vec![
            Observed::new(
                "a.py",
                "ruff",
                Snapshot::Settled(vec![error(lines[0], "m").with_code("F1")]),
            ),
            Observed::new(
                "a.py",
                SERVER,
                Snapshot::Settled(vec![error(lines[1], "m").with_code("F1")]),
            ),
        ]
    };
    let written = [Written::new("a.py", Some(""), Some(""))];
    assert_eq!(new(&ledger.settle(&written, observed([1, 1]))), ["a.py:1 m"]);
    assert!(ledger.settle(&written, observed([4, 4])).is_quiet());
    let mut ledger = knowing(&[]);
    ledger.baseline("a.py", "ruff", Vec::new());
    assert_eq!(new(&ledger.settle(&written, observed([1, 2]))).len(), 2);
}

#[test]
fn what_rust_analyzer_found_itself_gives_way_to_rustc() {
    let native =
        || error(3, "expected i32, found &str").with_code("E0308").with_source("rust-analyzer");
    let rustc = || error(3, "mismatched types").with_code("E0308").with_source("rustc");
    let elsewhere =
        || error(9, "expected i32, found &str").with_code("E0308").with_source("rust-analyzer");
    let mut ledger = knowing(&[]);
    let report = write(&mut ledger, &[native(), rustc(), elsewhere()]);
    assert_eq!(new(&report), ["a.py:3 mismatched types", "a.py:9 expected i32, found &str"]);
}

#[test]
fn of_equal_ones_those_on_lines_that_the_write_made_are_shown() {
    let mut ledger = knowing(&[error(2, "m"), error(4, "m")]);
    let before = "a\nbad\nc\nbad\n";
    let after = "a\nbad\nnew\nc\nbad\n";
    let written = [Written::new("a.py", Some(before), Some(after))];
    let now = [error(2, "m"), error(3, "m"), error(5, "m")];
    let report = ledger.settle(&written, vec![settled("a.py", &now)]);
    assert_eq!(new(&report), ["a.py:3 m"]);
    // Without a line that tells, the last.
    let report = write(&mut ledger, &[error(2, "m"), error(3, "m"), error(5, "m"), error(1, "m")]);
    assert_eq!(new(&report), ["a.py:5 m"]);
}

// spec: LSP-13
// report: D31
#[test]
fn a_flood_is_cut_and_the_cut_is_said() {
    let many = |count: usize| -> Vec<_> {
        (1..=count).map(|line| error(line, &format!("m{line}"))).collect()
    };
    let report = write(&mut knowing(&[]), &many(12));
    let text = report.text();
    assert_eq!(text.lines().count(), 13, "{text}");
    assert!(text.starts_with("new diagnostics: 12 errors\na.py\n  1:1 error m1\n"), "{text}");
    assert!(text.ends_with("  10:1 error m10\n  and 2 more"), "{text}");
    assert_eq!(write(&mut knowing(&[]), &many(40)).text().lines().count(), 13);
    assert_eq!(
        write(&mut knowing(&[]), &many(41)).text(),
        "new diagnostics: 41 errors\na.py: 41 errors; the first 3:\n  1:1 error m1\n  2:1 error m2\n  3:1 error m3"
    );

    // Old errors are no reason to cut the new one at the end.
    let mut sixty = many(60);
    let mut ledger = knowing(&sixty);
    sixty.push(error(99, "the new one"));
    assert_eq!(new(&write(&mut ledger, &sixty)), ["a.py:99 the new one"]);

    let mut ledger = knowing(&[]);
    let mut observed = vec![settled("a.py", &[])];
    for file in ["b", "c", "d", "e", "f", "g", "h"] {
        ledger.baseline(file, SERVER, Vec::new());
        let broken: Vec<_> = (1..=4).map(|line| of_file(file, line, &format!("m{line}"))).collect();
        observed.push(settled(file, &broken));
    }
    let text = ledger.settle(&[Written::new("a.py", Some(""), Some(""))], observed).text();
    assert!(text.starts_with("new in other files: 28 errors\nb\n  1:1 error m1\n  2:1 error m2\n  3:1 error m3\n  and 1 more\nc\n"), "{text}");
    assert!(
        text.ends_with("and 2 more files\nno errors or warnings in what was written, confirmed"),
        "{text}"
    );
}

#[test]
fn errors_are_printed_before_warnings_and_by_place() {
    let now = [warning(1, "w"), error(9, "b"), error(2, "a"), warning(0, "v")];
    assert_eq!(
        new(&write(&mut knowing(&[]), &now)),
        ["a.py:2 a", "a.py:9 b", "a.py:0 v", "a.py:1 w"]
    );
}

#[test]
fn the_data_has_the_answer_and_the_difference() {
    let mut ledger = knowing(&[error(1, "old"), warning(2, "gone")]);
    let made = error(3, "made").with_code("E1").with_source("rustc");
    let report = write(&mut ledger, &[error(1, "old"), made]);
    let of = |line: usize,
              severity: &str,
              message: &str,
              code: Option<&str>,
              source: Option<&str>| {
        json!({
            "file": "a.py", "line": line, "column": 1, "severity": severity, "code": code, "message": message,
            "source": source,
        })
    };
    assert_eq!(
        serde_json::to_value(report.data()).unwrap(),
        json!({
            "diagnostics": [of(1, "error", "old", None, None), of(3, "error", "made", Some("E1"), Some("rustc"))],
            "state": "dirty", "why": "1 new, 1 from before",
            "new": [of(3, "error", "made", Some("E1"), Some("rustc"))], "new_total": 1, "perhaps_new": [],
            "others": {"looked_at": 0, "not_looked_at": [], "total": 0, "why": null, "changed": [], "earlier": [], "configures": []},
            "fixed": [], "fixed_untold": 0, "perhaps_hidden": [of(2, "warning", "gone", None, None)], "back": [],
            "pending": [], "late": [],
        })
    );
    let written = [Written::new("a.py", Some(""), Some(""))];
    let pending = ledger.settle(&written, vec![unsettled("a.py", slow())]);
    let data = serde_json::to_value(pending.data()).unwrap();
    assert_eq!(data["pending"], json!([{"file": "a.py", "server": "ty", "why": "cargo check"}]));
    assert_eq!(data["why"], "not confirmed yet (ty: cargo check)");
    assert_eq!(data["new"], json!([]));
}

mod model {
    //! The ledger against a model that keeps lists and takes away one by one.

    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Write { file: usize, now: Vec<(usize, usize)>, settles: bool },
        Late { now: Vec<(usize, usize)> },
        Rename { from: usize, to: usize },
        Delete { file: usize },
    }

    const FILES: [&str; 3] = ["a", "b", "c"];

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let now = proptest::collection::vec((1_usize..9, 0_usize..4), 0..7);
        let step = prop_oneof![
            6 => (0_usize..3, now.clone(), any::<bool>()).prop_map(|(file, now, settles)| Step::Write { file, now, settles }),
            2 => now.prop_map(|now| Step::Late { now }),
            1 => (0_usize..3, 0_usize..3).prop_map(|(from, to)| Step::Rename { from, to }),
            1 => (0_usize..3).prop_map(|file| Step::Delete { file }),
        ];
        proptest::collection::vec(step, 0..25)
    }

    fn diagnostics(file: &str, now: &[(usize, usize)]) -> Vec<Diagnostic> {
        let of = |(line, message): &(usize, usize)| {
            of_file(file, *line, &format!("from line {line}: m{message}x"))
        };
        now.iter().map(of).collect()
    }

    /// What the model compares: the message's number, without the line.
    fn names(now: &[(usize, usize)]) -> Vec<usize> {
        now.iter().map(|(_, message)| *message).collect()
    }

    /// What is left of a list when each of another is taken away once.
    fn minus(list: &[usize], other: &[usize]) -> Vec<usize> {
        let mut left = list.to_vec();
        for taken in other {
            if let Some(index) = left.iter().position(|one| one == taken) {
                left.remove(index);
            }
        }
        left.sort_unstable();
        left
    }

    fn told(diagnostics: impl Iterator<Item = Diagnostic>) -> Vec<usize> {
        let number = |found: Diagnostic| {
            let (_, name) = found.message.split_once(": m").unwrap();
            name.trim_end_matches('x').parse::<usize>().unwrap()
        };
        let mut all: Vec<usize> = diagnostics.map(number).collect();
        all.sort_unstable();
        all
    }

    fn both(report: &Report) -> (Vec<usize>, Vec<usize>) {
        let new = report.new.iter().flat_map(|news| news.new.clone()).map(|new| new.diagnostic);
        // What is back after it was perhaps hidden is not called new, and is more all the same.
        let more = new.chain(report.back.iter().cloned());
        (told(more), told(report.fixed.iter().cloned()))
    }

    proptest! {
        // spec: LSP-14
        #[test]
        fn the_ledger_agrees_with_a_naive_model(steps in steps()) {
            let mut ledger = Ledger::new();
            let mut known: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
            let mut ticket = None;
            for step in steps {
                match step {
                    Step::Write { file, now, settles } => {
                        let name = FILES[file];
                        let before = if known.contains_key(&file) { Some("") } else { None };
                        let written = [Written::new(name, before, Some(""))];
                        let found = diagnostics(name, &now);
                        // One line has a message once, as servers have it: else two are said once.
                        let mut seen = found.clone();
                        seen.sort_by_key(|d| (d.line, d.message.clone()));
                        seen.dedup();
                        prop_assume!(seen.len() == found.len());
                        if settles {
                            let report = ledger.settle(&written, vec![settled(name, &found)]);
                            let old = known.remove(&file).unwrap_or_default();
                            let now = names(&now);
                            prop_assert_eq!(both(&report), (minus(&now, &old), minus(&old, &now)));
                            known.insert(file, now);
                            if matches!(ticket, Some((waiting, _)) if waiting == file) {
                                ticket = None;
                            }
                        } else {
                            let report = ledger.settle(&written, vec![unsettled(name, slow())]);
                            prop_assert_eq!(both(&report), (vec![], vec![]));
                            known.entry(file).or_default();
                            ticket = Some((file, report.pending[0].ticket.clone()));
                        }
                    }
                    Step::Late { now } => {
                        let Some((file, ticket)) = ticket.take() else { continue };
                        let found = diagnostics(FILES[file], &now);
                        let mut seen = found.clone();
                        seen.sort_by_key(|d| (d.line, d.message.clone()));
                        seen.dedup();
                        prop_assume!(seen.len() == found.len());
                        let report = ledger.late(&ticket, found).unwrap();
                        let old = known.remove(&file).unwrap_or_default();
                        let now = names(&now);
                        prop_assert_eq!(both(&report), (minus(&now, &old), minus(&old, &now)));
                        known.insert(file, now);
                    }
                    Step::Rename { from, to } => {
                        if from == to || ticket.is_some() || !known.contains_key(&from) {
                            continue;
                        }
                        ledger.renamed(FILES[from], FILES[to]);
                        let moved = known.remove(&from).unwrap_or_default();
                        known.insert(to, moved);
                    }
                    Step::Delete { file } => {
                        ledger.deleted(FILES[file]);
                        known.remove(&file);
                        if matches!(ticket, Some((waiting, _)) if waiting == file) {
                            ticket = None;
                        }
                    }
                }
            }
        }
    }
}
