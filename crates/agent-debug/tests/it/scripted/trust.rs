use agent_process::Trust;
use agent_testkit::dap::{Manner, Script, Toy};
use agent_tool_core::Context;
use serde_json::json;

use super::{Fake, at, elf, lldb, place};
use crate::support::{Checkout, block_on};

// spec: TRUST-02
pub(crate) fn an_untrusted_checkout_starts_no_debuggee() {
    block_on(async {
        let fake = Fake::with(Script::new("lldb-dap", lldb()), Trust::Untrusted);
        let error = fake.checkout.call(fake.launch_args()).await.unwrap_err();
        assert_eq!(error.code, "not_trusted");
        // It is said before anybody is asked, with what would change it.
        let tool = agent_debug::debug_tool(fake.checkout.debugger.clone());
        let asked = tool.preview(&fake.launch_args(), &Context::detached()).await.unwrap_err();
        assert_eq!((&asked.code, &asked.message), (&error.code, &error.message));
        assert!(error.message.contains("--trust"), "{}", error.message);
        let all = fake.op("adapters").await;
        let lldb = all["adapters"].as_array().unwrap().iter().find(|a| a["id"] == "lldb").unwrap();
        assert!(lldb["why"].as_str().unwrap().contains("not trusted"), "{lldb}");
        assert_eq!(fake.log.commands(), [""; 0]);
        fake.checkout.nothing_left();
    });
}

/// The project's own interpreter comes before the search path's, and is not even asked where nobody trusts it.
// spec: DBG-15, TRUST-02
pub(crate) fn the_projects_own_interpreter_comes_first_where_it_is_trusted() {
    for trust in [Trust::Trusted, Trust::Untrusted] {
        block_on(async {
            let stubs = tempfile::tempdir().unwrap();
            let script = Script::new("python3", Toy::new(Manner::Debugpy));
            script.stub(stubs.path()).unwrap();
            let files = [("requirements.txt", ""), ("main.py", ""), (".venv/bin/x", "")];
            let checkout = Checkout::with(files, &[stubs.path().to_owned()], trust);
            let own = checkout.folder.path().join(".venv/bin");
            script.stub(&own).unwrap();
            let all = checkout.data(json!({"op": "adapters"})).await;
            let debugpy = &all["adapters"][0];
            assert_eq!((&debugpy["id"], &debugpy["usable"]), (&json!("debugpy"), &json!(true)));
            let command = debugpy["command"].as_str().unwrap();
            match trust {
                Trust::Trusted => assert!(command.contains(".venv/bin/python3 -I -m"), "{command}"),
                Trust::Untrusted => assert!(!command.contains(".venv"), "{command}"),
            }
        });
    }
}

/// An interpreter without debugpy is debugged by one that has it.
// spec: DBG-15
pub(crate) fn an_interpreter_without_debugpy_still_runs_the_program() {
    block_on(async {
        let stubs = tempfile::tempdir().unwrap();
        let log = Script::new("python3", Toy::new(Manner::Debugpy)).stub(stubs.path()).unwrap();
        let files = [("requirements.txt", ""), ("main.py", ""), (".venv/bin/x", "")];
        let checkout = Checkout::new(files, &[stubs.path().to_owned()]);
        let own = checkout.folder.path().join(".venv/bin");
        // It answers only when it is asked for nothing.
        plain_python(&own.join("python3"));
        let end = checkout.data(json!({"op": "launch", "program": "main.py"})).await;
        assert_eq!(at(&end), place("ended", "exited", 0));
        let python = log.last("launch").unwrap()["python"].clone();
        assert!(python.as_str().unwrap().ends_with(".venv/bin/python3"), "{python}");
        let all = checkout.data(json!({"op": "adapters"})).await;
        assert!(all["adapters"][0]["why"].as_str().unwrap().contains("has no debugpy"), "{all}");
    });
}

fn plain_python(path: &std::path::Path) {
    let script = "#!/bin/sh\n[ -z \"$3\" ] && exit 0\necho no module named debugpy >&2\nexit 1\n";
    let written = std::process::Command::new("sh")
        .args(["-c", "cat > \"$0\" && chmod 755 \"$0\""])
        .arg(path)
        .stdin(std::process::Stdio::piped())
        .spawn()
        .and_then(|mut child| {
            std::io::Write::write_all(&mut child.stdin.take().unwrap(), script.as_bytes())?;
            child.wait()
        });
    assert!(written.unwrap().success());
}

/// Only one of marker and program is there: nothing starts, whatever the program is.
// spec: DBG-02
pub(crate) fn an_adapter_needs_its_marker_and_its_program() {
    block_on(async {
        let stubs = tempfile::tempdir().unwrap();
        let log = Script::new("lldb-dap", lldb()).stub(stubs.path()).unwrap();
        let checkout = Checkout::new([("go.mod", "")], &[stubs.path().to_owned()]);
        elf(&checkout.folder.path().join("prog"));
        let launch = json!({"op": "launch", "program": "prog"});
        let error = checkout.call(launch).await.unwrap_err();
        assert_eq!(error.code, "no_adapter");
        assert!(error.message.contains("no file here marks a project of its kind"));
        std::fs::write(checkout.folder.path().join("main.go"), "package main\n").unwrap();
        let launch = json!({"op": "launch", "program": "main.go"});
        let error = checkout.call(launch).await.unwrap_err();
        assert!(error.message.contains("dlv was not found"), "{}", error.message);
        let all = checkout.call(json!({"op": "adapters"})).await.unwrap();
        let usable =
            all.data["adapters"].as_array().unwrap().iter().filter(|a| a["usable"] == true).count();
        assert_eq!((usable, all.data["adapters"].as_array().unwrap().len()), (0, 4));
        assert_eq!(log.commands(), [""; 0]);
        std::fs::create_dir(checkout.folder.path().join("core")).unwrap();
        std::fs::write(checkout.folder.path().join("core/Cargo.toml"), "").unwrap();
        assert_eq!(
            checkout.data(json!({"op": "launch", "program": "prog"})).await["state"],
            "ended"
        );
    });
}
