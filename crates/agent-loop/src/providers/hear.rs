use genai::chat::{ChatStreamEvent, ContentPart, StopReason as Reason, StreamEnd, ToolCall};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Format, noted::Frames};
use crate::{Delta, ModelError, ModelErrorKind, RawCall, StopReason, Usage};

/// What becomes of one event.
type Heard = Vec<Result<Delta, ModelError>>;

/// Hears an answer: puts calls together and names what the provider says in this crate's words.
pub(super) struct Hearing {
    format: Format,
    model: String,
    calls: Vec<RawCall>,
    frames: Frames,
    over: bool,
}

/// What a provider wants back with a message: reasoning and its signatures.
#[derive(Serialize, Deserialize)]
pub(super) struct Opaque {
    format: String,
    model: String,
    parts: Vec<ContentPart>,
}

impl Opaque {
    /// The parts, where they came from this model in this format. Nobody else can read them.
    pub(super) fn read(format: Format, model: &str, value: &Value) -> Vec<ContentPart> {
        match Self::deserialize(value) {
            Ok(opaque) if opaque.format == name(format) && opaque.model == model => opaque.parts,
            _ => Vec::new(),
        }
    }
}

impl Hearing {
    pub(super) fn new(format: Format, model: &str, frames: Frames) -> Self {
        Self { format, model: model.to_owned(), calls: Vec::new(), frames, over: false }
    }

    pub(super) fn hear(&mut self, event: ChatStreamEvent) -> Heard {
        let delta = match event {
            ChatStreamEvent::Chunk(chunk) => Delta::Text(chunk.content),
            ChatStreamEvent::ReasoningChunk(chunk) => Delta::Reasoning(chunk.content),
            ChatStreamEvent::ToolCallChunk(chunk) => self.hear_call(chunk.tool_call),
            ChatStreamEvent::End(end) => return self.end(end),
            _ => Delta::Alive,
        };
        vec![Ok(delta)]
    }

    /// Hears that nothing comes any more. An answer that said why it ended is complete.
    pub(super) fn hear_end(&mut self) -> Heard {
        match self.frames.reason() {
            Some(reason) if !self.over => {
                self.end(StreamEnd { captured_stop_reason: Some(reason), ..StreamEnd::default() })
            }
            _ => Vec::new(),
        }
    }

    fn hear_call(&mut self, piece: ToolCall) -> Delta {
        let ToolCall { call_id, fn_name, fn_arguments, .. } = piece;
        let arguments = fn_arguments.as_str().unwrap_or_default();
        let at = match self.find(&call_id, &fn_name, arguments) {
            Some(at) => at,
            None => {
                self.calls.push(RawCall::new(call_id, fn_name, ""));
                self.calls.len() - 1
            }
        };
        let call = &mut self.calls[at];
        match self.format {
            // This format's pieces hold all arguments so far.
            Format::Anthropic => arguments.clone_into(&mut call.arguments),
            Format::OpenAi => call.arguments.push_str(arguments),
        }
        Delta::Writing { tool: call.name.clone(), bytes: call.arguments.len() }
    }

    /// The call that a piece goes on with. A call may repeat the id of another one, and is none the less
    /// a call of its own.
    fn find(&self, id: &str, name: &str, arguments: &str) -> Option<usize> {
        let known = self.calls.iter().rposition(|call| call.id == id);
        let goes_on = |call: &RawCall| match self.format {
            // What grows shorter began anew.
            Format::Anthropic => call.name == name && arguments.len() >= call.arguments.len(),
            // Some servers repeat id and name in each piece. What is whole has no more pieces.
            Format::OpenAi => {
                name.is_empty()
                    || call.name == name && serde_json::from_str::<Value>(&call.arguments).is_err()
            }
        };
        if let Some(at) = known.filter(|at| goes_on(&self.calls[*at])) {
            return Some(at);
        }
        if self.format == Format::Anthropic || !name.is_empty() {
            return None;
        }
        // A piece without an id comes as `call_N`, where N is the number of its call. Some servers give
        // all calls the same number.
        let numbered = id.strip_prefix("call_").and_then(|number| number.parse().ok());
        let last = self.calls.len().checked_sub(1)?;
        Some(numbered.filter(|number| *number <= last).unwrap_or(last))
    }

    fn end(&mut self, end: StreamEnd) -> Heard {
        self.over = true;
        self.calls.extend(self.frames.take_calls());
        if matches!(end.captured_stop_reason, Some(Reason::ToolCall(_))) && self.calls.is_empty() {
            let message = "the model says that it calls a tool, and no call of it can be read";
            return vec![Err(ModelError::new(ModelErrorKind::Unreadable, message))];
        }
        let stop = stop(end.captured_stop_reason.as_ref(), &self.calls);
        let usage = end.captured_usage.as_ref().map(|usage| Usage {
            input: count(usage.prompt_tokens),
            output: count(usage.completion_tokens),
            cached: usage.prompt_tokens_details.as_ref().and_then(|more| count(more.cached_tokens)),
        });
        let opaque = self.opaque(end);
        let mut deltas: Vec<_> =
            std::mem::take(&mut self.calls).into_iter().map(Delta::Call).collect();
        deltas.extend(opaque.map(Delta::Opaque));
        deltas.extend(usage.map(Delta::Usage));
        deltas.push(Delta::Stop(stop));
        deltas.into_iter().map(Ok).collect()
    }

    fn opaque(&self, end: StreamEnd) -> Option<Value> {
        let captured = end.captured_content.into_iter().flatten();
        let mut parts: Vec<ContentPart> = captured
            .filter(|part| {
                matches!(
                    part,
                    ContentPart::ThoughtSignature(_)
                        | ContentPart::ReasoningContent(_)
                        | ContentPart::Custom(_)
                )
            })
            .collect();
        // Models that think aloud in this format want it back until their calls are answered.
        if parts.is_empty() && self.format == Format::OpenAi && !self.calls.is_empty() {
            parts.extend(end.captured_reasoning_content.map(ContentPart::ReasoningContent));
        }
        if parts.is_empty() {
            return None;
        }
        let (format, model) = (name(self.format).to_owned(), self.model.clone());
        serde_json::to_value(Opaque { format, model, parts }).ok()
    }
}

fn stop(reason: Option<&Reason>, calls: &[RawCall]) -> StopReason {
    match reason {
        Some(Reason::MaxTokens(_)) => StopReason::OutputLimit,
        Some(Reason::ContentFilter(_)) => StopReason::Refused,
        // Some servers say that they are done and want a call made all the same.
        _ if !calls.is_empty() => StopReason::Calls,
        Some(Reason::Other(reason)) => StopReason::Other(reason.clone()),
        _ => StopReason::End,
    }
}

fn count(tokens: Option<i32>) -> Option<u64> {
    tokens.and_then(|tokens| u64::try_from(tokens).ok())
}

fn name(format: Format) -> &'static str {
    match format {
        Format::Anthropic => "anthropic",
        Format::OpenAi => "openai",
    }
}
