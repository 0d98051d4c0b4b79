//! What a run has, and the tools that come of it.

use std::sync::Arc;

use agent_tiers::{Registry, RegistryError};
use agent_tool_core::Tool;

/// The live resources of a run. Each gives its tools; without one they do not exist.
#[derive(Default)]
#[must_use]
pub struct Resources {
    tools: Vec<Arc<dyn Tool>>,
}

impl Resources {
    /// No resources.
    pub fn new() -> Self {
        Self::default()
    }

    /// Files and the way to change them: `read`, `write`, `edit`, `apply_patch`, `search`.
    #[cfg(feature = "files")]
    pub fn files(mut self, files: agent_files::Files) -> Self {
        self.tools.extend(files.tools());
        self
    }

    /// A parser and a place to stage changes: `ast_grep`, `ast_edit`, `resolve`.
    #[cfg(feature = "astgrep")]
    pub fn astgrep(mut self, structure: agent_astgrep::Structure) -> Self {
        self.tools.extend(structure.tools());
        self
    }

    /// A tool of the host's own.
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// The registry of these resources' tools.
    ///
    /// # Errors
    ///
    /// A name that stands twice, a spec that is not valid.
    pub fn registry(self) -> Result<Registry, RegistryError> {
        Registry::builder().tools(self.tools).build()
    }
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.spec().name)).finish()
    }
}
