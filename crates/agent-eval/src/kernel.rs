//! One interpreter: its process, and the task that speaks with it.

mod actor;
mod running;
mod writer;

use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use agent_process::{Launcher, Output, Process, Program};
use serde_json::Value;
use tokio::{
    sync::{mpsc, oneshot},
    time::timeout,
};

use self::actor::Actor;
use crate::{Language, Limits, boot, outcome::Outcome, wire::ToolReply};

/// How long an interpreter may take to say that it is there.
pub const START_WITHIN: Duration = Duration::from_secs(60);

/// How long a kernel whose input was closed may take to end by itself. Inside a container or on another machine nothing else
/// reaches it.
const CLOSE_WITHIN: Duration = Duration::from_secs(1);

/// What runs a cell, as it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Interpreter {
    pub language: Language,
    pub program: PathBuf,
    /// Arguments that come before the kernel's own.
    pub args: Vec<String>,
    pub folder: PathBuf,
    pub environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    pub limits: Limits,
}

/// An interpreter that runs. Dropping it ends it with everything that it started.
#[derive(Debug)]
pub(crate) struct Kernel {
    commands: mpsc::UnboundedSender<Command>,
    shared: Arc<Shared>,
    pub version: String,
    pub executable: String,
}

/// What the task leaves for those who ask between cells.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    ended: Mutex<Option<String>>,
    aborted: Mutex<Option<Aborted>>,
}

/// A cell that was stopped because nobody waited for it any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Aborted {
    pub kept: bool,
}

#[derive(Debug)]
pub(crate) enum Command {
    Execute(Job),
    Answer { id: String, reply: ToolReply },
    Interrupt,
    Close(oneshot::Sender<()>),
}

/// A cell to run.
#[derive(Debug)]
pub(crate) struct Job {
    pub code: String,
    /// For the kernel: the rewritten form and what the language's front end found.
    pub about: Value,
    pub idle: Duration,
    pub events: mpsc::UnboundedSender<CellEvent>,
}

/// What happens while a cell runs.
#[derive(Debug)]
pub(crate) enum CellEvent {
    /// Output, as it came.
    Output(Vec<u8>),
    /// The cell calls a tool.
    Call { id: String, name: String, args: Value },
    /// It does not wait for it any more.
    CancelCall { id: String },
    /// It is over.
    Done(Box<Outcome>),
}

/// Why an interpreter did not start.
#[derive(Debug)]
pub(crate) enum NotStarted {
    Process(agent_process::Error),
    /// It ended, or said something else, before it was ready.
    Ended(String),
    TimedOut(String),
}

impl Kernel {
    /// Starts an interpreter and waits until it is ready.
    pub(crate) async fn start(launcher: &Launcher, what: &Interpreter) -> Result<Self, NotStarted> {
        let boot = boot::boot(what.language, &what.limits);
        let program = Program::new(&what.program, &what.folder)
            .args(&what.args)
            .args(&boot.args)
            .stdout(Output::Piped);
        let program = what
            .environment
            .iter()
            .fold(program, |program, (name, value)| program.env(name, value));
        let process = launcher.spawn(&program).await.map_err(NotStarted::Process)?;
        let (commands, receiver) = mpsc::unbounded_channel();
        let (ready, mut started) = oneshot::channel();
        let shared = Arc::<Shared>::default();
        let tail = process.tail().clone();
        let actor = Actor::new(process, boot, receiver, Arc::clone(&shared), ready);
        tokio::spawn(actor.run());
        match timeout(START_WITHIN, &mut started).await {
            Ok(Ok((version, executable))) => Ok(Self { commands, shared, version, executable }),
            Ok(Err(_)) => Err(NotStarted::Ended(shared.ended().unwrap_or_default())),
            Err(_) => Err(NotStarted::TimedOut(tail.lines().join("\n"))),
        }
    }

    /// Runs a cell. Its events come over the job's channel; closing that stops it.
    pub(crate) fn execute(&self, job: Job) {
        self.send(Command::Execute(job));
    }

    /// Gives the cell what a call of it came to.
    pub(crate) fn answer(&self, id: String, reply: ToolReply) {
        self.send(Command::Answer { id, reply });
    }

    /// Stops the cell that runs, if one does. Its outcome says that it was interrupted.
    pub(crate) fn interrupter(&self) -> Interrupter {
        Interrupter(self.commands.clone())
    }

    /// How it ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        self.shared.ended()
    }

    /// The last cell, if it was stopped without anybody to tell; told once.
    pub(crate) fn take_aborted(&self) -> Option<Aborted> {
        self.shared.aborted.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Ends it, with everything that it started, and waits until it is gone.
    pub(crate) async fn close(self) {
        let (closed, done) = oneshot::channel();
        self.send(Command::Close(closed));
        let _ = done.await;
    }

    fn send(&self, command: Command) {
        // A task that is gone has left word in `shared`; whoever waits sees its channel closed.
        let _ = self.commands.send(command);
    }
}

/// Stops the cell of a kernel from elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Interrupter(mpsc::UnboundedSender<Command>);

impl Interrupter {
    pub(crate) fn interrupt(&self) {
        let _ = self.0.send(Command::Interrupt);
    }
}

impl Shared {
    fn ended(&self) -> Option<String> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set_ended(&self, how: String) {
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(how);
    }

    fn set_aborted(&self, aborted: Aborted) {
        *self.aborted.lock().unwrap_or_else(PoisonError::into_inner) = Some(aborted);
    }
}

/// Ends a process whose input is closed already.
async fn end(process: &Process) {
    if timeout(CLOSE_WITHIN, process.wait()).await.is_err() {
        process.tree().kill();
        let _ = timeout(CLOSE_WITHIN, process.wait()).await;
    }
    // What left the supervisor's group is found by its parent or its mark.
    process.tree().kill();
}

impl fmt::Display for NotStarted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Process(error) => write!(f, "{error}"),
            Self::Ended(how) => f.write_str(how),
            Self::TimedOut(said) => {
                write!(f, "it was not ready after {} s", START_WITHIN.as_secs())?;
                if said.is_empty() { Ok(()) } else { write!(f, "; it said:\n{said}") }
            }
        }
    }
}
