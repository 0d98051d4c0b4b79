use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    process::{Child, ChildStderr, ChildStdin, ChildStdout},
    sync::watch,
    task::JoinSet,
    time::{Instant, sleep, timeout},
};

use crate::{
    ExitReport, Program, Shutdown, ShutdownStep, ShutdownSteps, Tail, Tree, guard::Watched,
    program::Output,
};

/// How long the end of the error output is waited for after the process has ended: a grandchild may hold it open.
const TAIL_WAIT: Duration = Duration::from_millis(100);

/// How often a tree that was killed is looked at until it is gone.
const GONE_POLL: Duration = Duration::from_millis(20);

/// A process that was started, with its tree. Dropping it kills the whole tree at once; what ended is reaped by a task of the
/// runtime that it was started on.
#[derive(Debug)]
pub struct Process {
    tree: Tree,
    pipes: Mutex<Pipes>,
    tail: Tail,
    exit: watch::Receiver<Option<ExitReport>>,
    _watched: Watched,
}

#[derive(Debug, Default)]
struct Pipes {
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    stderr: Option<ChildStderr>,
}

/// Waits for the end of a process without keeping it alive.
#[derive(Debug, Clone)]
pub struct ExitWatch {
    exit: watch::Receiver<Option<ExitReport>>,
}

impl Process {
    pub(crate) fn new(mut child: Child, program: &Program, tree: Tree, watched: Watched) -> Self {
        let tail = Tail::default();
        let mut drains = JoinSet::new();
        let mut pipes = Pipes { stdin: child.stdin.take(), ..Pipes::default() };
        match child.stdout.take() {
            Some(pipe) if program.stdout == Output::Tail => {
                drains.spawn(tail.clone().drain(pipe));
            }
            pipe => pipes.stdout = pipe,
        }
        match child.stderr.take() {
            Some(pipe) if program.stderr == Output::Tail => {
                drains.spawn(tail.clone().drain(pipe));
            }
            pipe => pipes.stderr = pipe,
        }
        let (ended, exit) = watch::channel(None);
        tokio::spawn(reap(child, tail.clone(), drains, ended));
        Self { tree, pipes: Mutex::new(pipes), tail, exit, _watched: watched }
    }

    pub(crate) fn watched_by(mut self, watched: Watched) -> Self {
        self._watched = watched;
        self
    }

    /// Its id, which is the id of its group too.
    pub fn id(&self) -> u32 {
        self.tree.id()
    }

    /// The process with everything that it started.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Its input, once. Dropping the pipe ends the process's input.
    pub fn take_stdin(&self) -> Option<ChildStdin> {
        self.pipes().stdin.take()
    }

    /// Its standard output, once, if that is [`Output::Piped`].
    pub fn take_stdout(&self) -> Option<ChildStdout> {
        self.pipes().stdout.take()
    }

    /// Its standard error, once, if that is [`Output::Piped`].
    pub fn take_stderr(&self) -> Option<ChildStderr> {
        self.pipes().stderr.take()
    }

    /// The last lines of what goes to [`Output::Tail`].
    pub fn tail(&self) -> &Tail {
        &self.tail
    }

    /// How it ended, if it has.
    pub fn exited(&self) -> Option<ExitReport> {
        self.exit.borrow().clone()
    }

    /// Waits until it ends by itself. What it started may live on until the handle is dropped.
    pub async fn wait(&self) -> ExitReport {
        self.exit_watch().wait().await
    }

    /// A handle to wait with that does not keep the process alive.
    pub fn exit_watch(&self) -> ExitWatch {
        ExitWatch { exit: self.exit.clone() }
    }

    /// Ends the process and its tree: closes the input (if it was not taken: whoever took it closes it first), waits, SIGTERM
    /// to the tree, waits, SIGKILL to the tree. What is left of the tree once the process has ended is killed in any case.
    ///
    /// Dropping the future stops between the steps; the process's handle still kills.
    pub async fn shutdown(&self, steps: &ShutdownSteps) -> Shutdown {
        let (by, mut killed) = self.end(steps).await;
        killed += self.tree.kill();
        let deadline = Instant::now() + steps.after_kill;
        // At least one look more: a process that is being started does not show its mark for a moment.
        let left = loop {
            sleep(GONE_POLL).await;
            let left = self.tree.members();
            if left.is_empty() || Instant::now() >= deadline {
                break left;
            }
            self.tree.kill();
        };
        Shutdown { exit: self.exited(), by, killed, left }
    }

    async fn end(&self, steps: &ShutdownSteps) -> (ShutdownStep, usize) {
        if self.exited().is_some() {
            return (ShutdownStep::Already, 0);
        }
        // Seen now, they are found after their parent has ended too.
        self.tree.members();
        drop(self.take_stdin());
        if self.ends_within(steps.after_stdin).await {
            return (ShutdownStep::Stdin, 0);
        }
        self.tree.terminate();
        if self.ends_within(steps.after_term).await {
            return (ShutdownStep::Term, 0);
        }
        let killed = self.tree.kill();
        self.ends_within(steps.after_kill).await;
        (ShutdownStep::Kill, killed)
    }

    async fn ends_within(&self, time: Duration) -> bool {
        timeout(time, self.wait()).await.is_ok()
    }

    fn pipes(&self) -> std::sync::MutexGuard<'_, Pipes> {
        self.pipes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.tree.kill();
    }
}

impl ExitWatch {
    /// Waits until the process has ended. If the runtime that reaps it is gone, how it ended is not known.
    pub async fn wait(&mut self) -> ExitReport {
        let report = self.exit.wait_for(Option::is_some).await;
        let report = report.ok().and_then(|report| report.clone());
        report.unwrap_or_else(|| ExitReport::new(None, Vec::new()))
    }
}

async fn reap(
    mut child: Child,
    tail: Tail,
    mut drains: JoinSet<()>,
    ended: watch::Sender<Option<ExitReport>>,
) {
    let status = child.wait().await.ok();
    let drained = timeout(TAIL_WAIT, async { while drains.join_next().await.is_some() {} }).await;
    ended.send_replace(Some(ExitReport::new(status, tail.lines())));
    if drained.is_err() {
        // What a grandchild still writes is drained as before.
        while drains.join_next().await.is_some() {}
    }
}
