//! Which interpreter a cell gets, and what that one gets.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use agent_process::Trust;

use crate::session::{Session, python};

pub(crate) async fn names_of_the_standard_library_in_the_checkout_do_not_break_the_start() {
    let session = Session::new();
    for name in
        ["json", "queue", "threading", "types", "ast", "asyncio", "inspect", "socket", "selectors"]
    {
        fs::write(session.path().join(format!("{name}.py")), "raise SystemExit('not this one')")
            .unwrap();
    }
    fs::write(session.path().join("mine.py"), "who = 'mine'").unwrap();
    let code = "import json, asyncio\nfrom mine import who\nasync def f(): return json.dumps({'a': who})\nawait f()";
    assert_eq!(session.value(code).await, "'{\"a\": \"mine\"}'");
}

fn make_environment(at: &Path) {
    let made =
        Command::new(python()).args(["-m", "venv", "--without-pip"]).arg(at).status().unwrap();
    assert!(made.success());
}

// spec: TRUST-02
pub(crate) async fn the_virtual_environment_is_the_persons_then_the_trusted_checkouts() {
    let prefix = "import sys, os; os.path.basename(sys.prefix)";
    let elsewhere = tempfile::tempdir().unwrap();
    let active = elsewhere.path().join("active");
    make_environment(&active);
    let session = Session::with(|builder| builder.trust(Trust::Trusted));
    make_environment(&session.path().join(".venv"));
    assert_eq!(session.value(prefix).await, "'.venv'");
    assert!(session.run("1").await.label.contains("(.venv)"), "the label says which");

    let untrusted = Session::new();
    make_environment(&untrusted.path().join(".venv"));
    assert_eq!(untrusted.value(prefix).await, "'eval'", "what is configured");
    let chosen = untrusted.interpreters.find(agent_eval::Language::Python).await.unwrap().unwrap();
    assert_eq!(chosen.by, "configured");
    assert!(
        chosen.passed_over.iter().any(|why| why.contains("the checkout is not trusted")),
        "{chosen:?}"
    );

    let personal = Session::with(|builder| builder.trust(Trust::Trusted).virtual_env(Some(active)));
    make_environment(&personal.path().join(".venv"));
    assert_eq!(personal.value(prefix).await, "'active'");
    assert!(personal.run("1").await.label.contains("(VIRTUAL_ENV)"));
}

pub(crate) async fn what_does_not_become_an_interpreter_says_what_it_said() {
    let folder = tempfile::tempdir().unwrap();
    let stub = folder.path().join("python3");
    // It answers the probe and is no Python.
    let script = "#!/bin/sh\ncase \"$1\" in -I) printf '%s\\t3.11.0\\n' \"$0\";; *) echo 'no module named json' >&2; exit 4;; esac\n";
    fs::write(&stub, script).unwrap();
    fs::set_permissions(&stub, fs::Permissions::from_mode(0o755)).unwrap();
    let session = Session::with(|builder| builder.python(&stub));
    let error = session.try_cell(agent_eval::Cell::new("1")).await.unwrap_err();
    assert_eq!(error.code, "kernel_not_started");
    let message = error.message;
    assert!(
        message.contains(stub.to_str().unwrap()) && message.contains("no module named json"),
        "{message}"
    );
    let missing = Session::with(|builder| builder.python("/no/such/python"));
    let error = missing.try_cell(agent_eval::Cell::new("1")).await.unwrap_err();
    assert_eq!(error.code, "no_interpreter");
}

// spec: TRUST-04
pub(crate) async fn secrets_of_the_environment_do_not_reach_a_cell() {
    let session = Session::with(|builder| builder.env("KEPT_PLAIN", "here"));
    let names = session.value("import os; sorted(os.environ)").await;
    for name in std::env::vars().map(|(name, _)| name) {
        let secret =
            ["TOKEN", "SECRET", "PASSWORD"].iter().any(|word| name.to_uppercase().ends_with(word));
        assert!(!secret || !names.contains(&format!("'{name}'")), "{name} reached the cell");
    }
    assert!(names.contains("'KEPT_PLAIN'"));
}

pub(crate) async fn limits_hold() {
    let session = Session::with(|builder| builder.memory_bytes(1 << 30));
    let failed = session.run("x = bytearray(2 << 30)").await;
    assert_eq!(failed.error.unwrap().name, "MemoryError");
    assert_eq!(session.value("1 + 1").await, "2");
    let limit =
        session.js_value("require('v8').getHeapStatistics().heap_size_limit < 1.3 * 2 ** 30").await;
    assert_eq!(limit, "true");
}

pub(crate) async fn pip_that_the_system_manages_names_a_virtual_environment() {
    let session = Session::new();
    session.run("import sys, sysconfig, os\nos.makedirs('lib'); open('lib/EXTERNALLY-MANAGED', 'w').close()").await;
    // As Debian's own Python looks to the kernel.
    session
        .run("sysconfig.get_path = lambda *_: os.path.abspath('lib')\nsys.prefix = sys.base_prefix")
        .await;
    let failed = session.run("%pip install no-such-option --no-such-option").await;
    let error = failed.error.unwrap();
    assert_eq!(error.name, "ExternallyManaged");
    assert!(
        error.value.contains("python3 -m venv .venv") && error.value.contains("reset"),
        "{}",
        error.value
    );
}

// spec: TRUST-02
pub(crate) async fn an_environment_that_is_not_trusted_is_named() {
    let session = Session::new();
    let folder = session.path().canonicalize().unwrap().join(".venv");
    make_environment(&folder);
    let label = session.run("1").await.label;
    let over = format!(
        "; {} passed over, since the checkout is not trusted: its packages are not here",
        folder.display()
    );
    assert!(label.ends_with(&over), "{label}");
    let active = Session::with(|builder| builder.virtual_env(Some(folder.clone())));
    assert!(!active.run("1").await.label.contains("passed over"), "of another checkout");
}

pub(crate) async fn a_file_with_types_is_imported_or_what_to_do_is_said() {
    let session = Session::new();
    fs::write(session.path().join("t.ts"), "export const area = (r: number): number => r * r\n")
        .unwrap();
    let outcome = session.js("const { area } = await import('./t.ts')\narea(3)").await;
    assert!(!outcome.stderr().contains("USE_MAIN_CONTEXT"), "{}", outcome.stderr());
    match outcome.error.clone() {
        None => assert_eq!(crate::session::result(&outcome), "9"),
        Some(error) => {
            let lines = error.traceback.join("\n");
            assert!(lines.contains(".ts {\n  code: 'ERR_UNKNOWN_FILE_EXTENSION'\n}\n"), "{lines}");
            assert!(lines.contains("imports no TypeScript"), "{lines}");
        }
    }
}
