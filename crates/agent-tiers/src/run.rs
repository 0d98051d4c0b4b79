//! The run: what all views of it share.

use std::{
    fmt,
    io::Write,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use agent_tool_core::{ErrorKind, Gate, Limits, Secrets, Tier, ToolError};

use crate::{
    Approval, Artifacts, LiveCall, Registry, Surface, TranscriptError, View, WATCH_LIMIT, Watcher,
    What, budget::Budget, calls::Calls, lock, log::Log, turns::Turns, view::Authority,
};

/// How long dropping a run waits for what is not in its transcript yet.
const FLUSH_LIMIT: Duration = Duration::from_secs(5);

/// One run of an agent's tools.
///
/// The handle owns the run and cannot be cloned. When it is dropped the run is over: its registry
/// is let go, which ends the tools' supervisors even where a worker still holds a view, and
/// every later call is refused.
#[derive(Debug)]
pub struct Run {
    shared: Arc<Shared>,
}

/// What a run is made of.
#[must_use]
pub struct RunBuilder {
    registry: Registry,
    ceiling: Tier,
    gates: Vec<Arc<dyn Gate>>,
    approval: Approval,
    budget: Budget,
    secrets: Secrets,
    transcript: Option<Box<dyn Write + Send>>,
}

impl Run {
    /// A run of these tools, without gates and without a transcript, in which nobody approves.
    pub fn builder(registry: Registry) -> RunBuilder {
        RunBuilder {
            registry,
            ceiling: Tier::Exec,
            gates: Vec::new(),
            approval: Approval::default(),
            budget: Budget::default(),
            secrets: Secrets::default(),
            transcript: None,
        }
    }

    /// Opens a view: the run's tools from this surface, under the run's ceiling and these limits.
    #[must_use]
    pub fn view(&self, surface: Surface, limits: Limits) -> View {
        let number = self.shared.views.fetch_add(1, Ordering::Relaxed) + 1;
        let authority = Authority { ceiling: self.shared.ceiling, without: Arc::default() };
        let authority = authority.meet(self.shared.ceiling, limits);
        View::new(Arc::clone(&self.shared), format!("view_{number}"), surface, authority)
    }

    /// The tools of the run.
    #[must_use]
    pub fn registry(&self) -> Registry {
        self.shared.registry().unwrap_or_default()
    }

    /// Gives the run other tools and tells the watchers. A call that runs goes on with the tool
    /// that it has; one that still waits is refused where its tool is not the same any more. After
    /// [`Run::close`] it does nothing.
    pub fn set_registry(&self, registry: Registry) {
        let mut current = lock(&self.shared.registry);
        if current.is_none() {
            return;
        }
        let old = current.replace(registry);
        drop(current);
        drop(old);
        self.shared.log.push(|| What::ToolsChanged { view: None, surface: None });
    }

    /// Watches the run from now on.
    #[must_use]
    pub fn watch(&self) -> Watcher {
        self.watch_with(WATCH_LIMIT)
    }

    /// Watches the run; progress and output are lost where `limit` records wait for the reader.
    #[must_use]
    pub fn watch_with(&self, limit: usize) -> Watcher {
        self.shared.log.watch(limit)
    }

    /// The calls under way, the oldest first.
    #[must_use]
    pub fn live_calls(&self) -> Vec<LiveCall> {
        self.shared.calls.status()
    }

    /// The number of the last record.
    #[must_use]
    pub fn seq(&self) -> u64 {
        self.shared.log.seq()
    }

    /// How many calls ended in a panic of their tool.
    #[must_use]
    pub fn panics(&self) -> u64 {
        self.shared.panics.load(Ordering::Relaxed)
    }

    /// Why the transcript ends early, where it does.
    #[must_use]
    pub fn transcript_failure(&self) -> Option<TranscriptError> {
        self.shared.log.failure()
    }

    /// Waits until everything that happened so far is in the transcript.
    ///
    /// # Errors
    ///
    /// Why the transcript ends early.
    pub async fn flush(&self) -> Result<(), TranscriptError> {
        self.shared.log.flushed().await
    }

    /// Ends the run: lets the registry go, refuses what comes, and ends the watchers once they have
    /// read what is there. Calls under way belong to those who hold their futures; what they tell
    /// still reaches the transcript. Dropping the run does the same.
    pub fn close(&self) {
        let registry = lock(&self.shared.registry).take();
        drop(registry);
        self.shared.log.close();
    }
}

impl Drop for Run {
    /// Waits for a slow transcript, but not for ever: who wants to know what became of it calls
    /// [`Run::flush`] first.
    fn drop(&mut self) {
        self.close();
        if !self.shared.log.flushed_within(FLUSH_LIMIT) {
            tracing::warn!("the run is over and its transcript is not complete");
        }
    }
}

impl RunBuilder {
    /// The run under this ceiling, which nothing raises.
    pub fn ceiling(mut self, ceiling: Tier) -> Self {
        self.ceiling = ceiling;
        self
    }

    /// The run with one more gate. Gates are asked in the order in which they were added, all of
    /// them before the approval.
    pub fn gate(mut self, gate: impl Gate) -> Self {
        self.gates.push(Arc::new(gate));
        self
    }

    /// The run with this approval.
    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = approval;
        self
    }

    /// The run with so many characters of text for each result, instead of
    /// [`RESULT_CHARS`](crate::RESULT_CHARS).
    pub fn result_chars(mut self, chars: usize) -> Self {
        self.budget.chars = chars;
        self
    }

    /// The run with values that nobody is to read. Their names stand in their place in every result before it is cut or kept, in
    /// what tools tell while they work, and in the arguments, messages and texts of the transcript.
    pub fn secrets(mut self, secrets: Secrets) -> Self {
        self.secrets = secrets;
        self
    }

    /// The run with a place for what does not fit into a result.
    pub fn artifacts(mut self, artifacts: Arc<dyn Artifacts>) -> Self {
        self.budget.artifacts = Some(artifacts);
        self
    }

    /// The run with a transcript: JSON lines, written by a thread of its own while things happen. No
    /// call waits for the writer; where it falls [`TRANSCRIPT_BACKLOG`](crate::TRANSCRIPT_BACKLOG)
    /// behind, the transcript says what is missing.
    pub fn transcript(mut self, writer: impl Write + Send + 'static) -> Self {
        self.transcript = Some(Box::new(writer));
        self
    }

    /// The run.
    #[must_use]
    pub fn build(self) -> Run {
        let shared = Shared {
            registry: Mutex::new(Some(self.registry)),
            ceiling: self.ceiling,
            gates: self.gates,
            approval: self.approval,
            budget: self.budget,
            calls: Arc::default(),
            turns: Turns::default(),
            log: Log::new(self.transcript, self.secrets),
            panics: AtomicU64::new(0),
            views: AtomicU64::new(0),
        };
        Run { shared: Arc::new(shared) }
    }
}

impl fmt::Debug for RunBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunBuilder")
            .field("registry", &self.registry)
            .field("ceiling", &self.ceiling)
            .field("approval", &self.approval)
            .finish_non_exhaustive()
    }
}

/// What views and calls share. Views hold it for as long as they like; what must end with the run
/// is the registry, and the run alone decides about that.
pub(crate) struct Shared {
    registry: Mutex<Option<Registry>>,
    pub(crate) ceiling: Tier,
    pub(crate) gates: Vec<Arc<dyn Gate>>,
    pub(crate) approval: Approval,
    pub(crate) budget: Budget,
    pub(crate) calls: Arc<Calls>,
    pub(crate) turns: Turns,
    pub(crate) log: Arc<Log>,
    pub(crate) panics: AtomicU64,
    views: AtomicU64,
}

impl Shared {
    pub(crate) fn registry(&self) -> Result<Registry, ToolError> {
        let ended = || {
            let message = "the run is over and takes no more calls; open another one";
            ToolError::new(ErrorKind::Unavailable, "run_ended", message)
        };
        lock(&self.registry).clone().ok_or_else(ended)
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared")
            .field("registry", &lock(&self.registry))
            .field("ceiling", &self.ceiling)
            .field("calls", &self.calls)
            .finish_non_exhaustive()
    }
}
