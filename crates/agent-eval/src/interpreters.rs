//! The interpreters of a run: one for each language, started at the first cell, kept until the run ends.

mod builder;
mod slot;

use std::sync::Arc;

use agent_process::Launcher;
use agent_tool_core::{Context, ErrorKind, Tool, ToolError};

pub use self::builder::{CALL_WITHIN, InterpretersBuilder, Limits, Site};
use self::slot::Slot;
use crate::{
    Language,
    environment::{Chooser, Chosen},
    kernel::{Interpreter, Interrupter},
    outcome::Outcome,
    tool,
};

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Cell {
    /// Its source.
    pub code: String,
    /// Its language.
    pub language: Language,
    /// Whether it begins in a clean interpreter, whatever was there before.
    pub start: Start,
}

/// The interpreter that a cell begins in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Start {
    /// The one that the earlier cells ran in.
    #[default]
    Continue,
    /// A new one; the one before is ended with everything that it started.
    Reset,
}

/// The interpreters of a run. Clones are the same ones; when the last is dropped they end, with everything that they started.
#[derive(Clone, Debug)]
pub struct Interpreters {
    inner: Arc<Inner>,
}

#[derive(Debug)]
pub(crate) struct Inner {
    launcher: Launcher,
    site: Site,
    folder: std::path::PathBuf,
    environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    chooser: Chooser,
    limits: Limits,
    times: builder::Times,
    slots: [Slot; 2],
}

/// Why an interpreter is this one.
#[derive(Debug, Default)]
pub(crate) struct Reasons {
    by: String,
    untrusted: Vec<std::path::PathBuf>,
}

impl Cell {
    /// A Python cell that goes on where the last one ended.
    pub fn new(code: impl Into<String>) -> Self {
        Self { code: code.into(), ..Self::default() }
    }

    /// The same cell in this language.
    #[must_use]
    pub fn language(mut self, language: Language) -> Self {
        self.language = language;
        self
    }

    /// The same cell in a new interpreter.
    #[must_use]
    pub fn reset(mut self) -> Self {
        self.start = Start::Reset;
        self
    }
}

impl Interpreters {
    /// Runs a cell and gives what it came to. `tool()` in it calls through `cx`.
    ///
    /// Dropping the future stops the cell: the calls that it waits for first, then the cell itself, whose variables stay
    /// where an interrupt ends it. The next cell of the language says what became of it.
    ///
    /// # Errors
    ///
    /// - `eval_in_eval`: a cell called for another cell, which would wait for itself.
    /// - `no_interpreter`: there is none for the language, with what was looked at.
    /// - `kernel_not_started`: it is there and did not start; a sandbox that is down is this too.
    /// - `start_failed` and the other codes of [`agent_process::Error`].
    pub async fn run(&self, cell: Cell, cx: &Context) -> Result<Outcome, ToolError> {
        if cx.callers().iter().any(|caller| caller.name == tool::NAME) {
            return Err(ToolError::new(
                ErrorKind::Conflict,
                "eval_in_eval",
                "a cell cannot call eval: it would wait for itself; write what it does into this cell",
            ));
        }
        self.slot(cell.language).run(&self.inner, cell, cx).await
    }

    /// Starts the interpreter of this language ahead of its first cell, unless it runs, and gives its label.
    ///
    /// # Errors
    ///
    /// Those of [`Interpreters::run`] about starting.
    pub async fn start(&self, language: Language) -> Result<String, ToolError> {
        self.slot(language).start(&self.inner, language).await
    }

    /// Stops the cell of this language that runs, if one does. Its outcome is `interrupted`.
    pub fn interrupt(&self, language: Language) {
        if let Some(running) = self.slot(language).interrupter() {
            running.interrupt();
        }
    }

    /// The interpreter that the next start takes, without starting it. Inside a container or on another machine it is not
    /// looked for.
    ///
    /// # Errors
    ///
    /// Words about why there is none.
    pub async fn find(&self, language: Language) -> Result<Option<Chosen>, String> {
        match self.inner.site {
            Site::Elsewhere { .. } => Ok(None),
            Site::Here => self.inner.chooser.choose(language).await.map(Some),
        }
    }

    /// Where the interpreters run: the sandbox's name, or `host`.
    #[must_use]
    pub fn place(&self) -> &str {
        self.inner.place()
    }

    /// How long a cell may be silent.
    #[must_use]
    pub fn idle(&self) -> std::time::Duration {
        self.inner.times.idle
    }

    /// Ends both interpreters and waits until nothing of them is left.
    pub async fn close(&self) {
        for slot in &self.inner.slots {
            slot.close().await;
        }
    }

    /// The tool `eval`.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        vec![tool::tool(self)]
    }

    fn slot(&self, language: Language) -> &Slot {
        match language {
            Language::Python => &self.inner.slots[0],
            Language::JavaScript => &self.inner.slots[1],
        }
    }
}

impl Inner {
    fn place(&self) -> &str {
        match self.launcher.sandbox_name() {
            "none" => "host",
            name => name,
        }
    }

    /// What to start, and how a reader knows it.
    async fn interpreter(&self, language: Language) -> Result<(Interpreter, Reasons), ToolError> {
        let names = |program: std::path::PathBuf, args: Vec<String>, folder| Interpreter {
            language,
            program,
            args,
            folder,
            environment: self.environment.clone(),
            limits: self.limits,
        };
        if let Site::Elsewhere { python, node } = &self.site {
            let name = match language {
                Language::Python => python,
                Language::JavaScript => node,
            };
            // Looked up where it runs, not here.
            let program = names("/usr/bin/env".into(), vec![name.clone()], self.folder.clone());
            return Ok((program, Reasons::default()));
        }
        let chosen = self.chooser.choose(language).await.map_err(|why| {
            // Something may have been installed by the time that it is asked again.
            self.chooser.forget();
            let behind = match self.place() {
                "host" => String::new(),
                sandbox => format!(
                    "\nEach of them was started through the sandbox {sandbox}, so it may be the sandbox that does not run"
                ),
            };
            let language = language.as_str();
            let message = format!("there is no interpreter for {language} cells: {why}{behind}");
            ToolError::new(ErrorKind::Unavailable, "no_interpreter", message)
        })?;
        let reasons = Reasons { by: chosen.by, untrusted: chosen.untrusted };
        Ok((names(chosen.program, Vec::new(), self.folder.clone()), reasons))
    }

    fn label(
        &self,
        language: Language,
        version: &str,
        executable: &str,
        reasons: &Reasons,
    ) -> String {
        let name = match language {
            Language::Python => "Python",
            Language::JavaScript => "Node",
        };
        let by = match reasons.by.as_str() {
            "" => String::new(),
            by => format!(" ({by})"),
        };
        let over: Vec<_> =
            reasons.untrusted.iter().map(|path| path.display().to_string()).collect();
        let over = match over.as_slice() {
            [] => String::new(),
            over => format!(
                "; {} passed over, since the checkout is not trusted: its packages are not here",
                over.join(" and ")
            ),
        };
        format!("{name} {version}{by}, {executable}, on {}{over}", self.place())
    }
}
