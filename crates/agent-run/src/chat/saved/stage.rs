//! What a journal keeps of calls under way: after a kill it is known which of them cannot have acted.

use std::collections::HashMap;

use agent_loop::{CallResult, Message};
use serde::{Deserialize, Serialize};

/// What is told of a call before which the program ended.
const BEFORE: &str = "the program ended before its turn came";

/// What is told of one that waited for a person then.
const AT_CARD: &str = "the program ended while its card waited for an answer";

/// How far a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Stage {
    /// It may act from here on.
    Begun,
    /// It waits for a person's leave, and does not act meanwhile.
    AtCard,
}

/// The line of a journal that says how far a call is. The last one of a call holds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StageLine {
    pub(super) call: String,
    pub(super) stage: Stage,
}

/// How far the calls of an answer are.
#[derive(Debug, Default)]
pub(super) struct Stages(HashMap<String, Stage>);

impl Stages {
    pub(super) fn note(&mut self, StageLine { call, stage }: StageLine) {
        self.0.insert(call, stage);
    }

    /// The results of those calls of an answer that cannot have acted; none where nothing is known.
    pub(super) fn not_made(&self, answer: &Message) -> Option<Message> {
        let Message::Assistant(answer) = answer else { return None };
        // A journal of a program that noted no stages says nothing of any.
        if self.0.is_empty() {
            return None;
        }
        let results = answer.calls.iter().filter_map(|call| match self.0.get(&call.id) {
            None => Some(CallResult::not_made(call, BEFORE)),
            Some(Stage::AtCard) => Some(CallResult::not_made(call, AT_CARD)),
            Some(Stage::Begun) => None,
        });
        let results: Vec<CallResult> = results.collect();
        (!results.is_empty()).then_some(Message::Tool { results })
    }
}

#[cfg(test)]
mod tests {
    use agent_loop::Outcome;
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_had_begun_is_not_known() {
        let answer: Message = serde_json::from_value(json!({"role": "assistant", "calls": [
            {"id": "a", "name": "shell"}, {"id": "b", "name": "shell"}, {"id": "c", "name": "write"},
        ]}))
        .expect("an answer");
        let not_made = |lines: &[(&str, Stage)]| {
            let mut stages = Stages::default();
            for (call, stage) in lines {
                stages.note(StageLine { call: (*call).to_owned(), stage: *stage });
            }
            let Some(Message::Tool { results }) = stages.not_made(&answer) else { return vec![] };
            assert!(results.iter().all(|result| result.outcome == Outcome::NotStarted));
            results.into_iter().map(|result| result.call_id).collect::<Vec<_>>()
        };
        use Stage::{AtCard, Begun};
        assert_eq!(not_made(&[]), [""; 0]);
        assert_eq!(not_made(&[("a", Begun)]), ["b", "c"]);
        assert_eq!(not_made(&[("a", Begun), ("a", AtCard)]), ["a", "b", "c"]);
        let allowed = [("a", Begun), ("a", AtCard), ("a", Begun), ("b", Begun), ("b", AtCard)];
        assert_eq!(not_made(&allowed), ["b", "c"]);
        assert_eq!(not_made(&[("a", Begun), ("b", Begun), ("c", Begun)]), [""; 0]);
    }
}
