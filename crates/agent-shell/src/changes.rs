//! Which files a command changed, told by what the file system says of them before and after.

use std::collections::{BTreeMap, BTreeSet};

use agent_tool_core::{Content, Context, Event, FileChange};
use agent_workspace::{FileIdentity, SkipReason, WalkOptions, Workspace, WorkspacePath};

/// A workspace with more files than this is not compared.
pub const MAX_FILES_COMPARED: usize = 20_000;

/// At most so many changes are carried along; the rest is counted.
pub const MAX_CHANGES: usize = 50;

/// The files of a workspace at one moment, but for those that its rules ignore and hidden ones; none where they are too many.
#[derive(Debug, Clone, Default)]
pub(crate) struct Snapshot(Option<Entries>);

#[derive(Debug, Clone, Default)]
struct Entries {
    files: BTreeMap<WorkspacePath, FileIdentity>,
    /// Links, fifos and the like.
    others: BTreeSet<WorkspacePath>,
}

/// What became of the files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Changes {
    /// The first of them.
    pub(crate) changes: Vec<FileChange>,
    /// How many there are; none where nobody knows.
    pub(crate) total: Option<usize>,
    /// How many entries there are that were not and that are no regular files; none where nobody knows.
    pub(crate) others_made: Option<usize>,
}

/// Compares when it is dropped, so that a command that is cancelled is recorded with what it changed.
#[derive(Debug)]
pub(crate) struct Comparison {
    workspace: Workspace,
    before: Option<Snapshot>,
    cx: Context,
}

impl Snapshot {
    /// Looks at all files. It reads folders, and none of the files.
    pub(crate) fn take(workspace: &Workspace) -> Self {
        let Entries { mut files, mut others } = Entries::default();
        for root in workspace.root_paths() {
            // A root that cannot be walked has nothing that could be compared.
            let Ok(walk) = workspace.walk(&root, &WalkOptions::new()) else { return Self(None) };
            if files.len() + walk.files.len() > MAX_FILES_COMPARED {
                return Self(None);
            }
            let known = |file: WorkspacePath| Some((workspace.identity(&file).ok()?, file));
            files.extend(walk.files.into_iter().filter_map(known).map(|(id, file)| (file, id)));
            let is_other = |reason| matches!(reason, SkipReason::Link | SkipReason::Special);
            let skipped = walk.skipped.into_iter().filter(|skipped| is_other(skipped.reason));
            others.extend(skipped.map(|skipped| skipped.path));
        }
        Self(Some(Entries { files, others }))
    }

    fn until_now(&self, workspace: &Workspace) -> Changes {
        let (Some(before), Some(after)) = (&self.0, &Self::take(workspace).0) else {
            return Changes::default();
        };
        let others_made = after.others.difference(&before.others).count();
        let (before, after) = (&before.files, &after.files);
        let gone = before.iter().filter(|(file, _)| !after.contains_key(*file));
        let gone = gone.map(|(file, was)| (file, Some(was), None));
        let here = after.iter().map(|(file, is)| (file, before.get(file), Some(is)));
        let mut all: Vec<_> = here.filter(|(_, was, is)| differ(*was, *is)).chain(gone).collect();
        all.sort_by_key(|(file, ..)| *file);
        let changes = all.iter().take(MAX_CHANGES).map(|(file, was, is)| {
            // What stood there nobody has read.
            let before = was.map_or(Content::Absent, |was| Content::Omitted { bytes: was.size });
            let after = is.map_or(Content::Absent, |is| content(workspace, file, is));
            FileChange::new(workspace.show(file), before, after)
        });
        let changes = changes.collect();
        Changes { changes, total: Some(all.len()), others_made: Some(others_made) }
    }
}

impl Comparison {
    pub(crate) fn begin(workspace: Workspace, before: Snapshot, cx: Context) -> Self {
        Self { workspace, before: Some(before), cx }
    }

    /// What changed since. It is told as it would be by any tool that writes.
    pub(crate) async fn end(mut self) -> Changes {
        let Some(before) = self.before.take() else { return Changes::default() };
        let (workspace, cx) = (self.workspace.clone(), self.cx.clone());
        let compared = tokio::task::spawn_blocking(move || compare(&before, &workspace, &cx));
        compared.await.unwrap_or_default()
    }
}

impl Drop for Comparison {
    fn drop(&mut self) {
        let (Some(before), Ok(runtime)) =
            (self.before.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (workspace, cx) = (self.workspace.clone(), self.cx.clone());
        drop(runtime.spawn_blocking(move || compare(&before, &workspace, &cx)));
    }
}

fn compare(before: &Snapshot, workspace: &Workspace, cx: &Context) -> Changes {
    let changes = before.until_now(workspace);
    for change in &changes.changes {
        cx.emit(Event::Changed { change: change.clone() });
    }
    changes
}

fn differ(was: Option<&FileIdentity>, is: Option<&FileIdentity>) -> bool {
    let state = |file: &FileIdentity| (file.device, file.inode, file.size, file.modified_ns);
    was.map(state) != is.map(state)
}

fn content(workspace: &Workspace, file: &WorkspacePath, is: &FileIdentity) -> Content {
    match workspace.read_up_to(file, Content::TEXT_LIMIT as u64) {
        Ok(read) => Content::of(&read.bytes),
        Err(_) => Content::Omitted { bytes: is.size },
    }
}
