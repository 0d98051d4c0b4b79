//! The port behind which a model is.

use std::{fmt, pin::Pin, sync::Arc};

use agent_tool_core::ToolSpec;
use futures::Stream;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{Message, ModelError, Usage};

/// A model's answer while it comes.
pub type DeltaStream<'a> = Pin<Box<dyn Stream<Item = Result<Delta, ModelError>> + Send + 'a>>;

/// Something that continues a conversation.
pub trait Model: Send + Sync + 'static {
    /// The model's name, as a person is shown it.
    fn name(&self) -> &str;

    /// How much the model takes.
    fn limits(&self) -> ModelLimits;

    /// Asks for the next message. Nothing is sent before the stream is polled, and dropping the
    /// stream ends the request.
    ///
    /// A complete answer ends with [`Delta::Stop`]; a stream that ends without one was cut.
    fn stream<'a>(&'a self, request: Request<'a>) -> DeltaStream<'a>;
}

/// How much a model takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelLimits {
    /// Tokens of the whole context, the answer included.
    pub context: usize,
    /// The most tokens of an answer that are asked for. `None` leaves it to the provider.
    pub output: Option<u32>,
    /// Whether it takes images.
    pub images: bool,
}

impl ModelLimits {
    /// So many tokens of context, images, and no bound on the answer.
    #[must_use]
    pub fn new(context: usize) -> Self {
        Self { context, output: None, images: true }
    }

    /// The same limits with answers of at most so many tokens.
    #[must_use]
    pub fn with_output(mut self, tokens: u32) -> Self {
        self.output = Some(tokens);
        self
    }

    /// The same limits without images: what stands for them is text.
    #[must_use]
    pub fn without_images(mut self) -> Self {
        self.images = false;
        self
    }
}

/// What a model is asked.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Request<'a> {
    /// The system text. Empty where there is none.
    pub system: &'a str,
    /// The conversation, valid: each call has its result in the next message.
    pub messages: &'a [Arc<Message>],
    /// What the model may call.
    pub tools: &'a [ToolSpec],
    /// The most tokens of the answer.
    pub output: Option<u32>,
}

/// One piece of an answer.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Delta {
    /// More text.
    Text(String),
    /// More of what the model thinks aloud. It is shown and not kept.
    Reasoning(String),
    /// A call is being written: the tool and the bytes of its arguments so far.
    Writing {
        /// The tool.
        tool: String,
        /// Bytes of arguments so far.
        bytes: usize,
    },
    /// A whole call.
    Call(RawCall),
    /// Something that only this provider understands and wants back with the message.
    Opaque(Value),
    /// What the answer used. A later one replaces an earlier one.
    Usage(Usage),
    /// The provider is still there.
    Alive,
    /// The answer is complete. Nothing comes after it.
    Stop(StopReason),
}

/// A call as the model wrote it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RawCall {
    /// The provider's id of the call. It may be empty or repeat an earlier one.
    pub id: String,
    /// The tool.
    pub name: String,
    /// The arguments: JSON if all went well.
    pub arguments: String,
}

impl RawCall {
    /// A call.
    #[must_use]
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }
}

/// Why an answer ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum StopReason {
    /// The model was done.
    End,
    /// The model waits for results of its calls.
    Calls,
    /// The answer reached its bound on tokens.
    OutputLimit,
    /// The model or its provider refused.
    Refused,
    /// The answer was cut off by who asked for it: the turn was cancelled.
    Interrupted,
    /// Another reason, in the provider's words.
    Other(String),
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StopReason::End => "end",
            StopReason::Calls => "calls",
            StopReason::OutputLimit => "output_limit",
            StopReason::Refused => "refused",
            StopReason::Interrupted => "interrupted",
            StopReason::Other(reason) => reason,
        })
    }
}
