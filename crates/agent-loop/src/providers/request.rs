use std::sync::Arc;

use agent_tool_core::Part;
use genai::chat::{
    Binary, CacheControl, ChatMessage, ChatOptions, ChatRequest, ChatRole, ContentPart, CustomPart,
    MessageContent, ReasoningEffort, Tool, ToolCall, ToolResponse,
};
use serde_json::{Map, Value, json};

use super::{Format, hear::Opaque};
use crate::{Answer, Call, CallResult, Message, Outcome, Request};

/// A request as the crate behind this one takes it.
pub(super) fn chat(format: Format, model: &str, asked: &Request<'_>) -> ChatRequest {
    let mut messages: Vec<ChatMessage> = Vec::new();
    for message in asked.messages {
        add(&mut messages, format, model, message);
    }
    if format == Format::Anthropic {
        // A mark at the end keeps everything before it in the provider's cache for the next step.
        messages = mark_last(messages);
    }
    let tools = asked.tools.iter().map(|spec| {
        Tool::new(spec.name.as_str())
            .with_description(&spec.description)
            .with_schema(spec.input_schema.clone())
    });
    let mut chat = ChatRequest::new(messages);
    if !asked.system.is_empty() {
        chat = chat.with_system(asked.system);
    }
    if asked.tools.is_empty() { chat } else { chat.with_tools(tools) }
}

pub(super) fn options(format: Format, model: &str, asked: &Request<'_>) -> ChatOptions {
    let mut options = ChatOptions::default()
        .with_capture_usage(true)
        .with_capture_reasoning_content(true)
        // The name as it was given: the crate takes what stands after its last hyphen for an effort.
        .with_extra_body(json!({"model": model}));
    if format == Format::OpenAi {
        // A budget is nothing that this format can say, so no effort is sent at all.
        options = options.with_reasoning_effort(ReasoningEffort::Budget(0));
    }
    match asked.output {
        Some(tokens) => options.with_max_tokens(tokens),
        None => options,
    }
}

fn add(messages: &mut Vec<ChatMessage>, format: Format, model: &str, message: &Arc<Message>) {
    match &**message {
        Message::User { parts } => add_user(messages, parts.iter().filter_map(part).collect()),
        Message::Assistant(answer) => {
            messages.push(ChatMessage::new(ChatRole::Assistant, assistant(format, model, answer)));
        }
        Message::Tool { results } => match format {
            Format::Anthropic => {
                let results = results.iter().map(|result| anthropic_result(result).into());
                let content = MessageContent::from_parts(results.collect::<Vec<ContentPart>>());
                messages.push(ChatMessage::new(ChatRole::Tool, content));
            }
            Format::OpenAi => add_openai_results(messages, results),
        },
    }
}

/// Adds what a person says. Templates of local models insist on one message at a time.
fn add_user(messages: &mut Vec<ChatMessage>, parts: Vec<ContentPart>) {
    match messages.last_mut() {
        Some(last) if last.role == ChatRole::User => last.content.extend(parts),
        _ => messages.push(ChatMessage::new(ChatRole::User, MessageContent::from_parts(parts))),
    }
}

fn assistant(format: Format, model: &str, answer: &Answer) -> MessageContent {
    let mut parts: Vec<ContentPart> =
        answer.opaque.iter().flat_map(|value| Opaque::read(format, model, value)).collect();
    if !answer.text.trim().is_empty() {
        parts.push(ContentPart::Text(answer.text.clone()));
    }
    parts.extend(answer.calls.iter().map(|call| ContentPart::ToolCall(tool_call(call))));
    MessageContent::from_parts(parts)
}

/// A call as it goes back. Some servers choke on arguments that are not an object; what came is told
/// in the result.
fn tool_call(call: &Call) -> ToolCall {
    let args = if call.args.is_object() { call.args.clone() } else { Value::Object(Map::new()) };
    ToolCall {
        call_id: call.id.clone(),
        fn_name: call.name.clone(),
        fn_arguments: args,
        thought_signatures: None,
    }
}

/// A result in the provider's own words, since the crate's type has neither images nor errors.
fn anthropic_result(result: &CallResult) -> CustomPart {
    let content = result.parts.iter().filter_map(|part| match part {
        Part::Text { text } if text.trim().is_empty() => None,
        Part::Text { text } => Some(json!({"type": "text", "text": text})),
        Part::Image { mime, base64 } => Some(json!({
            "type": "image",
            "source": {"type": "base64", "media_type": mime, "data": base64},
        })),
        _ => None,
    });
    let data = json!({
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "is_error": result.outcome != Outcome::Ok,
        "content": content.collect::<Vec<_>>(),
    });
    CustomPart { model_iden: None, data }
}

/// Results are text alone in this format; images follow in a message of their own.
fn add_openai_results(messages: &mut Vec<ChatMessage>, results: &[CallResult]) {
    let mut images = Vec::new();
    for result in results {
        let mut texts = Vec::new();
        for part in &result.parts {
            match part {
                Part::Text { text } => texts.push(text.as_str()),
                Part::Image { .. } => {
                    texts.push("(an image, which follows)");
                    images.push(ContentPart::Text(format!(
                        "The image in the result of {} ({}):",
                        result.name, result.call_id
                    )));
                    images.extend(self::part(part));
                }
                _ => {}
            }
        }
        let response = ToolResponse::new(result.call_id.as_str(), texts.join("\n"));
        messages.push(ChatMessage::new(ChatRole::Tool, MessageContent::from(response)));
    }
    if !images.is_empty() {
        add_user(messages, images);
    }
}

fn part(part: &Part) -> Option<ContentPart> {
    match part {
        Part::Text { text } => Some(ContentPart::Text(text.clone())),
        Part::Image { mime, base64 } => {
            Some(ContentPart::Binary(Binary::from_base64(mime.as_str(), base64.as_str(), None)))
        }
        _ => None,
    }
}

fn mark_last(mut messages: Vec<ChatMessage>) -> Vec<ChatMessage> {
    if let Some(last) = messages.pop() {
        messages.push(last.with_options(CacheControl::Ephemeral));
    }
    messages
}
