//! Which servers there are for this checkout, how they stand, and which half is missing of those
//! that are not.

use std::{collections::BTreeSet, path::Path};

use agent_workspace::{WalkOptions, WorkspacePath};
use futures::future::join_all;

use super::{
    NoServer, Supervisor, find,
    running::Running,
    slot::{Slot, Standing},
    trust,
};
use crate::{
    location::{ServerStatus, Status},
    roots,
    server::Readiness,
    table::Server,
};

/// How many files a look for markers goes through.
const MAX_LOOKED_AT: usize = 20_000;

impl Supervisor {
    /// Says of every server of the table how it stands: those that were used, those that could be,
    /// and those of which the marker or the program is missing.
    pub(crate) async fn status(&self) -> Status {
        let slots: Vec<_> = self.slots().values().cloned().collect();
        let known: BTreeSet<_> = slots.iter().map(|slot| slot.key().id.clone()).collect();
        let files = self.files();
        let of_slots = slots.iter().map(|slot| async move {
            match slot.standing() {
                Standing::Idle => {
                    let root = Some(self.workspace.show(&slot.root().folder));
                    self.not_started(slot.row(), root, &slot.key().root).await
                }
                _ => Some(self.standing(slot)),
            }
        });
        let rows = self.table.servers().iter().filter(|row| !known.contains(&row.id));
        let of_rows = rows.map(|row| {
            let root = self.root_of(row, &files);
            async move {
                let real = root.as_ref().map(|root| self.workspace.absolute(root));
                let real = real.unwrap_or_else(|| self.workspace.roots()[0].path().to_owned());
                self.not_started(row, root.map(|root| self.workspace.show(&root)), &real).await
            }
        });
        let (slots, rows) = tokio::join!(join_all(of_slots), join_all(of_rows));
        Status { servers: slots.into_iter().chain(rows).flatten().collect() }
    }

    /// How a server stands that was used.
    pub(super) fn standing(&self, slot: &Slot) -> ServerStatus {
        let root = Some(self.workspace.show(&slot.root().folder));
        standing(&slot.key().id, root, &slot.standing())
    }

    /// Which half is missing of a server that does not run; none where both are.
    async fn not_started(
        &self,
        row: &Server,
        root: Option<String>,
        real: &Path,
    ) -> Option<ServerStatus> {
        let found = find::find(&self.finder, row, real, self.trust).await;
        let (state, why) = match (&root, &found) {
            (Some(_), Ok(found)) => match (self.kept_by(row, real), trust::passed_over(found)) {
                (Some(file), _) => ("not trusted", NoServer::untrusted(&row.id, &file).why),
                (None, Some(passed_over)) => ("not started", passed_over),
                (None, None) => ("not started", "no call needs it at this moment".to_owned()),
            },
            (Some(_), Err(missing)) => {
                ("no program", format!("{missing}; to install it: {}", row.install))
            }
            (None, Ok(_)) => (
                "no root",
                format!("no file of its languages is below one of {}", row.roots.join(", ")),
            ),
            (None, Err(_)) => return None,
        };
        let version = found.ok().map(|found| found.version).filter(|version| !version.is_empty());
        Some(ServerStatus {
            id: row.id.clone(),
            root,
            state: state.to_owned(),
            why: Some(why),
            pid: None,
            version,
            encoding: None,
            documents: 0,
        })
    }

    /// The first root that a server would be started at.
    fn root_of(&self, row: &Server, files: &[WorkspacePath]) -> Option<WorkspacePath> {
        let mut files = files.iter().filter(|file| row.language_of(file.rel()).is_some());
        files.find_map(|file| roots::find(&self.workspace, file, row)).map(|root| root.folder)
    }

    /// The files of the workspace, as many as are looked at.
    pub(crate) fn files(&self) -> Vec<WorkspacePath> {
        let roots = self.workspace.roots().iter();
        let roots = roots.filter_map(|root| self.workspace.contain(root.path()));
        let walks = roots.filter_map(|root| self.workspace.walk(&root, &WalkOptions::new()).ok());
        walks.flat_map(|walk| walk.files).take(MAX_LOOKED_AT).collect()
    }
}

fn standing(id: &str, root: Option<String>, standing: &Standing) -> ServerStatus {
    let (state, why) = match standing {
        Standing::Idle => ("not started", None),
        Standing::Starting => ("starting", None),
        Standing::Running(running) => match running.client.readiness() {
            Readiness::Ready => ("ready", remarks(running)),
            Readiness::Busy(why) => ("indexing", Some(why)),
            Readiness::Unhealthy(why) => ("unhealthy", Some(why)),
        },
        Standing::Ended { why, again: Some(again) } => {
            let why =
                format!("{why}; it may be started again in {:.0} s", again.as_secs_f64().ceil());
            ("crashed", Some(why))
        }
        Standing::Ended { why, again: None } => ("crashed", Some(why.clone())),
    };
    let running = match standing {
        Standing::Running(running) => Some(running),
        _ => None,
    };
    let version = running.map(|running| match running.client.version() {
        Some(version) => version.to_owned(),
        None => running.version.clone(),
    });
    ServerStatus {
        id: id.to_owned(),
        root,
        state: state.to_owned(),
        why,
        pid: running.map(|running| running.pid()),
        version: version.filter(|version| !version.is_empty()),
        encoding: running.map(|running| running.client.encoding().as_str().to_owned()),
        documents: running.map_or(0, |running| running.client.open_count()),
    }
}

/// What a server that runs did wrong, and what of it is not kept.
fn remarks(running: &Running) -> Option<String> {
    let unwatched = running.client.unwatched();
    let told = running.client.told.look();
    let mut remarks = Vec::from_iter(running.passed_over.clone());
    if unwatched > 0 {
        remarks.push(format!(
            "{unwatched} folders could not be watched: what others change there is not seen before `lsp reload`"
        ));
    }
    if told.nonsense > 0 {
        let (count, last) = (told.nonsense, &told.last_nonsense);
        remarks.push(format!("{count} of its messages made no sense, the last: {last}"));
    }
    if told.unkept > 0 {
        remarks.push(match told.unkept {
            1 => "1 publish of it was for more files than are kept".to_owned(),
            count => format!("{count} publishes of it were for more files than are kept"),
        });
    }
    (!remarks.is_empty()).then(|| remarks.join("; "))
}
