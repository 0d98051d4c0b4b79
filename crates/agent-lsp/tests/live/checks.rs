//! `diagnostics "*"`, the project's own check, and what is left of a server's analysis without trust.

use std::{fs, os::unix::fs::symlink};

use agent_lsp::table::Trust;
use serde_json::json;

use crate::{
    Case,
    servers::{
        BASEDPYRIGHT, GOPLS, Live, RUST_ANALYZER, TY, TYPESCRIPT_LANGUAGE_SERVER, workspace,
    },
    session::Session,
};

/// Each check once, under the server of its language.
pub(crate) fn cases() -> Vec<(&'static Live, &'static str, Case)> {
    vec![
        (&RUST_ANALYZER, "cargo_check_finds_it", |live| {
            Box::pin(finds_it(live, None, "cargo check", "E0308"))
        }),
        (&RUST_ANALYZER, "cargo_check_goes_on_after_a_crate_that_fails", |live| {
            Box::pin(goes_on(live))
        }),
        (&TYPESCRIPT_LANGUAGE_SERVER, "tsc_finds_it", |live| {
            let program = ".tools/typescript-5/node_modules/.bin/tsc";
            let local = Some(("node_modules/.bin", program));
            Box::pin(finds_it(live, local, "tsc --noEmit", "TS2322"))
        }),
        (&BASEDPYRIGHT, "basedpyright_finds_it", |live| {
            let program = ".tools/language-servers/bin/basedpyright";
            let local = Some((".venv/bin", program));
            Box::pin(finds_it(live, local, "basedpyright --outputjson", "reportAssignmentType"))
        }),
        (&GOPLS, "go_vet_finds_it", |live| Box::pin(finds_it(live, None, "go vet", ""))),
        (&TY, "a_check_is_refused_without_trust", |live| Box::pin(is_refused(live))),
        (&RUST_ANALYZER, "a_check_is_refused_without_trust", |live| Box::pin(is_refused(live))),
        (&RUST_ANALYZER, "without_trust_only_its_own_analysis_runs", |live| {
            Box::pin(only_its_own_analysis(live))
        }),
    ]
}

/// The check finds what breaks the main file, in the place where it is, and nothing once it is mended.
///
/// `local` is a folder of the checkout and the program that is put there, as a project has its own.
// spec: LSP-05
async fn finds_it(
    live: &'static Live,
    local: Option<(&'static str, &'static str)>,
    command: &'static str,
    code: &'static str,
) {
    let session = Session::new(live);
    let language = live.language;
    if let Some((folder, program)) = local {
        let folder = session.root().join(folder);
        let program = workspace().canonicalize().unwrap().join(program);
        fs::create_dir_all(&folder).unwrap();
        symlink(&program, folder.join(program.file_name().unwrap())).unwrap();
    }
    let clean = session.diagnostics("*").await;
    assert_eq!(clean["state"], "clean", "{clean:#}");
    assert!(clean["why"].as_str().unwrap().contains(command), "{clean:#}");

    let breaks = &language.breaks;
    let text = session.read(language.main).replacen(breaks.from, breaks.to, 1);
    session.put(language.main, &text);
    let found = session.diagnostics("*").await;
    assert_eq!(found["state"], "dirty", "{found:#}");
    let why = found["why"].as_str().unwrap();
    assert!(why.contains("ended with"), "the exit code is said: {why}");
    let first = &found["diagnostics"][0];
    assert_eq!(first["file"], language.main, "{found:#}");
    assert_eq!(first["line"], session.line((language.main, breaks.to)), "{found:#}");
    assert_eq!(first["severity"], "error", "{found:#}");
    assert!(code.is_empty() || first["code"] == code, "{found:#}");
}

/// Two crates that fail by themselves are both told, and that a third, which needs one of them, was not looked at.
// spec: LSP-05
async fn goes_on(live: &'static Live) {
    let session = Session::new(live);
    session.put("Cargo.toml", "[workspace]\nmembers = [\"a\", \"b\", \"c\"]\nresolver = \"3\"\n");
    for (name, needs, text) in [
        ("a", "", "pub fn of() -> u8 { \"a\" }\n"),
        ("b", "", "pub fn of() -> u8 { \"b\" }\n"),
        ("c", "a = { path = \"../a\" }\n", "pub fn of() -> u8 { a::of() }\n"),
    ] {
        let package =
            format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n\n[dependencies]\n{needs}");
        session.put(&format!("{name}/Cargo.toml"), &package);
        session.put(&format!("{name}/src/lib.rs"), text);
    }
    let found = session.diagnostics("*").await;
    let files = found["diagnostics"].as_array().unwrap().iter().map(|found| &found["file"]);
    assert_eq!(files.collect::<Vec<_>>(), ["a/src/lib.rs", "b/src/lib.rs"], "{found:#}");
    let why = found["why"].as_str().unwrap();
    assert!(
        why.ends_with("what depends on `a`, `b` was not checked, since that did not compile"),
        "{why}"
    );
}

// spec: LSP-05, TRUST-02
async fn is_refused(live: &'static Live) {
    let session = Session::at(live, "shop", Trust::Untrusted);
    let args = json!({ "action": "diagnostics", "file": "*" });
    let error = session.call(args).await.unwrap_err();
    assert_eq!(error.code, "untrusted", "{error}");
    assert!(error.to_string().contains("--trust"), "{error}");
    assert!(!session.root().join("target").exists(), "something was built");
}

// spec: LSP-16, TRUST-02
async fn only_its_own_analysis(live: &'static Live) {
    let session = Session::at(live, "shop", Trust::Untrusted);
    let language = live.language;
    let known = session.diagnostics(language.main).await;
    assert_eq!(known["state"], "unknown", "{known:#}");
    let why = known["why"].as_str().unwrap();
    assert!(why.contains("only the server's own analysis"), "{why}");
    assert!(why.contains("not trusted"), "{why}");

    let told = session.edit(&language.breaks).await;
    assert!(told.text.contains("E0308"), "{}", told.text);
    assert!(told.text.contains("not trusted"), "{}", told.text);
    assert!(!session.root().join("target").exists(), "something was built");
}
