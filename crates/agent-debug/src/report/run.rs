use std::fmt::Write as _;

use agent_tool_core::counted;
use serde::Serialize;

use super::VariablesReport;
use crate::{
    breakpoints::{BreakpointState, Status},
    source::FrameShown,
};

/// The most frames that the text of a stop lists; the data has all that were read.
const TEXT_FRAMES: usize = 8;

/// The most breakpoints that the text of a stop lists.
const TEXT_BREAKPOINTS: usize = 20;

/// Whether the debuggee runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum RunState {
    /// It stands still.
    Stopped,
    /// It runs on; the wait was over.
    Running,
    /// The session is over.
    Ended,
}

/// A thread as it is shown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct ThreadShown {
    /// The adapter's id.
    pub id: i64,
    /// Its name, where it is known.
    pub name: Option<String>,
}

/// The variables of the frame at which a program crashed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct LocalsReport {
    /// The frame's id.
    pub frame: i64,
    /// Its variables.
    #[serde(flatten)]
    pub variables: VariablesReport,
}

/// Where `launch`, `attach`, `continue`, `pause` and the steps left the debuggee.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RunReport {
    /// Whether it runs.
    pub state: RunState,
    /// Why it stopped or ended: `breakpoint`, `step`, `pause`, `exception`, `signal`, `panic`, `exited`, ….
    pub reason: Option<String>,
    /// The reason at length.
    pub description: Option<String>,
    /// The thread that stopped.
    pub thread: Option<ThreadShown>,
    /// Where it stopped.
    pub frame: Option<FrameShown>,
    /// The stack of that thread.
    pub frames: Vec<FrameShown>,
    /// The debuggee's exit code, where it is known.
    pub exit_code: Option<i64>,
    /// Breakpoints that are not set as they were asked for.
    pub breakpoints: Vec<BreakpointState>,
    /// What the debuggee wrote since the last result that showed output.
    pub output: String,
    /// The variables of the first frame of the user's, after a crash.
    pub locals: Option<LocalsReport>,
    /// What else is to be known.
    pub notes: Vec<String>,
}

impl RunReport {
    pub(crate) fn new(state: RunState) -> Self {
        Self {
            state,
            reason: None,
            description: None,
            thread: None,
            frame: None,
            frames: Vec::new(),
            exit_code: None,
            breakpoints: Vec::new(),
            output: String::new(),
            locals: None,
            notes: Vec::new(),
        }
    }

    /// The first line: `stopped: breakpoint at src/main.rs:44 in basic, thread 123`.
    #[must_use]
    pub fn headline(&self) -> String {
        let mut line = match self.state {
            RunState::Stopped => "stopped".to_owned(),
            RunState::Running => "running".to_owned(),
            RunState::Ended => "ended".to_owned(),
        };
        if let Some(reason) = &self.reason {
            let _ = write!(line, ": {reason}");
        }
        if let Some(frame) = &self.frame {
            let _ = write!(line, " at {} in {}", frame.place(), frame.function);
        }
        if let Some(thread) = &self.thread {
            let _ = write!(line, ", thread {}", thread.id);
            if let Some(name) = &thread.name {
                let _ = write!(line, " ({name})");
            }
        }
        if let Some(description) = &self.description {
            let _ = write!(line, "\n  {}", description.replace('\n', "\n  "));
        }
        line
    }

    /// All of it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = self.headline();
        let line = self.frame.as_ref().and_then(|frame| Some((frame.line?, frame.text.as_ref()?)));
        if let Some((line, code)) = line {
            let _ = write!(text, "\n  {line} | {code}");
        }
        let user = self.frames.iter().find(|frame| frame.user);
        if let Some(user) =
            user.filter(|user| self.frame.as_ref().is_some_and(|top| top.id != user.id))
        {
            let code = user.text.as_deref().unwrap_or_default();
            let _ = write!(text, "\n  called by {} in {} | {code}", user.place(), user.function);
        }
        self.stack(&mut text);
        if let Some(locals) = &self.locals {
            let _ =
                write!(text, "\nlocals of frame {}:\n{}", locals.frame, locals.variables.text());
        }
        let unset: Vec<_> = self.breakpoints.iter().filter(|b| b.status != Status::Set).collect();
        if !unset.is_empty() {
            text.push_str("\nbreakpoints that are not as they were asked for:");
            for breakpoint in unset.iter().take(TEXT_BREAKPOINTS) {
                let _ = write!(text, "\n  {}", breakpoint.text());
            }
            more(&mut text, unset.len().saturating_sub(TEXT_BREAKPOINTS), "breakpoint", "");
        }
        if !self.output.is_empty() {
            let _ = write!(text, "\noutput:\n{}", indented(&self.output));
        }
        for note in &self.notes {
            let _ = write!(text, "\n{note}");
        }
        text
    }

    /// The user's frames first: those of libraries above them are counted, and their own callers left out.
    fn stack(&self, text: &mut String) {
        if self.frames.is_empty() {
            return;
        }
        let users = self.frames.iter().filter(|frame| frame.user).count();
        let shown: Vec<&FrameShown> = if users == 0 {
            self.frames.iter().take(TEXT_FRAMES).collect()
        } else {
            self.frames.iter().filter(|frame| frame.user).take(TEXT_FRAMES).collect()
        };
        text.push_str("\nframes:");
        let top = self.frames.iter().position(|frame| frame.user).unwrap_or(0);
        if top > 0 {
            let _ = write!(text, "\n  … {top} of libraries above");
        }
        for frame in &shown {
            let _ = write!(text, "\n  {}  {}  {}", frame.id, frame.function, frame.place());
        }
        more(text, self.frames.len() - top - shown.len(), "frame", " (stack lists them)");
    }
}

fn more(text: &mut String, count: usize, what: &str, how: &str) {
    if count > 0 {
        let _ = write!(text, "\n  … {}{how}", counted(count, &format!("more {what}")));
    }
}

/// The lines of a text that is no word of ours, each set in.
pub(crate) fn indented(text: &str) -> String {
    let lines = text.strip_suffix('\n').unwrap_or(text).split('\n');
    lines.map(|line| format!("  {line}")).collect::<Vec<_>>().join("\n")
}

/// An adapter and whether it fits here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AdapterState {
    /// Its name, for the argument `adapter`.
    pub id: String,
    /// Whether both of it are here: a marker and a program.
    pub usable: bool,
    /// What would be started.
    pub command: Option<String>,
    /// The file that marks a project of its kind.
    pub marker: Option<String>,
    /// What is missing, or what else is to be known.
    pub why: Option<String>,
}

/// All adapters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct AdaptersReport {
    /// Each with whether it fits here.
    pub adapters: Vec<AdapterState>,
}

impl AdaptersReport {
    /// A line or two for each.
    #[must_use]
    pub fn text(&self) -> String {
        let line = |adapter: &AdapterState| {
            let mut line = format!("{}: ", adapter.id);
            line.push_str(if adapter.usable { "usable" } else { "not usable" });
            if let Some(command) = &adapter.command {
                let _ = write!(line, ", {command}");
            }
            if let Some(marker) = &adapter.marker {
                let _ = write!(line, ", marker {marker}");
            }
            if let Some(why) = &adapter.why {
                let _ = write!(line, "\n  {}", why.replace('\n', "\n  "));
            }
            line
        };
        self.adapters.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}
