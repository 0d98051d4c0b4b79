//! How long a server may take.

use std::time::Duration;

/// The bounds of everything but a call, whose own is in its server's configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Times {
    /// Until a server that was started says which revision it speaks; 30 seconds by default.
    pub connect: Duration,
    /// Until one that does not answer the question of the newest revision is greeted in the older way too; 10 seconds.
    pub probe: Duration,
    /// For the whole list of its tools; 20 seconds.
    pub list: Duration,
    /// Until a server that let a call run out of time, and is silent on whether it is there, is taken for hung; 5 seconds.
    pub hung: Duration,
    /// Before the second start in a row that did not come to an answer; it doubles with each further one. Half a second.
    pub backoff: Duration,
    /// The longest such pause; 30 seconds.
    pub max_backoff: Duration,
}

impl Default for Times {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(30),
            probe: Duration::from_secs(10),
            list: Duration::from_secs(20),
            hung: Duration::from_secs(5),
            backoff: Duration::from_millis(500),
            max_backoff: Duration::from_secs(30),
        }
    }
}

impl Times {
    /// The default bounds.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The pause before a start after so many failures in a row.
    pub(crate) fn pause(&self, failures: u32) -> Duration {
        match failures.checked_sub(1) {
            None => Duration::ZERO,
            Some(0) => Duration::ZERO,
            Some(more) => (self.backoff * 2_u32.saturating_pow(more - 1)).min(self.max_backoff),
        }
    }
}
