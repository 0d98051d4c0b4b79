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
