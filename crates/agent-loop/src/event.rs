//! What happens during a turn, for whoever shows it.

use std::{sync::Arc, time::Duration};

use agent_tool_core::{CallId, ToolResult};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Message, ModelError, StopReason, Tally, Usage};

/// Something that happened.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum TurnEvent {
    /// The model is asked.
    StepStarted {
        /// From 1, within the turn.
        step: u32,
        /// Tokens of what is sent, estimated.
        tokens: usize,
    },
    /// More of the model's text.
    Text(String),
    /// More of what the model thinks aloud.
    Reasoning(String),
    /// The model writes a call.
    Writing {
        /// The tool.
        tool: String,
        /// Bytes of its arguments so far.
        bytes: usize,
    },
    /// A call begins. Each has its [`TurnEvent::CallFinished`], unless the turn is cancelled.
    CallStarted {
        /// The call, as the dispatch knows it.
        call_id: CallId,
        /// The tool.
        name: String,
        /// The arguments; null where they were no JSON.
        args: Value,
    },
    /// A call came to its end.
    CallFinished {
        /// The call.
        call_id: CallId,
        /// The tool.
        name: String,
        /// What it came to.
        result: Arc<ToolResult>,
        /// How long it took.
        took: Duration,
    },
    /// A request failed and is made again.
    Retrying {
        /// Why it failed.
        error: ModelError,
        /// How long it is waited.
        wait: Duration,
        /// Which repetition this is, from 1.
        time: u32,
        /// How many there are at most.
        most: u32,
        /// How many bytes of text came before and are void: they come again.
        void: usize,
    },
    /// Old results were left out of what is sent, to keep it within its bounds. The conversation itself
    /// keeps them.
    Shortened {
        /// Tokens before, estimated.
        before: usize,
        /// Tokens after, estimated.
        after: usize,
        /// How many messages were shortened.
        messages: usize,
    },
    /// The model was told that it repeats a call that brings nothing new.
    Repeating {
        /// The tool.
        tool: String,
        /// How often.
        times: u32,
    },
    /// A message was added to the conversation, for a host that keeps a journal.
    Message(Arc<Message>),
    /// An answer is complete, and its calls, if there were any, have their results.
    StepEnded {
        /// From 1, within the turn.
        step: u32,
        /// What the answer used.
        usage: Usage,
        /// Why it ended.
        stop: StopReason,
    },
    /// The turn is over. A turn that is dropped tells this too.
    TurnEnded {
        /// How it ended.
        end: End,
        /// What it used.
        tally: Tally,
    },
}

/// How a turn ended.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "end", rename_all = "snake_case")]
#[non_exhaustive]
pub enum End {
    /// The model was done.
    Done,
    /// The bound on steps was reached, and the model was not done.
    StepLimit {
        /// The bound.
        steps: u32,
    },
    /// The model did the very same again and again.
    Repeating {
        /// The tool that it called.
        tool: String,
        /// How often the call came with the same result.
        times: u32,
    },
    /// The last answer was cut at its bound on tokens.
    OutputLimit,
    /// The model or its provider refused to answer.
    Refused,
    /// The turn was dropped. What was got so far is in the conversation.
    Cancelled,
    /// The model did not answer. What was got so far is in the conversation.
    Failed {
        /// Why.
        error: ModelError,
    },
}

impl End {
    /// Whether the model said all that it wanted to say.
    #[must_use]
    pub fn is_done(&self) -> bool {
        matches!(self, End::Done)
    }

    /// The end in a sentence for a person.
    #[must_use]
    pub fn sentence(&self) -> String {
        match self {
            End::Done => "done".to_owned(),
            End::StepLimit { steps } => {
                format!(
                    "stopped after {steps} steps, which is the bound; the work may not be complete"
                )
            }
            End::Repeating { tool, times } => format!(
                "stopped: {tool} was called {times} times with the same arguments and the same result"
            ),
            End::OutputLimit => "the answer was cut at its bound on tokens".to_owned(),
            End::Refused => "the model refused to answer".to_owned(),
            End::Cancelled => "cancelled".to_owned(),
            End::Failed { error } => format!("the model did not answer: {error}"),
        }
    }
}

/// What a turn came to.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Turn {
    /// How it ended.
    #[serde(flatten)]
    pub end: End,
    /// The text of the model's last answer, as far as it came. Empty where it said nothing.
    pub text: String,
    /// How many answers were complete.
    pub steps: u32,
    /// What it used.
    pub tally: Tally,
}

/// Takes the events of a turn. It is called from inside of the turn, so it returns at once.
pub trait Watch: Send + Sync {
    /// Takes one event.
    fn event(&self, event: TurnEvent);
}

impl<F: Fn(TurnEvent) + Send + Sync> Watch for F {
    fn event(&self, event: TurnEvent) {
        self(event);
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn event(&self, _event: TurnEvent) {}
}
