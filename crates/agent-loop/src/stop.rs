//! Ends a turn in order, where dropping it would be too late or would lose what a call is about to say.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Whether a turn is to end. A clone is the same, so that somebody else may set it.
///
/// Once it is set the turn begins nothing more: no call of the answer that is being worked off, and no
/// further request. Calls under way come to their end, and then the turn is [`Cancelled`](crate::End::Cancelled);
/// who does not want to wait for them drops it.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// One that is not set.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Ends the turn.
    pub fn set(&self) {
        self.0.store(true, Ordering::SeqCst);
    }

    /// Whether the turn is to end.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::SeqCst)
    }
}
