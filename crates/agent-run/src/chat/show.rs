//! A turn as a person reads it: the model's text as it comes, and each call as a line with the part of its result that says most.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use agent_loop::{TurnEvent, Watch};
use agent_tool_core::{CallId, ToolResult, clip, for_person};
use serde_json::Value;

use super::{saved::Journal, screen::Screen};
use crate::{
    pictures::Pictures,
    style::{ALERT, FAINT, STRONG, diff, in_style},
};

/// So many characters of a call's arguments are in its line.
const ARGUMENT_CHARS: usize = 100;

/// So many characters of a line of a result are shown.
const LINE_CHARS: usize = 200;

/// So many lines of a cell or of a command are shown before it runs.
const CODE_LINES: usize = 12;

/// Which lines of a result are shown at once; the rest is behind `/open`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    First(usize),
    Last(usize),
}

/// What a person reads of each tool's result. What is not here shows its first lines.
const SHOWN: [(&str, Shown); 12] = [
    ("read", Shown::First(0)),
    ("search", Shown::First(5)),
    ("ast_grep", Shown::First(8)),
    ("ast_edit", Shown::First(20)),
    ("shell", Shown::Last(12)),
    ("eval", Shown::First(20)),
    ("debug", Shown::First(16)),
    ("lsp", Shown::First(10)),
    ("write", Shown::First(12)),
    ("edit", Shown::First(12)),
    ("apply_patch", Shown::First(16)),
    ("lsp_rename", Shown::First(12)),
];

const SHOWN_ELSE: Shown = Shown::First(4);

/// Shows turns, and keeps what they came to for `/open`.
pub(crate) struct Turns {
    screen: Screen,
    pictures: Pictures,
    journal: Journal,
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    /// The calls of the conversation so far, numbered from 1.
    calls: Vec<Opened>,
}

/// A call that can be opened.
struct Opened {
    id: CallId,
    head: String,
    text: Option<String>,
}

impl Turns {
    pub(crate) fn new(screen: Screen, pictures: Pictures, journal: Journal) -> Self {
        Self { screen, pictures, journal, kept: Mutex::default() }
    }

    /// The whole of a call's result; the last call's without a number.
    pub(crate) fn open(&self, number: Option<usize>) -> Result<String, String> {
        let kept = self.kept();
        let count = kept.calls.len();
        let found = match number {
            Some(number) => number.checked_sub(1).and_then(|index| kept.calls.get(index)),
            None => kept.calls.last(),
        };
        match found {
            Some(call) => {
                let text = call.text.as_deref().unwrap_or("(it has not ended)");
                Ok(format!("{}\n{text}", call.head))
            }
            None if count == 0 => Err("no tool was called yet".to_owned()),
            None => Err(format!("there are calls 1 to {count}")),
        }
    }

    /// Keeps what the person said.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    fn started(&self, id: &CallId, name: &str, args: &Value) {
        let mut kept = self.kept();
        let number = kept.calls.len() + 1;
        // The name is the model's own word, and may be of no tool at all.
        let shown = for_person(name);
        let head = format!("[{number}] {} {}", in_style(STRONG, shown), summary(name, args));
        kept.calls.push(Opened { id: id.clone(), head: head.clone(), text: None });
        drop(kept);
        self.screen.line(&head);
        let code = ["code", "command"].iter().find_map(|key| args[key].as_str());
        if let Some(code) = code.filter(|code| code.trim().contains('\n')) {
            let code = for_person(code);
            let lines: Vec<&str> = code.trim().lines().collect();
            for line in lines.iter().take(CODE_LINES) {
                self.screen.line(&in_style(FAINT, format!("    │ {line}")).to_string());
            }
            if lines.len() > CODE_LINES {
                let more = lines.len() - CODE_LINES;
                self.screen
                    .line(&in_style(FAINT, format!("    │ … {more} more lines")).to_string());
            }
        }
    }

    fn finished(&self, id: &CallId, name: &str, result: &ToolResult, took: Duration) {
        let seconds = took.as_secs_f64();
        let (text, failed) = match result {
            Ok(output) => (output.joined_text(), None),
            Err(error) => (error.message.clone(), Some(error.code.clone())),
        };
        let text = for_person(&text);
        let mut kept = self.kept();
        let found = kept.calls.iter().rposition(|call| call.id == *id);
        let number = found.map_or(0, |index| index + 1);
        if let Some(call) = found.and_then(|index| kept.calls.get_mut(index)) {
            call.text = Some(text.clone());
        }
        drop(kept);
        let lines: Vec<&str> = text.lines().collect();
        let count = match lines.len() {
            0 => "nothing".to_owned(),
            1 => "1 line".to_owned(),
            count => format!("{count} lines"),
        };
        let end = match &failed {
            Some(code) => in_style(ALERT, code).to_string(),
            None => in_style(FAINT, count).to_string(),
        };
        let took = in_style(FAINT, format!("{seconds:.1} s"));
        self.screen.line(&format!("[{number}] {}: {end}, {took}", for_person(name)));
        for line in shown(name, &lines, failed.is_some(), number) {
            self.screen.line(&line);
        }
        if let Ok(output) = result {
            for said in output.parts.iter().filter_map(|part| self.pictures.save(part)) {
                self.screen.line(&format!("    {said}"));
            }
        }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Watch for Turns {
    fn event(&self, event: TurnEvent) {
        match event {
            TurnEvent::Text(text) => self.screen.piece(&for_person(&text)),
            TurnEvent::CallStarted { call_id, name, args } => self.started(&call_id, &name, &args),
            TurnEvent::CallFinished { call_id, name, result, took } => {
                self.finished(&call_id, &name, &result, took);
            }
            TurnEvent::Retrying { error, wait, time, void } => {
                let again = if void > 0 { "; what stands above comes again" } else { "" };
                let said = for_person(&error.to_string());
                let said = format!(
                    "{said}; asked again in {:.1} s (time {time}){again}",
                    wait.as_secs_f64()
                );
                self.screen.line(&in_style(ALERT, said).to_string());
            }
            TurnEvent::Shortened { before, after, messages } => {
                let said = format!(
                    "old results in {messages} messages are sent shortened from here on: about {before} tokens are {after}"
                );
                self.screen.line(&in_style(FAINT, said).to_string());
            }
            TurnEvent::Repeating { tool, times } => {
                let tool = for_person(&tool);
                let said =
                    format!("{tool} came {times} times with the same result; the model was told");
                self.screen.line(&in_style(FAINT, said).to_string());
            }
            TurnEvent::Message(message) => self.journal.add(&message),
            TurnEvent::TurnEnded { end, .. } => {
                self.screen.end_line();
                if !end.is_done() {
                    let said = for_person(&end.sentence());
                    self.screen.line(&in_style(ALERT, said).to_string());
                }
            }
            _ => {}
        }
    }
}

/// What a call is about, in a line.
pub(crate) fn summary(name: &str, args: &Value) -> String {
    let text = |key: &str| args[key].as_str().map(str::to_owned);
    let words: Vec<String> = match name {
        "shell" => text("command").into_iter().collect(),
        "eval" => text("description").or_else(|| text("code")).into_iter().collect(),
        "debug" => ["op", "program", "file", "expression"].into_iter().filter_map(text).collect(),
        "lsp" | "lsp_rename" => {
            ["action", "symbol", "new_name", "file", "query"].into_iter().filter_map(text).collect()
        }
        "ask_user" => text("question").into_iter().collect(),
        "vibe_spawn" => ["label", "tier"].into_iter().filter_map(text).collect(),
        _ => {
            let object = args.as_object().into_iter().flatten();
            // Texts of files are long, and in the result.
            let short = object.filter(|(key, _)| !["content", "patch"].contains(&key.as_str()));
            short
                .map(|(key, value)| match value {
                    Value::String(text) => format!("{key}={text}"),
                    other => format!("{key}={other}"),
                })
                .collect()
        }
    };
    let line = words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ");
    for_person(&clip(&line, ARGUMENT_CHARS).text)
}

/// The lines of a result that are shown at once.
fn shown(name: &str, lines: &[&str], failed: bool, number: usize) -> Vec<String> {
    let rule = SHOWN.iter().find(|(tool, _)| *tool == name).map_or(SHOWN_ELSE, |(_, rule)| *rule);
    let rule = if failed { SHOWN_ELSE } else { rule };
    let (range, before, after) = match rule {
        Shown::First(most) if lines.len() <= most => (0..lines.len(), 0, 0),
        Shown::First(most) => (0..most, 0, lines.len() - most),
        Shown::Last(most) if lines.len() <= most => (0..lines.len(), 0, 0),
        Shown::Last(most) => (lines.len() - most..lines.len(), lines.len() - most, 0),
    };
    let more = |count: usize, place: &str| {
        let lines = if count == 1 { "line" } else { "lines" };
        let said = format!("    … {count} {lines} {place}: /open {number}");
        (count > 0).then(|| in_style(FAINT, said).to_string())
    };
    let body = lines[range].iter().map(|line| {
        let line = diff(&clip(line, LINE_CHARS).text);
        format!("    {}", line.trim_end_matches('\n'))
    });
    more(before, "before").into_iter().chain(body).chain(more(after, "more")).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{shown, summary};

    #[test]
    fn a_call_is_said_in_a_line() {
        let cases = [
            ("shell", json!({"command": "ls -la\n  pwd"}), "ls -la pwd"),
            ("search", json!({"pattern": "a b", "max_results": 3}), "pattern=a b max_results=3"),
            ("write", json!({"path": "a", "content": "long"}), "path=a"),
            ("debug", json!({"op": "launch", "program": "x"}), "launch x"),
            ("ask_user", json!({"question": "Which\u{1b}[31m?"}), "Which?"),
        ];
        for (name, args, expected) in cases {
            assert_eq!(summary(name, &args), expected, "{name}");
        }
    }

    #[test]
    fn the_end_of_a_command_and_the_beginning_of_a_search_are_shown() {
        let lines: Vec<String> = (1..=20).map(|number| number.to_string()).collect();
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        let told = shown("search", &lines, false, 7);
        assert_eq!((told.len(), told[0].as_str()), (6, "    1"));
        assert!(told[5].contains("15 lines more: /open 7"), "{}", told[5]);
        let told = shown("shell", &lines, false, 7);
        assert_eq!((told.len(), told[12].as_str()), (13, "    20"));
        assert!(told[0].contains("8 lines before: /open 7"), "{}", told[0]);
        assert!(shown("read", &lines, false, 1)[0].contains("20 lines more"));
        assert_eq!(shown("read", &lines[..1], true, 1), ["    1"]);
    }
}
