//! The resource that the tools share, and what all of them need of it.

use std::{path::Path, sync::Arc};

use agent_edits::Edits;
use agent_tool_core::{ErrorKind, Stop, ToolError};
use agent_workspace::{FileContent, Text, WalkOptions, Workspace, WorkspacePath};

use crate::{artifacts, error};

/// So many names are proposed for one that does not exist.
const PROPOSED: usize = 3;

/// How alike a proposed name is at least, from 0 to 1.
const LEAST_RATIO: f32 = 0.7;

/// In a folder with more names none is proposed.
const MAX_NAMES: usize = 5_000;

/// A workspace and the way to change its files: the typed library that the tools adapt.
///
/// A clone is cheap and shares both. All functions block; the tools run them on the blocking pool.
#[derive(Clone, Debug)]
pub struct Files {
    pub(crate) workspace: Workspace,
    pub(crate) edits: Edits,
    pub(crate) artifacts: Option<Arc<Path>>,
    exclude: Arc<Vec<String>>,
}

impl Files {
    /// The files of a workspace, changed through `edits`, which must be those of the same workspace.
    #[must_use]
    pub fn new(workspace: Workspace, edits: Edits) -> Self {
        Self { workspace, edits, artifacts: None, exclude: Arc::default() }
    }

    /// The same without the files that these globs name, where a folder is searched.
    #[must_use]
    pub fn without_files(mut self, globs: Vec<String>) -> Self {
        self.exclude = Arc::new(globs);
        self
    }

    /// The workspace.
    #[must_use]
    pub fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// How folders are walked here.
    pub(crate) fn walk_options(&self, stop: &Stop) -> WalkOptions {
        let options = WalkOptions::new().stop(stop.shared());
        self.exclude.iter().fold(options, |options, glob| options.glob(format!("!{glob}")))
    }

    pub(crate) fn resolve(&self, path: &str) -> Result<WorkspacePath, ToolError> {
        if self.artifact(path).is_some() {
            return Err(artifacts::only_read(path));
        }
        self.workspace.resolve(path).map_err(error::of_workspace)
    }

    /// The bytes of a file; where there is none, the error proposes names that are alike.
    pub(crate) fn content(
        &self,
        path: &WorkspacePath,
        stop: &Stop,
    ) -> Result<FileContent, ToolError> {
        self.workspace.read(path).map_err(|error| self.with_proposals(path, error, stop))
    }

    /// The text of a file that is to be changed.
    pub(crate) fn text(
        &self,
        path: &WorkspacePath,
        stop: &Stop,
    ) -> Result<(FileContent, Text), ToolError> {
        let content = self.content(path, stop)?;
        let text = Text::decode(&content.bytes);
        if text.info.binary {
            return Err(error::binary(&self.workspace.show(path), content.bytes.len()));
        }
        Ok((content, text))
    }

    pub(crate) fn with_proposals(
        &self,
        path: &WorkspacePath,
        error: agent_workspace::Error,
        stop: &Stop,
    ) -> ToolError {
        let error = error::of_workspace(error);
        if error.kind != ErrorKind::NotFound || error.code != "not_found" {
            return error;
        }
        let proposals = self.proposals(path, stop);
        if proposals.is_empty() {
            return error;
        }
        let quoted: Vec<_> = proposals.iter().map(|name| format!("`{name}`")).collect();
        let mut error = error;
        error.message = format!(
            "`{}` does not exist; did you mean {}?",
            self.workspace.show(path),
            quoted.join(" or ")
        );
        error.with_data(serde_json::json!({ "candidates": proposals }))
    }

    /// Names in the same folder that are alike, then files of that name elsewhere.
    fn proposals(&self, path: &WorkspacePath, stop: &Stop) -> Vec<String> {
        let Some(name) = path.file_name().map(|name| name.to_string_lossy().into_owned()) else {
            return Vec::new();
        };
        let mut found = self.like_in_folder(path, &name);
        let glob: String = name.chars().flat_map(in_glob).collect();
        let options = self.walk_options(stop).glob(format!("**/{glob}"));
        let start = WorkspacePath::working_directory();
        let elsewhere = self.workspace.walk(&start, &options).map(|walk| walk.files);
        let named = elsewhere.unwrap_or_default().into_iter();
        // A glob also takes what is in a folder of that name.
        let named = named.filter(|file| file.file_name() == path.file_name());
        for file in named.map(|file| self.workspace.show(&file)) {
            if !found.contains(&file) {
                found.push(file);
            }
        }
        found.truncate(PROPOSED);
        found
    }

    fn like_in_folder(&self, path: &WorkspacePath, name: &str) -> Vec<String> {
        let Some(folder) = path.parent() else { return Vec::new() };
        let names = self.workspace.names(&folder).unwrap_or_default();
        if names.len() > MAX_NAMES {
            return Vec::new();
        }
        let names: Vec<_> = names.iter().map(|name| name.to_string_lossy()).collect();
        let same = |other: &&str| other.eq_ignore_ascii_case(name) && *other != name;
        let mut like: Vec<&str> = names.iter().map(|name| &**name).filter(same).collect();
        // An extension that both have is no likeness: `a.rs` is not meant by `b.rs`.
        let extension = name.rfind('.').map_or("", |at| &name[at..]);
        let bare = |name: &'_ str| name.strip_suffix(extension).unwrap_or(name).to_owned();
        let stems: Vec<String> = names.iter().map(|name| bare(name)).collect();
        let all: Vec<&str> = stems.iter().map(String::as_str).collect();
        for stem in similar::get_close_matches(bare(name).as_str(), &all, PROPOSED, LEAST_RATIO) {
            let at = stems.iter().position(|other| other == stem);
            let close = at.map(|at| &*names[at]);
            like.extend(close.filter(|close| !like.contains(close)));
        }
        let paths = like.into_iter().filter_map(|name| folder.join(name));
        paths.map(|path| self.workspace.show(&path)).collect()
    }
}

/// A character as it stands for itself in a glob.
fn in_glob(c: char) -> Vec<char> {
    if "*?[]{}!\\".contains(c) { vec!['\\', c] } else { vec![c] }
}
