//! Joining a program that somebody else started.

use std::{
    net::TcpListener,
    path::Path,
    process::{Child, Command, Stdio},
    sync::atomic::{AtomicU64, Ordering},
};

use agent_process::Tree;
use serde_json::{Value, json};

use crate::support::{
    Checkout, TOKEN, block_on, line, listening, processes_of, program, root, search_path, until,
};

/// A program that is killed at the test's end, with all that it started.
struct Started {
    server: Child,
    token: String,
}

impl Started {
    fn new(words: &[&str], folder: &Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let token = format!("attached.{}.{number}", std::process::id());
        let mut command = Command::new(words[0]);
        command.args(&words[1..]).current_dir(folder).env(TOKEN, &token);
        let command = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Self { server: command.spawn().unwrap(), token }
    }

    /// How many processes of it run this program.
    fn running(&self, words: &str) -> usize {
        processes_of(&self.token).iter().filter(|found| found.ends_with(words)).count()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        for found in processes_of(&self.token) {
            let id = found.split(' ').next().and_then(|id| id.parse().ok());
            if let Some(tree) = id.and_then(Tree::of) {
                tree.kill();
            }
        }
        let _gone = self.server.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

async fn joined(checkout: &Checkout, file: &str, at: u32, port: u16) -> Value {
    until(|| listening(port));
    checkout.data(json!({"op": "breakpoints", "file": file, "lines": [at]})).await;
    let attach = json!({"op": "attach", "port": port, "timeout_ms": 10_000});
    let mut stop = checkout.data(attach).await;
    while stop["reason"] != "breakpoint" {
        assert_ne!(stop["state"], "ended", "{stop}");
        stop = checkout.data(json!({"op": "continue"})).await;
    }
    assert_eq!((&stop["frame"]["file"], &stop["frame"]["line"]), (&json!(file), &json!(at)));
    stop
}

// spec: DBG-06, DBG-13
pub(crate) fn a_python_program_is_joined_and_runs_on_afterwards() {
    block_on(async {
        let text = program("python/main.py");
        let files = [("main.py", text.as_str()), ("requirements.txt", "")];
        let checkout = Checkout::new(files, &search_path());
        let port = free_port();
        let python = root().join(".tools/debugpy/bin/python");
        let address = format!("127.0.0.1:{port}");
        let words =
            [&*python.to_string_lossy(), "-m", "debugpy", "--listen", &address, "main.py", "loop"];
        let server = Started::new(&words, checkout.folder.path());
        joined(&checkout, "main.py", line(&text, "spin"), port).await;
        let found = checkout.data(json!({"op": "evaluate", "expression": "n >= 0"})).await;
        assert_eq!(found["result"], "True");
        let ended = checkout.data(json!({"op": "terminate"})).await;
        assert!(ended["ended"].as_str().unwrap().starts_with("detached"), "{ended}");
        checkout.nothing_left();
        assert_eq!(server.running("main.py loop "), 1);
    });
}

// spec: DBG-06, DBG-13
pub(crate) fn a_go_program_is_joined_and_runs_on_where_its_server_lets_it() {
    block_on(async {
        let text = program("go/main.go");
        let module = program("go/go.mod");
        let files = [("main.go", text.as_str()), ("go.mod", module.as_str())];
        let checkout = Checkout::new(files, &search_path());
        checkout.build(&["go", "build", "-gcflags", "all=-N -l", "-o", "sample", "."]);
        let port = free_port();
        let listen = format!("--listen=127.0.0.1:{port}");
        let words = [
            "dlv",
            "exec",
            "--headless",
            "--accept-multiclient",
            "--continue",
            &listen,
            "sample",
            "--",
            "loop",
        ];
        let server = Started::new(&words, checkout.folder.path());
        let stop = joined(&checkout, "main.go", line(&text, "spin"), port).await;
        assert_eq!(stop["frame"]["function"], "main.loop");
        checkout.data(json!({"op": "terminate"})).await;
        assert_eq!(server.running("sample loop "), 1);
    });
}

// spec: DBG-06
pub(crate) fn a_c_program_is_joined_and_its_fate_is_said() {
    block_on(async {
        let text = program("c/main.c");
        let files = [("main.c", text.as_str()), ("CMakeLists.txt", "")];
        let checkout = Checkout::new(files, &search_path());
        checkout.build(&["gcc", "-g", "-O0", "-pthread", "main.c", "-o", "sample"]);
        let port = free_port();
        let address = format!("127.0.0.1:{port}");
        let lldb = super::lldb_server();
        let words = [&*lldb.to_string_lossy(), "gdbserver", &address, "--", "./sample", "loop"];
        let server = Started::new(&words, checkout.folder.path());
        let closed = json!({"op": "attach", "port": free_port()});
        let error = checkout.call(closed).await.unwrap_err();
        assert_eq!(error.code, "attach_failed");
        assert!(error.message.contains("nothing listens on port"), "{}", error.message);
        let stop = joined(&checkout, "main.c", line(&text, "spin"), port).await;
        assert_eq!(stop["frame"]["function"], "loop_");
        let ended = checkout.call(json!({"op": "terminate"})).await.unwrap();
        assert!(ended.joined_text().contains("it runs on"), "{}", ended.joined_text());
        checkout.nothing_left();
        assert_eq!(server.running("./sample loop "), 1);
    });
}
