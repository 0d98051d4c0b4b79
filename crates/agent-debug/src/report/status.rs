use serde::Serialize;

use super::indented;
use crate::breakpoints::BreakpointState;

/// The debuggee's output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct OutputReport {
    /// The last of it.
    pub output: String,
    /// How many bytes before it are not shown.
    pub before: u64,
    /// How many bytes of it are no longer kept.
    pub dropped: u64,
    /// How many bytes there were in all.
    pub total: u64,
    /// What the adapter itself said last.
    pub console: String,
}

/// Whether a session lives, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct StatusReport {
    /// `none`, `starting`, `running`, `stopped` or `ended`.
    pub state: String,
    /// The adapter's name.
    pub adapter: Option<String>,
    /// The program or the port.
    pub program: Option<String>,
    /// The debuggee's process id.
    pub pid: Option<u32>,
    /// Seconds since the start.
    pub age_s: Option<u64>,
    /// Seconds until the session's hard end.
    pub left_s: Option<u64>,
    /// Where it stopped last, or how it ended.
    pub detail: Option<String>,
    /// The exit code, where it is known.
    pub exit_code: Option<i64>,
    /// What the adapter did not answer.
    pub unresponsive: Option<String>,
    /// What became of the breakpoints.
    pub breakpoints: Vec<BreakpointState>,
    /// How many bytes of output there were.
    pub output_bytes: u64,
}

impl StatusReport {
    pub(crate) fn none(breakpoints: Vec<BreakpointState>) -> Self {
        Self {
            state: "none".to_owned(),
            adapter: None,
            program: None,
            pid: None,
            age_s: None,
            left_s: None,
            detail: None,
            exit_code: None,
            unresponsive: None,
            breakpoints,
            output_bytes: 0,
        }
    }

    /// A few lines.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = match (&self.adapter, &self.program) {
            (Some(adapter), Some(program)) => {
                let pid = self.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
                let age = self.age_s.unwrap_or(0);
                let left = match self.left_s {
                    Some(left) => format!(" ({} min left)", left / 60),
                    None => String::new(),
                };
                format!("{adapter}, {program}{pid}, started {age} s ago{left}\n{}", self.state)
            }
            _ => "no session".to_owned(),
        };
        if let Some(detail) = &self.detail {
            text.push_str(&format!(": {detail}"));
        }
        if let Some(what) = &self.unresponsive {
            text.push_str(&format!("\nunresponsive: {what}; it is asked again once it has answered that, and terminate ends the session"));
        }
        if !self.breakpoints.is_empty() {
            text.push_str("\nbreakpoints:");
            for breakpoint in &self.breakpoints {
                text.push_str(&format!("\n  {}", breakpoint.text()));
            }
        }
        if self.output_bytes > 0 {
            text.push_str(&format!("\noutput: {} bytes", self.output_bytes));
        }
        text
    }
}

impl OutputReport {
    /// The output, with what is missing of it.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        if self.before > 0 {
            text.push_str(&format!("… {} bytes earlier", self.before));
            if self.dropped > 0 {
                text.push_str(&format!(", {} of them dropped", self.dropped));
            }
            text.push_str(" …\n");
        }
        text.push_str(&self.output);
        if self.output.is_empty() {
            text.push_str("the program has written nothing");
        }
        if !self.console.is_empty() {
            text.push_str("\nthe debugger says:\n");
            text.push_str(&indented(&self.console));
        }
        text
    }
}
