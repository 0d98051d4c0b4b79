//! The project's own check.

use agent_edits::tool_error::of_workspace;
use agent_process::{Output as Piped, Program, RunLimits, Wanted};
use agent_tool_core::{ErrorKind, ToolError};
use agent_workspace::WorkspacePath;

use crate::{
    Lsp,
    checks::{CheckKind, Output},
    diagnostic::{Diagnostics, State},
    table::Trust,
};

/// How much of a check's output is read.
const OUTPUT_BYTES: usize = 16 * 1024 * 1024;

impl Lsp {
    /// Runs the check that the root of the workspace has a marker of, and reads what it found.
    ///
    /// # Errors
    /// `untrusted`, since a check runs the project's code; `no_check` where there is no marker or no
    /// program, with what is missing.
    pub async fn check(&self) -> Result<Diagnostics, ToolError> {
        if self.shared.supervisor.trust() == Trust::Untrusted {
            let message = "a project's check runs its code, and this checkout is not trusted; its \
                           person can start the run with --trust, or ask for one file's diagnostics";
            return Err(ToolError::new(ErrorKind::Denied, "untrusted", message));
        }
        let root = self.shared.workspace.resolve(".").map_err(of_workspace)?;
        let names = self.shared.workspace.names(&root).map_err(of_workspace)?;
        let has = |marker: &str| names.iter().any(|name| name == marker);
        let kinds: Vec<_> = CheckKind::ALL
            .into_iter()
            .filter(|kind| kind.markers().iter().copied().any(has))
            .collect();
        let mut missing = Vec::new();
        for kind in kinds {
            match self.run_check(kind, &root).await {
                Ok(found) => return Ok(found),
                Err(why) => missing.push(why),
            }
        }
        let message = if missing.is_empty() {
            "the root of the workspace has no marker of a project that can be checked \
             (Cargo.toml, tsconfig.json, pyproject.toml, go.mod, pubspec.yaml); ask for one file's \
             diagnostics"
                .to_owned()
        } else {
            format!("no check of this project can run: {}", missing.join("; "))
        };
        Err(ToolError::new(ErrorKind::Unavailable, "no_check", message))
    }

    async fn run_check(
        &self,
        kind: CheckKind,
        root: &WorkspacePath,
    ) -> Result<Diagnostics, String> {
        let (name, args) = kind.command().split_first().ok_or("it has no command")?;
        let folder = self.shared.workspace.absolute(root);
        let wanted =
            Wanted::new(*name).local("node_modules/.bin").local(".venv/bin").local("venv/bin");
        // `go` knows no --version.
        let wanted = if *name == "go" { wanted.probe(["version"]) } else { wanted };
        let found = self.shared.supervisor.find(&wanted, &folder).await;
        let found = found.map_err(|missing| missing.to_string())?;
        let program = Program::new(&found.path, &folder)
            .args(args.iter().copied())
            .stdout(Piped::Piped)
            .stderr(Piped::Piped);
        let limits = RunLimits::new().time(self.shared.waits.check).output_bytes(OUTPUT_BYTES);
        let run = self.shared.launcher.run(&program, &limits).await;
        let run = run.map_err(|error| error.to_string())?;
        let (stdout, stderr) =
            (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
        let exit = run.exit.as_ref().and_then(|exit| exit.code);
        let output = Output { stdout: &stdout, stderr: &stderr, exit };
        let checked = kind.read(&output, &self.shared.workspace, root);
        let mut why = checked.why;
        if run.exit.is_none() {
            let seconds = self.shared.waits.check.as_secs();
            why = format!("`{name}` was stopped after {seconds} s; {why}");
        }
        if run.dropped > 0 {
            why = format!("{why}; {} bytes of its output were not read", run.dropped);
        }
        let state = match checked.state {
            State::Clean if run.exit.is_none() || run.dropped > 0 => State::Unknown,
            state => state,
        };
        Ok(Diagnostics { diagnostics: checked.diagnostics, state, why })
    }
}
