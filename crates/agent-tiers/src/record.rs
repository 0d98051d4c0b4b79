//! What a run tells its watchers and its transcript.

use agent_tool_core::{
    CallId, Caller, Content, Effect, ErrorKind, Event, FileChange, Part, Tier, ToolCall,
    ToolResult, clip,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{ChangeLine, Surface, WaitsFor, json};

/// The version of the transcript's format, in every line.
pub const TRANSCRIPT_VERSION: u32 = 1;

/// How many characters of a result's text, of a message, of a chunk of output or of one side of a
/// change the transcript keeps.
pub const TRANSCRIPT_TEXT_CHARS: usize = 4_000;

/// How many characters of a call's arguments, as JSON, a record keeps.
pub const RECORD_ARGS_CHARS: usize = 4_000;

/// How many characters of a name that was called a record keeps: tools have shorter ones.
const NAME_CHARS: usize = 100;

/// What a record weighs in memory besides its texts, roughly, in bytes.
const RECORD_BYTES: usize = 256;

/// One thing that happened in a run: one JSON object, one line of the transcript.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Record {
    /// The format's version.
    pub v: u32,
    /// The number of the record within its run, from 1, without gaps.
    pub seq: u64,
    /// When it happened, in milliseconds since the Unix epoch.
    pub at: u64,
    /// What happened.
    #[serde(flatten)]
    pub what: What,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum What {
    /// A call arrived.
    Started {
        /// The call.
        call_id: CallId,
        /// The chain that led to it, outermost first; empty for the main agent's own.
        callers: Vec<Caller>,
        /// The name that was called, of a tool or not.
        name: String,
        /// The arguments as they came; where they are longer than [`RECORD_ARGS_CHARS`], clipped.
        args: Value,
        /// How many characters the arguments have as JSON, where they are clipped.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        args_chars: Option<usize>,
        /// The tool's tier. None where there is no such tool for the caller.
        tier: Option<Tier>,
        /// The surface of the view that the call came to.
        surface: Surface,
    },
    /// A call that changes something was let through or refused.
    Approval {
        /// The call.
        call_id: CallId,
        /// What came of it.
        outcome: Outcome,
        /// Who or what decided.
        by: Decider,
        /// The fingerprint of the plan that was approved.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        fingerprint: Option<String>,
        /// What the person chose.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effect: Option<Effect>,
    },
    /// A tool told something while it worked, or after its call was cancelled.
    Event {
        /// The call.
        call_id: CallId,
        /// The call that made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        parent: Option<CallId>,
        /// What it told.
        event: Event,
    },
    /// A call came to its end.
    Finished {
        /// The call.
        call_id: CallId,
        /// Whether the tool did its job.
        ok: bool,
        /// Why not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<Failure>,
        /// What the model got, clipped.
        parts: Vec<PartNote>,
        /// The files that the call changed.
        changes: Vec<ChangeLine>,
        /// How long it took, in milliseconds.
        ms: u64,
        /// For how long of that its tool was at work, in milliseconds: the rest is the wait for a gate and for its turn. None where the
        /// tool never was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worked_ms: Option<u64>,
    },
    /// A call was cancelled before its end. Events may follow: a commit of files once begun runs
    /// to its end.
    Cancelled {
        /// The call.
        call_id: CallId,
        /// How long it had taken, in milliseconds.
        ms: u64,
        /// For how long of that its tool was at work, in milliseconds. None where the tool never was.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        worked_ms: Option<u64>,
        /// What it waited for then. A call whose tool was at work may have done a part of it, or all; any other one did nothing. None
        /// in transcripts of before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_for: Option<WaitsFor>,
    },
    /// What a view lists may be another thing now.
    ToolsChanged {
        /// The view whose surface changed. None where the registry was replaced, for all views.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        view: Option<String>,
        /// Its surface.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        surface: Option<Surface>,
    },
    /// The transcript could not be written and ends before this record. Told once.
    TranscriptFailed {
        /// Why.
        message: String,
    },
    /// Records are missing here: whoever takes them (a watcher, the transcript's writer) was so slow
    /// that too many waited. The record's number is that of the last one that is missing.
    Gap {
        /// How many records of progress and output are missing.
        lost: u64,
        /// How many others are.
        missed: u64,
    },
}

/// What came of an approval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The call may go on.
    Allowed,
    /// The call is refused.
    Refused,
}

/// Who or what decided about a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Decider {
    /// A rule of the host.
    Rule,
    /// The mode in which everything is approved.
    Mode,
    /// The person, on this call's card.
    Person,
    /// The person, on an earlier card of this run.
    Earlier,
    /// Nobody: no approver was connected, or no usable answer came back.
    Nobody,
    /// The tool itself, whose preview refused the arguments, or showed that nothing would change.
    Preview,
}

/// Why a call failed, without its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// What a program branches on.
    pub kind: ErrorKind,
    /// One for each cause.
    pub code: String,
    /// The message, clipped.
    pub message: String,
}

/// A part of a result as the transcript keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum PartNote {
    /// Text, clipped.
    Text {
        /// The text.
        text: String,
    },
    /// A picture, of which the size alone is kept.
    Image {
        /// The media type.
        mime: String,
        /// The length of its base64 form.
        base64_len: usize,
    },
    /// A part of a kind that this version does not know.
    Other,
}

impl What {
    /// The record of a call's arrival.
    pub(crate) fn started(
        call_id: CallId,
        callers: Vec<Caller>,
        call: &ToolCall,
        tier: Option<Tier>,
        surface: Surface,
    ) -> Self {
        let (args, args_chars) = match json::chars_within(&call.args, RECORD_ARGS_CHARS) {
            Some(_) => (call.args.clone(), None),
            None => {
                let chars = json::chars_within(&call.args, usize::MAX);
                (json::clipped(&call.args, RECORD_ARGS_CHARS), chars)
            }
        };
        let name = clip(&call.name, NAME_CHARS).text;
        What::Started { call_id, callers, name, args, args_chars, tier, surface }
    }

    /// The record of a call's end.
    pub(crate) fn finished(
        call_id: CallId,
        result: &ToolResult,
        ms: u64,
        worked_ms: Option<u64>,
    ) -> Self {
        let (error, parts, changes) = match result {
            Ok(output) => {
                let changes = output.changes.iter().map(ChangeLine::from).collect();
                (None, output.parts.iter().map(PartNote::of).collect(), changes)
            }
            Err(error) => {
                let failure = Failure {
                    kind: error.kind,
                    code: error.code.clone().into_owned(),
                    message: clip(&error.message, TRANSCRIPT_TEXT_CHARS).text,
                };
                (Some(failure), Vec::new(), Vec::new())
            }
        };
        What::Finished { call_id, ok: error.is_none(), error, parts, changes, ms, worked_ms }
    }

    /// Whether a slow reader may lose it.
    pub(crate) fn is_lossy(&self) -> bool {
        let What::Event { event, .. } = self else { return false };
        matches!(event, Event::Progress { .. } | Event::Output { .. })
    }

    /// The event with its texts as the transcript keeps them, where they are too long for it.
    pub(crate) fn clipped(&self) -> Option<What> {
        let What::Event { call_id, parent, event } = self else { return None };
        let event = match event {
            Event::Output { text } if text.len() > TRANSCRIPT_TEXT_CHARS => {
                Event::Output { text: clip(text, TRANSCRIPT_TEXT_CHARS).text }
            }
            Event::Progress { message, done, total } if message.len() > TRANSCRIPT_TEXT_CHARS => {
                let message = clip(message, TRANSCRIPT_TEXT_CHARS).text;
                Event::Progress { message, done: *done, total: *total }
            }
            Event::Changed { change } if is_long(&change.before) || is_long(&change.after) => {
                let (before, after) = (shortened(&change.before), shortened(&change.after));
                Event::Changed { change: FileChange::new(change.path.clone(), before, after) }
            }
            _ => return None,
        };
        Some(What::Event { call_id: call_id.clone(), parent: parent.clone(), event })
    }

    /// Roughly how many bytes the record takes in memory.
    pub(crate) fn weight(&self) -> usize {
        let side = |content: &Content| content.as_text().map_or(0, str::len);
        let texts = match self {
            // Its texts are clipped by then.
            What::Started { .. } => RECORD_ARGS_CHARS,
            What::Event { event: Event::Progress { message, .. }, .. } => message.len(),
            What::Event { event: Event::Output { text }, .. } => text.len(),
            What::Event { event: Event::Changed { change }, .. } => {
                change.path.len() + side(&change.before) + side(&change.after)
            }
            What::Finished { parts, changes, error, .. } => {
                let parts = parts.iter().map(PartNote::weight).sum::<usize>();
                let changes = changes.iter().map(|change| change.path.len() + RECORD_BYTES);
                let error = error.as_ref().map_or(0, |error| error.message.len());
                parts + changes.sum::<usize>() + error
            }
            _ => 0,
        };
        RECORD_BYTES + texts
    }
}

impl PartNote {
    fn of(part: &Part) -> Self {
        match part {
            Part::Text { text } => PartNote::Text { text: clip(text, TRANSCRIPT_TEXT_CHARS).text },
            Part::Image { mime, base64 } => {
                PartNote::Image { mime: mime.clone(), base64_len: base64.len() }
            }
            _ => PartNote::Other,
        }
    }

    fn weight(&self) -> usize {
        match self {
            PartNote::Text { text } => RECORD_BYTES + text.len(),
            PartNote::Image { .. } | PartNote::Other => RECORD_BYTES,
        }
    }
}

/// What is missing from a sequence of records.
#[derive(Debug, Default)]
pub(crate) struct Gap {
    lost: u64,
    missed: u64,
    seq: u64,
    at: u64,
}

impl Gap {
    pub(crate) fn add(&mut self, record: &Record) {
        if record.what.is_lossy() {
            self.lost += 1;
        } else {
            self.missed += 1;
        }
        (self.seq, self.at) = (record.seq, record.at);
    }

    /// Whether more than progress and output is missing.
    pub(crate) fn is_grave(&self) -> bool {
        self.missed > 0
    }

    /// Takes the number of what was lost and forgets it.
    pub(crate) fn take_lost(&mut self) -> u64 {
        std::mem::take(&mut self.lost)
    }

    /// The record that stands for what is missing; none where nothing is.
    pub(crate) fn take(&mut self) -> Option<Record> {
        let Gap { lost, missed, seq, at } = std::mem::take(self);
        let what = What::Gap { lost, missed };
        (lost + missed > 0).then_some(Record { v: TRANSCRIPT_VERSION, seq, at, what })
    }
}

/// A side of a change without its text, where that is long.
fn shortened(content: &Content) -> Content {
    match content.as_text() {
        Some(text) if is_long(content) => Content::Omitted { bytes: text.len() as u64 },
        _ => content.clone(),
    }
}

fn is_long(content: &Content) -> bool {
    content.as_text().is_some_and(|text| text.len() > TRANSCRIPT_TEXT_CHARS)
}

#[cfg(test)]
mod tests {
    use agent_tool_core::ChangeKind;

    use super::*;

    #[test]
    fn a_deleted_file_stays_deleted_when_its_text_is_left_out() {
        let long = Content::of("x".repeat(TRANSCRIPT_TEXT_CHARS + 1).as_bytes());
        let change = FileChange::new("a", long, Content::Absent);
        let event = Event::Changed { change };
        let what = What::Event { call_id: CallId::new("call_1"), parent: None, event };
        let Some(What::Event { event: Event::Changed { change }, .. }) = what.clipped() else {
            panic!("nothing was clipped");
        };
        assert_eq!(change.kind(), ChangeKind::Deleted);
        assert_eq!(change.before, Content::Omitted { bytes: 4_001 });
    }
}
