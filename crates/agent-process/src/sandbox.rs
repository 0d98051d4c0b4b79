//! The port through which a command is put into a sandbox, a container or another machine.

use std::{collections::BTreeMap, ffi::OsString, fmt::Debug, path::PathBuf};

/// A command as it will be started: nothing is added to it afterwards.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Command {
    /// The absolute path of the program.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// The folder that it starts in.
    pub folder: PathBuf,
    /// Its whole environment, secrets already taken away and [`crate::MARK_VARIABLE`] set. A sandbox that has an environment
    /// of its own passes the mark on, or what leaves its group inside is not found.
    pub environment: BTreeMap<OsString, OsString>,
}

/// Rewrites each command before it is started, such as to `bwrap … -- program args`. The process that is started stays the
/// one that is signalled and reaped: what runs inside must end with it.
pub trait Sandbox: Debug + Send + Sync + 'static {
    /// A name for status lines: `none`, `bubblewrap`, ….
    fn name(&self) -> &str;

    /// The command to start instead.
    ///
    /// # Errors
    ///
    /// Why this command may not or cannot be started, for the person to read; it is not started outside instead.
    fn rewrite(&self, command: Command) -> Result<Command, String>;
}

/// No sandbox: commands are started as they are.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoSandbox;

impl Sandbox for NoSandbox {
    fn name(&self) -> &str {
        "none"
    }

    fn rewrite(&self, command: Command) -> Result<Command, String> {
        Ok(command)
    }
}
