use std::{fs, path::Path};

use agent_lsp::{
    checks::{CheckKind, Checked, Output},
    diagnostic::State,
};

use serde_json::{Value, json};

use crate::support::Checkout;

fn fixture(name: &str, kind: CheckKind) -> Checked {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/lsp/checks").join(name);
    let checkout = Checkout::new(&[]);
    copy(&folder.join("files"), &checkout, "app");
    let root = checkout.root().join("app").display().to_string();
    let read = |file: &str| fs::read_to_string(folder.join(file)).unwrap().replace("$ROOT", &root);
    let exit = read("exit").trim().parse().ok();
    let output = Output { stdout: &read("stdout"), stderr: &read("stderr"), exit };
    kind.read(&output, &checkout.workspace, &checkout.path("app"))
}

fn copy(from: &Path, checkout: &Checkout, to: &str) {
    for entry in fs::read_dir(from).into_iter().flatten().map(Result::unwrap) {
        let name = format!("{to}/{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), checkout, &name);
        } else {
            checkout.put(&name, fs::read(entry.path()).unwrap());
        }
    }
}

/// `file:line:column severity[code] first line of the message`
fn lines(checked: &Checked) -> Vec<String> {
    let line = |d: &agent_lsp::diagnostic::Diagnostic| {
        let message = d.message.lines().next().unwrap_or_default();
        let code = d.code.as_deref().unwrap_or("-");
        format!("{}:{}:{} {}[{code}] {message}", d.file, d.line, d.column, d.severity.as_str())
    };
    checked.diagnostics.iter().map(line).collect()
}

fn output(stdout: &str, stderr: &str, exit: Option<i32>, kind: CheckKind) -> Checked {
    let checkout = Checkout::new(&[]);
    kind.read(&Output { stdout, stderr, exit }, &checkout.workspace, &checkout.path("."))
}

#[test]
fn cargo_s_messages_are_diagnostics() {
    let checked = fixture("cargo", CheckKind::Cargo);
    assert_eq!(
        lines(&checked),
        [
            "app/src/lib2.rs:4:13 error[E0425] cannot find function `missing` in this scope: not found in this scope",
            "app/src/main.rs:4:18 error[E0308] mismatched types: expected `i32`, found `&str`",
            "app/src/main.rs:6:27 error[E0425] cannot find value `undefined` in this scope: not found in this scope",
            "app/src/lib2.rs:1:5 warning[unused_imports] unused import: `std::fmt`",
        ]
    );
    assert_eq!((checked.state, checked.outside), (State::Dirty, 0));
    assert!(checked.why.ends_with("ended with 101"), "{}", checked.why);
    assert_eq!(checked.diagnostics[0].source.as_deref(), Some("cargo"));
}

#[test]
fn what_depends_on_a_crate_that_failed_is_said_not_to_be_checked() {
    let message = |kind: &str, name: &str, level: &str| {
        let target = json!({ "kind": [kind], "name": name });
        let message = json!({ "message": "m", "level": level, "code": null, "spans": [] });
        json!({ "reason": "compiler-message", "manifest_path": "Cargo.toml", "target": target, "message": message })
    };
    let done = json!({ "reason": "build-finished", "success": false });
    let lines = |of: [Value; 3]| of.map(|line| line.to_string()).join("\n");
    let run = |stdout: &str| output(stdout, "", Some(101), CheckKind::Cargo);
    let library =
        run(&lines([message("lib", "a", "error"), message("lib", "b", "warning"), done.clone()]));
    assert_eq!(
        library.why,
        "`cargo check --workspace --all-targets --keep-going --message-format=json` ended with 101; what depends on `a` was \
         not checked, since that did not compile"
    );
    let program = run(&lines([message("bin", "a", "error"), message("test", "b", "error"), done]));
    assert!(program.why.ends_with("ended with 101"), "{}", program.why);
}

#[test]
fn tsc_s_lines_are_diagnostics_with_their_continuations() {
    let checked = fixture("tsc", CheckKind::Tsc);
    let found = lines(&checked);
    assert_eq!(found.len(), 6);
    assert_eq!(
        found[0],
        "app/src/main.ts:2:22 error[TS2307] Cannot find module './nowhere.js' or its corresponding type declarations."
    );
    assert!(
        checked.diagnostics[3]
            .message
            .ends_with("\n    Type 'string' is not assignable to type 'number'."),
        "{}",
        checked.diagnostics[3].message
    );
    assert_eq!(checked.state, State::Dirty);
}

#[test]
fn pyright_s_report_is_diagnostics_with_columns_in_characters() {
    let expected = [
        "app/pkg/main.py:2:8 error[reportMissingImports] Import \"nowhere\" could not be resolved",
        "app/pkg/main.py:4:11 error[reportAssignmentType] Type \"Literal['text']\" is not assignable to declared type \"int\"",
        // After an emoji, which has two units and is one character.
        "app/pkg/main.py:7:21 error[reportArgumentType] Argument of type \"Literal['x']\" cannot be assigned to parameter \"r\" of type \"int\" in function \"area\"",
        "app/pkg/main.py:7:27 error[reportUndefinedVariable] \"undefined\" is not defined",
        "app/pkg/shapes.py:2:12 error[reportReturnType] Type \"str\" is not assignable to return type \"int\"",
    ];
    for (name, kind) in [("pyright", CheckKind::Pyright), ("basedpyright", CheckKind::Basedpyright)]
    {
        let found = lines(&fixture(name, kind));
        let errors: Vec<_> = found.iter().filter(|line| line.contains(" error[")).collect();
        assert_eq!(errors, expected.iter().collect::<Vec<_>>(), "{name}");
    }
    let pyright = lines(&fixture("pyright", CheckKind::Pyright));
    assert_eq!(
        pyright.last().unwrap(),
        "app/pkg/main.py:6:5 warning[reportUnusedVariable] Variable \"unused\" is not accessed"
    );
}

#[test]
fn go_vet_s_objects_and_lines_are_diagnostics() {
    let checked = fixture("go", CheckKind::Go);
    assert_eq!(
        lines(&checked),
        [
            "app/lib/lib.go:8:9 error[-] undeclared name: undefinedThing",
            "app/two/two.go:10:1 error[-] missing return",
            "app/main.go:6:2 warning[printf] fmt.Printf format %d has arg \"text\" of wrong type string",
            "app/main.go:8:2 warning[assign] self-assignment of x to x",
        ]
    );
    assert_eq!(checked.state, State::Dirty);
}

#[test]
fn dart_s_machine_lines_are_diagnostics() {
    let checked = fixture("dart", CheckKind::Dart);
    assert_eq!(
        lines(&checked),
        [
            "app/lib/main.dart:2:23 error[invalid_assignment] A value of type 'int' can't be assigned to a variable of type 'String'.",
            "app/lib/main.dart:3:14 error[undefined_identifier] Undefined name 'undefinedThing' | of C:\\shapes.",
            "app/lib/main.dart:4:7 warning[unused_local_variable] The value of the local variable 'unused' isn't used.",
        ]
    );
    assert_eq!(checked.state, State::Dirty);
}

// spec: LSP-16
#[test]
fn only_a_whole_check_without_findings_is_clean() {
    use CheckKind::{Cargo, Dart, Go, Pyright, Tsc};
    let done = "{\"reason\":\"build-finished\",\"success\":true}\n";
    let none = "{\"generalDiagnostics\": []}";
    let clean = [
        output(done, "", Some(0), Cargo),
        output("", "", Some(0), Tsc),
        output(&format!("a newer version is there\n{none}"), "", Some(0), Pyright),
        output("", "# example.org/a\n", Some(0), Go),
        output("Analyzing a...\n", "", Some(0), Dart),
    ];
    for checked in clean {
        assert_eq!(checked.state, State::Clean, "{}", checked.why);
    }
    let unknown = [
        // A limit of time.
        (output(done, "", None, Cargo), "did not end by itself"),
        (
            output("", "error: no such command", Some(101), Cargo),
            "ended with 101 and its output is not that of a whole check: error: no such command",
        ),
        (output("", "", Some(0), Cargo), "ended with 0"),
        (
            output("This is not the tsc command you are looking for\n", "", Some(1), Tsc),
            "not the tsc command",
        ),
        (output("No configuration file found.", "", Some(3), Pyright), "ended with 3"),
        (output("", "go: cannot find main module", Some(1), Go), "cannot find main module"),
        (output("", "Could not find a command named \"analyze\"", Some(64), Dart), "ended with 64"),
    ];
    for (checked, part) in unknown {
        assert_eq!(checked.state, State::Unknown, "{}", checked.why);
        assert!(checked.why.contains(part), "{}", checked.why);
    }
    let manifest = fixture("cargo_manifest", Cargo);
    assert_eq!(manifest.state, State::Unknown);
    assert!(manifest.why.contains("key with no value, expected `=`"), "{}", manifest.why);
}

#[test]
fn what_lies_outside_is_counted_and_what_has_no_place_is_told_at_the_configuration() {
    let checked = output(
        "/usr/lib/lib.d.ts(1,2): error TS1: x\nerror TS18003: No inputs were found.\n",
        "",
        Some(2),
        CheckKind::Tsc,
    );
    assert_eq!(lines(&checked), ["tsconfig.json:1:1 error[TS18003] No inputs were found."]);
    assert_eq!((checked.outside, checked.state), (1, State::Dirty));
}
