//! The calls of a conversation, numbered from 1, so that each can be opened.

use std::time::Duration;

use agent_loop::{Conversation, Message};
use agent_tool_core::{CallId, Part};
use serde_json::Value;

use crate::visible::readable;

/// So many bytes of what a call writes are kept for the case that it is cut off; the last ones.
const WRITTEN_BYTES: usize = 64 << 10;

/// So many bytes of what a call wrote that was cut off are kept with its conversation; the last ones.
const KEPT_BYTES: usize = 16 << 10;

/// The calls so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    all: Vec<Kept>,
}

/// One call.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) number: usize,
    pub(super) id: CallId,
    pub(super) name: String,
    args: Value,
    pub(super) head: Head,
    /// What is to be run, where it has more than a line.
    pub(super) code: Option<String>,
    /// Whether the person has seen the code, or a card with it.
    pub(super) code_shown: bool,
    /// How long its tool was at work, once that is over.
    pub(super) worked: Option<Duration>,
    /// How far it said last that it is.
    pub(super) progress: Option<String>,
    /// What it wrote so far.
    pub(super) written: Written,
    end: Ended,
}

/// The first line of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Head {
    /// As it is shown when the call begins: what is long is cut.
    pub(super) row: String,
    pub(super) whole: String,
    /// Without the code or the command, for where that stands below.
    pub(super) above_code: String,
}

/// How a call ended.
#[derive(Debug)]
enum Ended {
    Not,
    With(String),
    CutOff(Duration),
    /// In an earlier run of the program, which ended before it.
    Unknown,
}

/// The end of what a call wrote.
#[derive(Debug, Default)]
pub(super) struct Written {
    text: String,
    dropped: usize,
}

impl Calls {
    /// The calls of a conversation that is gone on with.
    pub(super) fn of(
        conversation: &Conversation,
        head: impl Fn(usize, &str, &Value) -> Head,
    ) -> Self {
        let mut calls = Self::default();
        for message in conversation.messages() {
            match &**message {
                Message::Assistant(answer) => {
                    for call in &answer.calls {
                        let head = head(calls.all.len() + 1, &call.name, &call.args);
                        let id = CallId::new(call.id.as_str());
                        calls.begin(id, &call.name, &call.args, head).end = Ended::Unknown;
                    }
                }
                Message::Tool { results } => {
                    for result in results {
                        let id = CallId::new(result.call_id.as_str());
                        let texts = result.parts.iter().filter_map(|part| match part {
                            Part::Text { text } => Some(readable(text)),
                            _ => None,
                        });
                        let text = texts.collect::<Vec<_>>().join("\n");
                        if let Some(call) = calls.find(&id) {
                            call.end = Ended::With(text);
                        }
                    }
                }
                _ => {}
            }
        }
        calls
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn begin(&mut self, id: CallId, name: &str, args: &Value, head: Head) -> &mut Kept {
        let number = self.all.len() + 1;
        self.all.push(Kept {
            number,
            id,
            name: name.to_owned(),
            args: args.clone(),
            head,
            code: code_of(args),
            code_shown: false,
            worked: None,
            progress: None,
            written: Written::default(),
            end: Ended::Not,
        });
        // What was just pushed is there.
        &mut self.all[number - 1]
    }

    /// The last call under this id.
    pub(super) fn find(&mut self, id: &CallId) -> Option<&mut Kept> {
        self.all.iter_mut().rev().find(|call| call.id == *id)
    }

    /// The call before this one that was the same wish and came to the same text.
    pub(super) fn same_as(&self, call: &CallId) -> Option<usize> {
        let at = self.all.iter().rposition(|other| other.id == *call)?;
        let (before, of_it) = self.all.split_at(at);
        let Ended::With(text) = &of_it[0].end else { return None };
        let same = |other: &&Kept| {
            other.name == of_it[0].name
                && other.args == of_it[0].args
                && matches!(&other.end, Ended::With(other) if other == text)
        };
        before.iter().find(same).map(|other| other.number)
    }

    /// The calls under way.
    pub(super) fn under_way(&mut self) -> impl Iterator<Item = &mut Kept> {
        self.all.iter_mut().filter(|call| matches!(call.end, Ended::Not))
    }

    /// The calls whose end is not on record.
    pub(super) fn unknown(&self) -> impl Iterator<Item = &Kept> {
        self.all.iter().filter(|call| matches!(call.end, Ended::Unknown))
    }

    /// The whole of a call; the last one's without a number.
    pub(super) fn open(&self, number: Option<usize>) -> Result<String, String> {
        let count = self.all.len();
        let found = match number {
            Some(number) => number.checked_sub(1).and_then(|index| self.all.get(index)),
            None => self.all.last(),
        };
        match found {
            Some(call) => Ok(call.whole()),
            None if count == 0 => Err("no tool was called yet".to_owned()),
            None if count == 1 => Err("there is call 1 alone".to_owned()),
            None => Err(format!("there are calls 1 to {count}")),
        }
    }
}

impl Kept {
    pub(super) fn end_with(&mut self, text: String) {
        self.end = Ended::With(text);
    }

    pub(super) fn cut_off(&mut self) -> Duration {
        let after = self.worked.unwrap_or_default();
        self.end = Ended::CutOff(after);
        after
    }

    fn whole(&self) -> String {
        let all = |code: &String| self.head.whole.ends_with(&format!(" {}", code.trim()));
        let head = match program_of(&self.args).filter(|code| !all(code)) {
            Some(code) => format!("{}\n{code}", self.head.above_code),
            None => self.head.whole.clone(),
        };
        let written = self.written.text();
        let end = match &self.end {
            Ended::With(text) => text.clone(),
            Ended::Not if written.is_empty() => "(it is at work)".to_owned(),
            Ended::Not => format!("(it is at work; what it wrote so far:)\n{written}"),
            Ended::CutOff(after) => {
                let after = format!("cut off after {:.1} s", after.as_secs_f64());
                match written.is_empty() {
                    true => format!("({after}; it had written nothing)"),
                    false => format!("({after}; what it had written:)\n{written}"),
                }
            }
            Ended::Unknown => {
                "(the program ended before it; whether it acted is not known, and its output was not kept)".to_owned()
            }
        };
        format!("{head}\n{end}")
    }
}

impl Written {
    pub(super) fn push(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > 2 * WRITTEN_BYTES {
            let mut at = self.text.len() - WRITTEN_BYTES;
            while !self.text.is_char_boundary(at) {
                at += 1;
            }
            self.text.drain(..at);
            self.dropped += at;
        }
    }

    /// The end of it, for who goes on with the conversation; none where there is nothing.
    pub(super) fn kept(&self) -> Option<String> {
        let text = self.text();
        let text = text.trim_end();
        let cut = text.len().saturating_sub(KEPT_BYTES);
        let at = text.ceil_char_boundary(cut);
        let before = match at {
            0 => String::new(),
            at => format!("… {at} bytes before, not kept …\n"),
        };
        (!text.is_empty()).then(|| format!("{before}{}", &text[at..]))
    }

    /// The last line with something in it.
    pub(super) fn last_line(&self) -> Option<String> {
        let line = self.text.rsplit('\n').find(|line| !line.trim().is_empty())?;
        Some(readable(line.rsplit('\r').find(|part| !part.is_empty()).unwrap_or(line)))
    }

    pub(super) fn text(&self) -> String {
        let text = readable(&self.text);
        match self.dropped {
            0 => text,
            dropped => format!("… {dropped} bytes before, not kept …\n{text}"),
        }
    }
}

/// Code or a command of several lines.
fn code_of(args: &Value) -> Option<String> {
    program_of(args).filter(|code| code.trim().contains('\n'))
}

/// Code or a command.
fn program_of(args: &Value) -> Option<String> {
    let code = args[program_key(args)?].as_str()?;
    Some(readable(code.trim_matches('\n')))
}

/// Under which name the arguments have code or a command.
pub(super) fn program_key(args: &Value) -> Option<&'static str> {
    ["code", "command"].into_iter().find(|key| args[key].is_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_much_output_the_end_is_kept_and_the_rest_counted() {
        let mut written = Written::default();
        assert_eq!(written.last_line(), None);
        for _ in 0..20 {
            written.push(&"é".repeat(10_000));
        }
        written.push("\n10%\r 90%\r\n\n");
        assert_eq!(written.last_line().as_deref(), Some(" 90%"));
        let text = written.text();
        assert!(
            text.starts_with("… ") && text.contains(" bytes before, not kept …\né"),
            "{text:.80}"
        );
        assert!(text.len() < 3 * WRITTEN_BYTES);
    }

    #[test]
    fn an_opened_call_has_its_own_command_whole() {
        let mut calls = Calls::default();
        let long = "echo ".repeat(100) + "end";
        let head = |whole: &str| Head {
            row: "[1] cut…".to_owned(),
            whole: whole.to_owned(),
            above_code: "[1] shell".to_owned(),
        };
        for (args, whole, opened) in [
            (json!({"command": long}), format!("[1] shell {long}"), format!("[1] shell {long}")),
            (json!({"command": "ls\npwd"}), "[1] shell ls pwd".into(), "[1] shell\nls\npwd".into()),
            (json!({"code": "1", "description": "x"}), "[1] eval x".into(), "[1] shell\n1".into()),
        ] {
            calls.begin(CallId::new("a"), "shell", &args, head(&whole));
            assert_eq!(calls.open(None), Ok(format!("{opened}\n(it is at work)")));
        }
    }

    #[test]
    fn what_a_call_had_written_is_kept_with_its_conversation() {
        let mut written = Written::default();
        assert_eq!(written.kept(), None);
        written.push("first\nsecond\n");
        assert_eq!(written.kept().as_deref(), Some("first\nsecond"));
        written.push(&"é".repeat(KEPT_BYTES));
        let kept = written.kept().expect("a text");
        assert!(kept.starts_with("… 16397 bytes before, not kept …\né"), "{kept:.60}");
        assert!(kept.len() < KEPT_BYTES + 100);
    }

    #[test]
    fn a_call_of_an_earlier_run_opens_and_one_without_an_end_says_so() {
        let conversation: Conversation = serde_json::from_value(json!({"messages": [
            {"role": "user", "parts": [{"type": "text", "text": "go"}]},
            {"role": "assistant", "calls": [{"id": "a", "name": "read", "args": {}}]},
            {"role": "tool", "results": [
                {"call_id": "a", "name": "read", "outcome": "ok", "parts": [{"type": "text", "text": "1\tone"}]}
            ]},
            {"role": "assistant", "calls": [{"id": "b", "name": "shell", "args": {"command": "ls\npwd"}}]},
        ]}))
        .expect("a conversation");
        let head = |number: usize, name: &str, _: &Value| {
            let row = format!("[{number}] {name}");
            Head { whole: row.clone(), above_code: row.clone(), row }
        };
        let calls = Calls::of(&conversation, head);
        assert_eq!(calls.open(Some(1)).expect("a call"), "[1] read\n1\tone");
        let last = calls.open(None).expect("a call");
        assert!(last.starts_with("[2] shell\nls\npwd\n(the program ended before it"), "{last}");
        assert_eq!(calls.unknown().map(|call| call.number).collect::<Vec<_>>(), [2]);
        let mut calls = calls;
        for (id, text) in [("c", "1\tone"), ("d", "1\ttwo")] {
            let (id, head) = (CallId::new(id), Head::default());
            calls.begin(id.clone(), "read", &json!({}), head).end_with(text.to_owned());
            assert_eq!(calls.same_as(&id), (text == "1\tone").then_some(1));
        }
        assert_eq!(calls.open(Some(5)), Err("there are calls 1 to 4".to_owned()));
    }
}
