//! The workers of a run: spawn, send, wait, kill, list.

use std::{
    fmt,
    sync::{Arc, Mutex},
    time::Duration,
};

use agent_tool_core::{CallId, Caller, Context, Event, Limits, Tool, ToolError};
use tokio::{
    runtime::Handle,
    sync::watch,
    task::spawn_blocking,
    time::{Instant, timeout, timeout_at},
};

use crate::{
    Ended, Job, Order, RosterLimits, Status, WorkerFactory, WorkerReport, WorkerTier,
    attempt::Attempt,
    drive, error,
    job::Identity,
    lock, order,
    record::{Killing, Life, Record},
    roster::Roster,
    tools,
};

/// How long a killed worker has to stop before it is let go.
pub const KILL_WITHIN: Duration = Duration::from_secs(2);

/// The tool that a worker has none of beside ours: whoever spawned it asks the person.
const ASK_USER: &str = "ask_user";

/// The workers of one run. A clone is cheap and means the same workers; when the last one is dropped,
/// those of the tools included, all workers are killed.
///
/// Needs a tokio runtime with a clock.
#[derive(Clone)]
pub struct Workers {
    inner: Arc<Inner>,
    _owner: Arc<Owner>,
}

/// What the tasks of workers share with the handles. It does not keep workers alive.
pub(crate) struct Inner {
    pub(crate) factory: Arc<dyn WorkerFactory>,
    roster: Mutex<Roster>,
}

struct Owner(Arc<Inner>);

impl Workers {
    /// A roster without workers, with vibe mode on.
    #[must_use]
    pub fn new(factory: impl WorkerFactory, limits: RosterLimits) -> Self {
        let roster = Mutex::new(Roster::new(limits));
        let inner = Arc::new(Inner { factory: Arc::new(factory), roster });
        Self { _owner: Arc::new(Owner(Arc::clone(&inner))), inner }
    }

    /// The five tools: `vibe_spawn`, `vibe_send`, `vibe_wait`, `vibe_kill`, `vibe_list`.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        tools::all(self)
    }

    /// Has the ids of workers go on after this number, where a conversation had workers before that are gone: none of theirs
    /// is given again. It changes nothing once a worker was spawned.
    pub fn continue_after(&self, number: usize) {
        let mut roster = lock(&self.inner.roster);
        if roster.workers.is_empty() {
            roster.before = roster.before.max(number);
        }
    }

    /// Spawns a worker on behalf of the call that `cx` belongs to, and returns at once: the worker is
    /// listed then, whatever its factory does. Its authority is the smaller of the caller's and the
    /// order's, for good.
    ///
    /// # Errors
    ///
    /// `vibe_off`, `no_slot`, `unknown_tier`, `authority_exceeded`, `invalid_args`.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn spawn(&self, order: Order, cx: &Context) -> Result<WorkerReport, ToolError> {
        let order = order.checked()?;
        // Told before a worker is listed that nothing could run.
        let _runtime = Handle::current();
        lock(&self.inner.roster).check_on()?;
        if !self.inner.factory.serves(order.tier) {
            return Err(self.unknown_tier(order.tier.as_str()));
        }
        let authority = match order.authority {
            Some(wanted) if wanted > cx.ceiling() => {
                return Err(error::more_than_the_caller(wanted, cx.ceiling()));
            }
            wanted => wanted.unwrap_or(cx.ceiling()),
        };
        if let Some(why) = self.inner.factory.refuses(order.tier, authority) {
            return Err(error::not_held(why));
        }
        let without = tools::TOOLS.into_iter().chain([ASK_USER]);
        let dispatch = cx.dispatch().narrow(Limits::up_to(authority).without(without));

        let mut roster = lock(&self.inner.roster);
        roster.check_on()?;
        roster.check_spawn()?;
        let index = roster.workers.len();
        let id = format!("w{}", roster.before + index + 1);
        let identity = Identity { index, id, label: order.label, tier: order.tier, authority };
        // An id of its own, which no call has: the call that spawns is over soon, and what is over
        // calls no more.
        let call_id = call_id(&identity.id);
        let caller = Caller::new(cx.call_id().clone(), identity.name());
        let cx = cx.child(caller, call_id, authority).with_dispatch(dispatch);
        let mut record = Record::new(identity, order.brief.into(), cx);
        let (job, life, report) = (record.job(0), record.new_task(), WorkerReport::of(&record));
        roster.workers.push(record);
        drop(roster);
        self.inner.launch(job, life);
        Ok(report)
    }

    /// Appends a message to a worker's brief and runs it again: now, or, while it is at work, once when
    /// that is done, with all messages that came meanwhile. Its authority stays.
    ///
    /// # Errors
    ///
    /// `vibe_off`, `unknown_worker`, `killed_worker`, `no_slot`, `brief_full`, `invalid_args`, and
    /// `authority_exceeded` where the worker may do more than the caller. The message is not
    /// appended then.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime.
    pub fn send(&self, id: &str, message: &str, cx: &Context) -> Result<WorkerReport, ToolError> {
        order::text("vibe_send", "message", message)?;
        let _runtime = Handle::current();
        let mut roster = lock(&self.inner.roster);
        roster.check_on()?;
        let slot = roster.check_slot();
        let record = roster.find(id)?;
        if record.status == Status::Killed {
            return Err(error::killed_worker(&WorkerReport::of(record)));
        }
        if record.identity.authority > cx.ceiling() {
            return Err(error::worker_above_the_caller(&WorkerReport::of(record), cx.ceiling()));
        }
        if record.status == Status::Running {
            record.append(message)?;
            return Ok(WorkerReport::of(record));
        }
        slot?;
        record.append(message)?;
        let (job, life) = (record.begin(), record.new_task());
        let report = WorkerReport::of(record);
        drop(roster);
        self.inner.launch(job, life);
        Ok(report)
    }

    /// Waits until the attempt that runs now has ended, for as long as that takes or at most for
    /// `limit`. Of a worker that is not running it tells how it stands. Dropping the future leaves the
    /// worker at work.
    ///
    /// # Errors
    ///
    /// `unknown_worker`, and `vibe_off`, also where the worker is killed by the mode being turned off.
    pub async fn wait(&self, id: &str, limit: Option<Duration>) -> Result<WorkerReport, ToolError> {
        let (index, attempt) = {
            let mut roster = lock(&self.inner.roster);
            roster.check_on()?;
            let record = roster.find(id)?;
            if record.status != Status::Running {
                return Ok(WorkerReport::of(record));
            }
            (record.identity.index, Arc::clone(&record.attempt))
        };
        match limit {
            None => attempt.ended().await,
            Some(Duration::ZERO) => {}
            Some(limit) => timeout(limit, attempt.ended()).await.unwrap_or_default(),
        }
        let roster = lock(&self.inner.roster);
        let record = &roster.workers[index];
        let report = match attempt.end() {
            Some(end) => WorkerReport::of_end(record, attempt.number(), end),
            None => WorkerReport::of(record).timed_out(),
        };
        match report.status {
            Status::Killed if !roster.on => Err(error::vibe_turned_off(&report)),
            _ => Ok(report),
        }
    }

    /// Stops a worker for good, with its calls, its cards and all that its scope keeps, and waits until
    /// it has stopped, at most [`KILL_WITHIN`]. The status is set at once. A worker that was killed
    /// before is told as it stands.
    ///
    /// # Errors
    ///
    /// `vibe_off`, `unknown_worker`.
    pub async fn kill(&self, id: &str) -> Result<WorkerReport, ToolError> {
        let (index, killing) = {
            let mut roster = lock(&self.inner.roster);
            roster.check_on()?;
            let record = roster.find(id)?;
            (record.identity.index, record.kill())
        };
        if let Some(killing) = killing {
            killing.begin();
        }
        let killed = lock(&self.inner.roster).workers[index].killed();
        if let Some((at, gone)) = killed {
            stopped(at + KILL_WITHIN, gone).await;
        }
        Ok(WorkerReport::of(&lock(&self.inner.roster).workers[index]))
    }

    /// All workers in the order of their ids, with the beginning of their results. Never waits.
    #[must_use]
    pub fn list(&self) -> Vec<WorkerReport> {
        lock(&self.inner.roster).reports()
    }

    /// What a worker of this id, such as `w1`, was spawned for: its first brief, whole.
    #[must_use]
    pub fn brief(&self, id: &str) -> Option<Arc<str>> {
        lock(&self.inner.roster).brief(id)
    }

    /// Whether vibe mode is on.
    #[must_use]
    pub fn is_on(&self) -> bool {
        lock(&self.inner.roster).on
    }

    /// Turns vibe mode off: refuses what comes, kills all workers, and waits until they have stopped,
    /// at most [`KILL_WITHIN`] for all together. A host does so at the end of its run too, and tells
    /// how many were killed at work.
    pub async fn turn_off(&self) -> Ended {
        let killings = self.inner.kill_all();
        let deadline = Instant::now() + KILL_WITHIN;
        let killed = killings.iter().filter(|killing| killing.was_running).count();
        killings.into_iter().for_each(Killing::begin);
        let ends: Vec<_> =
            lock(&self.inner.roster).workers.iter().filter_map(Record::killed).collect();
        for (_, gone) in ends {
            stopped(deadline, gone).await;
        }
        let roster = lock(&self.inner.roster);
        let detached = roster.workers.iter().filter(|worker| worker.is_detached()).count();
        Ended { killed, detached }
    }

    /// Turns vibe mode on again. Workers that were killed stay so, and ids go on.
    pub fn turn_on(&self) {
        lock(&self.inner.roster).on = true;
    }

    /// The error for a tier of this name.
    pub(crate) fn unknown_tier(&self, name: &str) -> ToolError {
        let served = WorkerTier::ALL.into_iter().filter(|tier| self.inner.factory.serves(*tier));
        error::unknown_tier(name, &served.collect::<Vec<_>>())
    }

    pub(crate) fn check_on(&self) -> Result<(), ToolError> {
        lock(&self.inner.roster).check_on()
    }
}

impl Inner {
    /// Starts the task of an attempt. A worker that is killed in between has no handle to end it by
    /// yet, so it is ended here.
    fn launch(self: &Arc<Self>, job: Job, life: Life) {
        let (index, number) = (job.identity.index, job.attempt());
        let abort = drive::start(self, job, life);
        let killed = lock(&self.roster).workers[index].set_abort(number, abort);
        if let Some(abort) = killed {
            abort.abort();
        }
    }

    /// Notes what an attempt came to, tells who waits and who watches, and gives the next attempt
    /// where messages wait for one.
    pub(crate) fn settle(
        &self,
        index: usize,
        attempt: &Arc<Attempt>,
        outcome: Result<String, String>,
    ) -> Option<Job> {
        let mut roster = lock(&self.roster);
        let record = &mut roster.workers[index];
        let settled = record.settle(attempt, outcome)?;
        let (name, cx) = (record.identity.name(), record.cx.clone());
        drop(roster);
        attempt.tell();
        cx.emit(Event::progress(format!("{name} is {}", settled.status)));
        settled.next
    }

    fn kill_all(&self) -> Vec<Killing> {
        let mut roster = lock(&self.roster);
        roster.on = false;
        roster.workers.iter_mut().filter_map(Record::kill).collect()
    }
}

impl Killing {
    /// Ends what the worker holds, without waiting for it.
    fn begin(self) {
        self.attempt.tell();
        self.cx.emit(Event::progress(format!("{} is killed", self.name)));
        if let Some(abort) = self.abort {
            abort.abort();
        }
        let (kept, task_gone, life) = (self.scope.end(), self.task_gone, self.life);
        // A handle may take its time to end what it holds.
        let dropped = (!kept.is_empty()).then(|| spawn_blocking(move || drop(kept)));
        tokio::spawn(async move {
            if let Some(dropped) = dropped {
                // A thing that panics when it is dropped leaves nothing to wait for.
                let _ = dropped.await;
            }
            if let Some(gone) = task_gone {
                closed(gone).await;
            }
            drop(life);
        });
    }
}

impl Drop for Owner {
    /// Nobody waits here, and there may be no runtime: tasks are told to stop, and what was kept is
    /// dropped.
    fn drop(&mut self) {
        for killing in self.0.kill_all() {
            killing.attempt.tell();
            if let Some(abort) = killing.abort {
                abort.abort();
            }
            drop(killing.scope.end());
        }
    }
}

/// The id of a worker's surroundings.
pub(crate) fn call_id(id: &str) -> CallId {
    CallId::new(format!("worker_{}", id.trim()))
}

/// Waits until a channel closes, at most until then.
async fn stopped(deadline: Instant, gone: watch::Receiver<()>) {
    let _ = timeout_at(deadline, closed(gone)).await;
}

async fn closed(mut gone: watch::Receiver<()>) {
    while gone.changed().await.is_ok() {}
}

impl fmt::Debug for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let roster = lock(&self.inner.roster);
        f.debug_struct("Workers")
            .field("on", &roster.on)
            .field("workers", &roster.workers.len())
            .finish_non_exhaustive()
    }
}
