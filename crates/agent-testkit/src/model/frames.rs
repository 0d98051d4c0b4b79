use serde_json::Value;

use super::{Fail, Format, How, Received, Rule, anthropic, openai};

/// Letters in a fragment of arguments, unless something is shorter.
const FRAGMENT: usize = 12;

/// The frames of an answer, and what comes after them where it is not the end.
pub(super) struct Frames {
    pub(super) frames: Vec<Vec<u8>>,
    pub(super) then: Then,
}

pub(super) enum Then {
    End,
    Cut,
    Hang,
}

/// The frames in which a rule answers a request.
pub(super) fn of(rule: &Rule, request: &Received, number: usize) -> Frames {
    let mut frames = match request.format {
        Format::Anthropic => anthropic::frames(rule, request, number),
        Format::OpenAi => openai::frames(rule, request, number),
    };
    let mut then = Then::End;
    if let Some(breaks) = &rule.breaks {
        frames.truncate(breaks.after);
        match &breaks.how {
            How::Cut => then = Then::Cut,
            How::End => {}
            How::Hang => then = Then::Hang,
            How::Error(fail) => frames.push(match request.format {
                Format::Anthropic => event("error", &error(request.format, fail)),
                Format::OpenAi => data(&error(request.format, fail)),
            }),
        }
    }
    if let Some(size) = rule.split {
        let bytes = frames.concat();
        frames = bytes.chunks(size.max(1)).map(<[u8]>::to_vec).collect();
    }
    Frames { frames, then }
}

/// The body of an error.
pub(super) fn error(format: Format, fail: &Fail) -> Value {
    let Fail { kind, message, .. } = fail;
    match format {
        Format::Anthropic => serde_json::json!({
            "type": "error",
            "error": {"type": kind, "message": message},
            "request_id": "req_scripted",
        }),
        Format::OpenAi => serde_json::json!({
            "error": {"message": message, "type": kind, "param": null, "code": kind},
        }),
    }
}

/// A frame with a name.
pub(super) fn event(name: &str, body: &Value) -> Vec<u8> {
    format!("event: {name}\ndata: {body}\n\n").into_bytes()
}

/// A frame without one.
pub(super) fn data(body: &Value) -> Vec<u8> {
    format!("data: {body}\n\n").into_bytes()
}

/// Arguments in the fragments in which they come.
pub(super) fn fragments(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    letters.chunks(FRAGMENT).map(|chunk| chunk.iter().collect()).collect()
}
