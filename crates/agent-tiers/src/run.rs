//! A run: what all of its views share.

use std::{
    fmt,
    io::Write,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use agent_tool_core::{Gate, Limits};

use crate::{
    Approval, Artifacts, LiveCall, Registry, Surface, View, WATCH_LIMIT, Watcher, What,
    budget::Budget, calls::Calls, log::Log, transcript::Transcript, turns::Turns,
};

/// One agent at work: the tools, what stands before them, and everything that happens. A clone is
/// cheap and means the same run.
#[derive(Clone)]
pub struct Run {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    registry: RwLock<Registry>,
    pub(crate) gates: Vec<Arc<dyn Gate>>,
    pub(crate) turns: Turns,
    pub(crate) calls: Arc<Calls>,
    pub(crate) log: Arc<Log>,
    pub(crate) budget: Budget,
    views: AtomicU64,
}

impl Run {
    /// A run of these tools, without gates and without a transcript.
    pub fn builder(registry: Registry) -> RunBuilder {
        RunBuilder {
            registry,
            gates: Vec::new(),
            approval: None,
            budget: Budget::default(),
            transcript: None,
        }
    }

    /// The tools as a surface shows them, under limits that are fixed from here on.
    #[must_use]
    pub fn view(&self, surface: Surface, limits: Limits) -> View {
        let number = self.shared.views.fetch_add(1, Ordering::Relaxed) + 1;
        View::new(Arc::clone(&self.shared), format!("view_{number}"), surface, limits)
    }

    /// Gives the run another registry: the host's tools joined, or vibe mode was put on. Calls
    /// under way go on with the tool that they were admitted to.
    pub fn set_registry(&self, registry: Registry) {
        *self.shared.registry.write().unwrap_or_else(PoisonError::into_inner) = registry;
        self.shared.log.push(|| What::ToolsChanged { view: None, surface: None });
    }

    /// The tools of the run, whatever a surface shows of them.
    #[must_use]
    pub fn registry(&self) -> Registry {
        self.shared.registry()
    }

    /// Reads what happens from now on.
    #[must_use]
    pub fn watch(&self) -> Watcher {
        self.shared.log.watch(WATCH_LIMIT)
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

    /// Why the transcript ends early, where it does.
    #[must_use]
    pub fn transcript_failure(&self) -> Option<String> {
        self.shared.log.failure()
    }

    /// Ends the watchers once they have read what is there.
    pub fn close(&self) {
        self.shared.log.close();
    }
}

impl Shared {
    pub(crate) fn registry(&self) -> Registry {
        self.registry.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl fmt::Debug for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run")
            .field("tools", &self.registry())
            .field("seq", &self.seq())
            .finish_non_exhaustive()
    }
}

/// Collects what a run is made of.
#[must_use]
pub struct RunBuilder {
    registry: Registry,
    gates: Vec<Arc<dyn Gate>>,
    approval: Option<Approval>,
    budget: Budget,
    transcript: Option<Transcript>,
}

impl RunBuilder {
    /// Adds a gate. Gates are asked in the order in which they were added, approval last.
    pub fn gate(mut self, gate: impl Gate) -> Self {
        self.gates.push(Arc::new(gate));
        self
    }

    /// Sets who approves. Without it every call that passes the gates is made.
    pub fn approval(mut self, approval: Approval) -> Self {
        self.approval = Some(approval);
        self
    }

    /// Sets how many characters of text a result may have.
    pub fn result_chars(mut self, chars: usize) -> Self {
        self.budget.chars = chars;
        self
    }

    /// Sets where the text of a result that is too long is kept.
    pub fn artifacts(mut self, artifacts: Arc<dyn Artifacts>) -> Self {
        self.budget.artifacts = Some(artifacts);
        self
    }

    /// Writes everything that happens as JSON lines. The writer should not block for long.
    pub fn transcript(mut self, writer: impl Write + Send + 'static) -> Self {
        self.transcript = Some(Transcript::new(writer));
        self
    }

    /// The run.
    #[must_use]
    pub fn build(self) -> Run {
        let log = Arc::new(Log::new(self.transcript));
        let mut gates = self.gates;
        if let Some(approval) = self.approval {
            approval.attach(&log);
            gates.push(Arc::new(approval));
        }
        let shared = Shared {
            registry: RwLock::new(self.registry),
            gates,
            turns: Turns::default(),
            calls: Arc::default(),
            log,
            budget: self.budget,
            views: AtomicU64::new(0),
        };
        Run { shared: Arc::new(shared) }
    }
}

impl fmt::Debug for RunBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunBuilder").field("tools", &self.registry).finish_non_exhaustive()
    }
}
