//! The errors and warnings of one file, whatever the run was told before.

use std::{fmt::Write as _, sync::Arc, time::Instant};

use agent_edits::tool_error::of_workspace;
use agent_tool_core::ToolError;
use agent_workspace::WorkspacePath;

use crate::{
    Lsp,
    diagnostic::{self, Diagnostic, Diagnostics, State},
    ledger::without_shadows,
    server::{Settled, Snapshot},
    supervisor::Running,
};

/// How many diagnostics the text of an answer lists; the data has all.
const LISTED: usize = 50;

impl Lsp {
    /// The errors and warnings of a file, of every server that takes it: a linter too.
    ///
    /// # Errors
    /// `no_server`, `server_failed`, `not_ready` where no server could be asked, and those of the path.
    pub async fn diagnostics(&self, file: &str) -> Result<Diagnostics, ToolError> {
        let deadline = self.answer_by();
        let file = self.file(file)?;
        let shown = self.show(&file);
        self.start_reaper();
        let (servers, failures) = self
            .shared
            .supervisor
            .all(&file, deadline)
            .await
            .map_err(crate::supervisor::NoServer::into_error)?;
        if servers.is_empty()
            && let Some(failure) = failures.first()
        {
            return Err(failure.clone().into_error());
        }
        let _one = self.shared.settling.lock().await;
        let mut all = Vec::new();
        let mut whys: Vec<String> = Vec::new();
        let mut unknown = false;
        for running in &servers {
            let snapshot = self.snapshot(running, &file, &shown, deadline).await?;
            match &snapshot.settled {
                Settled::Yes(how) => {
                    self.ledger().told(&shown, &running.id, snapshot.diagnostics.clone());
                    whys.push(format!("{}: {how}", running.id));
                }
                Settled::InPart(why) => {
                    self.ledger().told(&shown, &running.id, snapshot.diagnostics.clone());
                    unknown = true;
                    whys.push(format!("{}: {why}", running.id));
                }
                Settled::No(why) => {
                    unknown = true;
                    whys.push(format!("{}: {why}", running.id));
                }
            }
            if snapshot.cut > 0 {
                whys.push(format!("{}: {} more were not kept", running.id, snapshot.cut));
            }
            // What two servers say alike is said once; what one says twice is there twice.
            let mut found = without_shadows(snapshot.diagnostics);
            found.retain(|one| !all.iter().any(|other: &Diagnostic| other.says_the_same(one)));
            all.extend(found);
        }
        for failure in &failures {
            // One that stands in for another is not among these, so nobody looked as it would have.
            unknown = true;
            whys.push(failure.words());
        }
        all.retain(|found| found.severity.counts());
        diagnostic::sort(&mut all);
        let state = match (all.is_empty(), unknown) {
            (false, _) => State::Dirty,
            (true, true) => State::Unknown,
            (true, false) => State::Clean,
        };
        let mut why = whys.join("; ");
        if state == State::Dirty && unknown {
            why.push_str("; there may be more");
        }
        Ok(Diagnostics { diagnostics: all, state, why })
    }

    /// What one server says of a file as it is on the disk.
    pub(crate) async fn snapshot(
        &self,
        running: &Arc<Running>,
        file: &WorkspacePath,
        shown: &str,
        deadline: Instant,
    ) -> Result<Snapshot, ToolError> {
        let _used = running.hold();
        let client = &running.client;
        let sent = client.send_file(file).map_err(of_workspace)?;
        let checks = self.shared.supervisor.checks();
        let mut snapshot = client.settled(file, shown, &sent, checks, deadline).await;
        if let (Settled::No(why), Some(ended)) = (&mut snapshot.settled, running.end_in_words()) {
            *why = format!("the server ended: {ended}");
        }
        Ok(snapshot)
    }
}

impl Diagnostics {
    /// What the model reads.
    pub(crate) fn text(&self) -> String {
        let mut text = match self.state {
            State::Clean => format!("clean: no errors or warnings ({})", self.why),
            State::Unknown => {
                format!("unknown: nothing was found, and that is not confirmed ({})", self.why)
            }
            State::Dirty => {
                format!("{} ({})", diagnostic::counts(self.diagnostics.iter()), self.why)
            }
        };
        for found in self.diagnostics.iter().take(LISTED) {
            let _ = write!(text, "\n{}", line(found));
        }
        if self.diagnostics.len() > LISTED {
            let _ = write!(text, "\n… {} more", self.diagnostics.len() - LISTED);
        }
        text
    }
}

fn line(found: &Diagnostic) -> String {
    let code = found.code.as_ref().map_or_else(String::new, |code| format!(" [{code}]"));
    let message = found.message.replace('\n', "\n    ");
    let severity = found.severity.as_str();
    format!("{}:{}:{}: {severity}{code}: {message}", found.file, found.line, found.column)
}
