//! What became of the questions of one call.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

use serde_json::Value;

/// The questions that a server asks for one call. A clone means the same.
#[derive(Clone, Debug, Default)]
pub(crate) struct Questions(Arc<Asked>);

#[derive(Debug, Default)]
struct Asked {
    /// One after the other, so that the next one knows how the last one went.
    turn: tokio::sync::Mutex<()>,
    left: Mutex<Option<Left>>,
    /// How many could not be shown.
    unshown: AtomicUsize,
}

/// A question that the person left, and those that came after it.
#[derive(Debug)]
struct Left {
    answer: Value,
    again: usize,
}

impl Questions {
    /// Waits for the one before to be over.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.0.turn.lock().await
    }

    /// The person left a question, and this is what the server is told, now and each time that it asks again.
    pub(super) fn left(&self, answer: Value) -> Value {
        *self.lock() = Some(Left { answer: answer.clone(), again: 0 });
        answer
    }

    /// What the server is told where the person left an earlier question.
    pub(super) fn asked_again(&self) -> Option<Value> {
        let mut left = self.lock();
        let left = left.as_mut()?;
        left.again += 1;
        Some(left.answer.clone())
    }

    /// A question could not be shown to anybody, and the server is told that nothing was chosen.
    pub(super) fn cannot_be_shown(&self) {
        self.0.unshown.fetch_add(1, Ordering::Relaxed);
    }

    /// What is said of the questions that nobody was shown.
    pub(crate) fn said(&self) -> Vec<String> {
        self.unshown().into_iter().chain(self.again()).collect()
    }

    fn unshown(&self) -> Option<String> {
        let asked = match self.0.unshown.load(Ordering::Relaxed) {
            0 => return None,
            1 => "asked the person something that cannot be shown here".to_owned(),
            many => format!("asked the person {many} things that cannot be shown here"),
        };
        Some(format!(
            "the server {asked}: nobody was asked, and it was told that nothing was chosen, whatever it says of the person"
        ))
    }

    fn again(&self) -> Option<String> {
        let left = self.lock();
        let left = left.as_ref().filter(|left| left.again > 0)?;
        let how = match left.answer["action"] == "decline" {
            true => "the person declined what the server asked",
            false => "nobody answered what the server asked",
        };
        // Others may be on their way: the older revisions ask beside the call.
        let times = match left.again {
            1 => "at least once more".to_owned(),
            again => format!("at least {again} times more"),
        };
        Some(format!("{how}; it asked {times} for this call, and was told the same without a card"))
    }

    fn lock(&self) -> MutexGuard<'_, Option<Left>> {
        self.0.left.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
