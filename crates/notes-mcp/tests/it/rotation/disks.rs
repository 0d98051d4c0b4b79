//! A file system that says no.

use std::{
    fs,
    io::Write,
    os::unix::fs::{MetadataExt, chown},
    process::{Command, Stdio},
};

use serde_json::{Value, json};
use tempfile::TempDir;

use super::{LOG, apply, assert_untouched, plan_id};
use crate::{
    peer::Peer,
    program,
    support::{App, code, set_mode},
};

// spec: NOTE-08
#[test]
fn r15_a_record_that_cannot_be_written_rotates_nothing() {
    let app = App::with_log(LOG);
    let id = plan_id(&app);
    // Where the new record is written there is a folder.
    fs::create_dir(app.path("app/logs/.rotate/plans.json.new")).expect("a folder");
    let refused = apply(&app, &id).expect_err("a refusal").to_string();
    assert!(
        refused.starts_with("io_error: cannot write the record of plans, so nothing was rotated: "),
        "{refused}"
    );
    assert_eq!(code(app.call("log_rotate_plan", json!({}))), "io_error");
    assert_untouched(&app, LOG);
}

#[test]
fn r15_in_a_folder_that_may_not_be_written_to_nothing_is_rotated() {
    let app = App::with_log(LOG);
    let user = app.hand_over();
    let at = TempDir::new().expect("a folder");
    set_mode(at.path(), 0o755);
    let mut command = program::command_as(user, app.root(), at.path());
    let mut peer = Peer::of(command.spawn().expect("it starts"));
    set_mode(&app.path("app/logs"), 0o500);
    assert_eq!(refused(&mut peer, "log_rotate_plan", json!({})), "io_error");
    set_mode(&app.path("app/logs"), 0o700);
    let planned = peer.call(1, "log_rotate_plan", json!({}));
    let id = &planned["structuredContent"]["plan_id"];
    for folder in ["app/logs/.rotate", "app/logs"] {
        set_mode(&app.path(folder), 0o500);
        let code = refused(&mut peer, "log_rotate_apply", json!({"plan_id": id}));
        assert_eq!(code, "io_error", "{folder}");
        assert_untouched(&app, LOG);
        set_mode(&app.path(folder), 0o700);
    }
    let applied = peer.call(1, "log_rotate_apply", json!({"plan_id": id}));
    assert_eq!(applied["structuredContent"]["status"], "applied", "{applied}");
}

#[test]
fn a_log_whose_writer_could_not_write_to_a_new_one_is_not_rotated() {
    let app = App::with_log(LOG);
    let Some(user) = app.hand_over() else {
        // Without rights over other users there is no log of another one.
        return;
    };
    chown(app.log(), Some(1_234), Some(1_234)).expect("another owner");
    set_mode(&app.log(), 0o666);
    let at = TempDir::new().expect("a folder");
    set_mode(at.path(), 0o755);
    let mut command = program::command_as(Some(user), app.root(), at.path());
    let mut peer = Peer::of(command.spawn().expect("it starts"));
    let planned = peer.call(1, "log_rotate_plan", json!({}));
    let id = &planned["structuredContent"]["plan_id"];
    let result = peer.call(1, "log_rotate_apply", json!({"plan_id": id}));
    assert_eq!(
        result["content"][0]["text"],
        "io_error: cannot give the empty log the old one's owner: Operation not permitted (os error 1); \
         let a person run this server as the application's user"
    );
    assert_untouched(&app, LOG);
}

fn refused(peer: &mut Peer, tool: &str, arguments: Value) -> String {
    let result = peer.call(1, tool, arguments);
    assert_eq!(result["isError"], json!(true), "{result}");
    let text = result["content"][0]["text"].as_str().expect("a text");
    text.split(':').next().unwrap_or_default().to_owned()
}

/// A file system of 64 KiB, all of it taken but for what is there already; only a namespace of its own sees it.
const FULL_DISK: &str = r#"
set -e
mount -t tmpfs -o size=64k,mode=755 tmpfs "$1/app/logs"
printf 'INFO one\nERROR two\n' > "$1/app/logs/app.log"
touch "$1/ready"
exec "$2" --root "$1"
"#;

#[test]
fn r15_on_a_full_disk_nothing_is_rotated() {
    let app = App::new();
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", FULL_DISK, "sh"]);
    command.arg(app.root()).arg(env!("CARGO_BIN_EXE_notes-mcp"));
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("unshare of util-linux");
    // Its input is what keeps it alive, so a child that ends here was not allowed to mount.
    while !app.path("ready").exists() {
        if child.try_wait().expect("a child").is_some() {
            eprintln!("skipped: this system lets nobody mount in a namespace of their own");
            return;
        }
        std::thread::yield_now();
    }
    let mut peer = Peer::of(child);
    let planned = peer.call(1, "log_rotate_plan", json!({}));
    let id = planned["structuredContent"]["plan_id"].as_str().expect("a plan").to_owned();
    // The folder as the process sees it.
    let logs = std::path::PathBuf::from(format!(
        "/proc/{}/root{}/app/logs",
        peer.id(),
        app.root().display()
    ));
    let mut filler = fs::File::create(logs.join("filler")).expect("a file");
    while filler.write_all(&[0; 4096]).is_ok() {}
    let result = peer.call(2, "log_rotate_apply", json!({"plan_id": id}));
    let text = result["content"][0]["text"].as_str().expect("a text");
    assert!(
        text.starts_with("io_error: cannot write the record of plans, so nothing was rotated: "),
        "{text}"
    );
    assert_eq!(fs::read(logs.join("app.log")).expect("the log"), LOG.as_bytes());
    assert_eq!(fs::metadata(logs.join("app.log")).expect("the log").nlink(), 1);
    assert!(!logs.join("app.log.1").exists());
    // With room again the same plan is applied.
    drop(filler);
    fs::remove_file(logs.join("filler")).expect("removed");
    let result = peer.call(3, "log_rotate_apply", json!({"plan_id": id}));
    assert_eq!(result["structuredContent"]["status"], "applied", "{result}");
}
