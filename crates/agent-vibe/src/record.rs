//! One worker as the roster knows it.

use std::sync::Arc;

use agent_tool_core::{Context, ToolError, clip};
use tokio::{sync::watch, task::AbortHandle, time::Instant};

use crate::{
    Job, KILL_WITHIN, MESSAGES_BYTES, Status, WorkerReport, WorkerScope, attempt::Attempt, error,
    job::Identity, leash::Leash, report::RESULT_CHARS,
};

/// A worker. The status is what counts against the limit of running ones, so a slot cannot be lost:
/// whatever ends the task of an attempt moves the status on.
#[derive(Debug)]
pub(crate) struct Record {
    pub(crate) identity: Arc<Identity>,
    pub(crate) status: Status,
    /// The attempt that runs, or the last one.
    pub(crate) attempt: Arc<Attempt>,
    /// The latest result.
    pub(crate) latest: Option<Arc<str>>,
    pub(crate) cx: Context,
    /// The brief and the messages, in order.
    brief: Vec<Arc<str>>,
    /// How many of them the attempt was given.
    given: usize,
    scope: WorkerScope,
    task: Option<Task>,
    killed: Option<Killed>,
}

/// Held by whatever of a task may still be at work. The channel closes when the last one is dropped.
pub(crate) type Life = Arc<watch::Sender<()>>;

/// The task of a worker's attempts.
#[derive(Debug)]
struct Task {
    gone: watch::Receiver<()>,
    /// None until it is known.
    abort: Option<AbortHandle>,
    first_attempt: u32,
}

#[derive(Debug)]
struct Killed {
    at: Instant,
    gone: watch::Receiver<()>,
}

/// What is left to do when a worker was killed, outside of the lock.
pub(crate) struct Killing {
    pub(crate) name: String,
    pub(crate) was_running: bool,
    pub(crate) attempt: Arc<Attempt>,
    pub(crate) cx: Context,
    pub(crate) scope: WorkerScope,
    pub(crate) abort: Option<AbortHandle>,
    /// Closes when nothing of the task is left.
    pub(crate) task_gone: Option<watch::Receiver<()>>,
    /// To be dropped when nothing of the worker is left.
    pub(crate) life: watch::Sender<()>,
}

/// How an attempt ended, and the next one where messages wait.
pub(crate) struct Settled {
    pub(crate) status: Status,
    pub(crate) next: Option<Job>,
}

impl Record {
    /// What it was spawned for.
    pub(crate) fn first_brief(&self) -> Option<Arc<str>> {
        self.brief.first().cloned()
    }

    pub(crate) fn new(identity: Identity, brief: Arc<str>, cx: Context) -> Self {
        Self {
            identity: Arc::new(identity),
            status: Status::Running,
            attempt: Attempt::begin(1),
            latest: None,
            brief: vec![brief],
            given: 1,
            cx,
            scope: WorkerScope::new(),
            task: None,
            killed: None,
        }
    }

    /// The attempt that runs, for its factory.
    pub(crate) fn job(&self, known: usize) -> Job {
        Job {
            identity: Arc::clone(&self.identity),
            attempt: Arc::clone(&self.attempt),
            brief: self.brief.clone(),
            known,
            previous: self.latest.clone(),
            cx: self.cx.clone().with_dispatch(Arc::new(Leash {
                dispatch: Arc::clone(self.cx.dispatch()),
                attempt: Arc::clone(&self.attempt),
            })),
            scope: self.scope.clone(),
        }
    }

    /// How many messages the attempt was not given.
    pub(crate) fn queued(&self) -> usize {
        self.brief.len() - self.given
    }

    /// Appends a message.
    pub(crate) fn append(&mut self, message: &str) -> Result<(), ToolError> {
        let bytes: usize = self.brief.iter().map(|part| part.len()).sum();
        if bytes + message.len() > MESSAGES_BYTES {
            return Err(error::brief_full(&WorkerReport::of(self), MESSAGES_BYTES));
        }
        self.brief.push(message.into());
        Ok(())
    }

    /// Makes room for a task that begins with the attempt in flight, and gives what it holds.
    pub(crate) fn new_task(&mut self) -> Life {
        let (life, gone) = watch::channel(());
        self.task = Some(Task { gone, abort: None, first_attempt: self.attempt.number() });
        Arc::new(life)
    }

    /// Notes how to end the task that began with this attempt, if it is still the worker's. Gives it
    /// back where the worker was killed before, to be ended now.
    pub(crate) fn set_abort(
        &mut self,
        first_attempt: u32,
        abort: AbortHandle,
    ) -> Option<AbortHandle> {
        let task = self.task.as_mut().filter(|task| task.first_attempt == first_attempt)?;
        if self.status == Status::Killed {
            return Some(abort);
        }
        task.abort = Some(abort);
        None
    }

    /// Begins the next attempt, with all messages so far.
    pub(crate) fn begin(&mut self) -> Job {
        let known = self.given;
        self.given = self.brief.len();
        self.status = Status::Running;
        self.attempt = Attempt::begin(self.attempt.number() + 1);
        self.job(known)
    }

    /// Notes what an attempt came to. An attempt that was ended already, or that is not the one in
    /// flight, comes too late and changes nothing.
    pub(crate) fn settle(
        &mut self,
        attempt: &Arc<Attempt>,
        outcome: Result<String, String>,
    ) -> Option<Settled> {
        let current = Arc::ptr_eq(&self.attempt, attempt) && self.status == Status::Running;
        if !current {
            return None;
        }
        let status = if outcome.is_ok() { Status::Done } else { Status::Failed };
        let result = match (outcome, attempt.said()) {
            (Ok(result), _) => result,
            (Err(error), None) => error,
            (Err(error), Some(said)) => format!("{error}\nit had said:\n{said}"),
        };
        let result: Arc<str> = clip(&result, RESULT_CHARS).text.into();
        self.latest = Some(Arc::clone(&result));
        self.status = status;
        attempt.set_end(status, Some(result), self.queued());
        let next = (self.queued() > 0).then(|| self.begin());
        Some(Settled { status, next })
    }

    /// Stops the worker for good. The status is set at once; what it still holds ends in
    /// [`Killing`], which a worker that was killed before has none of.
    pub(crate) fn kill(&mut self) -> Option<Killing> {
        if self.status == Status::Killed {
            return None;
        }
        let was_running = self.status == Status::Running;
        self.status = Status::Killed;
        self.brief.truncate(self.given);
        if was_running {
            let said: Option<Arc<str>> = self.attempt.said().map(Into::into);
            self.attempt.set_end(Status::Killed, said.clone(), 0);
            self.latest = said.or(self.latest.take());
        }
        let (life, gone) = watch::channel(());
        self.killed = Some(Killed { at: Instant::now(), gone });
        let task = self.task.as_ref();
        Some(Killing {
            name: self.identity.name(),
            was_running,
            attempt: Arc::clone(&self.attempt),
            cx: self.cx.clone(),
            scope: self.scope.clone(),
            abort: task.and_then(|task| task.abort.clone()),
            task_gone: task.map(|task| task.gone.clone()),
            life,
        })
    }

    /// When the worker was killed, and the channel that closes when nothing of it is left.
    pub(crate) fn killed(&self) -> Option<(Instant, watch::Receiver<()>)> {
        self.killed.as_ref().map(|killed| (killed.at, killed.gone.clone()))
    }

    /// Whether the worker was killed, did not stop in time and has not since.
    pub(crate) fn is_detached(&self) -> bool {
        self.killed.as_ref().is_some_and(|killed| {
            killed.at.elapsed() >= KILL_WITHIN && killed.gone.has_changed().is_ok()
        })
    }
}
