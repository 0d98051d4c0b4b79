use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use genai::chat::StopReason;
use serde_json::Value;

use crate::RawCall;

/// What OpenAI's frames say and the crate behind this one does not pass on: why the answer ended, where the last frame is
/// missing, and calls that have no number.
#[derive(Clone, Debug, Default)]
pub(super) struct Frames(Arc<Mutex<Noted>>);

#[derive(Debug, Default)]
struct Noted {
    reason: Option<String>,
    calls: Vec<RawCall>,
}

impl Frames {
    /// Looks at a frame's data. Few have one of the fields, so few are read.
    pub(super) fn note(&self, data: &str) {
        if !data.contains("\"finish_reason\"") && !data.contains("\"tool_calls\"") {
            return;
        }
        let Ok(frame) = serde_json::from_str::<Value>(data) else { return };
        let choice = &frame["choices"][0];
        let mut noted = self.noted();
        if let Some(reason) = choice["finish_reason"].as_str() {
            noted.reason = Some(reason.to_owned());
        }
        for call in choice["delta"]["tool_calls"].as_array().into_iter().flatten() {
            if !call["index"].is_u64() {
                let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
                let function = &call["function"];
                noted.calls.push(RawCall::new(
                    text(&call["id"]),
                    text(&function["name"]),
                    text(&function["arguments"]),
                ));
            }
        }
    }

    /// Why the answer ended, as far as a frame said it.
    pub(super) fn reason(&self) -> Option<StopReason> {
        self.noted().reason.clone().map(StopReason::from)
    }

    /// The calls without a number, which come whole.
    pub(super) fn take_calls(&self) -> Vec<RawCall> {
        std::mem::take(&mut self.noted().calls)
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
