//! OpenAI's chat completions as they stream: <https://platform.openai.com/docs/api-reference/chat-streaming>.

use serde_json::{Value, json};

use super::{
    Received, Rule,
    frames::{data, fragments},
};

pub(super) fn frames(rule: &Rule, request: &Received, number: usize) -> Vec<Vec<u8>> {
    let chunk = |choices: Value| {
        json!({
            "id": format!("chatcmpl-{number}"), "object": "chat.completion.chunk", "created": 1_700_000_000,
            "model": request.body["model"], "choices": choices,
        })
    };
    let delta = |delta: Value| {
        data(&chunk(json!([{"index": 0, "delta": delta, "logprobs": null, "finish_reason": null}])))
    };
    let mut frames = vec![delta(json!({"role": "assistant", "content": "", "refusal": null}))];
    frames.extend(rule.reasoning.iter().map(|text| delta(json!({"reasoning_content": text}))));
    frames.extend(rule.text.iter().map(|text| delta(json!({"content": text}))));
    for (index, call) in rule.calls.iter().enumerate() {
        let id = call.id.clone().unwrap_or_else(|| format!("call_{number}x{}", index + 1));
        if call.unnumbered {
            frames.push(delta(json!({"tool_calls": [{
                "id": id, "type": "function",
                "function": {"name": call.name, "arguments": call.text()},
            }]})));
            continue;
        }
        frames.push(delta(json!({"tool_calls": [{
            "index": index, "id": id, "type": "function",
            "function": {"name": call.name, "arguments": ""},
        }]})));
        let parts = fragments(&call.text()).into_iter().map(|part| {
            delta(json!({"tool_calls": [{"index": index, "function": {"arguments": part}}]}))
        });
        frames.extend(parts);
    }
    let stop = rule.stop.as_deref().unwrap_or(match rule.calls.is_empty() {
        true => "stop",
        false => "tool_calls",
    });
    let end = json!([{"index": 0, "delta": {}, "logprobs": null, "finish_reason": stop}]);
    frames.push(data(&chunk(end)));
    // Usage comes where it is asked for, in a chunk of its own without choices.
    let asked = request.body["stream_options"]["include_usage"] == true;
    if let Some(usage) = rule.usage.filter(|_| asked) {
        let mut last = chunk(json!([]));
        last["usage"] = json!({
            "prompt_tokens": usage.input, "completion_tokens": usage.output,
            "total_tokens": usage.input + usage.output,
        });
        if let Some(cached) = usage.cached {
            last["usage"]["prompt_tokens_details"] = json!({"cached_tokens": cached});
        }
        frames.push(data(&last));
    }
    frames.push(b"data: [DONE]\n\n".to_vec());
    frames
}
