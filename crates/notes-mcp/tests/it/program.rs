//! The program, started as a host starts it.

use std::{
    fs,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::peer::Peer;

/// The program for `root`, before it is started.
pub(crate) fn command(root: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_notes-mcp"));
    command.arg("--root").arg(root);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The same as another user, who may not be able to reach where it was built: `at` is where a copy of it goes.
pub(crate) fn command_as(user: Option<u32>, root: &Path, at: &Path) -> Command {
    let Some(user) = user else { return command(root) };
    let copy: PathBuf = at.join("notes-mcp");
    fs::copy(env!("CARGO_BIN_EXE_notes-mcp"), &copy).expect("a copy of the program");
    let mut command = Command::new(copy);
    command.arg("--root").arg(root).uid(user).gid(user);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn start(root: &Path) -> Peer {
    Peer::of(command(root).spawn().expect("it starts"))
}

/// A child that does not outlive its test.
pub(crate) struct Killed(pub(crate) Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn the_command_line_says_what_it_takes_and_what_is_wrong() {
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_notes-mcp")).args(args).output();
        let output = output.expect("it starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    };
    let version = format!("notes-mcp {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(run(&["--version"]), (Some(0), version, String::new()));
    let (code, help, _) = run(&["--help"]);
    assert!(code == Some(0) && help.starts_with("notes-mcp [--root DIR]\n"), "{help}");
    for (args, said) in [
        (&["--roots", "x"][..], "error: there is no argument \"--roots\"; see --help\n"),
        (&["--root"], "error: --root needs a folder\n"),
        (&["--root", "/dev/null"], "error: cannot serve /dev/null: it is no folder\n"),
        (
            &["--root", "/none"],
            "error: cannot serve /none: No such file or directory (os error 2)\n",
        ),
    ] {
        assert_eq!(run(args), (Some(1), String::new(), said.to_owned()), "{args:?}");
    }
}
