use std::{ffi::OsString, path::PathBuf};

use crate::guard::Priority;

/// What to start. Its folder is always named, since what a program reads from its folder is a matter of trust. It leads a session
/// of its own: the terminal that this program was started at is out of its reach, so that it asks nothing there, takes no keys and
/// is not stopped by trying.
#[derive(Debug, Clone)]
pub struct Program {
    pub(crate) path: PathBuf,
    pub(crate) folder: PathBuf,
    pub(crate) args: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, Option<OsString>)>,
    pub(crate) stdin: Input,
    pub(crate) stdout: Output,
    pub(crate) stderr: Output,
    pub(crate) priority: Priority,
}

/// Where a child's input comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Input {
    /// A pipe, to be taken with [`crate::Process::take_stdin`].
    #[default]
    Piped,
    /// Nothing: the end of input at once.
    Null,
}

/// Where a child's output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Output {
    /// A pipe, to be taken from the [`crate::Process`]. Whoever takes it drains it.
    Piped,
    /// Nowhere.
    Null,
    /// Drained always; the last lines stay in the process's [`crate::Tail`].
    Tail,
}

impl Program {
    /// The program at this absolute path (as [`crate::Found::path`] has it), started in `folder`. Its input and output are
    /// pipes, the tail of its error output is kept.
    pub fn new(path: impl Into<PathBuf>, folder: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            folder: folder.into(),
            args: Vec::new(),
            environment: Vec::new(),
            stdin: Input::Piped,
            stdout: Output::Piped,
            stderr: Output::Tail,
            priority: Priority::LAST,
        }
    }

    /// Adds an argument.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    pub fn args<A: Into<OsString>>(mut self, args: impl IntoIterator<Item = A>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets a variable of the child's environment, whatever the [`crate::EnvironmentRule`] says of its name.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), Some(value.into())));
        self
    }

    /// Takes a variable away from the child's environment.
    pub fn without_env(mut self, name: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), None));
        self
    }

    /// Where the input comes from; a pipe by default.
    pub fn stdin(mut self, input: Input) -> Self {
        self.stdin = input;
        self
    }

    /// Where standard output goes; a pipe by default.
    pub fn stdout(mut self, output: Output) -> Self {
        self.stdout = output;
        self
    }

    /// Where standard error goes; its tail is kept by default.
    pub fn stderr(mut self, output: Output) -> Self {
        self.stderr = output;
        self
    }

    /// Its place in the order in which a [`crate::Guard`] kills; [`Priority::LAST`] by default.
    pub fn priority(mut self, priority: Priority) -> Self {
        self.priority = priority;
        self
    }
}
