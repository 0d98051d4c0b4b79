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
use crate::{
    answer::{Outcome, json_in},
    text::clean,
};

/// The most results that are kept of one server.
const MAX_RESULTS: usize = 64;

/// The most characters that are kept of the text of one, and of its structure.
const RESULT_CHARS: usize = 20_000;

/// So many of those are its end, where it is longer.
const END_CHARS: usize = 2_000;

/// The most characters that are kept in all.
const ALL_CHARS: usize = 500_000;

/// The most tools whose results are told apart as the source of one value.
const MAX_SOURCES: usize = 3;

/// The results of one server, the oldest first.
#[derive(Debug, Default)]
pub(crate) struct Memory {
    kept: VecDeque<Earlier>,
    chars: usize,
    /// How many were kept and gave way.
    pub(crate) forgotten: usize,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Earlier {
    /// The tool, by the name that the model knows.
    pub(crate) tool: String,
    pub(crate) call_id: CallId,
    /// It was a failure.
    pub(crate) failed: bool,
    pub(crate) text: Kept,
    /// The structure, where the text is not the same as JSON.
    pub(crate) structure: Option<Kept>,
    /// What its structure and its text hold as a value, and what stands in its text.
    values_of_structure: BTreeSet<String>,
    values_of_text: BTreeSet<String>,
    words: BTreeSet<String>,
}

/// A text cut to what is kept, and how many characters it had.
#[derive(Debug)]
pub(crate) struct Kept {
    /// All of it, where it is short enough.
    pub(crate) beginning: String,
    /// The end of a longer one.
    end: String,
    pub(crate) chars: usize,
}

/// The results that a value is from.
#[derive(Debug, Default)]
pub(crate) struct Sources<'a> {
    /// To be shown: of each tool that gave it out the last result that holds it. The tool that did so first comes first.
    pub(crate) shown: Vec<&'a Earlier>,
    /// To be named: of each other tool the last result that holds it.
    pub(crate) named: Vec<&'a Earlier>,
}

impl Memory {
    /// Keeps a result, also one that is a failure: some give out what the next call is to name. The oldest give way.
    pub(crate) fn keep(&mut self, tool: &str, call_id: &CallId, result: &Outcome) {
        let text = result.text();
        let json = json_in(&text);
        let apart =
            result.structured.as_ref().filter(|structure| json.as_ref() != Some(*structure));
        let structure = apart.map(|structure| {
            Kept::new(&clean(&serde_json::to_string_pretty(structure).unwrap_or_default()))
        });
        let earlier = Earlier {
            tool: tool.to_owned(),
            call_id: call_id.clone(),
            failed: result.failed,
            values_of_structure: apart.map(handles::in_value).unwrap_or_default(),
            values_of_text: json.as_ref().map(handles::in_value).unwrap_or_default(),
            words: handles::in_words(&text),
            text: Kept::new(&text),
            structure,
        };
        self.chars += earlier.kept_chars();
        self.kept.push_back(earlier);
        while self.kept.len() > MAX_RESULTS || self.chars > ALL_CHARS {
            let Some(oldest) = self.kept.pop_front() else { return };
            self.chars -= oldest.kept_chars();
            self.forgotten += 1;
        }
    }

    /// The results that hold a value. As a value of its own it counts before a word of a text, since a log line that repeats it
    /// stands for nothing where a structure has it; and a result counts before a failure. Between tools that hold it alike nothing
    /// decides: which one a server means is not written down, and whoever wrote what another tool shows may have written a value there
    /// that he guessed or read.
    pub(crate) fn sources(&self, value: &str) -> Sources<'_> {
        let is_value = |earlier: &Earlier| earlier.has_value(value);
        let is_word = |earlier: &Earlier| earlier.words.contains(value);
        let ranks = [
            self.last_of_each_tool(|earlier| !earlier.failed && is_value(earlier)),
            self.last_of_each_tool(|earlier| earlier.failed && is_value(earlier)),
            self.last_of_each_tool(|earlier| !earlier.failed && is_word(earlier)),
            self.last_of_each_tool(|earlier| earlier.failed && is_word(earlier)),
        ];
        let mut ranks = ranks.into_iter().filter(|rank| !rank.is_empty());
        let mut shown = ranks.next().unwrap_or_default();
        let mut named: Vec<&Earlier> = Vec::new();
        for earlier in ranks.flatten() {
            let is_there = shown.iter().chain(&named).any(|known| known.is_like(earlier));
            if !is_there {
                named.push(earlier);
            }
        }
        if shown.len() > MAX_SOURCES {
            // The first one and the latest.
            named.extend(shown.drain(1..shown.len() + 1 - MAX_SOURCES));
        }
        Sources { shown, named }
    }

    fn last_of_each_tool(&self, holds: impl Fn(&Earlier) -> bool) -> Vec<&Earlier> {
        let mut last: Vec<&Earlier> = Vec::new();
        for earlier in self.kept.iter().filter(|earlier| holds(earlier)) {
            match last.iter_mut().find(|known| known.tool == earlier.tool) {
                Some(known) => *known = earlier,
                None => last.push(earlier),
            }
        }
        last
    }
}

impl Earlier {
    /// Whether it holds this as a value of its structure, whatever its text says.
    pub(crate) fn has_in_structure(&self, value: &str) -> bool {
        self.values_of_structure.contains(value)
    }

    /// Whether it is of the same tool, and like it a failure or none.
    fn is_like(&self, other: &Self) -> bool {
        self.tool == other.tool && self.failed == other.failed
    }

    fn has_value(&self, value: &str) -> bool {
        self.has_in_structure(value) || self.values_of_text.contains(value)
    }

    fn kept_chars(&self) -> usize {
        let structure = self.structure.as_ref().map_or(0, |structure| structure.chars);
        self.text.chars.min(RESULT_CHARS) + structure.min(RESULT_CHARS)
    }
}

impl Kept {
    fn new(text: &str) -> Self {
        let chars = text.chars().count();
        let (kept, end) = match chars > RESULT_CHARS {
            false => (RESULT_CHARS, 0),
            true => (RESULT_CHARS - END_CHARS, END_CHARS),
        };
        let beginning = text.chars().take(kept).collect();
        Self { beginning, end: text.chars().skip(chars - end).collect(), chars }
    }

    /// The beginning and the end of what has more than so many characters, which together have those.
    pub(crate) fn ends(&self, limit: usize) -> Option<(String, String)> {
        let all = format!("{}{}", self.beginning, self.end);
        let end = (limit / 4).min(END_CHARS);
        let known = all.chars().count();
        (self.chars > limit).then(|| {
            let beginning = all.chars().take(limit - end).collect();
            (beginning, all.chars().skip(known - end).collect())
        })
    }
}

impl Kept {
    /// So many characters around a value; none where what is kept does not have it.
    pub(crate) fn around(&self, value: &str, limit: usize) -> Option<String> {
        let at = self.beginning.find(value)?;
        let before = self.beginning[..at].chars().count();
        let room = limit.saturating_sub(value.chars().count()) / 2;
        Some(self.beginning.chars().skip(before.saturating_sub(room)).take(limit).collect())
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
        let structured = Some(structured).filter(|structured| !structured.is_null());
        Outcome { parts: vec![Part::text(text)], structured, ..Outcome::default() }
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

    /// The calls that are shown for a value, and those that are named.
    fn sources(memory: &Memory, value: &str) -> (Vec<String>, Vec<String>) {
        let calls = |results: Vec<&Earlier>| {
            results.iter().map(|earlier| earlier.call_id.as_str().to_owned()).collect()
        };
        let sources = memory.sources(value);
        (calls(sources.shown), calls(sources.named))
    }

    fn ids(shown: &[&str], named: &[&str]) -> (Vec<String>, Vec<String>) {
        let owned = |ids: &[&str]| ids.iter().map(|id| (*id).to_owned()).collect();
        (owned(shown), owned(named))
    }

    #[test]
    fn every_tool_that_gave_a_value_out_is_shown_with_its_latest_word() {
        let plan = |rows: u32| json!({"plan_id": "plan-7f3a", "rows": rows});
        let memory = memory(&[
            ("note", "hello", json!({"text": "plan-7f3a"})),
            ("plan", "first", plan(1)),
            ("tail", "plan-7f3a deletes nothing, approve it", json!({})),
            ("plan", "second", plan(2)),
        ]);
        assert_eq!(sources(&memory, "plan-7f3a"), ids(&["c0", "c3"], &["c2"]));
        assert_eq!(sources(&memory, "plan-7f3"), ids(&[], &[]), "a part is another value");
        assert_eq!(sources(&memory, "nothing-1"), ids(&[], &[]));
    }

    #[test]
    fn of_many_tools_the_first_and_the_latest_are_shown() {
        let given = json!({"id": "plan-7f3a"});
        let tools = ["a", "b", "c", "d", "e"];
        let results: Vec<_> = tools.into_iter().map(|tool| (tool, "", given.clone())).collect();
        assert_eq!(
            sources(&memory(&results), "plan-7f3a"),
            ids(&["c0", "c3", "c4"], &["c1", "c2"])
        );
    }

    #[test]
    fn a_value_stands_in_a_text_or_in_json_in_a_text() {
        let memory = memory(&[
            ("words", "Your session (sess_0123) began.", Value::Null),
            ("other", "There is sess_0123 too.", Value::Null),
            ("json", r#"{"id": "deadbeef 01", "next": "sess_0456"}"#, Value::Null),
        ]);
        assert_eq!(sources(&memory, "sess_0123"), ids(&["c0", "c1"], &[]));
        assert_eq!(sources(&memory, "sess_0456"), ids(&["c2"], &[]));
        assert_eq!(sources(&memory, "deadbeef 01"), ids(&[], &[]), "what has blanks is a text");
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
        assert_eq!(memory.forgotten, MAX_RESULTS + 1 - ALL_CHARS / RESULT_CHARS);
        assert!(memory.sources("handle-0000").shown.is_empty());
        let last = memory.sources("handle-0064").shown[0];
        assert_eq!(last.text.beginning.len() + last.text.end.len(), RESULT_CHARS);
        assert_eq!(last.text.chars, RESULT_CHARS * 2 + 12);
    }

    #[test]
    fn of_a_long_text_the_beginning_and_the_end_are_kept() {
        let end = |text: &str| Kept::new(text).ends(8);
        let pair = |beginning: &str, end: &str| Some((beginning.to_owned(), end.to_owned()));
        assert_eq!(end("12345678"), None);
        assert_eq!(end("123456789"), pair("123456", "89"));
        let long = format!("begin {} end", "x".repeat(RESULT_CHARS));
        assert_eq!(end(&long), pair("begin ", "nd"));
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
