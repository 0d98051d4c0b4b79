use std::{env, io, path::Path, process::Stdio, sync::Arc, time::Duration};

use tokio::time::{sleep, timeout};

use crate::{
    Command, EnvironmentRule, Error, ErrorKind, ExitReport, Guard, MARK_VARIABLE, NoSandbox,
    Process, Program, Result, Sandbox, Tree,
    capture::Capture,
    platform,
    program::{Input, Output},
};

/// How often a start is tried again while the program's file is being written by somebody.
const BUSY_ATTEMPTS: usize = 5;
const BUSY_PAUSE: Duration = Duration::from_millis(20);

/// How long the rest of the output is waited for after a program has ended: what it started may hold the pipe open.
const OUTPUT_WAIT: Duration = Duration::from_millis(200);

/// Starts programs: each in a session of its own, with an environment without secrets, through the sandbox, known to
/// the guard. Clones share all of it.
#[derive(Debug, Clone)]
pub struct Launcher {
    guard: Guard,
    sandbox: Arc<dyn Sandbox>,
    environment: Arc<EnvironmentRule>,
}

/// The bounds of [`Launcher::run`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunLimits {
    /// How long the program may take; 10 seconds by default. Then its tree is killed.
    pub time: Duration,
    /// How many bytes of each output are kept, from its beginning; 64 KiB by default. The rest is drained and counted.
    pub output_bytes: usize,
}

/// What a program did that was run to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunOutput {
    /// How it ended; none if its time ran out.
    pub exit: Option<ExitReport>,
    /// The beginning of its standard output.
    pub stdout: Vec<u8>,
    /// The beginning of its standard error.
    pub stderr: Vec<u8>,
    /// How many bytes of both were not kept.
    pub dropped: u64,
}

impl Launcher {
    /// A launcher without sandbox and with the default [`EnvironmentRule`].
    pub fn new(guard: Guard) -> Self {
        Self { guard, sandbox: Arc::new(NoSandbox), environment: Arc::default() }
    }

    /// Puts every command through this sandbox.
    pub fn sandbox(mut self, sandbox: impl Sandbox) -> Self {
        self.sandbox = Arc::new(sandbox);
        self
    }

    /// Which variables children get.
    pub fn environment(mut self, rule: EnvironmentRule) -> Self {
        self.environment = Arc::new(rule);
        self
    }

    /// The guard that knows what this launcher starts.
    pub fn guard(&self) -> &Guard {
        &self.guard
    }

    /// The sandbox's name, for status lines.
    pub fn sandbox_name(&self) -> &str {
        self.sandbox.name()
    }

    /// Starts a program. Needs a tokio runtime with I/O and time.
    ///
    /// # Errors
    ///
    /// See [`ErrorKind`]; nothing runs after an error.
    pub async fn spawn(&self, program: &Program) -> Result<Process> {
        self.guard.ready().await?;
        let mark = self.guard.new_mark();
        let command = self.command(program, mark.value())?;
        let child = start(&command, program).await?;
        let id = child.id().unwrap_or_default();
        let tree = Tree::of_child(id, mark);
        let watched = match self.guard.watch(tree.clone(), program.priority) {
            Ok(watched) => watched,
            Err(_) => {
                // The guard died since it was asked; the next one is told of everything that is registered.
                let process = Process::new(child, program, tree.clone(), self.guard.unwatched());
                self.guard.ready().await?;
                let watched = self.guard.watch(tree, program.priority)?;
                return Ok(process.watched_by(watched));
            }
        };
        Ok(Process::new(child, program, tree, watched))
    }

    /// Runs a program to its end, without input, and keeps the beginning of what it says. What it leaves behind is killed.
    ///
    /// # Errors
    ///
    /// As [`Launcher::spawn`]; a bad exit code or a time that ran out is an output.
    pub async fn run(&self, program: &Program, limits: &RunLimits) -> Result<RunOutput> {
        let program =
            program.clone().stdin(Input::Null).stdout(Output::Piped).stderr(Output::Piped);
        let process = self.spawn(&program).await?;
        let mut stdout = Capture::start(process.take_stdout(), limits.output_bytes);
        let mut stderr = Capture::start(process.take_stderr(), limits.output_bytes);
        let exit = timeout(limits.time, process.wait()).await.ok();
        if exit.is_none() {
            process.tree().kill();
        }
        let _ = timeout(OUTPUT_WAIT, async {
            stdout.ended().await;
            stderr.ended().await;
        })
        .await;
        drop(process);
        let (stdout, dropped_out) = stdout.take();
        let (stderr, dropped_err) = stderr.take();
        Ok(RunOutput { exit, stdout, stderr, dropped: dropped_out + dropped_err })
    }

    fn command(&self, program: &Program, mark: std::ffi::OsString) -> Result<Command> {
        if !program.path.is_absolute() {
            return Err(Error::new(
                ErrorKind::NotAbsolute,
                format!(
                    "{} is not an absolute path; look the program up before it is started",
                    program.path.display()
                ),
            ));
        }
        if !program.folder.is_dir() {
            return Err(Error::new(
                ErrorKind::NoFolder,
                format!(
                    "{} is no folder, so {} was not started there",
                    program.folder.display(),
                    program.path.display()
                ),
            ));
        }
        let mut environment: std::collections::BTreeMap<_, _> =
            self.environment.apply(env::vars_os()).into_iter().collect();
        for (name, value) in &program.environment {
            match value {
                Some(value) => environment.insert(name.clone(), value.clone()),
                None => environment.remove(name),
            };
        }
        environment.insert(MARK_VARIABLE.into(), mark);
        let command = Command {
            program: program.path.clone(),
            args: program.args.clone(),
            folder: program.folder.clone(),
            environment,
        };
        self.sandbox.rewrite(command).map_err(|why| {
            let sandbox = self.sandbox.name();
            Error::new(
                ErrorKind::SandboxRefused,
                format!("the sandbox {sandbox} refused {}: {why}", program.path.display()),
            )
        })
    }
}

impl Default for RunLimits {
    fn default() -> Self {
        Self { time: Duration::from_secs(10), output_bytes: 64 << 10 }
    }
}

impl RunLimits {
    /// The default limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// How long the program may take.
    pub fn time(mut self, time: Duration) -> Self {
        self.time = time;
        self
    }

    /// How many bytes of each output are kept.
    pub fn output_bytes(mut self, bytes: usize) -> Self {
        self.output_bytes = bytes;
        self
    }
}

async fn start(command: &Command, program: &Program) -> Result<tokio::process::Child> {
    let mut attempt = 0;
    loop {
        let mut starting = tokio::process::Command::new(&command.program);
        starting
            .args(&command.args)
            .current_dir(&command.folder)
            .env_clear()
            .envs(&command.environment)
            .stdin(match program.stdin {
                Input::Piped => Stdio::piped(),
                Input::Null => Stdio::null(),
            })
            .stdout(stdio(program.stdout))
            .stderr(stdio(program.stderr));
        platform::in_own_session(&mut starting)
            .map_err(|error| refused(&command.program, error))?;
        match starting.spawn() {
            Err(error)
                if error.kind() == io::ErrorKind::ExecutableFileBusy && attempt < BUSY_ATTEMPTS =>
            {
                attempt += 1;
                sleep(BUSY_PAUSE).await;
            }
            started => return started.map_err(|error| refused(&command.program, error)),
        }
    }
}

fn stdio(output: Output) -> Stdio {
    match output {
        Output::Piped | Output::Tail => Stdio::piped(),
        Output::Null => Stdio::null(),
    }
}

fn refused(program: &Path, error: io::Error) -> Error {
    let shown = program.display();
    let (kind, message) = match error.kind() {
        io::ErrorKind::NotFound if program.exists() => {
            (ErrorKind::NotFound, format!("{shown} names an interpreter that does not exist"))
        }
        io::ErrorKind::NotFound => (ErrorKind::NotFound, format!("{shown} does not exist")),
        io::ErrorKind::PermissionDenied => {
            (ErrorKind::NotExecutable, format!("{shown} may not be executed"))
        }
        _ => (ErrorKind::StartFailed, format!("{shown} could not be started")),
    };
    Error::new(kind, message).with_source(error)
}
