//! Anthropic's messages as they stream: <https://docs.anthropic.com/en/api/messages-streaming>.

use serde_json::{Value, json};

use super::{
    Call, Received, Rule,
    frames::{event, fragments},
};

/// What a server signs thoughts with, and wants back.
const SIGNATURE: &str = "c2lnbmVkIGJ5IHRoZSBzY3JpcHQ=";

pub(super) fn frames(rule: &Rule, request: &Received, number: usize) -> Vec<Vec<u8>> {
    let mut start = json!({"type": "message_start", "message": {
        "id": format!("msg_{number}"), "type": "message", "role": "assistant", "model": request.body["model"],
        "content": [], "stop_reason": null, "stop_sequence": null,
    }});
    if let Some(usage) = &rule.usage {
        // What was read does not count what came from the cache here.
        let cached = usage.cached.unwrap_or(0);
        start["message"]["usage"] = json!({
            "input_tokens": usage.input.saturating_sub(cached), "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": cached, "output_tokens": 1,
        });
    }
    let mut frames = vec![event("message_start", &start), event("ping", &json!({"type": "ping"}))];
    let mut index = 0;
    if !rule.reasoning.is_empty() {
        let deltas =
            rule.reasoning.iter().map(|text| json!({"type": "thinking_delta", "thinking": text}));
        let signed = json!({"type": "signature_delta", "signature": SIGNATURE});
        let begin = json!({"type": "thinking", "thinking": "", "signature": ""});
        block(&mut frames, index, &begin, deltas.chain([signed]).collect());
        index += 1;
    }
    if !rule.text.is_empty() {
        let deltas = rule.text.iter().map(|text| json!({"type": "text_delta", "text": text}));
        block(&mut frames, index, &json!({"type": "text", "text": ""}), deltas.collect());
        index += 1;
    }
    for (at, call) in rule.calls.iter().enumerate() {
        let id = call.id.clone().unwrap_or_else(|| format!("toolu_{number}_{}", at + 1));
        let begin = json!({"type": "tool_use", "id": id, "name": call.name, "input": {}});
        block(&mut frames, index, &begin, deltas_of(call));
        index += 1;
    }
    let stop = rule.stop.as_deref().unwrap_or(match rule.calls.is_empty() {
        true => "end_turn",
        false => "tool_use",
    });
    let mut end =
        json!({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": null}});
    if let Some(usage) = &rule.usage {
        end["usage"] = json!({"output_tokens": usage.output});
    }
    frames.push(event("message_delta", &end));
    frames.push(event("message_stop", &json!({"type": "message_stop"})));
    frames
}

fn deltas_of(call: &Call) -> Vec<Value> {
    let fragments = fragments(&call.text());
    let first = std::iter::once(String::new());
    let deltas = first
        .chain(fragments)
        .map(|part| json!({"type": "input_json_delta", "partial_json": part}));
    deltas.collect()
}

fn block(frames: &mut Vec<Vec<u8>>, index: usize, begin: &Value, deltas: Vec<Value>) {
    let start = json!({"type": "content_block_start", "index": index, "content_block": begin});
    frames.push(event("content_block_start", &start));
    for delta in deltas {
        let body = json!({"type": "content_block_delta", "index": index, "delta": delta});
        frames.push(event("content_block_delta", &body));
    }
    frames
        .push(event("content_block_stop", &json!({"type": "content_block_stop", "index": index})));
}
