//! What a write tells: breaks, moves, fixes, here and in other files.

use std::fmt::Write as _;

use crate::{servers::Live, session::Session};

/// How far the break is moved down.
const MOVED: usize = 4;

// spec: LSP-04, LSP-13, LSP-14
// report: D1
pub(crate) async fn a_break_is_told_once_a_move_not_and_a_fix_is_told(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let main = language.main;
    let broken = &language.breaks;

    let clean = session.diagnostics(main).await;
    assert_eq!(clean["state"], "clean", "{clean:#}");

    let line = session.line((main, language.uses));
    let told = session.edit(broken).await;
    told.assert(&[(main, line)], &[], "dirty");
    let found = session.diagnostics(main).await;
    assert_eq!(found["state"], "dirty", "{found:#}");
    assert_eq!(found["diagnostics"][0]["line"], line, "{found:#}");

    let mut text = String::new();
    for number in 1..=MOVED {
        writeln!(text, "{}line {number}", language.comment).unwrap();
    }
    let whole = session.read(main);
    // Where a package has to be named first, the comment may stand before it.
    text.push_str(&whole);
    session.write(main, Some(&text)).await.assert(&[], &[], "dirty");
    let found = session.diagnostics(main).await;
    assert_eq!(found["diagnostics"][0]["line"], line + MOVED, "{found:#}");

    session.undo(broken).await.assert(&[], &[(main, line + MOVED)], "clean");
    let clean = session.diagnostics(main).await;
    assert_eq!(clean["state"], "clean", "{clean:#}");

    session.edit(broken).await.assert(&[(main, line + MOVED)], &[], "dirty");
    // A write of what is there already changes nothing.
    let whole = session.read(main);
    session.write(main, Some(&whole)).await.assert(&[], &[], "dirty");
}

// spec: LSP-04
// report: D11
pub(crate) async fn what_is_broken_at_the_start_is_told(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let broken = &language.breaks;
    let text = session.read(broken.file).replacen(broken.from, broken.to, 1);
    session.put(broken.file, &text);
    let line = session.line((language.main, broken.to));
    let found = session.diagnostics(language.main).await;
    assert_eq!((&found["state"], errors(&found)), (&"dirty".into(), 1), "{found:#}");
    assert_eq!(found["diagnostics"][0]["line"], line, "{found:#}");
}

// spec: LSP-13
pub(crate) async fn a_signature_breaks_the_other_file(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let signature = &language.breaks_users;
    // It is open from here on; another one that uses the function never is.
    let clean = session.diagnostics(language.main).await;
    assert_eq!(clean["state"], "clean", "{clean:#}");
    let line = session.line((language.main, language.uses));

    let told = session.edit(signature).await;
    let told = told.without_unopened(language.main, signature.file);
    told.assert(&[(language.main, line)], &[], "clean");
    assert!(told.text.contains("new in other files"), "{}", told.text);

    let told = session.undo(signature).await.without_unopened(language.main, signature.file);
    told.assert(&[], &[(language.main, line)], "clean");
}

/// A server that is asked is asked about open files; the one that breaks is opened for the write.
// spec: LSP-13
pub(crate) async fn a_signature_breaks_a_file_that_nobody_opened(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let signature = &language.breaks_users;
    let line = session.line((language.main, language.uses));
    // The server runs and knows the project, and has the written file alone.
    let clean = session.diagnostics(signature.file).await;
    assert_eq!(clean["state"], "clean", "{clean:#}");
    let told = session.edit(signature).await.without_unopened(language.main, signature.file);
    told.assert(&[(language.main, line)], &[], "clean");
}

/// The server starts with the write, and has no other file open.
// spec: LSP-13, LSP-16
pub(crate) async fn a_first_write_is_not_confirmed_for_files_that_it_breaks(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let line = session.line((language.main, language.uses));
    let told = session.edit(&language.breaks_users).await;
    told.assert_is_told_or_named((language.main, line));
}

/// Two writes of a file before the server knows the project: what the first breaks is told by then, or said to be unknown.
// spec: LSP-13, LSP-16
pub(crate) async fn what_a_first_write_breaks_is_not_lost_by_a_second(live: &'static Live) {
    let session = Session::hurried(live);
    let language = live.language;
    let line = session.line((language.main, language.uses));
    let edit = &language.breaks_users;
    let first = session.edit(edit).await;
    first.assert_is_told_or_named((language.main, line));
    let mut told = first.text;
    // Each adds a line that changes nothing.
    for _ in 0..20 {
        if told.contains(&format!("{}\n  {line}:", language.main)) {
            return;
        }
        let text = format!("{}\n", session.read(edit.file));
        let next = session.write(edit.file, Some(&text)).await;
        next.assert_is_told_or_named((language.main, line));
        told = next.text;
    }
    panic!("it was never told: {told}");
}

// spec: LSP-13
// report: D5, D6, D29
pub(crate) async fn a_missing_file_is_made_and_deleted(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let main = language.main;
    let (file, text) = language.wanted;

    // What is there before is known, and so what comes is new.
    let clean = session.diagnostics(main).await;
    assert_eq!(clean["state"], "clean", "{clean:#}");
    let wants = session.edit(&language.wants).await;
    let line = session.line((main, language.wants_line()));
    wants.assert(&[(main, line)], &[], "dirty");

    session.write(file, Some(text)).await.assert(&[], &[(main, line)], "clean");
    let clean = session.diagnostics(main).await;
    assert_eq!(errors(&clean), 0, "{clean:#}");

    let told = session.write(file, None).await;
    told.assert(&[(main, line)], &[], "dirty");
    let found = session.diagnostics(main).await;
    assert_eq!(errors(&found), 1, "{found:#}");
}

// spec: LSP-16
// report: D4
pub(crate) async fn a_change_behind_our_back_is_seen(live: &'static Live) {
    let session = Session::new(live);
    let language = live.language;
    let signature = &language.breaks_users;
    let at = (language.main, language.uses);
    let hover = session.ask("hover", at, language.function).await;
    assert!(hover["contents"].as_str().unwrap().contains(language.function), "{hover:#}");
    let clean = session.diagnostics(language.main).await;
    assert_eq!(clean["state"], "clean", "{clean:#}");

    let library = session.read(signature.file);
    session.put(signature.file, &library.replacen(signature.from, signature.to, 1));
    let found = session.diagnostics(language.main).await;
    assert_eq!(found["state"], "dirty", "{found:#}");
    assert_eq!(found["diagnostics"][0]["line"], session.line(at), "{found:#}");
    let hover = session.ask("hover", at, language.function).await;
    assert!(hover["contents"].as_str().unwrap().contains("shipping"), "{hover:#}");

    session.put(signature.file, &library);
    let clean = session.diagnostics(language.main).await;
    assert_eq!(clean["state"], "clean", "{clean:#}");
}

// spec: LSP-16
pub(crate) async fn a_folder_made_behind_our_back_is_seen(live: &'static Live) {
    let session = Session::new(live);
    let main = "shop/main.py";
    let whole = format!("from shop.extra.tool import weight\n{}", session.read(main));
    session.write(main, Some(&whole)).await.assert(&[(main, 1)], &[], "dirty");

    let extra = session.root().join("shop/extra");
    std::fs::create_dir(&extra).unwrap();
    session.put("shop/extra/tool.py", "weight = 12\n");
    let found = session.diagnostics(main).await;
    assert_eq!(found["state"], "clean", "{found:#}");

    // A folder that is there by now, and one that is moved away as a whole.
    session.put("shop/extra/tool.py", "length = 12\n");
    let found = session.diagnostics(main).await;
    assert_eq!(errors(&found), 1, "{found:#}");
    session.put("shop/extra/tool.py", "weight = 12\n");
    assert_eq!(errors(&session.diagnostics(main).await), 0);
    std::fs::rename(&extra, session.root().join("../gone")).unwrap();
    let found = session.diagnostics(main).await;
    assert_eq!(errors(&found), 1, "{found:#}");
}

fn errors(found: &serde_json::Value) -> usize {
    let list = found["diagnostics"].as_array().unwrap().iter();
    list.filter(|found| found["severity"] == "error").count()
}
