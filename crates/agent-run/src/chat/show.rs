//! A turn as a person reads it: the model's text as it comes, and each call as a line with the part of its result that says most.

use std::{
    sync::{Mutex, MutexGuard},
    time::{Duration, Instant},
};

use agent_loop::{Conversation, End, Message, Outcome, Tally, TurnEvent, Watch};
use agent_tiers::{LiveCall, Run, WaitsFor, Watcher, What};
use agent_tool_core::{CallId, Event, Part, ToolResult, clip};
use serde_json::Value;

use super::{
    again::Again,
    calls::{Calls, Head, program_key},
    cards::ChatCards,
    layout::{self, Seen},
    loops::Loops,
    saved::{Journal, Stage},
    screen::Screen,
};
use crate::{
    columns::{fold, one_row, with_margin},
    commands::counted,
    edge, lock,
    pictures::Pictures,
    style::{ALERT, FAINT, STRONG, diff, in_style},
    visible::{piece_readable, readable},
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

/// What is kept of a call that was cut off begins with it.
const HAD_WRITTEN: &str = "what it had written until then:";

/// What is said of an answer without a word or a call.
pub(super) const NOTHING: &str = "the model answered nothing";

/// So many calls of workers have a row while they are at work.
const WORKER_ROWS: usize = 4;

/// The tool that asks a question: its work is the person's.
const ASKS: &str = "ask_user";

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
    /// Whether the model's answer has anything in it so far.
    answers: bool,
    /// What the person was told of the model's loops in this turn.
    loops: Loops,
    /// For what the model's server was asked again last.
    refused: String,
    /// What turns used since it was taken.
    tally: Tally,
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
        let state = Mutex::new(State {
            calls,
            again,
            model: None,
            answers: false,
            loops: Loops::default(),
            refused: String::new(),
            tally: Tally::default(),
            written: None,
        });
        Self { screen, cards, pictures, journal, state }
    }

    /// A turn of this run begins.
    pub(crate) fn begin(&self, run: &Run) {
        let mut state = self.state();
        state.written = Some(run.watch());
        state.loops = Loops::default();
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
        (state.calls.unknown().map(|call| call.head.row.clone()).collect(), state.calls.len())
    }

    /// What turns used since this was asked last, those that were cut off too.
    pub(crate) fn take_tally(&self) -> Tally {
        std::mem::take(&mut self.state().tally)
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
            let works = |live: &&LiveCall| {
                live.call_id == call.id && live.waits_for == WaitsFor::Tool && live.name != ASKS
            };
            let Some(live) = live.iter().find(works) else { continue };
            let long = Duration::from_millis(live.works_ms);
            if long < AT_WORK {
                continue;
            }
            code.extend(self.code(call));
            let last = call.progress.clone().or_else(|| call.written.last_line());
            let last = last.map(|line| format!("  {line}")).unwrap_or_default();
            let name = edge::word(&call.name);
            rows.push(format!("[{}] {name} is at work, {} s{last}", call.number, long.as_secs()));
        }
        drop(state);
        if !code.is_empty() {
            self.screen.rows(&code);
        }
        rows.extend(of_workers(&live));
        rows
    }

    fn started(&self, id: &CallId, name: &str, args: &Value) {
        let mut state = self.state();
        let number = state.calls.len() + 1;
        let head = head(number, name, args);
        // The question is on its card.
        let shown = match name {
            ASKS => self::head(number, name, &Value::Null).row,
            _ => head.row.clone(),
        };
        state.calls.begin(id.clone(), name, args, head);
        state.answers = true;
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
        state.take_written();
        let Some(call) = state.calls.find(id) else { return };
        // Its time at a card is the person's.
        let took = call.worked.unwrap_or(took);
        let mut rows = self.code(call);
        call.end_with(readable(&text));
        let number = call.number;
        let same = state.calls.same_as(id).filter(|_| result.is_ok());
        drop(state);
        let seen = if self.cards.showed(id) { Seen::OnCard } else { Seen::Not };
        let shown = layout::of(name, result, number, seen);
        let shown = match same {
            Some(same) => shown.same_as(same),
            None => shown,
        };
        let columns = self.screen.columns();
        let took = in_style(FAINT, format!("{:.1} s", took.as_secs_f64()));
        let end = format!("[{number}] {}: {}, {took}", edge::word(name), shown.summary);
        rows.extend(fold(&end, columns, "", RESULT));
        for line in &shown.lines {
            match result {
                Ok(_) => rows.push(one_row(line, columns, RESULT)),
                // What went wrong is read to its end.
                Err(_) => rows.extend(with_margin(line, columns, RESULT)),
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

    /// A message as it is kept: with what the calls that were cut off had written, which nobody else keeps.
    fn with_written(&self, message: &Message) -> Option<Message> {
        let Message::Tool { results } = message else { return None };
        let mut state = self.state();
        state.take_written();
        let mut results = results.clone();
        let mut any = false;
        for result in results.iter_mut().filter(|result| result.outcome == Outcome::Interrupted) {
            let call = state.calls.find(&CallId::new(result.call_id.as_str()));
            if let Some(written) = call.and_then(|call| call.written.kept()) {
                result.parts.push(Part::text(format!("{HAD_WRITTEN}\n{written}")));
                any = true;
            }
        }
        any.then_some(Message::Tool { results })
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
        lock(&self.state)
    }
}

impl State {
    /// Takes what calls wrote since the last look. A nested call's is its caller's to show.
    fn take_written(&mut self) {
        let Some(written) = &mut self.written else { return };
        while let Some(watched) = written.try_next() {
            match &watched.record.what {
                What::Event { call_id, event: Event::Output { text }, parent: None } => {
                    if let Some(call) = self.calls.find(call_id) {
                        call.written.push(text);
                        call.progress = None;
                    }
                }
                What::Event {
                    call_id,
                    event: Event::Progress { message, done, total },
                    parent: None,
                } => {
                    if let Some(call) = self.calls.find(call_id) {
                        let said = counted(&clip(message, ARGUMENT_CHARS).text, *done, *total);
                        call.progress = Some(edge::row(&said));
                    }
                }
                What::Finished { call_id, worked_ms, .. }
                | What::Cancelled { call_id, worked_ms, .. } => {
                    if let Some(call) = self.calls.find(call_id) {
                        call.worked = Some(Duration::from_millis(worked_ms.unwrap_or_default()));
                    }
                }
                _ => {}
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
            TurnEvent::StepStarted { step, .. } => {
                let mut state = self.state();
                state.answers = false;
                state.loops.step(step);
            }
            TurnEvent::Text(text) => {
                self.state().answers |= !text.trim().is_empty();
                let new = self.state().again.text(&piece_readable(&text));
                if new.differs {
                    self.screen.aside("the answer begins anew:");
                }
                self.screen.piece(&new.text);
            }
            TurnEvent::CallStarted { call_id, name, args } => {
                self.journal.stage(&call_id, Stage::Begun);
                self.started(&call_id, &name, &args);
            }
            TurnEvent::CallFinished { call_id, name, result, took } => {
                self.finished(&call_id, &name, &result, took);
                self.cards.finished(&call_id);
            }
            TurnEvent::Retrying { error, wait, time, most, .. } => {
                let mut state = self.state();
                state.again.begin();
                let said = edge::retrying(&error, &mut state.refused, wait, (time, most));
                drop(state);
                self.screen.line(&in_style(ALERT, said).to_string());
            }
            TurnEvent::Shortened { before, after, messages } => self.screen.aside(&format!(
                "old results in {messages} messages are sent shortened from here on: about {before} tokens are {after}"
            )),
            TurnEvent::Repeating { tool, times } if self.state().loops.is_news(&tool, times) => {
                self.screen.aside(&format!(
                    "{} came {times} times with the same result; the model is told so each time",
                    edge::word(&tool)
                ));
            }
            TurnEvent::Message(message) => {
                self.state().again = Again::default();
                match self.with_written(&message) {
                    Some(kept) => self.journal.add(&kept),
                    None => self.journal.add(&message),
                }
            }
            TurnEvent::TurnEnded { end, tally } => {
                self.screen.end_text();
                self.cut_off();
                let mut state = self.state();
                (state.written, state.again) = (None, Again::default());
                state.tally.merge(&tally);
                let nothing = matches!(end, End::Done) && !state.answers;
                drop(state);
                if nothing {
                    self.screen.aside(NOTHING);
                }
                if !end.is_done() {
                    let said = edge::end(&end);
                    self.screen.line(&in_style(ALERT, said).to_string());
                }
            }
            _ => {}
        }
    }
}

/// The first line of a call. The name is the model's own word, and may be of no tool at all.
fn head(number: usize, name: &str, args: &Value) -> Head {
    let shown = in_style(STRONG, edge::word(name));
    let head = |wish: String| format!("[{number}] {shown} {wish}").trim_end().to_owned();
    let mut rest = args.clone();
    if let (Some(key), Some(rest)) = (program_key(args), rest.as_object_mut()) {
        rest.remove(key);
    }
    let whole = |args| head(readable(&wish(name, args)));
    Head { row: head(summary(name, args)), whole: whole(args), above_code: whole(&rest) }
}

/// Rows for calls of workers that are at work for some time.
fn of_workers(live: &[LiveCall]) -> Vec<String> {
    let long = live.iter().filter_map(|live| {
        let worker = live.callers.first().and_then(|caller| id_of(&caller.name))?;
        let seconds = live.works_ms / 1_000;
        let works = live.callers.len() == 1 && live.waits_for == WaitsFor::Tool && seconds > 0;
        works.then(|| format!("{worker}: {} is at work, {seconds} s", edge::word(&live.name)))
    });
    let mut rows: Vec<String> = long.collect();
    rows.sort();
    let more = rows.len().saturating_sub(WORKER_ROWS);
    rows.truncate(WORKER_ROWS);
    rows.extend((more > 0).then(|| format!("{more} more calls of workers are at work: /workers")));
    rows
}

/// The id in a worker's name, such as `w1 (label)`; none of another caller's.
pub(super) fn id_of(name: &str) -> Option<&str> {
    let (id, _) = name.split_once(" (")?;
    let number = id.strip_prefix('w')?;
    (!number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())).then_some(id)
}

/// What a call is about, in a line that is cut where it is long.
pub(crate) fn summary(name: &str, args: &Value) -> String {
    readable(&clip(&wish(name, args), ARGUMENT_CHARS).text)
}

fn wish(name: &str, args: &Value) -> String {
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
    words.join(" ").split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{head, id_of, summary};

    #[test]
    fn the_whole_of_a_call_is_kept() {
        let command = "echo ".repeat(60) + "end";
        let head = head(1, "shell", &json!({"command": command}));
        assert!(head.whole.ends_with(&command) && !head.row.contains("end"), "{}", head.row);
        // Above a command that stands whole below it nothing of it is repeated.
        let above = |name: &str, args| plain(&self::head(1, name, &args).above_code);
        assert_eq!(above("shell", json!({"command": "cd a\nls"})), "[1] shell");
        let cell = json!({"code": "1\n2", "description": "count"});
        assert_eq!(above("eval", cell), "[1] eval count");
        let call = json!({"command": "a\nb", "place": "here"});
        assert_eq!(above("mcp__x__run", call), "[1] mcp__x__run place=here");
    }

    fn plain(row: &str) -> String {
        anstream::adapter::strip_str(row).to_string()
    }

    #[test]
    fn a_worker_is_known_by_its_id() {
        assert_eq!(id_of("w12 (some label)"), Some("w12"));
        for name in ["eval", "w1", "x1 (label)", "w (label)", "wide (label)"] {
            assert_eq!(id_of(name), None, "{name}");
        }
    }

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
