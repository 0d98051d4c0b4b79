//! Turns for exclusive tools.

use std::{collections::HashMap, sync::Mutex};

use agent_tool_core::{Line, Place};

use crate::lock;

/// A line before each exclusive tool.
///
/// A place is taken when a call arrives, not when it has passed the gates: a call that waits for
/// a person keeps its place, so that a later call of the same session cannot overtake it.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    lines: Mutex<HashMap<String, Line>>,
}

impl Turns {
    /// Joins the line before this tool.
    pub(crate) fn join(&self, tool: &str) -> Place {
        self.line(tool).join()
    }

    /// Takes the turn if nobody has it and nobody waits for it.
    pub(crate) fn try_join(&self, tool: &str) -> Option<Place> {
        self.line(tool).try_join()
    }

    fn line(&self, tool: &str) -> Line {
        let mut lines = lock(&self.lines);
        match lines.get(tool) {
            Some(line) => line.clone(),
            None => lines.entry(tool.to_owned()).or_default().clone(),
        }
    }
}
