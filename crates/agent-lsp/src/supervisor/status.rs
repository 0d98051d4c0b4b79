//! Which servers there are for this checkout, how they stand, and which half is missing of those
//! that are not.

use std::collections::BTreeSet;

use agent_workspace::{WalkOptions, WorkspacePath};

use super::{
    Supervisor, find,
    slot::{Running, Standing},
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
        let mut servers = Vec::new();
        let mut known = BTreeSet::new();
        for slot in slots {
            known.insert(slot.key().id.clone());
            let root = Some(self.workspace.show(&slot.root().folder));
            servers.push(standing(&slot.key().id, root, &slot.standing()));
        }
        let files = self.files();
        for row in self.table.servers().iter().filter(|row| !known.contains(&row.id)) {
            let root = self.root_of(row, &files);
            let found =
                find::find(&self.finder, row, self.workspace.roots()[0].path(), self.trust).await;
            let (state, why) = match (&root, &found) {
                (Some(_), Ok(_)) => ("not started", "no call has needed it yet".to_owned()),
                (Some(_), Err(missing)) => {
                    ("no program", format!("{missing}; to install it: {}", row.install))
                }
                (None, Ok(_)) => (
                    "no root",
                    format!("no file of its languages is below one of {}", row.roots.join(", ")),
                ),
                (None, Err(_)) => continue,
            };
            servers.push(ServerStatus {
                id: row.id.clone(),
                root: root.map(|root| self.workspace.show(&root)),
                state: state.to_owned(),
                why: Some(why),
                pid: None,
                version: found
                    .ok()
                    .map(|found| found.version)
                    .filter(|version| !version.is_empty()),
                encoding: None,
                documents: 0,
            });
        }
        Status { servers }
    }

    /// The first root that a server would be started at.
    fn root_of(&self, row: &Server, files: &[WorkspacePath]) -> Option<WorkspacePath> {
        let mut files = files.iter().filter(|file| row.language_of(file.rel()).is_some());
        files.find_map(|file| roots::find(&self.workspace, file, row)).map(|root| root.folder)
    }

    pub(super) fn files(&self) -> Vec<WorkspacePath> {
        let roots =
            (0..self.workspace.roots().len()).filter_map(|_| self.workspace.resolve(".").ok());
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

/// What a server that runs did wrong, or said last on its error output.
fn remarks(running: &Running) -> Option<String> {
    let nonsense = running.client.told.look().nonsense;
    (nonsense > 0).then(|| format!("{nonsense} messages of it made no sense and were passed over"))
}
