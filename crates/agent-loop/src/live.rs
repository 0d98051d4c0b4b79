//! A turn under way, and what is left of it when it is dropped.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use agent_tool_core::Part;

use crate::{
    Answer, Call, CallResult, Conversation, End, Message, Stop, StopReason, Tally, Turn, TurnEvent,
    Usage, Watch, marks,
};

/// Holds the conversation during a turn. However the turn ends, being dropped included, what came is
/// in the conversation afterwards and the conversation is valid.
pub(crate) struct Live<'a> {
    pub(crate) conversation: &'a mut Conversation,
    pub(crate) watch: &'a dyn Watch,
    pub(crate) stop: Stop,
    pub(crate) model: String,
    /// The answer as far as it came.
    pub(crate) text: String,
    pub(crate) tally: Tally,
    /// What a request that is under way used, as far as it is known.
    pub(crate) asked: Option<Usage>,
    pub(crate) steps: u32,
    last_text: String,
    open: Option<Open>,
    over: bool,
}

/// The calls of the last answer, until all have their results.
struct Open {
    calls: Vec<Call>,
    results: Vec<Option<CallResult>>,
    started: Arc<[AtomicBool]>,
}

impl<'a> Live<'a> {
    pub(crate) fn new(
        conversation: &'a mut Conversation,
        watch: &'a dyn Watch,
        model: String,
        stop: Stop,
    ) -> Self {
        Self {
            conversation,
            watch,
            stop,
            model,
            text: String::new(),
            tally: Tally::default(),
            asked: None,
            steps: 0,
            last_text: String::new(),
            open: None,
            over: false,
        }
    }

    /// Keeps a complete answer. One without content is not kept, since no provider takes it back.
    pub(crate) fn answered(&mut self, answer: Answer) {
        self.text.clear();
        self.last_text.clone_from(&answer.text);
        if !answer.is_empty() {
            self.push(Message::Assistant(answer));
        }
    }

    /// Notes the calls that are to be made. The flags say of each whether it was begun.
    pub(crate) fn open(&mut self, calls: &[Call]) -> Arc<[AtomicBool]> {
        let started: Arc<[AtomicBool]> = calls.iter().map(|_| AtomicBool::new(false)).collect();
        self.open = Some(Open {
            calls: calls.to_vec(),
            results: calls.iter().map(|_| None).collect(),
            started: Arc::clone(&started),
        });
        started
    }

    pub(crate) fn record(&mut self, index: usize, result: CallResult) {
        if let Some(open) = &mut self.open {
            open.results[index] = Some(result);
        }
    }

    /// The results so far, one for each call.
    pub(crate) fn results(&self) -> Vec<CallResult> {
        self.open.as_ref().map(Open::results).unwrap_or_default()
    }

    /// Says something to the model with the result of a call.
    pub(crate) fn remark(&mut self, index: usize, remark: String) {
        let result = self.open.as_mut().and_then(|open| open.results[index].as_mut());
        if let Some(result) = result {
            result.parts.push(Part::text(remark));
        }
    }

    /// Adds the results of the calls to the conversation.
    pub(crate) fn close(&mut self) {
        if let Some(open) = self.open.take() {
            self.push(Message::Tool { results: open.results() });
        }
    }

    pub(crate) fn finish(mut self, end: End) -> Turn {
        self.leave(end.clone());
        Turn {
            end,
            text: std::mem::take(&mut self.last_text),
            steps: self.steps,
            tally: self.tally,
        }
    }

    fn push(&mut self, message: Message) {
        let message = self.conversation.push(message);
        self.watch.event(TurnEvent::Message(message));
    }

    fn leave(&mut self, end: End) {
        self.over = true;
        // Who is cut off is paid all the same.
        let usage = self.asked.take().inspect(|usage| self.tally.add(usage)).unwrap_or_default();
        if !self.text.is_empty() {
            let text = std::mem::take(&mut self.text);
            self.answered(Answer {
                text,
                model: self.model.clone(),
                stop: Some(match end {
                    End::Cancelled => StopReason::Interrupted,
                    _ => StopReason::Other(marks::CONNECTION.to_owned()),
                }),
                usage,
                ..Answer::default()
            });
        }
        self.close();
        self.watch.event(TurnEvent::TurnEnded { end, tally: self.tally });
    }
}

impl Open {
    fn results(&self) -> Vec<CallResult> {
        let calls = self.calls.iter().zip(&self.results).zip(self.started.iter());
        let results = calls.map(|((call, result), started)| match result {
            Some(result) => result.clone(),
            None if started.load(Ordering::Relaxed) => CallResult::interrupted(call),
            None => CallResult::not_started(call),
        });
        results.collect()
    }
}

impl Drop for Live<'_> {
    fn drop(&mut self) {
        if !self.over {
            self.leave(End::Cancelled);
        }
    }
}
