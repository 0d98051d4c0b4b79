//! The live resource behind the tools: a workspace, grammars, kept trees, staged edits.

use std::{
    collections::BTreeMap,
    path::Path,
    sync::{Arc, Mutex},
};

use agent_edits::Edits;
use agent_grammars::{Grammar, Grammars};
use agent_tool_core::{ErrorKind, Stop, Tool, ToolError};
use agent_workspace::{Skipped, WalkOptions, Workspace, WorkspacePath};
use serde_json::json;

use crate::{
    Trees,
    failures::{of_grammar, of_workspace},
    staging::Staging,
    tools,
};

/// Structural search and rewrite over a workspace. A clone is cheap and shares all of it: one for
/// each run, since staged edits and kept trees live in it.
#[derive(Clone, Debug)]
pub struct Structure {
    pub(crate) workspace: Workspace,
    pub(crate) edits: Edits,
    pub(crate) trees: Trees,
    pub(crate) staging: Arc<Mutex<Staging>>,
    grammars: Arc<Grammars>,
    endings: Arc<BTreeMap<String, String>>,
    exclude: Arc<Vec<String>>,
}

/// The files that a search looks at, all of one language.
#[derive(Debug)]
pub(crate) struct Scope {
    pub grammar: Arc<Grammar>,
    pub files: Vec<WorkspacePath>,
    pub skipped: Vec<Skipped>,
    /// How many files there are of each language, whichever is searched.
    pub languages: BTreeMap<String, usize>,
}

impl Structure {
    /// The structure of a workspace's files, changed through `edits`, which must be those of the
    /// same workspace.
    #[must_use]
    pub fn new(workspace: Workspace, edits: Edits, grammars: Arc<Grammars>) -> Self {
        Self {
            workspace,
            edits,
            trees: Trees::default(),
            staging: Arc::default(),
            grammars,
            endings: Arc::default(),
            exclude: Arc::default(),
        }
    }

    /// The same with another store for parsed trees.
    #[must_use]
    pub fn with_trees(mut self, trees: Trees) -> Self {
        self.trees = trees;
        self
    }

    /// The same with file endings, without the dot, and the language ids that they stand for here.
    #[must_use]
    pub fn with_endings(mut self, endings: BTreeMap<String, String>) -> Self {
        self.endings = Arc::new(endings);
        self
    }

    /// The same without the files that these globs name.
    #[must_use]
    pub fn without_files(mut self, globs: Vec<String>) -> Self {
        self.exclude = Arc::new(globs);
        self
    }

    /// The tools `ast_grep`, `ast_edit` and `resolve`.
    #[must_use]
    pub fn tools(self) -> Vec<Arc<dyn Tool>> {
        tools::all(self)
    }

    /// The files of a search: below `path`, of `language`, which is inferred where all agree.
    pub(crate) fn scope(
        &self,
        path: Option<&str>,
        language: Option<&str>,
        stop: &Stop,
    ) -> Result<Scope, ToolError> {
        let starts = match path {
            Some(path) => vec![self.workspace.resolve(path).map_err(of_workspace)?],
            None => self.workspace.root_paths(),
        };
        let options = self
            .exclude
            .iter()
            .fold(WalkOptions::new(), |options, glob| options.glob(format!("!{glob}")))
            .stop(stop.shared());
        let (mut files, mut skipped) = (Vec::new(), Vec::new());
        for start in &starts {
            let walk = self.workspace.walk(start, &options).map_err(of_workspace)?;
            files.extend(walk.files);
            skipped.extend(walk.skipped);
        }
        if let ([start], [only]) = (starts.as_slice(), files.as_slice())
            && start == only
        {
            let grammar = match language {
                Some(id) => Arc::clone(self.grammars.by_id(id).map_err(of_grammar)?),
                None => self.grammar_of(start).ok_or_else(|| self.no_language(start))?,
            };
            return Ok(Scope { grammar, files, skipped, languages: BTreeMap::new() });
        }
        let mut by_ending = BTreeMap::new();
        let languages: Vec<Option<Arc<Grammar>>> = files
            .iter()
            .map(|file| {
                let Some(ending) = file.extension().filter(|_| !self.has_a_name(file)) else {
                    return self.grammar_of(file);
                };
                let known = by_ending.entry(ending.to_owned());
                known.or_insert_with(|| self.grammar_of(file)).clone()
            })
            .collect();
        let grammar = match language {
            Some(id) => Arc::clone(self.grammars.by_id(id).map_err(of_grammar)?),
            None => self.only(&languages)?,
        };
        let mut counts = BTreeMap::new();
        for language in languages.iter().flatten() {
            *counts.entry(language.id().to_owned()).or_default() += 1;
        }
        let files = files.into_iter().zip(languages);
        let files = files.filter(|(_, language)| {
            language.as_ref().is_some_and(|language| language.id() == grammar.id())
        });
        let files = files.map(|(file, _)| file).collect();
        Ok(Scope { grammar, files, skipped, languages: counts })
    }

    /// Whether a file's language is told by its whole name, so that its ending says nothing of others.
    fn has_a_name(&self, file: &WorkspacePath) -> bool {
        let name = file.file_name().and_then(|name| name.to_str());
        name.is_some_and(|name| {
            self.grammars.iter().any(|grammar| grammar.profile().file_names.contains(&name))
        })
    }

    fn grammar_of(&self, file: &WorkspacePath) -> Option<Arc<Grammar>> {
        let name = file.file_name()?;
        let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
        let mapped = ending.and_then(|ending| self.endings.get(ending));
        if let Some(id) = mapped {
            return self.grammars.by_id(id).ok().cloned();
        }
        self.grammars.for_path(Path::new(name)).cloned()
    }

    /// The one language of a folder's files.
    fn only(&self, languages: &[Option<Arc<Grammar>>]) -> Result<Arc<Grammar>, ToolError> {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for language in languages.iter().flatten() {
            *counts.entry(language.id()).or_default() += 1;
        }
        let mut ids = counts.keys();
        match (ids.next(), ids.next()) {
            (Some(id), None) => Ok(Arc::clone(self.grammars.by_id(id).map_err(of_grammar)?)),
            (None, _) => Err(ToolError::new(
                ErrorKind::InvalidArgs,
                "no_language",
                format!(
                    "none of the {} files there is of a known language; name another path, or say \
                     `language`: one of {}",
                    languages.len(),
                    self.ids()
                ),
            )),
            (Some(_), Some(_)) => {
                let counted = counts.iter().map(|(id, count)| format!("{id} ({count})"));
                let counted = counted.collect::<Vec<_>>().join(", ");
                let message =
                    format!("files of several languages are there; say `language`: {counted}");
                let error = ToolError::new(ErrorKind::InvalidArgs, "ambiguous_language", message);
                Err(error.with_data(json!({ "languages": counts })))
            }
        }
    }

    fn no_language(&self, file: &WorkspacePath) -> ToolError {
        let shown = self.workspace.show(file);
        let ids = self.ids();
        let message = format!("the language of {shown} is not known; say `language`: one of {ids}");
        ToolError::new(ErrorKind::InvalidArgs, "no_language", message)
    }

    fn ids(&self) -> String {
        self.grammars.ids().collect::<Vec<_>>().join(", ")
    }
}
