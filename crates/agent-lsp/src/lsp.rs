//! The live resource: the language servers of one run.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use agent_edits::{Edits, tool_error::of_workspace};
use agent_process::Launcher;
use agent_tool_core::{Tool, ToolError};
use agent_workspace::{Workspace, WorkspacePath};
use tokio::task::AbortHandle;

use crate::{
    disk::Cursor,
    ledger::Ledger,
    location::Status,
    supervisor::{IDLE_AFTER, RESTART_AFTER, Running, Supervisor, reap_idle},
    table::{ServerTable, Trust},
    tools::{self, Debts},
};

/// How long a query may take, the start of a server included.
pub const ANSWER_WITHIN: Duration = Duration::from_secs(30);

/// How long a write waits for diagnostics once its server is ready.
pub const WRITE_WAITS: Duration = Duration::from_secs(2);

/// How long a write waits where its server has to be started first.
pub const WRITE_WAITS_FOR_START: Duration = Duration::from_secs(5);

/// How long a file's first write waits for the diagnostics of the text before it.
pub const BASELINE_WAITS: Duration = Duration::from_millis(300);

/// How long a server may leave unread what waits for it: one that is at work may, but not for so long.
pub const STUCK_AFTER: Duration = Duration::from_secs(60);

/// How long a project's check may take.
pub const CHECK_WITHIN: Duration = Duration::from_secs(300);

/// The language servers of one run. A clone is the same; dropping the last kills all of them.
#[derive(Clone, Debug)]
pub struct Lsp {
    pub(crate) shared: Arc<Shared>,
}

#[derive(Debug)]
pub(crate) struct Shared {
    pub workspace: Workspace,
    pub edits: Edits,
    pub launcher: Launcher,
    pub supervisor: Arc<Supervisor>,
    pub waits: Waits,
    /// What the run was told of diagnostics.
    ledger: Mutex<Ledger>,
    /// Diagnostics that came after their write was answered, for the next result.
    late: Mutex<Vec<crate::ledger::Report>>,
    /// One settling at a time: what is new is counted against what was before.
    pub settling: tokio::sync::Mutex<()>,
    /// Up to where changes on the disk were there before a write was reported.
    pub reported: Mutex<Option<Cursor>>,
    /// What earlier writes changed and whose other files were not looked at yet.
    pub debts: Debts,
    reaper: Mutex<Option<AbortHandle>>,
}

/// How long what may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waits {
    /// A query: [`ANSWER_WITHIN`].
    pub answer: Duration,
    /// A write whose server is ready: [`WRITE_WAITS`].
    pub write: Duration,
    /// A write whose server starts: [`WRITE_WAITS_FOR_START`].
    pub write_and_start: Duration,
    /// What was there before a file's first write: [`BASELINE_WAITS`], within the write's own time.
    pub baseline: Duration,
    /// A project's check: [`CHECK_WITHIN`].
    pub check: Duration,
    /// An unused server: [`IDLE_AFTER`].
    pub idle: Duration,
    /// After a server's first crash, before it is started again: [`RESTART_AFTER`]. Four times as long after the
    /// second; after the third it is not.
    pub restart: Duration,
    /// A server that reads nothing of what waits for it, before it is asked nothing more: [`STUCK_AFTER`].
    pub stuck: Duration,
}

/// Makes an [`Lsp`].
#[derive(Debug)]
pub struct LspBuilder {
    workspace: Workspace,
    edits: Edits,
    launcher: Launcher,
    table: ServerTable,
    trust: Trust,
    waits: Waits,
}

impl Default for Waits {
    fn default() -> Self {
        Self {
            answer: ANSWER_WITHIN,
            write: WRITE_WAITS,
            write_and_start: WRITE_WAITS_FOR_START,
            baseline: BASELINE_WAITS,
            check: CHECK_WITHIN,
            idle: IDLE_AFTER,
            restart: RESTART_AFTER,
            stuck: STUCK_AFTER,
        }
    }
}

impl Lsp {
    /// Servers for a workspace, whose processes `launcher` starts and whose renames go through
    /// `edits`, which must be those of the same workspace. An untrusted checkout until it is said
    /// otherwise, and the servers that the crate knows.
    #[must_use]
    pub fn builder(workspace: Workspace, edits: Edits, launcher: Launcher) -> LspBuilder {
        LspBuilder {
            workspace,
            edits,
            launcher,
            table: ServerTable::bundled(),
            trust: Trust::Untrusted,
            waits: Waits::default(),
        }
    }

    /// The tools `lsp` and `lsp_rename`.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        tools::all(self)
    }

    /// Wraps a tool that changes files: its result says what the change broke and fixed.
    #[must_use]
    pub fn diagnostics_on_write(&self, tool: Arc<dyn Tool>) -> Arc<dyn Tool> {
        tools::on_write(self, tool)
    }

    /// How every server stands, and why the others do not.
    pub async fn status(&self) -> Status {
        self.shared.supervisor.status().await
    }

    /// Restarts the servers of the root of a file, or all that ran or failed, with what is found now: a
    /// program that was installed meanwhile is found by the next call. Gives how those that were restarted
    /// stand.
    ///
    /// # Errors
    /// Those of the path.
    pub async fn reload(&self, file: Option<&str>) -> Result<Status, ToolError> {
        let deadline = self.answer_by();
        let file = file.map(|file| self.file(file)).transpose()?;
        let servers = self.shared.supervisor.reload(file.as_ref(), deadline).await;
        Ok(Status { servers })
    }

    /// Ends all servers, politely first; none is started any more. Dropping the last handle kills them at
    /// once.
    pub async fn close(&self) {
        self.shared.supervisor.close().await;
    }

    /// A file of the workspace that exists.
    pub(crate) fn file(&self, path: &str) -> Result<WorkspacePath, ToolError> {
        self.shared.workspace.resolve(path).map_err(of_workspace)
    }

    pub(crate) fn show(&self, file: &WorkspacePath) -> String {
        self.shared.workspace.show(file)
    }

    pub(crate) fn answer_by(&self) -> Instant {
        Instant::now() + self.shared.waits.answer
    }

    /// The full server for a file.
    pub(crate) async fn server(
        &self,
        file: &WorkspacePath,
        deadline: Instant,
    ) -> Result<Arc<Running>, ToolError> {
        self.start_reaper();
        let running = self.shared.supervisor.full(file, deadline).await;
        running.map_err(crate::supervisor::NoServer::into_error)
    }

    pub(crate) fn ledger(&self) -> MutexGuard<'_, Ledger> {
        self.shared.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps what settled late for the next result.
    pub(crate) fn tell_late(&self, report: crate::ledger::Report) {
        self.late().push(report);
    }

    /// What settled late since the last result.
    pub(crate) fn take_late(&self) -> Vec<crate::ledger::Report> {
        std::mem::take(&mut *self.late())
    }

    /// The text of a file outside of the workspace, to show a line of it.
    pub(crate) fn outside(path: &Path) -> Option<String> {
        let size = std::fs::metadata(path).ok()?.len();
        let readable = size <= agent_workspace::MAX_SEARCH_BYTES;
        readable
            .then(|| std::fs::read(path).ok())
            .flatten()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// Begins to end unused servers, with the first server.
    pub(crate) fn start_reaper(&self) {
        let mut reaper = self.shared.reaper.lock().unwrap_or_else(PoisonError::into_inner);
        if reaper.is_none() {
            let supervisor = Arc::downgrade(&self.shared.supervisor);
            *reaper = Some(tokio::spawn(reap_idle(supervisor)).abort_handle());
        }
    }

    fn late(&self) -> MutexGuard<'_, Vec<crate::ledger::Report>> {
        self.shared.late.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let reaper = self.reaper.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(reaper) = reaper.take() {
            reaper.abort();
        }
        // A start under way holds the supervisor.
        self.supervisor.abandon();
    }
}

impl LspBuilder {
    /// Other servers: the crate's with those of a user's configuration, say.
    #[must_use]
    pub fn table(mut self, table: ServerTable) -> Self {
        self.table = table;
        self
    }

    /// Whether the checkout's own code may run.
    #[must_use]
    pub fn trust(mut self, trust: Trust) -> Self {
        self.trust = trust;
        self
    }

    /// Other bounds of time.
    #[must_use]
    pub fn waits(mut self, waits: Waits) -> Self {
        self.waits = waits;
        self
    }

    /// Nothing is started before the first call.
    #[must_use]
    pub fn build(self) -> Lsp {
        let Self { workspace, edits, launcher, table, trust, waits } = self;
        let supervisor = Supervisor::new(workspace.clone(), launcher.clone(), table, trust, &waits);
        let shared = Shared {
            workspace,
            edits,
            launcher,
            supervisor,
            waits,
            ledger: Mutex::default(),
            late: Mutex::default(),
            settling: tokio::sync::Mutex::default(),
            reported: Mutex::default(),
            debts: Debts::default(),
            reaper: Mutex::default(),
        };
        Lsp { shared: Arc::new(shared) }
    }
}
