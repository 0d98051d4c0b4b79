//! The servers of a run: one process for each server and root, started once however many ask,
//! started again after a crash within bounds, ended when nobody needs it.

mod error;
mod find;
mod running;
mod slot;
mod status;
mod trust;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use agent_process::{Finder, Found, Launcher, Missing, Wanted};
use agent_workspace::{Workspace, WorkspacePath};
use futures::future::join_all;

pub(crate) use self::{
    error::NoServer,
    running::Running,
    slot::{Slot, Standing},
};
use crate::{
    Waits,
    disk::{Changes, Cursor, Disk},
    location::ServerStatus,
    roots,
    server::Checks,
    table::{Role, Server, ServerTable, Trust},
};

/// How long a server may stay unused before it is ended.
pub const IDLE_AFTER: Duration = Duration::from_secs(15 * 60);

/// How long nothing is started after the first crash of a server; four times as long after the second.
pub const RESTART_AFTER: Duration = Duration::from_secs(1);

/// How often unused servers are looked for, at the least.
const IDLE_EVERY: Duration = Duration::from_secs(30);

/// How often unused servers are looked for, at the most.
const IDLE_LOOK: Duration = Duration::from_millis(10);

/// What a server is known by.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Key {
    pub id: String,
    pub root: PathBuf,
}

/// The servers of one run.
#[derive(Debug)]
pub(crate) struct Supervisor {
    workspace: Workspace,
    launcher: Launcher,
    finder: Finder,
    table: ServerTable,
    trust: Trust,
    idle_after: Duration,
    restart_after: Duration,
    stuck_after: Duration,
    closed: AtomicBool,
    disk: Arc<Disk>,
    slots: Mutex<BTreeMap<Key, Arc<Slot>>>,
}

/// A server that takes a file, and the language id that it is told.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub slot: Arc<Slot>,
    pub role: Role,
}

impl Supervisor {
    pub(crate) fn new(
        workspace: Workspace,
        launcher: Launcher,
        table: ServerTable,
        trust: Trust,
        waits: &Waits,
    ) -> Arc<Self> {
        Arc::new(Self {
            disk: Arc::new(Disk::new(workspace.clone())),
            workspace,
            finder: Finder::new(launcher.clone()),
            launcher,
            table,
            trust,
            idle_after: waits.idle,
            restart_after: waits.restart,
            stuck_after: waits.stuck,
            closed: AtomicBool::new(false),
            slots: Mutex::default(),
        })
    }

    pub(crate) fn trust(&self) -> Trust {
        self.trust
    }

    /// Whether a compiler may run after a save.
    pub(crate) fn checks(&self) -> Checks {
        match self.trust {
            Trust::Trusted => Checks::Run,
            Trust::Untrusted => Checks::Untrusted,
        }
    }

    /// The files that changed since the last call with this cursor, whoever changed them; none at the first.
    pub(crate) fn changed_since(&self, cursor: &mut Option<Cursor>) -> Vec<WorkspacePath> {
        let Some(cursor) = cursor else {
            *cursor = Some(self.disk.now());
            return Vec::new();
        };
        let changes = match self.disk.since(cursor) {
            Changes::Some(changes) => changes,
            Changes::Any => self.disk.everything(),
        };
        changes.into_keys().collect()
    }

    /// The servers for a file by its name and the markers above it: full ones in the order in which
    /// they are tried, then linters. None is started by this.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn candidates(&self, file: &WorkspacePath) -> Result<Vec<Candidate>, NoServer> {
        let shown = || self.workspace.show(file);
        match self.workspace.follow(file) {
            Err(error) => return Err(NoServer::unplaced(format!("no server is asked: {error}"))),
            Ok(followed) if self.workspace.absolute(&followed).is_dir() => {
                let name = shown();
                let why =
                    format!("{name} is a folder: name a file, or \"*\" for the whole project");
                return Err(NoServer::unplaced(why));
            }
            Ok(_) => {}
        }
        let mut markers = Vec::new();
        let mut found = Vec::new();
        for (row, _) in self.table.for_path(file.rel()) {
            match roots::find(&self.workspace, file, row) {
                Some(root) => {
                    let slot = self.slot(row, root);
                    found.push(Candidate { slot, role: row.role });
                }
                None => markers.push((row.id.clone(), row.roots.clone())),
            }
        }
        if found.is_empty() {
            return Err(NoServer::without_marker(&shown(), &markers));
        }
        Ok(found)
    }

    /// The first full server for a file that runs, or can be started, until `deadline`.
    ///
    /// # Errors
    /// Why none does, of each that was tried.
    pub(crate) async fn full(
        self: &Arc<Self>,
        file: &WorkspacePath,
        deadline: Instant,
    ) -> Result<Arc<Running>, NoServer> {
        let mut failures = Vec::new();
        for candidate in self.candidates(file)? {
            if candidate.role == Role::Full {
                match self.running(&candidate.slot, deadline).await {
                    Ok(running) => return Ok(running),
                    // Another one would answer another question: this one exists and is not ready.
                    Err(failure) if failure.exists() => return Err(failure),
                    Err(failure) => failures.push(failure),
                }
            }
        }
        Err(NoServer::all(&self.workspace.show(file), failures))
    }

    /// The first full server for a file and every linter, as far as they run or can be started until
    /// `deadline`.
    ///
    /// # Errors
    /// Why none does.
    pub(crate) async fn all(
        self: &Arc<Self>,
        file: &WorkspacePath,
        deadline: Instant,
    ) -> Result<(Vec<Arc<Running>>, Vec<NoServer>), NoServer> {
        self.all_by(file, |_| deadline).await
    }

    /// The same, where no start may take longer than `patience`, be it that it was waited for before: a
    /// server that hangs delays one call, not each.
    pub(crate) async fn all_within(
        self: &Arc<Self>,
        file: &WorkspacePath,
        patience: Duration,
    ) -> Result<(Vec<Arc<Running>>, Vec<NoServer>), NoServer> {
        let by = |slot: &Slot| {
            Instant::now() + patience.saturating_sub(slot.starting_for().unwrap_or_default())
        };
        self.all_by(file, by).await
    }

    async fn all_by(
        self: &Arc<Self>,
        file: &WorkspacePath,
        by: impl Fn(&Slot) -> Instant,
    ) -> Result<(Vec<Arc<Running>>, Vec<NoServer>), NoServer> {
        let (full, linters): (Vec<_>, Vec<_>) =
            self.candidates(file)?.into_iter().partition(|candidate| candidate.role == Role::Full);
        let first = async {
            let mut tried = Vec::new();
            for candidate in full {
                let found = self.running(&candidate.slot, by(&candidate.slot)).await;
                // One that exists stands for its language, be it that it does not run: nothing is missing
                // where those before it are not installed.
                if is_there(&found) {
                    return vec![found];
                }
                tried.push(found);
            }
            tried
        };
        let linters = join_all(linters.iter().map(|one| self.running(&one.slot, by(&one.slot))));
        let (tried, linters) = tokio::join!(first, linters);
        let mut running = Vec::new();
        let mut failures = Vec::new();
        for result in tried.into_iter().chain(linters.into_iter().filter(is_there)) {
            match result {
                Ok(found) => running.push(found),
                Err(failure) => failures.push(failure),
            }
        }
        if running.is_empty() && failures.iter().all(|failure| !failure.is_told()) {
            return Err(NoServer::all(&self.workspace.show(file), failures));
        }
        Ok((running, failures))
    }

    /// Starts the servers that the files of the workspace have, the first full one of each language
    /// that there is at its root.
    ///
    /// # Errors
    /// Why none does.
    pub(crate) async fn any(
        self: &Arc<Self>,
        deadline: Instant,
    ) -> Result<Vec<Arc<Running>>, NoServer> {
        let mut tried = Vec::new();
        let mut failures = Vec::new();
        let mut running: Vec<Arc<Running>> = Vec::new();
        for file in self.files() {
            let ending = file.extension().map(std::ffi::OsStr::to_owned);
            if ending.is_none() || tried.contains(&ending) {
                continue;
            }
            tried.push(ending);
            if self.candidates(&file).is_ok() {
                match self.full(&file, deadline).await {
                    Ok(found) if running.iter().all(|known| !Arc::ptr_eq(known, &found)) => {
                        running.push(found)
                    }
                    Ok(_) => {}
                    Err(failure) => failures.push(failure),
                }
            }
        }
        if running.is_empty() {
            return Err(NoServer::all("the files of this workspace", failures));
        }
        Ok(running)
    }

    /// The file, as shown, that makes a server run what an untrusted checkout names.
    fn kept_by(&self, row: &Server, root: &Path) -> Option<String> {
        if self.trust == Trust::Trusted {
            return None;
        }
        Some(self.shown(&trust::named_by(&self.workspace, root, row)?))
    }

    /// A path of the checkout, which may lie above the run.
    fn shown(&self, path: &Path) -> String {
        let inside = self.workspace.contain(path);
        inside.map_or_else(|| path.display().to_string(), |file| self.workspace.show(&file))
    }

    /// Finds a program for a root by the run's trust.
    pub(crate) async fn find(&self, wanted: &Wanted, root: &Path) -> Result<Found, Missing> {
        self.finder.find(wanted, &find::place(root, self.trust)).await
    }

    /// The servers that run at this moment.
    pub(crate) fn live(&self) -> Vec<Arc<Running>> {
        let slots: Vec<_> = self.slots().values().cloned().collect();
        slots.iter().filter_map(|slot| slot.live()).collect()
    }

    /// The server that runs by a key, as it is now: started anew where its configuration is another.
    pub(crate) async fn by_key(
        self: &Arc<Self>,
        key: &Key,
        deadline: Instant,
    ) -> Result<Arc<Running>, NoServer> {
        let slot = self.slots().get(key).cloned();
        let slot = slot.ok_or_else(|| NoServer::failed(&key.id, "it is gone".to_owned()))?;
        self.running(&slot, deadline).await
    }

    /// The server that a file had by its id, where it runs or is being started: a failed one is not
    /// started for this.
    pub(crate) async fn by_id(
        self: &Arc<Self>,
        file: &WorkspacePath,
        id: &str,
        deadline: Instant,
    ) -> Result<Arc<Running>, NoServer> {
        let candidates = self.candidates(file)?;
        let slot = candidates.into_iter().find(|one| one.slot.key().id == id);
        let slot = slot.ok_or_else(|| NoServer::failed(id, "it is gone".to_owned()))?.slot;
        match slot.standing() {
            Standing::Running(_) | Standing::Starting => self.running(&slot, deadline).await,
            Standing::Idle => Err(NoServer::failed(id, "it was ended".to_owned())),
            Standing::Ended { why, .. } => Err(NoServer::failed(id, why)),
        }
    }

    /// Ends the servers of the root of a file, or all, forgets what was found, and starts anew what was
    /// there, or what is found in its place. Gives how they stand then.
    pub(crate) async fn reload(
        self: &Arc<Self>,
        file: Option<&WorkspacePath>,
        deadline: Instant,
    ) -> Vec<ServerStatus> {
        self.finder.forget();
        let roots: Option<BTreeSet<PathBuf>> = file.map(|file| {
            let rows = self.table.for_path(file.rel());
            let found =
                rows.into_iter().filter_map(|(row, _)| roots::find(&self.workspace, file, row));
            found.map(|root| root.real_path).collect()
        });
        let meant =
            |slot: &&Arc<Slot>| roots.as_ref().is_none_or(|roots| roots.contains(&slot.key().root));
        let slots: Vec<_> = self.slots().values().filter(meant).cloned().collect();
        let resets = slots.iter().map(|slot| async move {
            let opened = slot.opened();
            slot.reset().await.then_some((slot, opened))
        });
        let ended: Vec<_> = join_all(resets).await.into_iter().flatten().collect();
        join_all(ended.iter().map(|(slot, opened)| async move {
            // How they stand then says what came of it.
            match opened {
                Some(file) => drop(self.all(file, deadline).await),
                None => drop(self.running(slot, deadline).await),
            }
        }))
        .await;
        let slots: Vec<_> = self.slots().values().filter(meant).cloned().collect();
        let idle = |slot: &&Arc<Slot>| !matches!(slot.standing(), Standing::Idle);
        slots.iter().filter(idle).map(|slot| self.standing(slot)).collect()
    }

    /// Ends all servers as the protocol has it, and kills what does not end. None is started any more.
    pub(crate) async fn close(&self) {
        self.closed.store(true, Ordering::Release);
        let slots: Vec<_> = self.slots().values().cloned().collect();
        join_all(slots.iter().map(|slot| slot.reset())).await;
    }

    /// Kills all servers. None is started any more.
    pub(crate) fn abandon(&self) {
        self.closed.store(true, Ordering::Release);
        self.slots().values().for_each(|slot| slot.abandon());
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Acquire)
    }

    fn slot(&self, row: &Server, root: roots::ServerRoot) -> Arc<Slot> {
        let key = Key { id: row.id.clone(), root: root.real_path.clone() };
        let mut slots = self.slots();
        Arc::clone(
            slots
                .entry(key.clone())
                .or_insert_with(|| Arc::new(Slot::new(key, row.clone(), root, self.restart_after))),
        )
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends servers that nobody has used for long, for as long as the supervisor lives.
pub(crate) async fn reap_idle(supervisor: Weak<Supervisor>) {
    loop {
        let Some(every) = supervisor.upgrade().map(|one| one.idle_after / 4) else { return };
        tokio::time::sleep(every.clamp(IDLE_LOOK, IDLE_EVERY)).await;
        let Some(supervisor) = supervisor.upgrade() else { return };
        let slots: Vec<_> = supervisor.slots().values().cloned().collect();
        let after = supervisor.idle_after;
        // The end of one takes a while, and keeps nothing alive that the run has dropped.
        drop(supervisor);
        join_all(slots.iter().map(|slot| slot.reset_if_idle(after))).await;
    }
}

/// Whether a server runs, or exists at least.
fn is_there(found: &Result<Arc<Running>, NoServer>) -> bool {
    found.as_ref().map_or_else(NoServer::exists, |_| true)
}
