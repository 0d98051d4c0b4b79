//! Edits that are proposed and not yet written.

use std::collections::{BTreeMap, VecDeque};

use agent_edits::Plan;
use agent_tool_core::{ErrorKind, ToolError};

/// How many proposals wait at the same time.
pub const MAX_STAGED: usize = 20;

/// How many bytes of files, before and after, all proposals hold together.
pub const MAX_STAGED_BYTES: usize = 128 * 1024 * 1024;

/// How many edits that came to an end are remembered with what became of them.
const MAX_REMEMBERED: usize = 1_000;

/// The proposals of a run, by their ids.
#[derive(Debug, Default)]
pub(crate) struct Staging {
    last: u64,
    bytes: usize,
    edits: BTreeMap<u64, State>,
    waiting: VecDeque<u64>,
}

#[derive(Clone, Debug)]
enum State {
    Proposed { plan: Plan, bytes: usize },
    Applying,
    Applied { files: Vec<String> },
    Discarded,
    Rejected { why: String },
    Expired,
}

/// What an accept begins with.
pub(crate) enum Accept {
    /// The plan to apply; the edit is out of the others' reach until its end is told.
    Begin(Plan),
    /// It was applied before, to these files.
    AlreadyApplied(Vec<String>),
}

impl Staging {
    /// Stages a plan and says its id. The oldest proposals make room.
    pub(crate) fn stage(&mut self, plan: Plan) -> Result<String, ToolError> {
        let bytes = weight(&plan);
        if bytes > MAX_STAGED_BYTES {
            let message = format!(
                "the change holds {bytes} bytes of files and at most {MAX_STAGED_BYTES} can be staged; \
                 narrow `path` and do it in parts"
            );
            return Err(ToolError::new(ErrorKind::InvalidArgs, "edit_too_large", message));
        }
        while self.waiting.len() >= MAX_STAGED || self.bytes + bytes > MAX_STAGED_BYTES {
            let Some(oldest) = self.waiting.front().copied() else { break };
            self.end(oldest, State::Expired);
        }
        self.last += 1;
        self.bytes += bytes;
        self.waiting.push_back(self.last);
        self.edits.insert(self.last, State::Proposed { plan, bytes });
        while self.edits.len() > MAX_REMEMBERED + MAX_STAGED {
            self.edits.pop_first();
        }
        Ok(format!("edit_{}", self.last))
    }

    /// The plan of a proposal, to be shown.
    pub(crate) fn plan(&self, id: &str) -> Result<Plan, ToolError> {
        let number = number(id)?;
        match self.edits.get(&number) {
            Some(State::Proposed { plan, .. }) => Ok(plan.clone()),
            state => Err(ended(id, state)),
        }
    }

    pub(crate) fn accept(&mut self, id: &str) -> Result<Accept, ToolError> {
        let number = number(id)?;
        match self.edits.get(&number) {
            Some(State::Proposed { plan, .. }) => {
                let plan = plan.clone();
                self.end(number, State::Applying);
                Ok(Accept::Begin(plan))
            }
            Some(State::Applied { files }) => Ok(Accept::AlreadyApplied(files.clone())),
            state => Err(ended(id, state)),
        }
    }

    pub(crate) fn discard(&mut self, id: &str) -> Result<Vec<String>, ToolError> {
        let plan = self.plan(id)?;
        self.end(number(id)?, State::Discarded);
        Ok(files(&plan))
    }

    pub(crate) fn applied(&mut self, id: &str, files: Vec<String>) {
        if let Ok(number) = number(id) {
            self.end(number, State::Applied { files });
        }
    }

    pub(crate) fn rejected(&mut self, id: &str, why: String) {
        if let Ok(number) = number(id) {
            self.end(number, State::Rejected { why });
        }
    }

    /// Takes back an accept that changed nothing and may be tried again.
    pub(crate) fn put_back(&mut self, id: &str, plan: Plan) {
        if let Ok(number) = number(id) {
            let bytes = weight(&plan);
            self.bytes += bytes;
            self.waiting.push_back(number);
            self.edits.insert(number, State::Proposed { plan, bytes });
        }
    }

    fn end(&mut self, number: u64, state: State) {
        self.waiting.retain(|waiting| *waiting != number);
        if let Some(State::Proposed { bytes, .. }) = self.edits.insert(number, state) {
            self.bytes = self.bytes.saturating_sub(bytes);
        }
    }
}

/// How many bytes of files a plan holds.
fn weight(plan: &Plan) -> usize {
    let entries = plan.entries().iter();
    entries
        .map(|entry| entry.before().map_or(0, <[u8]>::len) + entry.after().map_or(0, <[u8]>::len))
        .sum()
}

/// The files of a plan, as they are shown.
pub(crate) fn files(plan: &Plan) -> Vec<String> {
    plan.entries().iter().map(|entry| plan.workspace().show(entry.path())).collect()
}

fn number(id: &str) -> Result<u64, ToolError> {
    let number = id.strip_prefix("edit_").and_then(|number| number.parse().ok());
    number.ok_or_else(|| ended(id, None))
}

fn ended(id: &str, state: Option<&State>) -> ToolError {
    let (kind, code, message) = match state {
        Some(State::Applied { .. }) => (
            ErrorKind::Conflict,
            "already_applied",
            format!("{id} is applied already and cannot be discarded; nothing was changed now"),
        ),
        Some(State::Applying) => (
            ErrorKind::Conflict,
            "edit_in_progress",
            format!("{id} is being applied by another call; ask again when that one is done"),
        ),
        Some(State::Discarded) => (
            ErrorKind::Conflict,
            "discarded_edit",
            format!(
                "{id} was discarded; nothing was changed; call ast_edit again to stage it anew"
            ),
        ),
        Some(State::Rejected { why }) => (
            ErrorKind::Conflict,
            "rejected_edit",
            format!("{id} was rejected ({why}); call ast_edit again to stage it anew"),
        ),
        Some(State::Expired) => (
            ErrorKind::NotFound,
            "expired_edit",
            format!(
                "{id} expired, since only the last {MAX_STAGED} proposals are kept; nothing was changed; \
                 call ast_edit again to stage it anew"
            ),
        ),
        Some(State::Proposed { .. }) | None => (
            ErrorKind::NotFound,
            "unknown_edit",
            format!(
                "there is no staged edit {id:?} in this run; use the edit_id that ast_edit gave"
            ),
        ),
    };
    ToolError::new(kind, code, message)
}
