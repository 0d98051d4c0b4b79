//! What a command did, as data and as lines for a model.

use std::time::Duration;

use agent_tool_core::{ChangeKind, FileChange, as_at_terminal};
use serde::Serialize;

/// At most so many changed files are named.
const MAX_NAMED: usize = 20;

/// How a command ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ending {
    /// By itself, with this code.
    Exited {
        /// Its exit code.
        code: i32,
    },
    /// By a signal that was not ours.
    Signalled {
        /// The number of the signal.
        signal: i32,
    },
    /// Its time ran out, and it was ended with all that it had started.
    TimedOut,
    /// It ended, and the system did not say how.
    Unknown,
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ShellReport {
    /// How it ended.
    pub ending: Ending,
    /// The name of the sandbox that it ran in; none is the host.
    pub ran_in: Option<String>,
    /// What it wrote to both outputs, in its order, with a line where something is missing. As it wrote it: escape sequences
    /// and carriage returns stand in it.
    pub output: String,
    /// How many bytes it wrote.
    pub output_bytes: u64,
    /// How many of them were not kept.
    pub dropped_bytes: u64,
    /// How long it ran, in milliseconds.
    pub elapsed_ms: u64,
    /// How many processes it had left running, which were ended.
    pub killed: usize,
    /// The process ids of those that live nevertheless.
    pub left: Vec<u32>,
    /// The words of the sandbox itself, where it had any.
    pub sandbox: Vec<String>,
    /// How many files changed, but for ignored and hidden ones; none where that is not known.
    pub files_changed: Option<usize>,
    /// How many links, fifos, sockets and devices it made, which are not among these; none where that is not known.
    pub others_made: Option<usize>,
    /// The first of the changed files.
    #[serde(skip)]
    pub changes: Vec<FileChange>,
}

impl ShellReport {
    /// The output as a terminal would show it at last, then how it ended, then what it left.
    #[must_use]
    pub fn text(&self) -> String {
        let mut lines = vec![self.ended()];
        let output = as_at_terminal(&self.output);
        let output = output.trim_end_matches('\n');
        if output.is_empty() {
            let seen =
                if self.output.trim_end_matches('\n').is_empty() { "" } else { " to be seen" };
            lines[0].push_str(&format!("; it wrote nothing{seen}"));
        } else {
            lines.insert(0, output.to_owned());
        }
        if !self.sandbox.is_empty() {
            lines.push(format!("the sandbox says:\n{}", self.sandbox.join("\n")));
        }
        if self.killed > 0 {
            let what = plural(self.killed, "process", "processes");
            lines.push(format!("{what} that it had left running ended with it"));
        }
        if !self.left.is_empty() {
            let ids: Vec<_> = self.left.iter().map(u32::to_string).collect();
            lines.push(format!("still running, although killed: {}", ids.join(", ")));
        }
        if self.dropped_bytes > 0 {
            let (dropped, total) = (self.dropped_bytes, self.output_bytes);
            lines.push(format!(
                "{dropped} of {total} bytes of output, in their middle, are kept nowhere"
            ));
        }
        lines.extend(self.changed());
        if let Some(count @ 1..) = self.others_made {
            let what = plural(count, "entry that is no file", "entries that are no files");
            lines.push(format!("{what} made: links, fifos or the like"));
        }
        lines.join("\n")
    }

    fn ended(&self) -> String {
        let seconds = Duration::from_millis(self.elapsed_ms).as_secs_f64();
        let sandbox = self.ran_in.as_ref().map(|name| format!(", in the sandbox {name}"));
        let after = format!("after {seconds:.1} s{}", sandbox.unwrap_or_default());
        match &self.ending {
            Ending::Exited { code } => format!("[exit code {code} {after}]"),
            Ending::Signalled { signal } => format!("[ended by signal {signal} {after}]"),
            Ending::TimedOut => format!(
                "[not finished {after}, so it was ended; whatever it had not done yet is not done. Give it more `timeout`, or \
                 do less at once]"
            ),
            Ending::Unknown => format!("[ended {after}; with what code is not known]"),
        }
    }

    fn changed(&self) -> Option<String> {
        match self.files_changed {
            None => Some(
                "which files it changed is not known: there are too many to compare".to_owned(),
            ),
            Some(0) => None,
            Some(total) => {
                let names = self.changes.iter().take(MAX_NAMED).map(|change| {
                    let kind = match change.kind() {
                        ChangeKind::Created => "+",
                        ChangeKind::Deleted => "-",
                        ChangeKind::Modified => "",
                    };
                    format!("{kind}{}", change.path)
                });
                let names: Vec<_> = names.collect();
                let more = match total - names.len() {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                let files = plural(total, "file", "files");
                Some(format!("{files} changed: {}{more}", names.join(", ")))
            }
        }
    }
}

fn plural(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}
