//! The task of a worker: its attempts, one after the other.

use std::sync::Arc;

use agent_tool_core::{caught, panic_message};
use tokio::task::{AbortHandle, spawn_blocking};

use crate::{Job, attempt::Attempt, record::Life, workers::Inner};

/// Starts the task of an attempt and of those that follow it without a pause. Not called under the
/// roster's lock: a runtime that is going down drops the task here, which settles the attempt.
pub(crate) fn start(workers: &Arc<Inner>, job: Job, life: Life) -> AbortHandle {
    let attempt = Unsettled::new(workers, &job);
    tokio::spawn(drive(life, attempt, job)).abort_handle()
}

async fn drive(life: Life, mut attempt: Unsettled, mut job: Job) {
    loop {
        let outcome = run(&attempt.workers, job, &life).await;
        let workers = Arc::clone(&attempt.workers);
        let Some(next) = attempt.settle(outcome) else { return };
        attempt = Unsettled::new(&workers, &next);
        job = next;
    }
}

/// Runs one attempt to its end: the worker's words, or why there are none.
async fn run(workers: &Inner, job: Job, life: &Life) -> Result<String, String> {
    let (factory, held) = (Arc::clone(&workers.factory), Arc::clone(life));
    // A factory that blocks holds a thread of the pool, and no caller.
    let started = spawn_blocking(move || (factory.start(job), held)).await;
    let (work, _held) = started.map_err(|error| match error.try_into_panic() {
        Ok(panic) => format!("it panicked at its start: {}", panic_message(&*panic)),
        Err(error) => format!("it was not started: {error}"),
    })?;
    match caught(work).await {
        Ok(Ok(result)) => Ok(result),
        Ok(Err(error)) => Err(error.in_full()),
        Err(panic) => Err(format!("it panicked: {panic}")),
    }
}

/// An attempt that has not come to its end. Dropped without one, whatever the reason, it failed: no
/// worker stays running of which nothing runs.
struct Unsettled {
    workers: Arc<Inner>,
    index: usize,
    attempt: Option<Arc<Attempt>>,
}

impl Unsettled {
    fn new(workers: &Arc<Inner>, job: &Job) -> Self {
        let attempt = Some(Arc::clone(&job.attempt));
        Self { workers: Arc::clone(workers), index: job.identity.index, attempt }
    }

    fn settle(mut self, outcome: Result<String, String>) -> Option<Job> {
        let attempt = self.attempt.take()?;
        self.workers.settle(self.index, &attempt, outcome)
    }
}

impl Drop for Unsettled {
    fn drop(&mut self) {
        let Some(attempt) = self.attempt.take() else { return };
        let outcome = Err("its task ended without a result".to_owned());
        if let Some(next) = self.workers.settle(self.index, &attempt, outcome) {
            let lost = Err("no task was left to run it".to_owned());
            self.workers.settle(self.index, &next.attempt, lost);
        }
    }
}
