//! The time, behind a seam: ten minutes and two seconds are tested without waiting for them.

use std::{
    fmt,
    time::{Duration, Instant, SystemTime},
};

/// Where the server takes the time from.
pub trait Clock: fmt::Debug + Send + Sync {
    /// The time of day. A plan's age is measured by it, since a plan outlives the process.
    fn now(&self) -> SystemTime;

    /// The time since a fixed moment, which no change of the clock moves. A search is bounded by it.
    fn elapsed(&self) -> Duration;
}

/// The machine's clocks.
#[derive(Debug)]
pub struct SystemClock {
    begun: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        Self { begun: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }

    fn elapsed(&self) -> Duration {
        self.begun.elapsed()
    }
}
