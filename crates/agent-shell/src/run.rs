//! A command from its start to the end of all that it started.

use std::{sync::Arc, time::Duration};

use agent_process::{Input, Launcher, Output, Process, Program, Shutdown, ShutdownSteps};
use agent_tool_core::{Context, ToolError};
use agent_workspace::{Workspace, WorkspacePath};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::{
    task::spawn_blocking,
    time::{Instant, timeout},
};

use crate::{
    changes::{Comparison, Snapshot},
    error::{no_folder, not_started},
    output::Kept,
    report::{Ending, ShellReport},
};

/// How long a command may take where the call does not say.
pub const DEFAULT_TIME: Duration = Duration::from_mins(2);

/// How long a call may give a command.
pub const MAX_TIME: Duration = Duration::from_mins(30);

/// The longest command, in bytes: 64 KiB.
pub const MAX_COMMAND_BYTES: usize = 64 << 10;

/// How long the end of the output is waited for after the command has ended: what it left running may hold the pipe open.
const OUTPUT_WAIT: Duration = Duration::from_millis(200);

/// How long what is ended may take to end by itself.
const TERM_WAIT: Duration = Duration::from_secs(1);

/// What a launcher without a sandbox calls itself.
const HOST: &str = "none";

/// The shell that is there whatever the system or the sandbox.
const SHELL: &str = "/bin/sh";

/// Both outputs are one, in the order in which they were written; bash reads the command where it is installed.
const START: &str = "exec 2>&1; if command -v bash >/dev/null 2>&1; then exec bash -c \"$1\"; fi; exec sh -c \"$1\"";

/// What tells programs that nobody looks at a terminal and nobody will type.
const ENVIRONMENT: [(&str, &str); 6] = [
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("MANPAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
];

/// A command to run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct ShellArgs {
    /// The command, for bash.
    pub command: String,
    /// The folder that it runs in; the working directory by default.
    pub cwd: Option<String>,
    /// After how many seconds it is ended; 120 by default, at most 1800.
    pub timeout: Option<u64>,
}

impl ShellArgs {
    /// A command in the working directory.
    #[must_use]
    pub fn new(command: impl Into<String>) -> Self {
        Self { command: command.into(), ..Self::default() }
    }

    /// The same in this folder of the workspace.
    #[must_use]
    pub fn cwd(mut self, cwd: impl Into<String>) -> Self {
        self.cwd = Some(cwd.into());
        self
    }

    /// The same, ended after so many seconds.
    #[must_use]
    pub fn timeout(mut self, seconds: u64) -> Self {
        self.timeout = Some(seconds);
        self
    }
}

/// Where commands are run. A clone is cheap and means the same.
#[derive(Clone, Debug)]
pub struct Shell {
    workspace: Workspace,
    launcher: Arc<Launcher>,
}

impl Shell {
    /// Commands in the folders of this workspace, started by this launcher: its sandbox, its rule for the environment, its
    /// guard.
    #[must_use]
    pub fn new(workspace: Workspace, launcher: Launcher) -> Self {
        Self { workspace, launcher: Arc::new(launcher) }
    }

    /// The name of the sandbox that commands run in; `none` is the host.
    #[must_use]
    pub fn sandbox_name(&self) -> &str {
        self.launcher.sandbox_name()
    }

    /// The sandbox that commands run in, where there is one.
    pub(crate) fn sandbox(&self) -> Option<&str> {
        Some(self.sandbox_name()).filter(|name| *name != HOST)
    }

    /// Runs a command to its end. Its output goes to the context as it comes.
    ///
    /// Dropping the future ends the command with all that it started; what it changed until then is told to the context.
    ///
    /// # Errors
    ///
    /// `invalid_args`, those of the workspace for its folder, and those of [`Launcher::spawn`]. Whatever the command does is no
    /// error.
    pub async fn run(&self, args: &ShellArgs, cx: &Context) -> Result<ShellReport, ToolError> {
        let limit = args.check()?;
        let folder = self.folder(args)?;
        let workspace = self.workspace.clone();
        let before = spawn_blocking(move || Snapshot::take(&workspace)).await.unwrap_or_default();
        // It looks at the files when the process that changes them is gone, so it comes first and is dropped last.
        let comparison = Comparison::begin(self.workspace.clone(), before, cx.clone());
        let program = Program::new(SHELL, self.workspace.absolute(&folder))
            .args(["-c", START, "sh", &args.command])
            .stdin(Input::Null)
            .stdout(Output::Piped);
        let program = ENVIRONMENT
            .into_iter()
            .fold(program, |program, (name, value)| program.env(name, value));
        let begun = Instant::now();
        let process = self.launcher.spawn(&program).await.map_err(not_started)?;
        let kept = Kept::new();
        let mut reading = process.take_stdout().map(|pipe| {
            let reading = kept.clone().read(pipe, cx.clone());
            AbortOnDrop(tokio::spawn(reading))
        });
        let ended = timeout(limit, process.wait()).await;
        let elapsed = begun.elapsed();
        drain(&mut reading).await;
        let shutdown = self.end(&process).await;
        drain(&mut reading).await;
        drop(reading);
        drop(process);
        let changes = comparison.end().await;
        let output = kept.text();
        let ending = match &ended {
            Err(_) => Ending::TimedOut,
            Ok(exit) => match (exit.code, exit.signal) {
                (Some(code), _) => Ending::Exited { code },
                (None, Some(signal)) => Ending::Signalled { signal },
                (None, None) => Ending::Unknown,
            },
        };
        Ok(ShellReport {
            killed: match ending {
                // They are the command itself.
                Ending::TimedOut => 0,
                _ => shutdown.killed,
            },
            ending,
            ran_in: self.sandbox().map(str::to_owned),
            output: output.text,
            output_bytes: output.total,
            dropped_bytes: output.dropped,
            elapsed_ms: u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX),
            left: shutdown.left,
            sandbox: shutdown.exit.map(|exit| exit.stderr).unwrap_or_default(),
            files_changed: changes.total,
            others_made: changes.others_made,
            changes: changes.changes,
        })
    }

    /// The folder of a call, which lies in the workspace.
    fn folder(&self, args: &ShellArgs) -> Result<WorkspacePath, ToolError> {
        let Some(cwd) = &args.cwd else { return Ok(WorkspacePath::working_directory()) };
        let folder = self.workspace.resolve(cwd).map_err(no_folder)?;
        self.workspace.open_folder(&folder).map_err(no_folder)?;
        Ok(folder)
    }

    /// Ends what is left of a command, itself included.
    async fn end(&self, process: &Process) -> Shutdown {
        let steps = ShutdownSteps::new().after_stdin(Duration::ZERO).after_term(TERM_WAIT);
        process.shutdown(&steps).await
    }
}

impl ShellArgs {
    fn check(&self) -> Result<Duration, ToolError> {
        let wrong = |why: String| Err(ToolError::invalid_args(format!("shell: {why}")));
        if self.command.trim().is_empty() {
            return wrong("`command` is empty; give the command to run".to_owned());
        }
        if self.command.len() > MAX_COMMAND_BYTES {
            let length = self.command.len();
            return wrong(format!(
                "`command` has {length} bytes and at most {MAX_COMMAND_BYTES} are taken; write a script and run it"
            ));
        }
        if self.command.contains('\0') {
            return wrong("`command` has a null byte, which no program takes".to_owned());
        }
        let limit = self.timeout.map_or(DEFAULT_TIME, Duration::from_secs);
        if limit.is_zero() || limit > MAX_TIME {
            return wrong(format!(
                "`timeout` came as {} but takes 1 to {} seconds",
                limit.as_secs(),
                MAX_TIME.as_secs()
            ));
        }
        Ok(limit)
    }
}

/// Waits a moment for the end of the output.
async fn drain(reading: &mut Option<AbortOnDrop>) {
    if let Some(AbortOnDrop(task)) = reading
        && timeout(OUTPUT_WAIT, task).await.is_ok()
    {
        *reading = None;
    }
}

/// A reader that does not outlive its call.
struct AbortOnDrop(tokio::task::JoinHandle<()>);

impl Drop for AbortOnDrop {
    fn drop(&mut self) {
        self.0.abort();
    }
}
