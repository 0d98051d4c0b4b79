use std::sync::{Arc, Mutex, PoisonError};

use genai::chat::StopReason;
use serde_json::Value;

/// Notes that an OpenAI answer said why it ended: some servers then end the stream without the frame that the crate
/// waits for.
#[derive(Clone, Debug, Default)]
pub(super) struct Ends(Arc<Mutex<Option<String>>>);

impl Ends {
    /// Looks at a frame's data. Few have the field with a string in it, so few are read.
    pub(super) fn note(&self, data: &str) {
        if !data.contains("\"finish_reason\"") {
            return;
        }
        let Ok(frame) = serde_json::from_str::<Value>(data) else { return };
        if let Some(reason) = frame["choices"][0]["finish_reason"].as_str() {
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(reason.to_owned());
        }
    }

    pub(super) fn reason(&self) -> Option<StopReason> {
        let reason = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        reason.map(StopReason::from)
    }
}
