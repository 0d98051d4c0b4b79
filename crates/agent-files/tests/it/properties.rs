//! The tools against what anybody would write down in a few lines.

use agent_files::{ApplyPatchArgs, EditArgs, Files};
use agent_tool_core::{Stop, ToolError};
use proptest::prelude::*;
use similar::TextDiff;

use crate::checkout::Checkout;

/// The text of `a.txt` after a planned change.
fn after(planned: Result<agent_files::Change, ToolError>) -> Result<String, String> {
    let change = planned.map_err(|error| error.code.into_owned())?;
    let bytes = change.plan().entries()[0].after().unwrap().to_vec();
    Ok(String::from_utf8(bytes).unwrap())
}

fn patched(files: &Files, patch: &str) -> Result<String, String> {
    after(files.plan_patch(&ApplyPatchArgs::new(patch), &Stop::new()))
}

fn edited(files: &Files, old: &str, new: &str, everywhere: bool) -> Result<String, String> {
    let args = EditArgs::new("a.txt", old, new);
    let args = if everywhere { args.everywhere() } else { args };
    after(files.plan_edit(&args, &Stop::new()))
}

/// Few different lines, so that hunks fit in several places, and some without a newline at the end.
fn text() -> impl Strategy<Value = String> {
    let line =
        prop::sample::select(vec!["", "a", "b", "  a", "-- x", "++ y", "@@ -1 +1 @@", "é\t"]);
    (prop::collection::vec(line, 0..30), any::<bool>()).prop_map(|(lines, ends)| {
        let text = lines.join("\n");
        if ends && !lines.is_empty() { text + "\n" } else { text }
    })
}

/// What the tool must find: every place at which the text begins.
fn places(text: &str, old: &str) -> usize {
    text.char_indices().filter(|(at, _)| text[*at..].starts_with(old)).count()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn a_diff_applied_gives_the_other_text(
        before in text(), now in text(), crlf in any::<bool>(), context in 0_usize..5,
    ) {
        // A file without any line ending does not tell that it would be CRLF.
        prop_assume!(before != now && (!crlf || before.contains('\n')));
        let (before, now) = if crlf {
            (before.replace('\n', "\r\n"), now.replace('\n', "\r\n"))
        } else {
            (before, now)
        };
        let checkout = Checkout::new([("a.txt", before.as_str())]);
        let diff = TextDiff::from_lines(&before, &now);
        let patch =
            diff.unified_diff().context_radius(context).header("a/a.txt", "b/a.txt").to_string();
        prop_assert_eq!(patched(&checkout.files, &patch), Ok(now), "{}", patch);
    }

    #[test]
    fn a_moved_hunk_is_found_by_its_lines_or_refused(
        before in text(), now in text(), inserted in 1_usize..20,
    ) {
        let unique = |text: &str| -> String {
            text.lines().enumerate().map(|(n, line)| format!("{n}{line}\n")).collect()
        };
        let (before, now) = (unique(&before), unique(&now));
        prop_assume!(before != now && !before.is_empty());
        let head = "head\n".repeat(inserted);
        let checkout = Checkout::new([("a.txt", head.clone() + &before)]);
        let diff = TextDiff::from_lines(&before, &now);
        let patch = diff.unified_diff().header("a/a.txt", "b/a.txt").to_string();
        prop_assert_eq!(patched(&checkout.files, &patch), Ok(head + &now), "{}", patch);
    }

    #[test]
    fn an_edit_does_what_replace_does(
        text in "[ab\n]{0,24}", old in "[ab\n]{1,3}", new in "[abc\n]{0,3}",
    ) {
        prop_assume!(old != new);
        let checkout = Checkout::new([("a.txt", text.as_str())]);
        let one = edited(&checkout.files, &old, &new, false);
        let all = edited(&checkout.files, &old, &new, true);
        match places(&text, &old) {
            0 => {
                prop_assert_eq!(one, Err("no_match".to_owned()));
                prop_assert_eq!(all, Err("no_match".to_owned()));
            }
            1 => {
                prop_assert_eq!(one, Ok(text.replacen(&old, &new, 1)));
                prop_assert_eq!(all, Ok(text.replace(&old, &new)));
            }
            _ => {
                prop_assert_eq!(one, Err("ambiguous_match".to_owned()));
                prop_assert_eq!(all, Ok(text.replace(&old, &new)));
            }
        }
    }

    #[test]
    fn an_edit_of_a_crlf_file_is_that_of_the_lf_file_with_crlf(
        text in "[ab\n]{0,24}", old in "[ab\n]{1,3}", new in "[abc\n]{0,3}",
    ) {
        prop_assume!(old != new && text.contains('\n'));
        let lf = Checkout::new([("a.txt", text.as_str())]);
        let crlf = Checkout::new([("a.txt", text.replace('\n', "\r\n"))]);
        for everywhere in [false, true] {
            let expected = edited(&lf.files, &old, &new, everywhere);
            let expected = expected.map(|text| text.replace('\n', "\r\n"));
            prop_assert_eq!(edited(&crlf.files, &old, &new, everywhere), expected);
        }
    }

    #[test]
    fn no_patch_makes_the_parser_panic(patch in "(\\*\\*\\* (Begin|End) Patch\n|\\*\\*\\* (Add|Update|Delete) File: a.txt\n|--- a/a.txt\n\\+\\+\\+ b/a.txt\n|@@( -1,2 \\+1 @@)?\n|[ +\\\\-]?[ab]?\n|\\PC{0,5}\n){0,12}") {
        let checkout = Checkout::new([("a.txt", "a\nb\n")]);
        let _ = patched(&checkout.files, &patch);
        prop_assert_eq!(checkout.bytes("a.txt").unwrap(), b"a\nb\n");
    }
}
