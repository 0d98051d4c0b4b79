//! The servers of a run: one process for each server and root, started once however many ask,
//! started again after a crash within bounds, ended when nobody needs it.

mod error;
mod find;
mod slot;
mod status;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::{Duration, Instant},
};

use agent_process::{Finder, Found, Launcher, Missing, Wanted};
use agent_workspace::{Workspace, WorkspacePath};

pub(crate) use self::{
    error::NoServer,
    slot::{Running, Slot},
};
use crate::{
    roots,
    server::Checks,
    table::{Role, Server, ServerTable, Trust},
};

/// How long a server may stay unused before it is ended.
pub const IDLE_AFTER: Duration = Duration::from_secs(15 * 60);

/// How often unused servers are looked for.
const IDLE_EVERY: Duration = Duration::from_secs(30);

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
        idle_after: Duration,
    ) -> Arc<Self> {
        Arc::new(Self {
            workspace,
            finder: Finder::new(launcher.clone()),
            launcher,
            table,
            trust,
            idle_after,
            slots: Mutex::default(),
        })
    }

    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    pub(crate) fn table(&self) -> &ServerTable {
        &self.table
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

    /// The servers for a file by its name and the markers above it: full ones in the order in which
    /// they are tried, then linters. None is started by this.
    ///
    /// # Errors
    /// Why there is none.
    pub(crate) fn candidates(&self, file: &WorkspacePath) -> Result<Vec<Candidate>, NoServer> {
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
            return Err(NoServer::without_marker(&self.workspace.show(file), &markers));
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

    /// The first full server for a file and every linter, as far as they run or can be started.
    pub(crate) async fn all(
        self: &Arc<Self>,
        file: &WorkspacePath,
        deadline: Instant,
    ) -> Result<(Vec<Arc<Running>>, Vec<NoServer>), NoServer> {
        let mut running = Vec::new();
        let mut failures = Vec::new();
        let mut have_full = false;
        for candidate in self.candidates(file)? {
            if candidate.role == Role::Full && have_full {
                continue;
            }
            match self.running(&candidate.slot, deadline).await {
                Ok(found) => {
                    have_full |= candidate.role == Role::Full;
                    running.push(found);
                }
                Err(failure) => {
                    // One that exists stands for its language, be it that it does not run.
                    have_full |= candidate.role == Role::Full && failure.exists();
                    failures.push(failure);
                }
            }
        }
        if running.is_empty() && failures.iter().all(|failure| !failure.exists()) {
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

    /// Finds a program for a root by the run's trust.
    pub(crate) async fn find(&self, wanted: &Wanted, root: &Path) -> Result<Found, Missing> {
        self.finder.find(wanted, &find::place(root, self.trust)).await
    }

    /// The servers that run at this moment.
    pub(crate) fn live(&self) -> Vec<Arc<Running>> {
        let slots: Vec<_> = self.slots().values().cloned().collect();
        slots.iter().filter_map(|slot| slot.live()).collect()
    }

    /// Ends the servers of the root of a file, or all, forgets what was found, and lets the next
    /// call start them anew. Gives the ids of those that were ended.
    pub(crate) async fn reload(&self, file: Option<&WorkspacePath>) -> Vec<String> {
        self.finder.forget();
        let slots: Vec<_> = self.slots().values().cloned().collect();
        let meant = slots.into_iter().filter(|slot| {
            file.is_none_or(|file| {
                let root = roots::find(&self.workspace, file, slot.row());
                root.is_some_and(|root| root.real_path == slot.key().root)
            })
        });
        let mut ended = Vec::new();
        for slot in meant {
            if slot.reset().await {
                ended.push(slot.key().id.clone());
            }
        }
        ended
    }

    /// Ends all servers as the protocol has it, and kills what does not end.
    pub(crate) async fn close(&self) {
        let slots: Vec<_> = std::mem::take(&mut *self.slots()).into_values().collect();
        let ends: Vec<_> =
            slots.into_iter().map(|slot| tokio::spawn(async move { slot.reset().await })).collect();
        for end in ends {
            let _ = end.await;
        }
    }

    fn slot(&self, row: &Server, root: roots::ServerRoot) -> Arc<Slot> {
        let key = Key { id: row.id.clone(), root: root.real_path.clone() };
        let mut slots = self.slots();
        Arc::clone(
            slots.entry(key.clone()).or_insert_with(|| Arc::new(Slot::new(key, row.clone(), root))),
        )
    }

    fn slots(&self) -> MutexGuard<'_, BTreeMap<Key, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends servers that nobody has used for long, for as long as the supervisor lives.
pub(crate) async fn reap_idle(supervisor: Weak<Supervisor>) {
    loop {
        tokio::time::sleep(IDLE_EVERY).await;
        let Some(supervisor) = supervisor.upgrade() else { return };
        let slots: Vec<_> = supervisor.slots().values().cloned().collect();
        for slot in slots {
            if slot.live().is_some_and(|running| running.is_idle(supervisor.idle_after)) {
                slot.reset().await;
            }
        }
    }
}
