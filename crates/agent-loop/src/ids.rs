//! Ids of calls: those of the provider where they will do.

use std::collections::HashSet;

use agent_tool_core::Context;

/// The longest id that all providers take.
const ID_LIMIT: usize = 40;

/// Gives each call of a conversation an id that nothing else has.
///
/// Some servers number the calls of each answer anew, and workers of one run share a dispatch: an id
/// of the provider's is kept where it is free, and begins with the worker's own id where there is one.
#[derive(Debug)]
pub(crate) struct Ids {
    prefix: String,
    taken: HashSet<String>,
}

impl Ids {
    pub(crate) fn new(parent: &Context, taken: HashSet<String>) -> Self {
        let prefix = match parent.callers() {
            [] => String::new(),
            _ => format!("{}-", portable(parent.call_id().as_str())),
        };
        Self { prefix, taken }
    }

    pub(crate) fn make(&mut self, raw: &str) -> String {
        let wished = format!("{}{}", self.prefix, portable(raw));
        let free = |id: &String| id.len() <= ID_LIMIT && !self.taken.contains(id);
        let id = Some(wished).filter(|id| !raw.is_empty() && free(id)).unwrap_or_else(|| {
            let number = self.taken.len() + 1;
            let prefix = if self.prefix.len() > ID_LIMIT / 2 { "" } else { &self.prefix };
            let numbered = (number..).map(|number| format!("{prefix}call-{number}"));
            numbered.into_iter().find(free).unwrap_or_default()
        });
        self.taken.insert(id.clone());
        id
    }
}

fn portable(id: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    id.chars().map(|c| if fits(c) { c } else { '_' }).collect()
}
