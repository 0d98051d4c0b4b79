//! A turn as a person reads it: the model's text as it comes, and each call as a line with the part of its result that says most.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use agent_loop::{Conversation, TurnEvent, Watch};
use agent_tiers::{Run, WaitsFor, Watcher, What};
use agent_tool_core::{CallId, Event, ToolResult, clip, for_person};
use serde_json::Value;

use super::{
    again::Again,
    calls::Calls,
    cards::ChatCards,
    layout::{self, Layout, Seen},
    saved::Journal,
    screen::Screen,
};
use crate::{
    columns::{fold, one_row, with_margin},
    edge,
    pictures::Pictures,
    style::{ALERT, FAINT, STRONG, diff, in_style},
};

/// So many characters of a call's arguments are in its line.
const ARGUMENT_CHARS: usize = 100;

/// So many lines of a cell or of a command are shown before it runs.
const CODE_LINES: usize = 12;

/// So many lines of what a call had written are shown when it is cut off.
const CUT_LINES: usize = 4;

/// A call that is at work for so long is said to be.
const AT_WORK: Duration = Duration::from_secs(1);

/// What stands before the lines of a result.
const RESULT: &str = "    ";

/// What stands before the lines of code.
const CODE: &str = "    │ ";

/// Shows turns, and keeps what they came to for `/open`.
pub(crate) struct Turns {
    screen: Screen,
    cards: ChatCards,
    pictures: Pictures,
    journal: Journal,
    state: Mutex<State>,
}

struct State {
    calls: Calls,
    again: Again,
    /// What the model is at, and since when it gave no sign of it.
    model: Option<(String, Instant)>,
    /// What calls of the run write, during a turn.
    written: Option<Watcher>,
}

impl Turns {
    /// Shows the turns of a conversation that is gone on with, or of a new one.
    pub(crate) fn new(
        screen: Screen,
        cards: ChatCards,
        pictures: Pictures,
        journal: Journal,
        before: &Conversation,
    ) -> Self {
        let (calls, again) = (Calls::of(before, head), Again::default());
        let state = Mutex::new(State { calls, again, model: None, written: None });
        Self { screen, cards, pictures, journal, state }
    }

    /// A turn of this run begins.
    pub(crate) fn begin(&self, run: &Run) {
        self.state().written = Some(run.watch());
    }

    /// Shows the whole of a call; of the last one without a number.
    pub(crate) fn show(&self, number: Option<usize>) {
        let opened = self.state().calls.open(number);
        match opened {
            Ok(text) => {
                let (head, rest) = text.split_once('\n').unwrap_or((&text, ""));
                let columns = self.screen.columns();
                let mut rows = fold(head, columns, "", RESULT);
                rows.extend(with_margin(&diff(rest), columns, RESULT));
                self.screen.rows(&rows);
            }
            Err(why) => self.screen.line(&why),
        }
    }

    /// The calls of an earlier run of the program whose end is not on record, and how many calls there were.
    pub(crate) fn unknown(&self) -> (Vec<String>, usize) {
        let state = self.state();
        (state.calls.unknown().map(|call| call.head.clone()).collect(), state.calls.len())
    }

    /// Keeps what the person said.
    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }

    /// What goes on just now, a row for each call that is at work for some time.
    pub(crate) fn at_work(&self, run: &Run) -> Vec<String> {
        let live = run.live_calls();
        let mut state = self.state();
        state.take_written();
        let mut rows = Vec::new();
        let mut code = Vec::new();
        if let Some((what, since)) = &state.model
            && since.elapsed() >= AT_WORK
        {
            rows.push(format!("{what}, {} s", since.elapsed().as_secs()));
        }
        for call in state.calls.under_way() {
            // One that waits for a person, or for its turn, is not at work.
            let works = |live: &&agent_tiers::LiveCall| {
                live.call_id == call.id && live.waits_for == WaitsFor::Tool
            };
            let Some(live) = live.iter().find(works) else { continue };
            let long = Duration::from_millis(live.ms);
            if long < AT_WORK {
                continue;
            }
            code.extend(self.code(call));
            let last = call.written.last_line().map(|line| format!("  {line}")).unwrap_or_default();
            let name = edge::word(&call.name);
            rows.push(format!("[{}] {name} is at work, {} s{last}", call.number, long.as_secs()));
        }
        drop(state);
        if !code.is_empty() {
            self.screen.rows(&code);
        }
        rows
    }

    fn started(&self, id: &CallId, name: &str, args: &Value) {
        let mut state = self.state();
        let number = state.calls.len() + 1;
        let whole = head(number, name, args);
        // The question is on its card.
        let shown =
            if name == "ask_user" { head(number, name, &Value::Null) } else { whole.clone() };
        state.calls.begin(id.clone(), name, args, whole);
        drop(state);
        self.screen.line(&shown);
    }

    /// Notes what the model is at.
    fn model_is_at(&self, what: Option<String>) {
        let mut state = self.state();
        // The clock goes on while it is the same.
        let since = state.model.take().filter(|(before, _)| what.as_ref() == Some(before));
        state.model = what.map(|what| (what, since.map_or_else(Instant::now, |(_, since)| since)));
    }

    /// The code of a call that no card showed, once.
    fn code(&self, call: &mut super::calls::Kept) -> Vec<String> {
        if std::mem::replace(&mut call.code_shown, true) || self.cards.showed(&call.id) {
            return Vec::new();
        }
        let Some(code) = &call.code else { return Vec::new() };
        let columns = self.screen.columns();
        let lines: Vec<&str> = code.lines().collect();
        let shown = lines.iter().take(CODE_LINES).map(|line| in_style(FAINT, line).to_string());
        let more = lines.len().saturating_sub(CODE_LINES);
        let said = format!("… {more} more lines: /open {}", call.number);
        let more = (more > 0).then(|| in_style(FAINT, said).to_string());
        shown.chain(more).flat_map(|line| fold(&line, columns, CODE, CODE)).collect()
    }

    fn finished(&self, id: &CallId, name: &str, result: &ToolResult, took: Duration) {
        let text = match result {
            Ok(output) => output.joined_text(),
            Err(error) => error.message.clone(),
        };
        let mut state = self.state();
        let Some(call) = state.calls.find(id) else { return };
        let mut rows = self.code(call);
        call.end_with(for_person(&text));
        let number = call.number;
        let same = state.calls.same_as(id).filter(|_| result.is_ok());
        drop(state);
        let seen = if self.cards.showed(id) { Seen::OnCard } else { Seen::Not };
        let shown = match same {
            Some(same) => Layout::same_as(same),
            None => layout::of(name, result, number, seen),
        };
        let columns = self.screen.columns();
        let took = in_style(FAINT, format!("{:.1} s", took.as_secs_f64()));
        let end = format!("[{number}] {}: {}, {took}", edge::word(name), shown.summary);
        rows.extend(fold(&end, columns, "", RESULT));
        for line in &shown.lines {
            match result {
                Ok(_) => rows.push(one_row(line, columns, RESULT)),
                // What went wrong is read to its end.
                Err(_) => rows.extend(fold(line, columns, RESULT, RESULT)),
            }
        }
        self.screen.rows(&rows);
        if let Ok(output) = result {
            for part in &output.parts {
                if let Some(shown) = self.pictures.shown(part) {
                    self.screen.sequence(&shown);
                }
                if let Some(said) = self.pictures.save(part) {
                    self.screen.rows(&fold(&said, columns, RESULT, RESULT));
                }
            }
        }
    }

    /// Says of each call that the end of the turn cut off how long it was at work and what it had written.
    fn cut_off(&self) {
        let mut state = self.state();
        state.take_written();
        let columns = self.screen.columns();
        let mut rows = Vec::new();
        for call in state.calls.under_way() {
            rows.extend(self.code(call));
            let after = in_style(FAINT, format!("after {:.1} s", call.cut_off().as_secs_f64()));
            let (number, name) = (call.number, edge::word(&call.name));
            rows.push(format!("[{number}] {name}: {} {after}", in_style(ALERT, "cut off")));
            let written = call.written.text();
            let lines: Vec<&str> = written.lines().collect();
            let before = lines.len().saturating_sub(CUT_LINES);
            if before > 0 {
                let said = format!("… {before} lines before: /open {number}");
                rows.push(format!("{RESULT}{}", in_style(FAINT, said)));
            }
            rows.extend(
                lines[before..].iter().flat_map(|line| fold(line, columns, RESULT, RESULT)),
            );
        }
        drop(state);
        if !rows.is_empty() {
            self.screen.rows(&rows);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes what calls wrote since the last look. A nested call's is its caller's to show.
    fn take_written(&mut self) {
        let Some(written) = &mut self.written else { return };
        while let Some(watched) = written.try_next() {
            if let What::Event { call_id, event: Event::Output { text }, parent: None } =
                &watched.record.what
                && let Some(call) = self.calls.find(call_id)
            {
                call.written.push(text);
            }
        }
    }
}

impl Watch for Turns {
    fn event(&self, event: TurnEvent) {
        match &event {
            TurnEvent::StepStarted { .. } | TurnEvent::Reasoning(_) => {
                self.model_is_at(Some("the model thinks".to_owned()));
            }
            TurnEvent::Writing { tool, .. } => {
                self.model_is_at(Some(format!("the model writes a call of {}", edge::word(tool))));
            }
            _ => self.model_is_at(None),
        }
        match event {
            TurnEvent::Text(text) => {
                let new = self.state().again.text(&for_person(&text));
                if new.differs {
                    self.screen.aside("the answer begins anew:");
                }
                self.screen.piece(&new.text);
            }
            TurnEvent::CallStarted { call_id, name, args } => self.started(&call_id, &name, &args),
            TurnEvent::CallFinished { call_id, name, result, took } => {
                self.finished(&call_id, &name, &result, took);
                self.cards.finished(&call_id);
            }
            TurnEvent::Retrying { error, wait, time, .. } => {
                self.state().again.begin();
                let said = for_person(&error.to_string());
                let said = format!("{said}; asked again in {:.1} s (time {time})", wait.as_secs_f64());
                self.screen.line(&in_style(ALERT, said).to_string());
            }
            TurnEvent::Shortened { before, after, messages } => self.screen.aside(&format!(
                "old results in {messages} messages are sent shortened from here on: about {before} tokens are {after}"
            )),
            TurnEvent::Repeating { tool, times } => self.screen.aside(&format!(
                "{} came {times} times with the same result; the model was told",
                edge::word(&tool)
            )),
            TurnEvent::Message(message) => {
                self.state().again = Again::default();
                self.journal.add(&message);
            }
            TurnEvent::TurnEnded { end, .. } => {
                self.screen.end_text();
                self.cut_off();
                let mut state = self.state();
                (state.written, state.again) = (None, Again::default());
                drop(state);
                if !end.is_done() {
                    let said = for_person(&end.sentence());
                    self.screen.line(&in_style(ALERT, said).to_string());
                }
            }
            _ => {}
        }
    }
}

/// The first line of a call. The name is the model's own word, and may be of no tool at all.
fn head(number: usize, name: &str, args: &Value) -> String {
    let shown = in_style(STRONG, edge::word(name));
    let head = format!("[{number}] {shown} {}", summary(name, args));
    head.trim_end().to_owned()
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::summary;

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
}
