//! What a run has, and the tools that come of it.

use std::sync::Arc;

use agent_tiers::{Registry, RegistryError};
#[cfg(feature = "lsp")]
use agent_tool_core::Tier;
use agent_tool_core::Tool;

/// The live resources of a run. Each gives its tools; without one they do not exist.
#[derive(Default)]
#[must_use]
pub struct Resources {
    tools: Vec<Arc<dyn Tool>>,
    #[cfg(feature = "lsp")]
    lsp: Option<agent_lsp::Lsp>,
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

    /// Commands, on the host or in a sandbox: `shell`.
    #[cfg(feature = "shell")]
    pub fn shell(mut self, shell: agent_shell::Shell) -> Self {
        self.tools.push(shell.tool());
        self
    }

    /// A parser and a place to stage changes: `ast_grep`, `ast_edit`, `resolve`.
    #[cfg(feature = "astgrep")]
    pub fn astgrep(mut self, structure: agent_astgrep::Structure) -> Self {
        self.tools.extend(structure.tools());
        self
    }

    /// Language servers: `lsp`, `lsp_rename`, and what every tool that writes breaks and fixes in its
    /// result, a host's own tools too.
    #[cfg(feature = "lsp")]
    pub fn lsp(mut self, lsp: agent_lsp::Lsp) -> Self {
        self.tools.extend(lsp.tools());
        self.lsp = Some(lsp);
        self
    }

    /// External MCP servers: their tools, under `mcp__server__tool`.
    #[cfg(feature = "mcp")]
    pub fn mcp(mut self, bridge: &agent_mcp::Bridge) -> Self {
        self.tools.extend(bridge.tools());
        self
    }

    /// A debugger, one session at a time: `debug`.
    #[cfg(feature = "debug")]
    pub fn debug(mut self, debugger: agent_debug::Debugger) -> Self {
        self.tools.push(agent_debug::debug_tool(debugger));
        self
    }

    /// Interpreters that live as long as the run: `eval`.
    #[cfg(feature = "eval")]
    pub fn eval(mut self, interpreters: agent_eval::Interpreters) -> Self {
        self.tools.extend(interpreters.tools());
        self
    }

    /// A person, and the conversation in which they are shown cards: `ask_user`.
    #[cfg(feature = "ask")]
    pub fn ask(mut self, asker: agent_ask::Asker) -> Self {
        self.tools.push(agent_ask::ask_tool(asker));
        self
    }

    /// Workers, while vibe mode is on: `vibe_spawn`, `vibe_send`, `vibe_wait`, `vibe_kill`,
    /// `vibe_list`.
    #[cfg(feature = "vibe")]
    pub fn vibe(mut self, workers: &agent_vibe::Workers) -> Self {
        self.tools.extend(workers.tools());
        self
    }

    /// A tool of the host's own. One with the name of a tool that is here takes its place.
    pub fn tool(mut self, tool: Arc<dyn Tool>) -> Self {
        self.tools.retain(|known| known.spec().name != tool.spec().name);
        self.tools.push(tool);
        self
    }

    /// The registry of these resources' tools.
    ///
    /// # Errors
    ///
    /// A name that stands twice, a spec that is not valid.
    pub fn registry(self) -> Result<Registry, RegistryError> {
        let builder = Registry::builder().tools(self.tools);
        #[cfg(feature = "lsp")]
        let builder = match self.lsp {
            // A rename says what it broke by itself.
            Some(lsp) => builder.wrap(
                |spec| spec.tier > Tier::Read && spec.name != "lsp_rename",
                |tool| lsp.diagnostics_on_write(tool),
            ),
            None => builder,
        };
        builder.build()
    }
}

impl std::fmt::Debug for Resources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools.iter().map(|tool| &tool.spec().name)).finish()
    }
}
