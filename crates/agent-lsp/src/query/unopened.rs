//! Files that a server does not know as long as they were never opened.

use std::{sync::Arc, time::Instant};

use agent_workspace::{MAX_SEARCH_BYTES, WorkspacePath};
use futures::future::join_all;
use memchr::memmem;

use crate::{Lsp, roots, server::Settled, supervisor::Running};

/// How many files are opened for one question. A server keeps more open than that.
pub(crate) const MAX_OPENED: usize = 50;

impl Lsp {
    /// Opens the files that have a name, where a server knows none by itself. Gives whether it knows all
    /// of them then.
    pub(crate) async fn open_all_with(
        &self,
        name: &str,
        running: &Arc<Running>,
        file: &WorkspacePath,
        deadline: Instant,
    ) -> bool {
        if roots::is_known(&self.shared.workspace, file, running.client.row()) {
            return true;
        }
        let unopened = {
            let (lsp, running, name) = (self.clone(), Arc::clone(running), name.to_owned());
            let search = move || {
                let finder = memmem::Finder::new(&name);
                lsp.unopened_with(&running, deadline, |text| finder.find(text).is_some())
            };
            tokio::task::spawn_blocking(search).await
        };
        let Ok(Some(unopened)) = unopened else { return false };
        let looks = unopened.iter().take(MAX_OPENED).map(|file| async move {
            let snapshot = self.snapshot(running, file, &self.show(file), deadline).await;
            snapshot.is_ok_and(|snapshot| matches!(snapshot.settled, Settled::Yes(_)))
        });
        let read = join_all(looks).await;
        unopened.len() <= MAX_OPENED && read.into_iter().all(|read| read)
    }

    /// The files of a server's languages that are not open in it and whose text has what is looked for. None where the time was
    /// over before all were looked at.
    pub(crate) fn unopened_with(
        &self,
        running: &Running,
        deadline: Instant,
        has: impl Fn(&[u8]) -> bool,
    ) -> Option<Vec<WorkspacePath>> {
        let client = &running.client;
        let mut buffer = Vec::new();
        let mut files = self.shared.supervisor.files();
        files.retain(|file| {
            if Instant::now() > deadline {
                return false;
            }
            let read = client.row().language_of(file.rel()).is_some() && !client.knows(file);
            let workspace = &self.shared.workspace;
            read && match workspace.read_into(file, MAX_SEARCH_BYTES, &mut buffer) {
                Ok(_) => has(&buffer),
                // What cannot be read may have it.
                Err(_) => true,
            }
        });
        (Instant::now() <= deadline).then_some(files)
    }
}
