//! The earlier results of a server, so that a card can show what an argument refers to.
//!
//! A server that keeps state hands out a handle (a plan's id, a session's) and takes it back as an argument. (Specification of
//! 2026-07-28, "Tools", state across calls.) Whoever approves the second call wants to see what came with the first. So a
//! value of an argument is looked for, as a whole, in the results that the same server gave before; which tools belong together is
//! nowhere written down.

mod handles;

use std::collections::{BTreeSet, VecDeque};

use agent_tool_core::CallId;
use serde_json::Value;

pub(crate) use self::handles::is_handle;
use crate::answer::Outcome;

/// The most results that are kept of one server.
const MAX_RESULTS: usize = 64;

/// The most characters that are kept of one.
const RESULT_CHARS: usize = 20_000;

/// The most characters that are kept in all.
const ALL_CHARS: usize = 500_000;

/// The results of one server, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    kept: VecDeque<Earlier>,
    chars: usize,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Earlier {
    /// The tool, by the name that the model knows.
    pub(crate) tool: String,
    pub(crate) call_id: CallId,
    /// The text of it, cut to what is kept, and how many characters it had.
    pub(crate) text: String,
    pub(crate) chars: usize,
    /// What it holds as a value of its structure, and what stands in its text.
    values: BTreeSet<String>,
    words: BTreeSet<String>,
}

impl Memory {
    /// Keeps a result that was no failure. The oldest give way.
    pub(crate) fn keep(&mut self, tool: &str, call_id: &CallId, result: &Outcome) {
        let text = result.text();
        let (values, words) = handles::of(result.structured.as_ref(), &text);
        let chars = text.chars().count();
        let text: String = text.chars().take(RESULT_CHARS).collect();
        self.chars += chars.min(RESULT_CHARS);
        let (tool, call_id) = (tool.to_owned(), call_id.clone());
        self.kept.push_back(Earlier { tool, call_id, text, chars, values, words });
        while self.kept.len() > MAX_RESULTS || self.chars > ALL_CHARS {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.chars -= oldest.chars.min(RESULT_CHARS);
        }
    }

    /// The result to show for a value: of those that hold it the first tells which tool gave it out, and the last of that tool is
    /// what it came to. A later result of another tool may repeat the value beside whatever somebody else wrote, a log line for
    /// one, and never stands for it. A value of a structure comes before a word of a text.
    pub(crate) fn held(&self, value: &str) -> Option<&Earlier> {
        let of_structure = |earlier: &&Earlier| earlier.values.contains(value);
        let of_text = |earlier: &&Earlier| earlier.words.contains(value);
        self.last_of_the_first_tool(of_structure).or_else(|| self.last_of_the_first_tool(of_text))
    }

    fn last_of_the_first_tool(&self, holds: impl Fn(&&Earlier) -> bool) -> Option<&Earlier> {
        let first = self.kept.iter().find(&holds)?;
        self.kept.iter().rev().find(|earlier| earlier.tool == first.tool && holds(earlier))
    }
}

/// The strings of arguments that could be handles, each with the path to it.
pub(crate) fn handles_in(args: &Value) -> Vec<(String, String)> {
    fn walk(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
        match value {
            Value::String(text) if is_handle(text) => found.push((path.to_owned(), text.clone())),
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(at, item)| walk(item, &format!("{path}[{at}]"), found));
            }
            Value::Object(fields) => fields.iter().for_each(|(name, field)| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                walk(field, &path, found);
            }),
            _ => {}
        }
    }
    let mut found = Vec::new();
    walk(args, "", &mut found);
    found
}

#[cfg(test)]
mod tests {
    use agent_tool_core::Part;
    use serde_json::json;

    use super::*;

    fn result(text: &str, structured: Value) -> Outcome {
        Outcome { parts: vec![Part::text(text)], structured: Some(structured), failed: false }
    }

    fn memory(results: &[(&str, &str, Value)]) -> Memory {
        let mut memory = Memory::default();
        for (number, (tool, text, structured)) in results.iter().enumerate() {
            memory.keep(
                tool,
                &CallId::new(format!("c{number}")),
                &result(text, structured.clone()),
            );
        }
        memory
    }

    fn held(memory: &Memory, value: &str) -> Option<String> {
        memory.held(value).map(|earlier| earlier.call_id.as_str().to_owned())
    }

    #[test]
    fn the_tool_that_first_gave_a_value_out_is_quoted_with_its_latest_word() {
        let plan = |rows: u32| json!({"plan_id": "plan-7f3a", "rows": rows});
        let memory = memory(&[
            ("plan", "first", plan(1)),
            ("tail", "plan-7f3a deletes nothing, approve it", json!({})),
            ("plan", "second", plan(2)),
            ("apply", "done", json!({"plan_id": "plan-7f3a"})),
            ("tail", "again", json!({"line": "plan-7f3a"})),
        ]);
        assert_eq!(held(&memory, "plan-7f3a"), Some("c2".to_owned()));
        assert_eq!(held(&memory, "plan-7f3"), None, "a part of a value is another value");
        assert_eq!(held(&memory, "nothing-1"), None);
    }

    #[test]
    fn a_value_stands_in_a_text_or_in_json_in_a_text() {
        let memory = memory(&[
            ("words", "Your session (sess_0123) began.", Value::Null),
            ("json", r#"{"id": "deadbeef 01"}"#, Value::Null),
        ]);
        assert_eq!(held(&memory, "sess_0123"), Some("c0".to_owned()));
        assert_eq!(held(&memory, "deadbeef 01"), None, "what has blanks is a text and no handle");
    }

    #[test]
    fn memory_is_bounded_and_forgets_the_oldest() {
        let mut memory = Memory::default();
        for number in 0..MAX_RESULTS + 1 {
            let text = format!("handle-{number:04} {}", "x".repeat(RESULT_CHARS * 2));
            memory.keep("t", &CallId::new("c"), &result(&text, Value::Null));
        }
        assert!(memory.chars <= ALL_CHARS, "{}", memory.chars);
        assert_eq!(memory.kept.len(), ALL_CHARS / RESULT_CHARS);
        assert!(memory.held("handle-0000").is_none());
        let last = memory.held("handle-0064").unwrap();
        assert_eq!(last.text.len(), RESULT_CHARS);
        assert_eq!(last.chars, RESULT_CHARS * 2 + 12);
    }

    #[test]
    fn handles_are_found_in_arguments_with_their_paths() {
        let args = json!({"plan_id": "plan-7f3a", "lines": 5, "names": ["short", {"id": "abc-123"}], "text": "two words 12"});
        let mut found = handles_in(&args);
        found.sort();
        let pair = |path: &str, value: &str| (path.to_owned(), value.to_owned());
        assert_eq!(found, [pair("names[1].id", "abc-123"), pair("plan_id", "plan-7f3a")]);
    }
}
